"""The programs that scripts call, and their traits: what each of them does.

To teach sbatchlint a program, add its name, without a folder, to the row with its traits, or add a row. Rows are sorted
by their first name below a heading.
"""

from collections.abc import Sequence
from functools import cache

# What the traits mean. A trait does not depend on the options of the program; callers have to look at these themselves.
TRAITS = {
    "minor": "prints, inspects, sets up the shell or cleans up; never the purpose of a job",
    "stages": "stages data or software: the purpose of a job that does nothing else",
    "quick": "finishes at once",
    "repeatable": "has the same effect however often it runs on a node",
    "looks": "prints, inspects or waits, and changes nothing",
    "monitors": "monitors others while they work, and is meant to end with the job",
    "copies": "copies, fetches or unpacks files",
    "places": "takes its destination as the last word",
    "stores": "is the client of an object store",
    "packs": "packs files into one, or compresses them",
    "installs": "installs software",
    "conda": "manages environments of conda",
    "container": "starts, builds or enters containers",
    "shell": "runs shell scripts",
    "screen": "is interactive",
    "module": "manages environment modules",
    "loads": "loads software by name",
    "software": "puts software on the PATH of the shell",
    "patient": "is a filter whose exit status does not depend on its input",
    "choosy": "is a filter that may fail, or stop reading, although nothing is wrong",
    "answers": "tests or prepares something: it may fail although nothing is wrong",
    "tells": "informs somebody, or does nothing",
    "text": "takes words that are text, not names of files or commands",
    "opens": "opens every file among its arguments",
    "names": "takes the name of a folder or of a file of the shell, as it is",
    "files": "handles files, and reports those that it could not handle",
    "node": "prints facts about its node: name, addresses, devices",
    "kills": "ends processes or steps",
    "repeats": "runs a command for each of its inputs",
    "connects": "connects to the address among its arguments",
    "serves": "is a server that runs until it is ended",
    "session": "opens a session that lasts until its user ends it",
    "slurm": "is a command of Slurm",
    "asks-slurm": "queries slurmctld or slurmdbd",
    "remote": "runs a command on other machines",
    "spreads": "starts work on other nodes, or passes it to daemons there",
    "mpi": "starts its program as MPI ranks over the nodes",
    "reaches": "is a kind of launcher of which one start reaches all nodes",
    "torch": "is a kind of launcher of PyTorch itself",
    "by-variables": "is a kind of launcher that runs torchrun with what variables set",
    "joins": "is a kind of launcher that joins the nodes on which it is started into one world",
    "ranks": "is a kind of launcher for one node, unless more are set, that sets the ranks of its processes",
    "per-gpu": "is a kind of launcher that starts a process per GPU",
    "counts-all": "is a kind of launcher whose number of processes is that of all nodes together",
    "collective": "is a kind of launcher whose processes all wait for one that is gone",
    "prints": "prints its words and does nothing else",
}

