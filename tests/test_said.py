"""What findings say of a script where it depends on the script: whose value is named, which advice applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.api import lint

# A head of Ray with a secret for this run, and variables of which one is exported.
_RAY = (
    "#SBATCH -N 2\nip=$(hostname -i)\nport=6379\ndir=/tmp/$USER\nexport head=$(hostname)\n"
    "export redis_password=$(uuidgen)\nsrun ray start --head {} --redis-password=$redis_password --block &\nwait\n"
)
# Loops in which a test looks at each status.
_TESTED = "#SBATCH -n 1\nfailed=0\nfor s in a b; do\n  if python a.py $s; then echo; else {}; fi\ndone\necho $failed\n"
_AWAITED = (
    "#SBATCH -n 1\nset -u\nfor s in a b; do\n    python a.py $s & pids+=($!)\ndone\nfailed=0\n"
    'for i in "${!pids[@]}"; do\n    if ! wait "${pids[$i]}"; then {}; fi\ndone\necho $failed\n'
)
_SOURCED = "#SBATCH -n 1\nsource slurm/00_env.sh\nfor f in a b; do\n    python a.py $f\n    echo\ndone\n"
_COUNTED = "`failed` counts it, but the job still ends COMPLETED; end the script with `exit $((failed > 0))`"
SAID = [
    ("SB710", "#SBATCH -n 1\n./a x\nnohup ./b &\n",
     "ends COMPLETED: the `&` on line 4 gives 0;"),
    ("SB710", '#SBATCH -n 1\nsrun ./a\ndate\nif [ -z "$1" ]; then\n    echo no\n    exit 1\nfi\n',
     ": the `if` on line 5 sets the status"),
    ("SB710", "#SBATCH -n 1\nfor f in a b; do ./a x $f; echo $f; done\n", ": the `echo` after it sets the status;"),
    ("SB710", "#SBATCH -n 1\nfor i in $(cat l); do\n./a.out $i\ndone\necho code $?\n",
     "append `|| rc=$?` to line 4, write `${rc:-$?}` for `$?` on line 6 and end with"),
    ("SB710", "#SBATCH -n 1\n./a.out\nfor j in $(jobs -p); do\nwait $j\ndone\n", ": the loop on line 4 sets the"),
    ("SB710", "#SBATCH -n 1 --mail-type=FAIL\ncp -r a c\n./a.out\nrm -r ./c\n", "and end with `exit $rc`"),
    ("SB710", "#SBATCH -n 1\n4.0/lib:$P\n./a.out\ndate\n", "if `./a.out` fails, "),
    ("SB710", "#SBATCH -n 1\nmpirun --version\nmpirun ./a.out\ndate\n", "append `|| rc=$?` to line 4"),
    ("SB710", "#SBATCH -n 1\nsamtools view a | samtools sort\n", "returns only the status of the last `samtools`;"),
    ("SB710", "#SBATCH -n 1\n./a.out x\necho\necho Training succeeded\ndate\nmv a b\n",
     "append `|| rc=$?` to line 3, begin line 5 with `[ -z \"$rc\" ] &&` and end with"),
    ("SB710", "#SBATCH -n 1\nsrun ./a\nexit 0\n", "`exit 0` on line 4 sets the exit status; remove that line"),
    ("SB710", "#SBATCH -n 1\nsrun ./a\nsleep 1\nexit 0\n", "and on line 5 write `exit $rc`"),
    ("SB710", "#SBATCH -n 1\nsrun ./a\nkill_monitor\ndate\n", "`|| rc=$?`"),
    ("SB710", "#SBATCH -n 1\n./a x\n./b x\nsrun rmdir-scratch.sh\n",
     "append `|| rc=$?` to both and end "),
    ("SB402", "#SBATCH -N 1\n#SBATCH -n 1\nexport NODE_RANK=$SLURM_NODEID\nsrun python a.py\n", " uses one node;"),
    ("SB402", "#SBATCH -N 1\n#SBATCH -n 1\nexport RANK=$SLURM_PROCID\nsrun python a.py\n", " has one task;"),
    ("SB710", "#SBATCH -n 1\npip-review --auto\npip install a\n", "append `|| rc=$?` to line 3"),
    ("SB710", "#SBATCH -n 1\n./a x\nsingularity exec i.sif bash -c '\npython b.py\npython c.py'\n",
     "`python` on line 6 still sets the exit status"),
    ("SB710", "#SBATCH -n 1\npython b.py || true\npython c.py || :\ndate\n", "; write `|| rc=$?` in place of each and"),
    ("SB710", _SOURCED, "fails and line 3 does not set `-e`, the job still ends COMPLETED; append `|| rc=$?` to"),
    ("SB710", _SOURCED, " and end with `exit ${rc:-$?}`"),
    ("SB710", _TESTED.replace("{}", "((++failed))"), _COUNTED),
    ("SB711", _AWAITED.replace("{}", "echo $i; ((failed++))"), _COUNTED),
    ("SB711", _AWAITED.replace("{}", "echo $i"),
     "set `rc=1` where `wait` fails, and end the script with `exit ${rc:-$?}`"),
    ("SB605", "#SBATCH -n 1\nexport TRANSFORMERS_CACHE=/a/b\nexport HF_HUB_CACHE=/a/b\npython a.py\n",
     "5 and later; line 4 already sets `HF_HUB_CACHE`, so this line can go"),
    ("SB704", "#SBATCH -e a.err\n#SBATCH -o a.err\npython a.py\n", "write `a-%j.err` here and on line 2"),
    ("SB701", "#SBATCH -o logs/%j.out\nROOT=$SLURM_SUBMIT_DIR\nmkdir -p $ROOT/logs\n./a.out\n",
     "run `mkdir -p logs` before sbatch"),
    ("SB721", "#SBATCH -n 1\nset -e\n./a\nrc=$?\nif [[ $rc -eq 0 ]]; then\n cp a b\nelse\n echo no\n exit $rc\nfi\n",
     "`set -e` ends the script, and line 9 never runs"),
    ("SB711", "#SBATCH -n 1\npython a.py 1 &\np=$!\npython a.py 2\nwait $p\ndate\n", "write `wait $p || rc=1` and end"),
    ("SB710", "#SBATCH -n 1\nvcf-concat a | bgzip -c > b\nRscript c.R\ntabix -p vcf b\n",
     "line 5 reads a part of `b`"),
    ("SB116", "#SBATCH --gres=gpu:4\n#SBATCH --gres=gpu:a100:1\nsrun ./a\n",
     "only the last one takes effect; keep one"),
    ("SB116", "#SBATCH --gres=gpu:1\n#SBATCH --gres=gpu:a100:1\nsrun ./a\n", "remove `--gres=gpu:1`"),
    ("SB222", "#SBATCH --ntasks=1\n#SBATCH -n 4\n#SBATCH -N 1\npython a.py\n",
     "remove `-n 4` (line 2 already requests 1)"),
    ("SB403", "#SBATCH -n 4\nwork() { python a.py > log; }\nsrun -N1 $( work )\n",
     "put `srun -N1 -n1` before `python` in the function, and call it as `( work )`"),
    ("SB726", "#SBATCH -n 1\nmatlab -nodisplay < /home/someone/projects/analysis/run_all.m\n",
     "run('/home/someone/projects/analysis/run_all.m')"),
    ("SB904", "#SBATCH -n 1\nchmod 777 build.sh\n./build.sh\n", "to make it executable, use `u+x`"),
    ("SB705", "#SBATCH -o a_%Y%m%d_%H%M%S.log\n./a.out\n", "`%Y%m%d_%H%M%S` stays in the name; write `%j`"),
    ("SB705", "#SBATCH -o a_%j_%i.log\n./a.out\n", "remove it, or write `%x_%j` for name and ID"),
    ("SB705", "#SBATCH -o a_%N_%h.log\n./a.out\n", "remove it, as `%N` is there already"),
    ("SB422", f"#SBATCH -n 1\n'''\na/b {'c ' * 2048}\n'''\n", "status 126 (File name too long)"),
    ("SB422", f"#SBATCH -n 1\n'''\n{'c ' * 128}a/b\n'''\n", "status 126 (File name too long)"),
    ("SB422", f"#SBATCH -n 1\n'''\n{'c ' * 2048}\n'''\n", "status 127 (not found)"),
    ("SB422", f"#SBATCH -n 1\n'''\na/b {'c ' * 128}\n'''\n", "status 127 (not found)"),
    ("SB431", "#SBATCH -n 1\nif [ ! -e $A ]; then\nmkdir $A\nfi\nA=/scratch/a\n./a.out $A\n",
     "delete this idle `if`, or move it below line 6"),
    ("SB906", "#SBATCH -n 1\n# ssh -L 80:$HOSTNAME:80 login\nvllm serve m --host 0.0.0.0\n",
     "without a key; read VLLM_API_KEY from a file"),
    ("SB705", "#SBATCH -o a_%j_%F.log\n./a.out\n", "so `%F` stays in the name; write the name without it"),
    ("SB219", "#SBATCH -p gpu_short --gres=gpu:1\nconda env create -f a.yml\n", "choose a CPU partition"),
    ("SB312", "#SBATCH -N 4 --ntasks-per-node=1\n$HOME/bin/Linux/STAR --runThreadN 4\n", "if it is an MPI program"),
    ("SB808", '#SBATCH -n 1\nD="$(dirname "$0")"\nR="$(cd "$D/.." && pwd)"\nmkdir -p "$R/a"\n', "writes beside that"),
    ("SB711", "#SBATCH -n 1\n./a 1 > x &\n./a 2 > y &\nwait\nsbatch b.sh\n", "|| exit` above line 6"),
    ("SB437", "#SBATCH -n 1\nexport HUGGINGFACE_HUB_TOKEN=$(cat t)\npython a.py\n", "write `HF_TOKEN`"),
    ("SB726", "#SBATCH -n 1\nmatlab -nodisplay code/run_all.m\n", "write `-batch \"addpath('code'), run_all\"`"),
    ("SB726", "#SBATCH -n 1\nmatlab -nodisplay < run_all.m\n", "write `-batch run_all` instead of `< run_all.m`"),
    ("SB703", "#SBATCH -o a_%3a_%j.out\n./a.out\n", "so `%3a` in the log's name"),
    ("SB812", "#SBATCH -n 1\npkill python\npython a.py\n", "this job has none yet: remove this line"),
    ("SB812", "#SBATCH -n 1\n./server &\npython a.py\npkill python\n", "kill only this job's PIDs (`$!`)"),
    ("SB001", "#SBATCH -n 1\nfor i in 1 2; do\n# ./a.out $i\ndone\n", "before it runs anything: there is no command"),
    ("SB001", "#SBATCH -n 1\n./a.out\nfor i in 1 2; do\ndone\n", "runs the lines above, then stops"),
    ("SB712", "#SBATCH -n 1\nsrun sleep infinity & rc=$?\n[ $rc = 0 ] || exit $rc\n./a.out\n",
     "use `kill -0 $!` later"),
    ("SB712", "#SBATCH -n 1\nsrun ./b.out & rc=$?\n[ $rc = 0 ] || exit $rc\n./a.out\n", "; `wait $!` waits for it"),
    ("SB413", "#SBATCH -n 1\nplanes=$(( $(nproc) / 2 ))\n${planes}=$((planes + 1))\n./a.out $planes\n",
     "the result, `VALUE=…`"),
    ("SB118", "#SBATCH -p your_partition\n#SBATCH -A your_account\n#SBATCH -q your_qos\n./a.out\n",
     "and the placeholder"),
    ("SB222", "#SBATCH -N 1 --ntasks-per-node=8\npython a.py\n", "add -c 8 if `python` uses 8 threads or workers"),
    ("SB710", "#SBATCH -n 1\n./a x\n./b x\n./c x\n./d x\n./e x\necho done\n",
     "if `./a` or a command on lines 4-7 fails"),
    ("SB710", "#SBATCH -n 1\n./a x\necho\n./b x\necho\n./c x\necho\n./d x\necho\n./e x\necho done\n",
     "if `./a` or one of 4 other commands (lines 5-11) fails"),
    ("SB710", "#SBATCH -n 1\nt=1\nwhile [ $t -le 3 ]; do\n./a.out\n(( t++ ))\ndone\n",
     ": `(( t++ ))` on line 6 sets the status"),
    ("SB710", "#SBATCH -n 1\n./a.out\nrm -rf tmp\nexit\n", "ends COMPLETED: `rm` on line 4 sets the status"),
    ("SB710", "#SBATCH -n 1\nfor i in 1 2; do\n./a.out -o a.h5 $i\ncp b.h5 c\ndone\n",
     "the job may still end COMPLETED: `cp` on line 5 sets the"),
    ("SB710", "#SBATCH -n 1\n#SBATCH --mail-type=FAIL\n./a.out x\nrm a\n", "there may be no FAIL mail: "),
    ("SB710", "#SBATCH -n 1\n# it may fail\n[ -d run ] && ./a.out\necho done\n", "write `{ … || rc=$?; }` for what"),
    ("SB710", "#SBATCH -n 1\n./a.out || echo failed\necho done\n", "write `|| { rc=$?; echo …; }` and end"),
    ("SB710", "#SBATCH -n 1\nlog() { echo $(date) $1; }\n./a.out\nlog Done\n", "the job still ends COMPLETED"),
    ("SB710", "#SBATCH -n 1\ntime ./a.out\nmv out* data\nexit 0\n", "`|| rc=$?`"),
    ("SB710", "#SBATCH -n 1\ncd work\npython a.py\npython b.py x\necho done\n", "append `|| rc=$?` to both"),
    ("SB414", "#SBATCH -n 1\n#size=1\nA=1\npython a.py --a $A --size $size --b\n",
     "line 3 is commented out, so `size` is empty unless you export it"),
    ("SB709", "#SBATCH -a 0-9\ns=$(nc -z localhost 80; echo $?)\npython main.py --cfg a\n", "unless `main.py` splits"),
    ("SB710", "#SBATCH -n 1\n./a.out x\n./b.out\nbcftools view a.bcf | bgzip -c > a.vcf.gz\n",
     "add `set -o pipefail` above line 3, `|| rc=$?` to"),
    ("SB807", "#SBATCH -n 1\nsrun ./a.out\nsbatch --dependency=afterok:$SLURM_JOB_ID b.sh\n", "if the job it waits"),
    ("SB414", "#SBATCH -n 1\nA=1\nB=2\necho $nMethod $A $B\nif [ $A = $nMethod ]; then ./a.out; fi\n",
     "empty, as line 6 needs it"),
    ("SB821", "#SBATCH -n 4\ndask scheduler &\nsrun dask worker --a b &\npython -u ./t.py --c d\nwait\n",
     "`kill` the server after `python`"),
    ("SB821", "#SBATCH -n 1\nmlflow server --port 5 \\\n  --host a &\nmlflow experiments create\npython t.py &\nwait\n",
     "write `server=$!` below line 4, and `wait $!; kill $server` here"),
    ("SB902", "#SBATCH -n 1\napptainer exec --cleanenv --env WANDB_API_KEY=$WANDB_API_KEY a.sif python a.py\n",
     "export it as `APPTAINERENV_WANDB_API_KEY` instead"),
    ("SB616", "#SBATCH -N 2\nmake -j4\nsrun ./a.out $SLURM_CPUS_ON_NODE\n", "unless the site gives whole nodes"),
    ("SB902", _RAY.format("--node-ip-address=$ip"), "export `ip`, and write `srun … bash -c 'ray start … \"$red"),
    ("SB902", _RAY.format("--a=$ip --b=$port --c=$dir"), "'ray start \"$@\" --redis-password=\"$redis_password\"' - …"),
    ("SB902", _RAY.format("--address=$head"), "; write `srun … bash -c 'ray start … \"$redis_password\"'`"),
    ("SB514", "#SBATCH --gres=gpu:1\ndocker run a python a.py\n",
     "or `--name` and `&`, then `wait` with a trap that stops it"),
    ("SB514", "#SBATCH --gres=gpu:1\ndocker run --name a a python a.py &\nwait\n",
     "add `--init`, or a trap that runs `docker stop a`"),
    ("SB514", "#SBATCH --gres=gpu:1 -N 2\nD='docker run --name a a'\nsrun -N1 $D a &\nssh n $D sleep 9d &\nwait\n",
     "limit; add a trap that runs `docker stop a` on each node"),
    ("SB454", "#SBATCH -n 1\np=$PORT\n\npython a.py --port $p --x 1\n",
     "`--port` on line 5 may take the next word as its value"),
    # the environment that sbatch passes on
    ("SB414", "#SBATCH -n 1\na=1\nb=2\ncp $inpu/x .; echo $a $b\n", "unless you export it before sbatch"),
    ("SB414", "#SBATCH -n 1\n#SBATCH --export=NONE\na=1\ncp $inpu/x .; echo $a\n", "--export=inpu=…"),
    ("SB454", "#SBATCH -n 1\npython a.py --a 1 --lr $LR --epochs $EPOCHS\n", "unless you export LR before sbatch"),
    ("SB454", "#SBATCH -n 1 --export=HOME\npython a.py --lr $LR --epochs $EPOCHS\n", "--export=LR=…"),
    # a module and a variable use no GPU themselves
    ("SB201", "#SBATCH -p gpu -n 1\nmodule load cuda/12.1\npython train.py --gpu_id 0\n", "--gpu_id selects a GPU"),
    ("SB212", "#SBATCH --gres=gpu:1\nexport CUDA_VISIBLE_DEVICES=0,1,2\npython a.py\n", "GPUs 1 and 2: programs find"),
    ("SB212", "#SBATCH --gres=gpu:2\nexport CUDA_VISIBLE_DEVICES=0,1,2\npython a.py\n", "programs find only 2 GPUs"),
    ("SB219", "#SBATCH --gpus-per-task=1 -n 1\nsleep 3600\n", "the requested GPU stays"),
    ("SB221", "#SBATCH -N 2\npython a.py\n", "write --nodes=1, or use both nodes"),
    ("SB118", "#SBATCH -n 1\nd=/scratch/username/a\nsrun python -m b.c --input $d/a.rds\n", "passed on literally"),
    ("SB306", "#SBATCH -N 2\nip=$(hostname --ip-address)\nsrun torchrun --nnodes=2 --rdzv_endpoint=$ip:29500 a.py\n",
     "`hostname --ip-address` may return 127.0.1.1"),
    ("SB225", "#SBATCH -c 8  # use 1 cpu core\nsrun ./a.out\n", "`-c 8` contradicts the comment, which says 1"),
    ("SB115", "#SBATCH -o out.$J\nsrun ./a.out\n", "write out.%j"),
    ("SB127", "#SBATCH --mail-type=FAIL,abort --mail-user=a@b.de\nsrun ./a.out\n", "remove it, as FAIL is already set"),
    ("SB414", "#SBATCH -n 1\nA=1\nB=2\ninode=3\nnext=$(( inodes + 1 ))\n./a.out $inode $next $A $B\n",
     "did you mean `inode`?"),
    ("SB122", "#SBATCH -t 00:05\nsrun ./a.out\n", "is 5 seconds, rounded up to 1 minute; for 5 minutes write 00:05:00"),
    ("SB122", "#SBATCH -t 24\nsrun ./a.out\n", "write 0:24:00 to be clear, or 24:00:00 for 24 hours"),
    ("SB224", "#SBATCH --gres=gpu:8\nG=1\npython a.py --gpus $G\n", "`--gpus $G`, here `--gpus 1`, uses one of"),
    ("SB127", '#SBATCH --mail-type="BEGIN, END" --mail-user=a@b.de\nsrun ./a.out\n', "as there are spaces"),
    ("SB318", "#SBATCH -c 1\nmpirun -n 4 ./a.out\n", "write `--ntasks=4`"),
    ("SB422", '#SBATCH -n 1\nsingularity run a.sif "python a.py --b c"\n', "may not split it"),
    ("SB710", "#SBATCH -n 4\nmpirun -np 4 ./a.out\nwait\n",
     "`wait` on line 4 sets the exit status; append `|| rc=$?` to line 3"),
    ("SB710", "#SBATCH -n 4\nserver &\nmpirun -np 4 ./a.out\nwait\n", "to line 4"),
    ("SB710", "#SBATCH -n 1\n# the first may fail\npython a.py\njulia b.jl\ndate\n",
     "append `|| rc=$?` to both"),
    ("SB438", "#SBATCH -n 1\nfiles=()\nfor f in files; do ./a.out $f; done\n", "and fill in the list on line 3"),
    ("SB222", "#SBATCH -n 256 -N 1\npython a.py\n", "add -c N if `python` uses N threads"),
    ("SB118", "#SBATCH -a 1-5\n#SBATCH -o <your-file>\nsrun ./a.out\n", "write a file such as %x-%A_%a.out"),
    ("SB118", "#SBATCH -o <your-file>\nsrun ./a.out\n", "write a file such as %x-%j.out"),
    ("SB118", "#SBATCH -o <your-folder>/%j.out\nsrun ./a.out\n", "Slurm uses it literally; write the real value"),
    ("SB118", '#SBATCH --account=""\nsrun ./a.out\n', '`--account=""` has no value'),
    ("SB118", "#SBATCH --account=\n#SBATCH --qos=\n./a.out\n", "fill in lines 2 and 3, or remove the empty options"),
    ("SB116", "#SBATCH -n2\n#SBATCH -n 4\nsrun ./a.out\n", "`-n2` has no effect: --ntasks is"),
    ("SB116", "#SBATCH --ntasks=4\nsrun -n3 --ntasks=4 ./a.out\n", "`-n3` has no effect: --ntasks is set again later"),
    ("SB902", "#SBATCH -n 1\nset -x\n[ -n \"$HF_TOKEN\" ] || exit\nhf auth login --token $HF_TOKEN\nsrun ./a.out\n",
     "write `set +x` before that line, and `set -x` after line 5, the last one with it"),
    ("SB610", "#SBATCH -n 1\nconda activate a\nmodule unload python\nsrun ./a.out\n", "because nothing sets conda up"),
    ("SB610", "#SBATCH -n 1\nconda activate a\nmodule unload python\nmodule load python/3\nsrun ./a.out\n",
     "only line 5 may add it to PATH"),
    ("SB437", "#SBATCH -n 1\nexport HUGGINGFACE_HUB_TOKEN=$(cat token)\nsrun ./a.out\n", "write `HF_TOKEN`"),
    ("SB458", "#SBATCH -n 1\nDATA=\npython a.py --data $DATA --b c\n", "write `${DATA:?}` there to stop the job"),
    ("SB812", "#SBATCH -n 4\nsrun ./a.out\npkill my_server\n", "in your other jobs too; add --exclusive"),
    ("SB812", "#SBATCH -n 4\n./server &\nsrun ./a.out\npkill my_server\n", "kill only this job's PIDs (`$!`), or add"),
    # one or several
    ("SB710", "#SBATCH -n 4\nmpirun -np 4 ./a.out\njulia b.jl\necho end\n", "if `mpirun` or `julia` (line 4) fails"),
    ("SB710", "#SBATCH -n 1\npython a.py\npython b.py\necho end\n", "if `python` on line 3 or 4 fails"),
    ("SB710", "#SBATCH -n 1\npython a.py\njulia b.jl\nRscript c.R\necho end\n", "a command on line 4 or 5 fails"),
    ("SB619", "#SBATCH -n 1\nmodule load gcc\nexport LD_LIBRARY_PATH=/a/lib\nsrun ./a.out\n",
     "the module on line 3 may"),
    ("SB619", "#SBATCH -n 1\nmodule load gcc fftw\nexport LD_LIBRARY_PATH=/a/lib\nsrun ./a.out\n",
     "the modules on line"),
    ("SB454", "#SBATCH -n 1\npython a.py --a 1 --lr $LR --epochs $EPOCHS\n", "may take the next word as its value"),
    ("SB446", "#SBATCH -n 1\nbreak > a.txt\nsrun ./a.out >> a.txt\n", "to empty the file, write `: > a.txt`"),
    ("SB005", "#SBATCH -o a.txt\u00a0\u00a0\u00a0\nsrun ./a.out\n",
     "here as part of the value of --output; remove them"),
    ("SB703", "#SBATCH -o a_%a.txt\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n", "; line 3 also uses the index, so add"),
    ("SB813", "#SBATCH -N 2\nfor i in $(scontrol show hostnames $SLURM_JOB_NODELIST); do\nssh $i ./a.out\ndone\n",
     "may be unable to limit or end them"),
    ("SB813", "#SBATCH -N 2\nfor i in $(scontrol show hostnames $SLURM_JOB_NODELIST); do\nssh -q $i ./a.out\ndone\n",
     '-w "$i" PROGRAM'),
    ("SB902", "#SBATCH -n 1\nset -x\nredis_password=$(uuidgen)\necho $redis_password\nsrun ./a.out\n",
     "line 5 prints it too: remove that line"),
    ("SB726", "#SBATCH -n 1\nmodule load matlab/r2015a\nmatlab -nodisplay -r calculate\n",
     '`-r "try calculate, catch e, disp(getReport(e)), exit(1), end, exit"`'),
    ("SB710", "#SBATCH -n 1\ndocker run -td --name a a\ndocker exec a b.py\ndocker stop a\n",
     "`|| rc=$?` to both"),
    ("SB902", "#SBATCH -n 1\n. ./keys.sh\ndocker run -e WANDB_API_KEY=$WANDB_API_KEY a wandb agent b\n",
     "as an argument of docker; export it, and write"),
    ("SB221", "#SBATCH -n 256\nR CMD BATCH a.R\n", "--cpus-per-task=N, with N at most the CPUs of one node"),
    ("SB122", "#SBATCH -t 24:00 --gres=gpu:4\n./a.out\n", "short for a job with GPUs; for 24 hours write 24:00:00"),
    ("SB720", "#SBATCH -n 1\n./a.out\necho done\nrc=$?\nexit $rc\n", "move `rc=$?` up, directly below line 3"),
    ("SB221", "#SBATCH -n 4 -p a\n#SBATCH -c 2\npython a.py\n", "--ntasks=1 here, and --cpus-per-task=8 on line 3"),
    ("SB221", "#SBATCH -n 4 -c 2\npython a.py\n", "write --ntasks=1 --cpus-per-task=8"),
    ("SB710", "#SBATCH -n 1\n# may fail\nsrun ./a.out;\nexit 0\n", "remove that line"),
    ("SB710", "#SBATCH -n 1\n(srun ./a.out \\\n  --b \\\n  -c) 2>&1 | tee log\n", "`set -o pipefail` above line 3"),
    ("SB708", "#SBATCH -n 1\nn=$((SLURM_ARRAY_TASK_ID * 10))\n./a.out $n\n", "counts as 0 without --array"),
    ("SB708", "#SBATCH -n 1\nn=$((SLURM_ARRAY_TASK_ID * 10))\n./a.out $n\n", "ID:?}` to stop the job"),
    ("SB441", "#SBATCH -N 2\nexport MASTER_ADDR=${SLURM_NODELIST:0:9}\nsrun ./a.out\n", "use `$(scontrol show"),
    ("SB903", "#SBATCH -n 1\nw= # the folder\n./a.out\nrm -rf $w/*\n", "`$w/*` is `/*` here, so this removes"),
    ("SB709", "#SBATCH -a 1-3\nmatlab -nodisplay < /a/run.m\n", "unless `run.m` reads SLURM_ARRAY_TASK_ID itself"),
    ("SB709", "#SBATCH -a 0-9\nmatlab -nodisplay -r \"generate_a\"\n", "unless the code after `-r` reads"),
    ("SB708", "#SBATCH -n 1\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n", "add `#SBATCH --array=FIRST-LAST`"),
    ("SB331", "#SBATCH -n 1\nsrun --partition=a ./a.out\n", "the step runs in the job's partition"),
    ("SB711", "#SBATCH -N 2\nfor i in 1 2; do srun -N1 ./a.out $i & done\nwait\n",
     'write `for p in ${pids[@]}; do wait $p || rc=1; done`, and end with `exit $rc`'),
    # what sbatch takes has no quotes; what to write keeps them
    ("SB108", '#SBATCH --job-name ="a-b"\nsrun ./a.out\n', 'gets the value `=a-b`; write `--job-name="a-b"`'),
    ("SB107", '#SBATCH -J="a b"\nsrun ./a.out\n', 'gets the value `=a b`; write `-J "a b"`'),
    ("SB105", "#SBATCH -p a#,b,c\nsrun ./a.out\n", "reads only `a`; remove the `#`, or put a space before it if"),
    ("SB105", "#SBATCH -p a# the short one\nsrun ./a.out\n", "put a space before the comment"),
    ("SB616", "#SBATCH -N 1\nfor i in 1 2 3 4; do ./a.out $i & done\nwait\n", "1 CPU unless the site gives more"),
    # what takes a secret only as an option
    ("SB902", "#SBATCH -n 1\na_password=$(uuidgen)\nsrun ray start --head --redis-password=$a_password\n",
     "export it, and write `srun … bash -c 'ray start … \"$a_password\"'`"),
    ("SB902", '#SBATCH -n 1\nexport a_password=$(uuidgen)\nsrun bash -c "ray start --redis-password=$a_password"\n',
     r"an argument of srun; write `\$a_password`, so that only ray gets it"),
    ("SB902", "#SBATCH -n 1\na_password=$(cat a)\nray start --redis-password=$a_password\n", "`a_password=$(uuidgen)`"),
    ("SB902", "#SBATCH -n 1\na_password=$(uuidgen)\nsrun python a.py --password=$a_password\n", "or a file"),
    ("SB610", "#SBATCH -n 1\nmodule load conda\n. ~/.bashrc\nconda activate a\n", ".bashrc (lines 3 and 4) may not"),
    ("SB610", "#SBATCH -n 1\nmodule load conda\nconda activate a\n", "at some sites the module on line 3 does not"),
    # how many processes srun would start
    ("SB312", "#SBATCH -N 2 -n 32 --gres=gpu:1\npython train.py\n", "`srun --ntasks=2 --ntasks-per-node=1` if it is"),
    ("SB312", "#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4\npython train.py\n", "srun, as 8 processes, if it is"),
    ("SB312", "#SBATCH -N 2 --ntasks-per-node=1 --gres=gpu:4\npython train.py\n", "or start it with srun"),
    ("SB616", "#SBATCH -n 1\nfor i in 1 2 3 4; do ./a.out $i & done\nwait\n", "at once, but the job requests only"),
    ("SB605", "#SBATCH -n 1\nexport TRANSFORMERS_CACHE=$HF_HOME\n", "this folder rather than `$HF_HOME/hub`"),
    ("SB605", '#SBATCH -n 1\nexport HUGGINGFACE_HUB_CACHE=/a\nexport TRANSFORMERS_CACHE="${TRANSFORMERS_CACHE:-/a}"\n',
     "line 3 already sets `HUGGINGFACE_HUB_CACHE`"),
    ("SB116", "#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\n#SBATCH --mail-type=BEGIN\n./a.out\n",
     "is set again on lines 3 and 4"),
    ("SB708", "#SBATCH -a 1-5\n./a.out $(( 100 / SLURM_ARRAY_TASK_COUNT ))\n", "(`--array=1,5`)"),
    ("SB810", "#SBATCH -n 1\nfor i in $(ls); do sbatch j.sh a $i; done\n", "the arguments by `$SLURM_ARRAY_TASK_ID`"),
    ("SB906", "#SBATCH -n 1\nredis-server --protected-mode no &\n./a.out\n", "set one with `--requirepass`"),
    ("SB212", "#SBATCH --gres=gpu:2\nexport CUDA_VISIBLE_DEVICES=0,1,2,3\npython a.py\n", "also names GPUs 2 and 3"),
    ("SB710", "#SBATCH -n 1\nsingularity exec i.sif bwa mem a | \\\n  singularity exec i.sif samtools sort\ndate\n",
     "`|| rc=$?` to line 4"),
    ("SB730", "#SBATCH -n 1\nfor i in $(ls); do\n zip -r a_$i.zip a_$i\n rm -r a_$i\ndone\n",
     "the only copy of the files;"),
    ("SB710", "#SBATCH -n 1\nbash scripts/train.sh\ndate\n", "if `scripts/train.sh` fails"),
    ("SB710", "#SBATCH -n 1\nsingularity exec i.sif bash -c 'cd a && python b.py'\ndate\n", "if `singularity` fails"),
    ("SB414", ("#SBATCH -n 1\nin=$1\nw=$2\nL=3\nM=$3\nif [ $in -ne 1 ] || [ $residue -ne 3 ]; then\n exit\nfi\n"
     "./a $in $w $L $M\n"), "; set it, or correct its name in this test"),
    ("SB431", "#SBATCH -n 1\nout=/a/$factor\nfor n in 1 2; do\n factor=$((n * 2))\n ./a.out $factor $out\ndone\n",
     "move this line into that loop, below line 5"),
    ("SB619", "#SBATCH -n 1\nmodule load python/3.7\nmodule load gcc/9 cmake\nexport PYTHONPATH=/a/b\npython a.py\n",
     "the module on line 3 may"),
    ("SB902", "#SBATCH -n 1\ndocker run -e HF_TOKEN=MyOwn image a\n", "; export it, and write `-e HF_TOKEN` without"),
    ("SB902", "#SBATCH -n 1\nexport HF_TOKEN=$(cat a)\ndocker run -e HF_TOKEN=MyOwn image a\n",
     "; write `-e HF_TOKEN` without"),
    ("SB422", '#SBATCH -n 1\n[ -f a ] || "no file a" || exit 3\nsrun ./a.out\n', "with `{ echo …; exit 3; }`"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "script", "part"), SAID)
def test_a_message_fits_its_script(code: str, script: str, part: str) -> None:
    done = lint(f"#!/bin/bash\n{script}", path="job.sh", isolated=True, min_severity="info")
    said = [each.message for each in done.findings if each.code == code]
    assert any(part in each for each in said), said


SILENT = [
    # a module or the site sets it
    ("SB414", "#SBATCH -n 1\nmodule load eth_proxy\necho \"${https_proxy}\"\nA=1\nsrun ./a.out $A\n"),
    # a module may set it, or a program that fills in the directives too
    ("SB454", "#SBATCH -n 1\nmodule load spark\nspark-submit --master $SPARKURL --name a a.py\n"),
    ("SB454", "#SBATCH --nodes=${NUM_NODES}\np=${PORT}\npython a.py --port $p --lr 1\n"),
    ("SB454", "#SBATCH -n 1\njulia a.jl --png $OPTION --lr 1\n"),  # further options
    ("SB708", "#SBATCH -n 1\nsbatch --array=0-3 --wrap=\"./a.out $SLURM_ARRAY_TASK_ID\"\n"),
    ("SB902", "#SBATCH -n 1\na_password=$(uuidgen)\nsrun bash -c 'ray start --redis-password=$a_password'\n"),
    ("SB902", "#SBATCH -n 1\na_password=$(uuidgen)\nray start --redis-password=$a_password\n"),
    # the last --role counts
    ("SB403", '#SBATCH -N 2 -n 2\nsrun bash -c "torchrun --role $(hostname) --role \\$SLURMD_NODENAME a.py"\n'),
    ("SB403", '#SBATCH -N 2 -n 2\nsrun bash -c "a --node-name=$(hostname) --node-name=\\$SLURMD_NODENAME"\n'),
    ("SB401", '#SBATCH -n 2\nsrun bash -c "a --rank $SLURM_PROCID --rank \\$SLURM_PROCID"\n'),
    ("SB708", "#SBATCH -n 1\nN=${SLURM_ARRAY_TASK_ID}\nif [ ! $N ]; then\n  N=$1\nfi\n./a.out $N\n"),
    ("SB708", "#SBATCH -n 1\nN=$SLURM_ARRAY_TASK_ID\nif [[ ! $N ]]; then\n  N=$1\nfi\n./a.out $N\n"),
    ("SB708", "#SBATCH -n 1\nN=$SLURM_ARRAY_TASK_ID\nif [[ $N ]]; then\n  echo $N\nelse\n  N=$1\nfi\n./a.out $N\n"),
    ("SB414", "#SBATCH -n 1\nA=1\nB=2\necho $SLUM_JOB_NAME $A $B\n"),  # SB409 says what it should be
    ("SB331", "#SBATCH -n 1\nsrun --pty --partition=a bash\n"),  # which is for the login node (SB809)
    ("SB323", "#SBATCH -N 2\nexport MASTER_ADDR=a MASTER_PORT=1\nsrun -n 16 sh -c 'python t.py; sleep 60'\n"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "script"), SILENT)
def test_a_message_that_does_not_fit_is_not_said(code: str, script: str) -> None:
    done = lint(f"#!/bin/bash\n{script}", path="job.sh", isolated=True, min_severity="info")
    assert code not in {each.code for each in done.findings}


def test_the_command_of_an_array_is_where_it_runs_not_where_its_name_is_set() -> None:
    script = "#!/bin/bash\n#SBATCH --array=0-3\nPYTHON=/opt/a/bin/python\nsrun $PYTHON a.py\n"
    done = lint(script, path="job.sh", isolated=True, min_severity="info")
    (said,) = (each for each in done.findings if each.code == "SB709")
    assert [each.start.row for each in said.related] == [4]


def test_what_is_no_command_is_not_quoted_like_one() -> None:
    script = "#!/bin/sh\n#SBATCH -n 1\nsource a.sh\nfor i in {1..6}; do ./a.out $i; done\n"
    (said,) = (each for each in lint(script, path="job.sh", isolated=True).findings if each.code == "SB006")
    assert "`source` (line 3) and brace expansion (line 4) do not work" in said.message


def test_an_element_that_dash_runs_as_a_command_is_named() -> None:
    script = "#!/bin/sh\n#SBATCH -n 1\nFLAGS[0]=-v\n./a.out\n"
    (said,) = (each for each in lint(script, path="job.sh", isolated=True).findings if each.code == "SB006")
    assert [each.label for each in said.related] == ["`FLAGS[…]=` is not found"]


def test_a_command_that_removes_the_other_name_too_was_not_meant_for_it() -> None:
    script = "#!/bin/bash\n#SBATCH -n 1\nset +u\nSCHEDULER_FILE=$PWD/a.json\nrm -fr $SCHEDULER_DIR $SCHEDULER_FILE\n"
    done = lint(script, path="job.sh", isolated=True, min_severity="info")
    assert not [each.message for each in done.findings if each.code == "SB414" and "did you mean" in each.message]


def test_what_a_comment_calls_a_buffer_contradicts_nothing() -> None:
    script = "#!/bin/bash\n#SBATCH --mem=2000 #most runs should be under 1 GB, with a buffer\nsrun ./a.out\n"
    done = lint(script, path="job.sh", isolated=True, min_severity="info")
    assert "SB215" not in {each.code for each in done.findings}


def test_what_tbg_fills_in_is_no_invalid_count() -> None:
    script = "#!/bin/bash\n#SBATCH --ntasks=!TBG_tasks\nsrun --ntasks=!TBG_tasks ./a.out\n"
    done = lint(script, path="job.tpl", isolated=True, min_severity="info")
    assert "SB125" not in {each.code for each in done.findings}


# The lines that a finding points at besides its own.
POINTED = [
    # the work in a group, the status that a test passes over, the step whose option stands in an array
    ("SB710", "#SBATCH -n 4\nset -e\n(\n    export A=1\n    srun ./a.out\n    echo\n\n\n) | tee log\n", {6}),
    ("SB710", "#SBATCH -n 4\n./a.out\nx=$?\nif [ $x = 0 ]; then touch ok; fi\n\n\necho end\n", {8}),
    ("SB331", "#SBATCH -N 2\no=(-p gpu)\n\n\nsrun ${o[@]} ./a.out\n", {6}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "script", "rows"), POINTED)
def test_a_finding_points_at_all_that_takes_part(code: str, script: str, rows: set[int]) -> None:
    done = lint(f"#!/bin/bash\n{script}", path="job.sh", isolated=True, min_severity="info")
    found = [each for each in done.findings if each.code == code]
    assert rows <= {other.start.row for each in found for other in each.related}, found


def test_each_option_without_a_value_is_named() -> None:
    script = "#!/bin/bash\n#SBATCH -n 1\na=1\nalga --in=$FILE_1 --with=$FILE_2 --out=$OUT_2\n"
    done = lint(script, path="job.sh", isolated=True, min_severity="info")
    found = [other.label for each in done.findings if each.code == "SB454" for other in each.related]
    assert found == ["`--with` gets none either", "`--out` gets none either"]


def test_each_way_to_do_nothing_is_said() -> None:
    script = (
        "#!/bin/bash\n#SBATCH -n 4\np=$(ls mpi)\nif [ -z $p ]; then\n  echo could not find it; exit\nfi\n"
        "m=$(hostname)\nif [ $m = a ]; then\n  srun ./a.out\nelif [ $m = b ]; then\n  srun ./b.out\nfi\n"
    )
    done = lint(script, path="job.sh", isolated=True, min_severity="info")
    assert [each.start.row for each in done.findings if each.code == "SB710"] == [5, 8]


def test_a_finding_on_options_of_the_settings_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sbatchlint.toml").write_text('[[submit]]\npaths = ["a.sh"]\noptions = "--mail-user=x@y.z"\n')
    done = lint("#!/bin/bash\n#SBATCH -n 1\nsrun ./a.out\n", path="a.sh")
    assert [each.message.endswith(" (from [[submit]] in sbatchlint.toml)") for each in done.findings] == [True]


def test_a_fix_that_removes_an_event_is_not_said_to_write_one() -> None:
    script = "#!/bin/bash\n#SBATCH --mail-type=fail,abort\nsrun ./a.out\n"
    found = lint(script, path="job.sh", isolated=True, min_severity="info").findings
    assert [each.fix.title for each in found if each.code == "SB127" and each.fix] == ["remove abort"]