PROGRAMS = {
    # Kinds of launchers
    "accelerate": "joins ranks per-gpu counts-all collective",
    "colossalai": "per-gpu collective",
    "composer": "per-gpu counts-all collective",
    "deepspeed": "spreads ranks per-gpu",
    "deepspeed.launch fabric": "per-gpu",
    "ft_launcher": "collective",
    "horovod torchpack": "reaches per-gpu",
    "llamafactory": "by-variables ranks per-gpu collective",
    "mpi": "reaches",
    "swift": "by-variables ranks collective",
    "torch.distributed.launch torchrun": "torch joins ranks per-gpu collective",
    # Programs that start others: on other nodes, as ranks, one after another
    "aprun ibrun jsrun mpprun orterun prun": "spreads mpi",
    "blaunch clush dsh parallel-ssh pdsh psh pssh rsh": "remote spreads",
    "charmrun dask dask-mpi dshbak flux greasy horovodrun paramrun parsl prsync ray spark-submit": "spreads",
    "dask-scheduler": "serves spreads",
    "dask-worker": "serves",
    "mpiexec mpiexec.hydra mpiexec.mpich mpiexec.mpt mpiexec.openmpi mpiexecjl mpirun mpirun.mpich": "mpi",
    "mpirun.openmpi mpirun_rsh oshrun prterun": "mpi",
    "parallel": "repeats spreads",
    "salloc": "slurm spreads",
    "sbatch": "minor quick opens slurm spreads",
    "sbcast": "minor copies places slurm spreads",
    "ssh": "monitors remote spreads",
    "start-all.sh wwrun": "spreads",
    "xargs": "minor files repeats spreads",
    # Slurm, and how other systems submit
    "bsub msub qsub": "minor quick",
    "sacct squeue sstat": "minor quick tells slurm asks-slurm",
    "sacctmgr sdiag sreport sshare": "minor slurm",
    "sattach srun strigger": "slurm",
    "SBATCH": "minor",  # a directive without its `#`
    "scancel": "minor monitors kills slurm",
    "scontrol": "minor quick repeatable tells slurm asks-slurm",
    "sinfo sprio": "minor slurm asks-slurm",
    # Software and environments
    "apt apt-get dnf pip pip3 pipx virtualenv yum": "stages installs",
    "conda mamba micromamba": "minor installs conda software answers",
    "eb guix nix pyenv uenv workon": "software",
    "ml": "minor quick module loads software answers",
    "module": "minor quick repeatable module loads software answers",
    "spack": "stages loads software answers",
    "uv": "installs",
    "vpkg_require": "minor quick loads software answers",
    # Containers and shells
    "apptainer buildah docker enroot nerdctl nvidia-docker podman podman-hpc shifterimg singularity": "container",
    "bash sh": "shell opens",
    "dash ksh zsh": "shell",
    # Servers, screens, monitors
    "code-server jupyter-lab jupyter-notebook jupyter-server jupyterlab rserver ttyd": "serves session",
    "curl wget": "stages looks copies connects",
    "dcgmi dstat iostat mpstat vmstat": "minor monitors",
    "dcv jupyter vncserver x11vnc Xvnc": "session",
    "dmon dool pidstat sar": "monitors",
    "emacs nano screen tmux vi vim": "screen",
    "gunicorn http-server llama-server": "serves",
    "htop nvtop": "minor monitors screen",
    "kill": "minor monitors answers kills",
    "memcached mongod mysqld mysqld_safe postgres prometheus redis-server": "serves",
    "nc ncat": "looks connects",
    "nvidia-modprobe": "minor",
    "nvidia-smi": "minor repeatable looks monitors answers node",
    "ps": "minor repeatable looks monitors",
    "rocm-smi": "minor repeatable looks monitors node",
    "sleep": "minor repeatable looks monitors tells",
    "tail": "minor repeatable looks monitors patient opens files",
    "tensorboard text-embeddings-router text-generation-launcher tritonserver": "serves",
    "top": "minor looks monitors screen",
    "uvicorn": "serves",
    "watch": "monitors screen",
    # Files: copies, archives, stores
    "7z": "packs",
    "aws gcloud gsutil rclone s3cmd": "stages stores",
    "azcopy mc s5cmd": "stores",
    "bzip2 gzip xz zstd": "stages packs patient opens files",
    "cp rsync": "stages repeatable copies places opens files",
    "dcp": "copies places",
    "gdown hf huggingface-cli kaggle": "stages",
    "git": "minor copies text",
    "install scp": "stages copies places files",
    "ln": "minor copies places files",
    "mv": "minor copies places opens files",
    "pdcp sgather": "copies",
    "pigz": "stages packs patient",
    "sftp": "stages copies",
    "tar": "stages repeatable copies packs opens files",
    "unzip": "stages copies opens files",
    "updatedb": "stages files",
    "zip": "stages packs files",
    # Programs that print, inspect and wait
    ": free true": "minor quick repeatable looks tells",
    "[ test": "minor quick repeatable looks answers",
    "[[": "minor quick looks answers",
    "amd-smi ibv_devices": "node",
    "awk": "minor repeatable looks text opens files",
    "break continue false": "minor quick looks",
    "cat": "minor quick repeatable looks patient tells text opens files",
    "cut sed": "minor quick repeatable looks patient text opens files",
    "date": "minor quick repeatable looks tells files",
    "df uptime": "minor quick repeatable looks",
    "echo": "minor quick repeatable looks tells text prints",
    "egrep": "minor looks choosy answers text",
    "find": "minor repeatable looks files",
    "grep": "minor quick repeatable looks choosy answers text opens files",
    "head": "minor quick repeatable looks choosy opens files",
    "hostname": "minor quick repeatable looks files node",
    "hostnamectl ibdev2netdev ibstat ifconfig ip numactl": "minor node",
    "local": "minor quick tells",
    "logger": "minor patient tells text prints",
    "ls": "minor quick repeatable looks answers files",
    "lscpu nproc": "minor quick repeatable node",
    "mail mailx": "minor quick tells text",
    "mpack sendmail": "minor tells",
    "nslookup ping": "minor looks",
    "printf": "minor quick repeatable looks tells text files prints",
    "set": "minor quick repeatable tells",
    "stat": "minor quick looks files",
    "sync": "minor repeatable looks",
    "tr": "minor quick repeatable looks patient text files",
    "wc": "minor quick repeatable looks opens files",
    # Filters, and programs that handle files
    ". source": "minor repeatable answers opens names",
    "annotate-output col lbzip2 lz4 pbzip2 pv rotatelogs ts unbuffer": "patient",
    "banner figlet fmt mawk notify-send yq zenity": "text",
    "basename dirname": "minor quick repeatable text files",
    "bunzip2 unxz": "stages opens",
    "cd": "minor quick repeatable opens names",
    "chgrp chown mkfifo od truncate": "minor files",
    "chmod rm touch": "minor quick repeatable files",
    "cmp": "minor answers files",
    "column tput": "minor text",
    "comm diff": "minor answers opens files",
    "dd": "stages files",
    "env": "minor repeatable files",
    "expr": "minor answers text files",
    "fgrep": "minor choosy answers text",
    "file md5sum sha256sum": "minor opens",
    "gawk rename": "text files",
    "gunzip": "stages opens files",
    "java julia lua node octave php Rscript ruby": "opens",
    "join shuf": "files",
    "jq": "minor text opens",
    "mkdir": "minor quick repeatable names files",
    "mktemp": "minor text files",
    "nl": "minor patient files",
    "paste split": "minor opens files",
    "perl": "text opens",
    "popd readlink realpath rmdir seq": "minor quick files",
    "pushd": "minor quick opens names files",
    "read": "minor answers text",
    "rg": "choosy answers",
    "sort": "minor quick repeatable patient opens files",
    "tee": "minor quick repeatable patient files",
    "uniq": "minor quick patient opens files",
    "zcat": "minor opens files",
    # Compilers, builders and other clients
    "aria2c az cargo cmake g++ gcc gfortran hsi htar icc icpc ifort make mcopy meson mpic++ mpicc mpicxx": "stages",
    "mpif77 mpif90 ninja npm nvfortran svn unpigz": "stages",
    # All other minor programs: shell builtins, inspection of a node, clean-up
    "ack activate mountpoint umount": "answers",
    "alias declare exit jobinfo jobs jobstats readonly return seff shift shopt times trap typeset": "minor quick",
    "arch arp bind builtin cal cdh cds cdw clear clinfo command compgen complete compopt dig dirs dmesg dot": "minor",
    "bc fuser lsof pgrep pidof wait": "minor answers",
    "deactivate let type": "minor quick answers",
    "disown": "quick",
    "du enable": "minor",
    "ethtool eval exec factor fg fold fortune getconf getent getopts groups hash history host": "minor",
    "export ulimit umask unset": "minor quick repeatable",
    "hwloc-calc hwloc-info hwloc-ls ibv_devinfo info ipcs job_stats.py": "minor",
    "id printenv pwd uname whoami": "minor quick repeatable looks",
    "killall pkill": "minor answers kills",
    "ldconfig ldd less lfs link locale login logout lsb_release lsmod lsns lspci lstopo": "minor",
    "lstopo-no-graphics man mapfile modinfo module-info more mutt my-job-stats": "minor",
    "myquota namei netstat nohup ntpdate nvcc nvidia-cuda-mps-control pr": "minor",
    "quota readarray renice reset rev rocminfo route sha1sum shred ss stty sum suspend sysctl tabs tac tic": "minor",
    "time timedatectl timeout tracepath traceroute tree tty unalias unlink users uuidgen vulkaninfo w whereis": "minor",
    "which": "minor quick repeatable answers",
    "who yes": "minor",
}


@cache
def programs_with(*traits: str) -> frozenset[str]:
    """The names of the programs with any of these traits. Raises KeyError for a trait that there is not."""
    return frozenset().union(*[_by_trait()[trait] for trait in traits])


@cache
def _by_trait() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {trait: set() for trait in TRAITS}
    for names, traits in PROGRAMS.items():
        for trait in traits.split():
            found[trait].update(names.split())
    return found


@cache
def _names() -> frozenset[str]:
    return frozenset(" ".join(PROGRAMS).split())


def is_known(name: str) -> bool:
    """Whether a program of this name (without its folder) is among those whose traits are known."""
    return name in _names()


def has_trait(name: str | None, *traits: str) -> bool:
    """Whether a program of this name (without its folder) has any of these traits."""
    return name in programs_with(*traits)


# Subcommands that only print, or write modules for other shells, of programs that do more with others: never the
# purpose of a job. Two words for those of a group; a word alone stands for all that it takes. Those of programs that
# are minor anyway (git, conda) are not here.
SHOWING = {
    "spack": "arch audit blame compilers dependencies dependents diff extensions find graph help info list location"
    " maintainers providers resource tags test-list url verify versions"
    " config:get config:blame config:edit config:list config:scopes compiler:list compiler:find compiler:info env:list"
    " env:status env:st mirror:list module repo:list buildcache:list external:list gpg:list test:list",
    "pip pip3 pipx": "check debug freeze hash help index inspect list search show config:list config:get cache:dir"
    " cache:info cache:list environment",
    "uv": "version tree pip:list pip:show pip:freeze pip:tree pip:check python:list python:find python:dir tool:list"
    " cache:dir",
    "poetry": "about check env:info env:list show version",
    "docker nvidia-docker podman podman-hpc nerdctl buildah": "diff events history images info inspect logs port"
    " ps search stats top version image:ls image:inspect image:history container:ls container:inspect volume:ls"
    " network:ls",
    "apptainer singularity": "help inspect search sif:list sif:header verify version cache:list instance:list"
    " key:list remote:list remote:status",
    "enroot": "digest list version",
    "shifterimg": "images lookup",
    "aws": "help s3:ls sts:get-caller-identity configure:list",
    "gsutil": "du ls stat version",
    "rclone": "about ls lsd lsf lsjson lsl listremotes size version",
    "s3cmd": "du info ls",
    "hf huggingface-cli": "env whoami version auth:whoami auth:list cache:ls cache:list scan-cache",
    "yum apt dnf apt-get": "info list search show",
    "eb": "--show-config --search --list-toolchains",
    "dvc": "status version",
    "wandb": "status",
    "guix nix": "describe search show",
}
# Options before a subcommand that take the next word.
_VALUED = frozenset({"-C", "-D", "-H", "-L", "-c", "-e", "--config", "--context", "--env", "--host", "--profile"})


@cache
def _showing() -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for names, words in SHOWING.items() for name in names.split()}


def only_shows(name: str | None, words: Sequence[str]) -> bool:
    """Whether a program with these arguments only prints what there is: `spack config get`, `pip list`."""
    known = _showing().get(name or "")
    if known is None:
        return False
    found: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            if word in known:
                return True
            skip = word in _VALUED and not found
        else:
            found.append(word)
            if len(found) == 2:
                break
    return bool(found) and (found[0] in known or ":".join(found) in known)
