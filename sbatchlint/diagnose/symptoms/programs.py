"""Python: modules, libraries, arguments, and services outside the cluster."""

import re

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import group_matches, matches, possible, says
from sbatchlint.diagnose.evidence import MEMORY, assigned, commands, contained_steps, containing, shown
from sbatchlint.diagnose.installed import environments, modules
from sbatchlint.diagnose.questions import assigns, sets_or_lacks
from sbatchlint.diagnose.subjects import fetching, prepares_nothing, runs
from sbatchlint.diagnose.symptom import RULED_OUT, Below, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named

_PYTHONS = ("python", "python3", "torchrun", "accelerate", "deepspeed", "pytest")


def _option(job: Job, event: Event) -> Verdict:
    """The word that the program refuses, in the script."""
    word = event.groups.get("words", "").split(" ")[0].split("=")[0]
    return shown(containing(job, job.invocations, word)[-1:]) if len(word) > 2 else None


def _brought(event: Event) -> bool | None:
    """A library that comes with what a job loads, and not with the system and the drivers of a node."""
    of_system = re.search(_SYSTEM_LIBRARY, event.groups.get("library", "")) or re.search(_SYSTEM_SPEAKER, event.text)
    return False if of_system else None


def _other_release(job: Job, event: Event) -> Verdict:
    """Modules of CUDA whose release is not that of the library which is missing. Up to CUDA 10 a library is named by its
    whole release, from 11 on by the first number alone."""
    wanted = re.search(r"libcu(?:dart|blas|fft|sparse|rand)\.so\.(\d+)(?:\.(\d+))?", event.text)
    if wanted is None:
        return None
    found = []
    for command in commands_named(job, "module", "ml"):
        for word in map(text_of, command.argv):
            loaded = re.search(r"(?i)(?:^|/)cuda(?:toolkit)?[/-]v?(\d+)\.(\d+)", word or "")
            if loaded and (
                loaded[1] != wanted[1] or (wanted[1] in ("8", "9", "10") and wanted[2] and loaded[2] != wanted[2])
            ):
                found.append(command.span)
    return shown(tuple(found), "certain")


def _modules_and_program(job: Job, event: Event) -> Verdict:
    """The commands that load modules or an environment, and the program that the message names."""
    loads = commands(job, "module", "ml", "conda", "mamba", "micromamba", "spack")
    names = [text_of(word) for each in commands_named(job, "module", "ml") for word in each.argv[1:2]]
    if not loads or all(each in ("purge", "list", "reset") for each in names) and names:
        return None
    program = runs(job, event)
    return shown((*loads, *(program.spans if isinstance(program, Shown) else ())))


def _module_path(job: Job, event: Event) -> Verdict:
    found = assigned(job, "PYTHONPATH")
    return shown(found) or shown(commands(job, *_PYTHONS), "possible")


def _of_base(event: Event) -> bool | None:
    """The Python that prints the message, or that the traceback names, is that of an installation and not of an environment in it."""
    near = " ".join((event.text, *event.above[-6:]))
    base = re.search(
        r"(?i)/(?:mini|ana|mamba|micro)\w*(?:conda|forge|mamba)?\w*/(?!\S*envs/)(?:[\w.-]+/)*(?:bin|lib)/python", near
    )
    return possible(base or re.match(r"/usr/(?:local/)?bin/python", event.text))


def _activates(job: Job, event: Event) -> Verdict:
    """The script activates an environment of a name before the program runs."""
    for command in commands_named(job, "conda", "mamba", "micromamba", "source", "."):
        words = [text_of(word) for word in command.argv[1:3]]
        if command.name in ("source", "."):
            activates = bool(words) and (words[0] or "").endswith("/bin/activate")
        else:
            activates = len(words) == 2 and words[0] == "activate" and words[1] != "base"
        if activates:
            return Shown((), None, "likely")
    return RULED_OUT


def _no_controller(event: Event) -> bool | None:
    """The same logs say that Slurm's controller, or another node, was not reached."""
    return possible(not event.symptoms.keys().isdisjoint(_UNREACHED))


_UNREACHED = ("controller-unreachable", "controller-busy", "node-not-answering")


_SYSTEM_SPEAKER = (
    r"^(?:slurm\w+|systemd|munged): |(?:^|\s)/(?:usr/)?lib(?:64)?/\S+: undefined symbol|/slurm/\S*: undefined symbol"
)
_SYSTEM_LIBRARY = (
    r"^lib(?:(?:nvidia|nvcuvid|amd_|hsa|ib|rdma|mlx|psm|fabric|efa|cxi|ugni|lnet|slurm|munge|pmi|X|GL|EGL|pthread"
    r"|ssl|crypto|icu|readline|tinfo|ncurses)(?:[-_.]|\w*\.so|$)|(?:cuda|c|m|dl|stdc\+\+|gcc_s|crypt|z|nsl|udev|pci|numa)(?:[-_.]|$))"
)


def _loads_r(job: Job, event: Event) -> Verdict:
    """The commands that load a release of R, or activate the environment that has it."""
    loaded = [each.span for each in modules(job) if re.match(r"(?i)r(?:-base|-bundle\S*)?(?:/|$)", each.name)]
    return shown(tuple(dict.fromkeys([*environments(job), *loaded])))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="module-not-installed",
        title="Python does not find a module",
        docs="The wrong Python: the environment was not activated in the job, or a container brings its own. Modules of the project itself need its folder on PYTHONPATH, or `pip install -e .`.\n",
        printed_by="Python",
        near_end=200,
        literals=("No module named", "Error while finding module specification", "there is no package called", "DistributionNotFound", "PackageNotFoundError"),
        patterns=(r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<module>[\w.]+)", r"^\S*python[\d.]*: No module named (?P<module>[\w.]+)", r"Error while finding module specification for '(?P<module>[^']+)'", r"there is no package called [‘'](?P<module>[\w.]+)", r"PackageNotFoundError: (?:No package metadata was found for )?(?P<module>[\w.-]+)"),
        causes=(
            Cause("file-as-module", "script", "`-m` gets the name of a file in place of that of a module", "write the module's name, without `.py` and with dots for slashes", codes=("SB457",)),
            Cause("environment-not-active", "script", "the environment with {module} is not active where the program runs", "activate it inside the job, in the shell that starts the program", codes=("SB610", "SB607", "SB617", "SB608", "SB618", "SB422", "SB411", "SB508", "SB609", "SB619", "SB612")),
            Cause("other-r", "script", "the R that the script loads has no package {module}: it was installed for another release of R, or into another library", "load the release of R for which it was installed, or install it again with this one (`.libPaths()` shows where R looks)", script=_loads_r, log=says("no package called")),
            Cause("inherited-environment", "submission", "the script activates an environment, and another Python ran: an environment was active already in the shell that submitted, or a module put its own Python first in PATH", "submit from a fresh shell (`conda deactivate`, `module reset`), or call the Python of the environment by its full path", script=_activates, log=_of_base),
            Cause("other-copy-in-image", "script", "the image has a package of that name without {module}: its copy comes before the one that the program was written for", "install that one in the job or into the image (`uv sync`, `pip install -e … --no-deps`), and put it first on PYTHONPATH", script=lambda job, event: shown(contained_steps(job)), log=group_matches("module", r"\.")),
            Cause("other-copy", "code", "Python found a package of that name, and it has no {module}: another release of it, or another copy, comes first", "install the release that the program wants; `python -c 'import X; print(X.__file__)'` shows which copy it is", log=group_matches("module", r"\.")),
            Cause("search-path", "script", "the Python of the job does not find {module}", "look at PYTHONPATH, and which Python runs (`which python`)", script=_module_path),
            Cause("not-in-this-r", "code", "the R of the job has no package {module}: it was installed for another release of R, or into another library, or not at all", "load the release of R for which it was installed, or install it again with the one that the job loads (`.libPaths()` shows where R looks)", log=says("no package called")),
            Cause("not-installed", "code", "the Python of the job has no module {module}", "install it into that environment, or activate the one that has it"),
        ),
        matches="""\
ModuleNotFoundError: No module named 'flash_attn'
/usr/bin/python3: No module named torch.distributed
/usr/bin/python3: Error while finding module specification for 'train.py' (ModuleNotFoundError: __path__ attribute not found on 'train' while trying to find 'train.py'). Try using 'train' instead of 'train.py' as the module name.
Error in library(dplyr) : there is no package called ‘dplyr’
importlib.metadata.PackageNotFoundError: No package metadata was found for bitsandbytes
""",
    ),
    Symptom(
        id="threads-invalid",
        title="the number of threads is not a number",
        docs="OpenMP does not take an empty value, or one that is not a number: it takes as many threads as it sees CPUs.\n",
        printed_by="libgomp, libomp, Intel OpenMP",
        role="warning",
        literals=("Invalid value for environment variable", "Invalid symbols found", "OMP: Warning"),
        patterns=(r"Invalid value for environment variable (?P<name>OMP_\w+|GOMP_\w+)", r"OMP: Warning #\d+: (?P<name>\w+): Invalid"),
        causes=(
            Cause("variable-of-script", "script", "{name} gets an empty or odd value, so the program chooses its number of threads itself", "set it to a number: ask for --cpus-per-task, and write $SLURM_CPUS_PER_TASK", codes=("SB409", "SB405", "SB431", "SB613"), script=lambda job, event: shown(assigned(job, event.groups.get("name", "")))),
        ),
        matches="""\
libgomp: Invalid value for environment variable OMP_NUM_THREADS
OMP: Warning #232: OMP_NUM_THREADS: Invalid symbols found. Check the value "".
""",
    ),
    Symptom(
        id="values-differ",
        title="numbers that are compared differ by more than the comparison allows",
        docs="A check of the program compares values: of weights before and after a conversion, or of results with stored ones. Numbers of less precision (FP8, BF16, TF32) and other orders of summing differ by more than a tolerance meant for float32.\n",
        printed_by="torch.testing, numpy.testing, programs that convert weights",
        near_end=400,
        literals=("mismatch", "are not close", "equal to tolerance", "not equal to"),
        patterns=(r"(?:Error|Exception): (?:Tensor-likes are not (?:close|equal)|\s*Not equal to tolerance)", r"(?:Error|Exception): .*\b(?:[Ww]eights?|[Tt]ensors?|[Nn]umeric\w*|[Gg]olden values?|[Pp]arameters?|[Vv]alues?|[Oo]utputs?) mismatch"),
        causes=(
            Cause("precision", "code", "the values differ by more than the comparison of the program allows", "look at the precision of both sides: values that were stored as FP8 or BF16 need a wider tolerance; else the conversion, or the change, is wrong"),
        ),
        matches="""\
ValueError: Weight mismatch detected
AssertionError: Tensor-likes are not close!
AssertionError: Not equal to tolerance rtol=1e-07, atol=0
""",
        others="RuntimeError: size mismatch for fc.weight: copying a param with shape\n",
    ),
    Symptom(
        id="library-missing",
        title="a shared library is missing, or of another release",
        docs="Modules that were not loaded in the job, another operating system on the node or in the image, or LD_LIBRARY_PATH that puts another release first.\n",
        printed_by="the dynamic linker, Python",
        literals=("cannot open shared object file", "version `GLIBC", "version `CXXABI", "undefined symbol", "error while loading shared libraries", "symbol lookup error", "not found (required by", "wrong ELF class", "invalid ELF header", "version `", "java.library.path"),
        patterns=(r"error while loading shared libraries: (?P<library>[^:]+):", r"\bno (?P<library>[\w.-]+) in java\.library\.path", r"^\s*(?P<library>lib[\w.+-]+\.so[\w.]*): cannot open shared object file", r"(?:ImportError|OSError): .*?(?P<library>[\w.+-]+\.so[\w.]*): (?:cannot open shared object file|undefined symbol|version|invalid ELF|wrong ELF|file too short)", r"version [`'](?P<library>(?:GLIBC|GLIBCXX|CXXABI|GFORTRAN|GOMP|OMP|OPENSSL|HDF5|LIBMPI)\w*_[\d.]+)' not found", r"symbol lookup error: |undefined symbol: "),
        causes=(
            Cause("nothing-loaded", "script", "the program needs {library}, and the script loads no module and no environment that could bring it", "load inside the job what the program was built with", script=prepares_nothing),
            Cause("other-release", "script", "the program was built for another release of CUDA than the script loads: it needs {library}", "load the release that it was built for", script=_other_release, log=says("libcu"), unproven="possible"),
            Cause("search-path", "script", "{library} is not found, or is not of the release that the program needs", "load the modules that it was built with, and look at LD_LIBRARY_PATH", codes=("SB618", "SB506", "SB619", "SB612", "SB609", "SB520"), script=assigns("LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME")),
            Cause("not-in-modules", "script", "the program needs {library}, and no module that the script loads brings it", "load inside the job the modules that the program was built with (`ldd` names what is missing), or add their folder to LD_LIBRARY_PATH", script=_modules_and_program, log=_brought, unproven="possible"),
            Cause("slurm-in-container", "submission", "a command of Slurm is called where its libraries are not, as in a container", "call it outside the container, or mount Slurm's folders into it", log=lambda event: possible(event.groups.get("library", "").startswith("libslurm") and not event.text.startswith("slurm"))),
            Cause("built-elsewhere", "code", "the program was built on a system with {library}, which is newer than what it finds here", "build it on this system, or load the compiler's module inside the job; where an environment has the newer one, put it first (LD_LIBRARY_PATH=$CONDA_PREFIX/lib)", log=matches(r"version .?(?:GLIBC|CXXABI|GFORTRAN|GOMP)")),
            Cause("not-loaded", "submission", "the program needs {library}, and nothing that was loaded in the job brings it", "load inside the job what the program was built with", script=lambda job, event: RULED_OUT, log=_brought),
            Cause("not-on-node", "cluster", "{library} is not on the node, or is not of the release that the program needs", "load the modules that it was built with; tell the site where another node has it"),
        ),
        matches="""\
./solver: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file or directory
ImportError: libcudart.so.12: cannot open shared object file: No such file or directory
python: /lib64/libc.so.6: version `GLIBC_2.29' not found (required by python)
./a.out: symbol lookup error: ./a.out: undefined symbol: foo
java.lang.UnsatisfiedLinkError: no hmsbeagle-jni in java.library.path
  libmpi.so.12: cannot open shared object file: No such file or directory
""",
    ),
    Symptom(
        id="cuda-library-not-loaded",
        title="a library of CUDA was not loaded",
        docs="TensorFlow then continues without the GPU, and says nothing more about it.\n",
        printed_by="TensorFlow (dso_loader.cc)",
        releases="2.0 to 2.12; later ones name no library",
        role="warning",
        literals=("Could not load dynamic library",),
        patterns=(r"Could not load dynamic library '(?P<library>libcu\w+\.so[\d.]*)'",),
        causes=(
            Cause("other-release", "script", "the program was built for another release of CUDA than the script loads: it needs {library}, and goes on without the GPU", "load the release that it was built for", script=_other_release),
            Cause("not-loaded", "code", "{library} is not found, so the program goes on without the GPU", "load the CUDA that it was built for"),
        ),
        matches="W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could not load dynamic library 'libcudart.so.10.0'; dlerror: libcudart.so.10.0: cannot open\n",
        examples=(
            Example(
                "W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could not load dynamic library 'libcudart.so.10.0'; dlerror: x\nepoch 1\n",
                "#!/bin/bash\n#SBATCH --gpus=1\n«module load cuda/10.1»\npython fit.py\n",
                "other-release",
            ),
            Example(
                "W tensorflow/core/dso_loader.cc:55] Could not load dynamic library 'libcublas.so.11'; dlerror: x\nepoch 1\n",
                "#!/bin/bash\n#SBATCH --gpus=1\n«module load gcc cuda/12.4»\npython fit.py\n",
                "other-release",
            ),
        ),
    ),
    Symptom(
        id="arguments-refused",
        title="the program rejects its arguments",
        docs="An option of another release, a line that is cut, or a variable that is empty: the option before it then takes the next word.\n",
        printed_by="argparse, click, hydra, tyro, getopt",
        literals=("error: unrecognized arguments", "error: argument ", "error: the following arguments are required", "Error: No such option", "error: unexpected argument", "Error: Missing option", "Error: Got unexpected extra argument", "invalid choice: ", "No such command", "unrecognized option", "unknown option", "unrecognized option was included", "unknown flag: ", "unknown shorthand flag: ", "are not used by the HfArgumentParser", "requires an argument"),
        patterns=(
            r"^[\w./-]+: error: unrecognized arguments: (?P<words>.+)",
            r"^[\w./-]+: error: argument (?P<words>[^:]+): ",
            r"^[\w./-]+: error: the following arguments are required: (?P<words>.+)",
            r"^Error: (?:No such option:?|Missing (?:option|argument)|Got unexpected extra argument|No such command) (?P<words>.*)",
            r"^error: unexpected argument '(?P<words>[^']+)'",
            r"^(?!sbatch|srun|salloc)[\w./-]+: (?:unrecognized|unknown|invalid) option (?:-- )?'?(?P<words>[^' ]+)",
            r"^(?!sbatch|srun|salloc)[\w./-]+: option (?P<words>\S*) ?requires an argument",
            r"^unrecognized option '(?P<words>--[\w-]+)",
            r"^An unrecognized option was included on the \w+ command line",
            r"^Error(?: for command \"[^\"]*\")?: unknown (?:shorthand )?flag: (?P<words>.+)",
            r"Some specified arguments are not used by the HfArgumentParser: \[?'?(?P<words>[^'\]]*)",
        ),
        causes=(
            Cause("old-launcher", "script", "torch.distributed.launch gives each process --local-rank, which the program does not accept", "start it with torchrun, which sets LOCAL_RANK instead", codes=("SB319",), log=says("--local-rank", "--local_rank")),
            Cause("line-of-script", "script", "the program gets words that were not meant for it: a line is cut, or a variable empty", "see the finding", codes=("SB628", "SB613", "SB411", "SB414", "SB425", "SB427", "SB409", "SB412", "SB401", "SB328", "SB419", "SB423", "SB406", "SB407", "SB133", "SB319", "SB415", "SB428", "SB708", "SB433", "SB434", "SB431", "SB429", "SB413", "SB432")),
            Cause("option-missing", "script", "the program needs {words}, and the command of the script does not give it", "add it to the command; look for a missing backslash at the end of a line", script=runs, log=says("are required", "Missing option", "Missing argument")),
            Cause("option-of-script", "script", "the program rejects {words}", "compare with its --help, in the release that the job uses", script=_option),
            Cause("option", "submission", "the program rejects {words}", "compare with its --help, in the release that the job uses"),
        ),
        matches="""\
train.py: error: unrecognized arguments: --local-rank=0
train.py: error: argument --epochs: expected one argument
usage.py: error: the following arguments are required: --data
Error: No such option: --gpus
error: unexpected argument '--frozen-lockfile' found
unrecognized option '--workdir'
./solver: unrecognized option '--threads'
Error for command "run": unknown flag: --env
An unrecognized option was included on the mpiexec command line:
bwa: option requires an argument -- 't'
ValueError: Some specified arguments are not used by the HfArgumentParser: ['--do_trian']
""",
        others="sbatch: unrecognized option '--workdir=/x'\n",
        below=Below(r"^\s*Option: (?P<words>\S+)", after=r"command line:$"),
    ),
    Symptom(
        id="data-worker-killed",
        title="a worker of the data loader was killed",
        docs="By the kernel for memory, or by a full /dev/shm (bus error).\n",
        printed_by="torch (DataLoader), multiprocessing",
        literals=("DataLoader worker", "background workers are no longer", "BrokenProcessPool", "A process in the process pool was terminated", "std::bad_alloc", "MemoryError", "Unable to allocate "),
        patterns=(r"DataLoader worker (?:\(pid(?:\(s\))? [\d, ]+\) )?(?:is killed by signal: (?P<signal>\w+)|exited unexpectedly)", r"background workers are no longer alive", r"BrokenProcessPool|process pool was terminated abruptly", r"^(?:terminate called after throwing an instance of ')?std::bad_alloc|^(?:numpy\.\S*)?(?:_ArrayMemoryError|MemoryError)\b"),
        causes=(
            Cause("shared-memory", "script", "the container's /dev/shm is too small for the workers", "docker: --ipc=host or --shm-size=16g", codes=("SB511",)),
            Cause("few-cpus", "script", "the job has fewer CPUs or less memory than its workers need", "ask for --cpus-per-task and --mem", codes=("SB213", "SB616", "SB124")),
            Cause("memory-of-script", "script", "a process ran out of memory on the node, and the script says how much there is", "fewer workers, or more memory (--mem)", script=sets_or_lacks(*MEMORY)),
            Cause("memory", "code", "a process ran out of memory on the node", "fewer workers, or more memory (--mem)"),
        ),
        matches="""\
RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.
RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly
RuntimeError: "One or more background workers are no longer alive. Exiting."
concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly
terminate called after throwing an instance of 'std::bad_alloc'
MemoryError
""",
    ),
    Symptom(
        id="no-network",
        title="the internet cannot be reached",
        docs="Compute nodes often have no access to the internet: fetch models, data and packages on the login node, and set HF_HUB_OFFLINE=1, WANDB_MODE=offline; or use the site's proxy.\n",
        printed_by="requests, urllib3, httpx, huggingface_hub, wandb, pip, uv, git, curl, wget",
        near_end=400,
        literals=("Max retries exceeded", "NewConnectionError", "ConnectTimeout", "we couldn't connect to", "We couldn't connect to", "LocalEntryNotFoundError", "OfflineModeIsEnabled", "Could not resolve host", "unable to resolve host address", "Failed to establish a new connection", "Network is unreachable", "Failed to fetch", "CondaHTTPError", "error sending request for url", "unable to access 'http", "URLError", "Couldn't reach ", "Failed to connect to ", "outgoing traffic has been disabled", "initialization has timed out"),
        patterns=(
            r"Max retries exceeded with url|^(?!.*Retrying).*NewConnectionError|(?:ConnectTimeout|ConnectionError): .*https?://|Failed to establish a new connection",
            r"[Ww]e couldn't connect to '?(?P<host>[^' ]+)|LocalEntryNotFoundError|OfflineModeIsEnabled|outgoing traffic has been disabled|Couldn't reach ",
            r"Could not resolve host: (?P<host>\S+)|unable to resolve host address|Failed to connect to (?P<site>[\w.-]+\.(?:co|com|org|io|net)) port",
            r"<urlopen error |error sending request for url|unable to access 'https?://",
            r"(?:Failed to fetch: `?https?|CondaHTTPError|Network is unreachable)",
            r"^wandb: ERROR (?:Run )?initialization has timed out|CommError: (?:Run )?initialization has timed out",
        ),
        causes=(
            Cause("offline-of-script", "script", "the script forbids fetching anything (offline), and what the program wants is not in the cache", "download it beforehand on the login node, into the folder that HF_HOME names in the job, or leave the variable out", script=assigns("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"), log=says("outgoing traffic has been disabled", "OfflineModeIsEnabled", "in the cached files")),
            Cause("fetched-in-job", "cluster", "the script fetches something from the network, which the compute node does not reach", "fetch it before the job on the login node, or use the site's proxy (https_proxy)", script=fetching, log=lambda event: possible(_no_controller(event) is False)),
            Cause("weights-and-biases", "cluster", "the compute node does not reach the server of Weights & Biases", "export WANDB_MODE=offline before the program, and `wandb sync` its folder afterwards from the login node", log=says("has timed out")),
            Cause("network-down", "cluster", "the network of the node does not work: it reaches neither the internet nor, at times, Slurm's controller", "tell the site, and submit again when the network works, or with --exclude of that node", log=_no_controller),
            Cause("no-internet", "cluster", "the compute node cannot reach the internet", "fetch it before the job on the login node, or use the site's proxy (https_proxy)"),
        ),
        matches="""\
requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /x
OSError: We couldn't connect to 'https://huggingface.co' to load this file
curl: (6) Could not resolve host: github.com
fatal: unable to access 'https://github.com/x/y.git/': Failed to connect to github.com port 443
urllib.error.URLError: <urlopen error [Errno 110] Connection timed out>
error: Failed to fetch: `https://pypi.org/simple/torch/`
wandb.errors.CommError: Run initialization has timed out after 90.0 sec. Please refer to the documentation
CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://conda.anaconda.org/x>
""",
        others="WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError'\n",
    ),
    Symptom(
        id="access-token",
        title="a service needs a token, or rejects it",
        docs="Tokens of the login shell are passed on with `--export=ALL` only, and not into every container: HF_TOKEN, WANDB_API_KEY.\n",
        printed_by="huggingface_hub, wandb, git, docker registries",
        literals=("GatedRepoError", "Cannot access gated repo", "access a gated repo", "api_key not configured", "RepositoryNotFoundError", " Client Error: ", " Client Error. ", "wandb login", "could not read Username", "Too Many Requests", "Invalid user token", "Invalid credentials", "locate credentials", "fetch token", "invalid_grant", "ExpiredToken", "is not a local folder and is not a valid model identifier"),
        patterns=(r"GatedRepoError|(?:Cannot|trying to) access a? ?gated repo|RepositoryNotFoundError|(?:401|403) Client Error|Invalid (?:user token|credentials in Authorization)", r"api_key not configured|wandb\.errors\.\S*UsageError|could not read Username for", r"429 Client Error|Too Many Requests", r"[Uu]nable to locate credentials|cannot fetch token|\binvalid_grant\b|ExpiredToken", r"is not a local folder and is not a valid model identifier"),
        causes=(
            Cause("not-exported", "script", "the token is not in the environment of the program", "export it, and pass it to the container", codes=("SB508", "SB408", "SB517", "SB513")),
            Cause("credentials", "submission", "the job finds no credentials for the storage, or those that it has are no longer valid", "log in again before the job (`aws configure` or `aws sso login`, `rclone config reconnect`), and keep the file with the credentials where the nodes see it", log=says("locate credentials", "fetch token", "invalid_grant", "ExpiredToken")),
            Cause("token", "submission", "the service needs a token, or rejects the one that it got", "log in before the job (`hf auth login`, `wandb login`), or submit with HF_TOKEN or WANDB_API_KEY set", unproven="likely"),
        ),
        matches="""\
huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo for url https://huggingface.co/x
wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])
requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/x
fatal error: Unable to locate credentials
OSError: lab/model is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'
""",
    ),
    Symptom(
        id="display-not-forwarded",
        title="srun cannot forward the display",
        docs="`--x11` passes the display of the submitting session on to the job. A batch job, or a login without `ssh -X`, has none.\n",
        printed_by="srun, salloc",
        releases="src/common/x11_util.c, 17.11 and later",
        literals=("no local DISPLAY", "unable to setup X", "forwarding ", "xauth: "),
        patterns=(r"x11: no local DISPLAY|unable to setup X11|X11 forwarding (?:not|failed|requested)|^(?:srun|salloc): error: .*xauth",),
        causes=(Cause("no-display", "submission", "--x11 needs the display of the session that submits, and there is none (DISPLAY is not set)", "log in with `ssh -Y` and submit from there with srun or salloc --x11; in a batch job leave --x11 out, and use `xvfb-run`"),),
        matches="srun: error: x11: no local DISPLAY defined, skipping\nsrun: error: error: unable to setup X11\n",
    ),
    Symptom(
        id="no-display",
        title="a program needs a screen",
        docs="Nodes have no display. DISPLAY comes with the environment of a login by `ssh -X`, and leads nowhere from a node.\n",
        printed_by="Xlib, Qt, Tk, GTK, matplotlib",
        literals=("isplay", "X server", " connection rejected because of", "init server"),
        patterns=(
            r"(?i)(?:(?:could not|couldn't|can ?not|can't|unable to|failed to) (?:connect|open|init)\w*)(?: to)?(?: any| the)?(?: x)? (?:display|server:? .*display|x ?(?:11 )?server)\b",
            r"no display name and no \$DISPLAY|couldn't connect to display|connection rejected because of wrong authentication|Unable to init server: Could not connect",
        ),
        causes=(Cause("graphics", "code", "the program opens a window, and a node has no screen", "let it draw into files: MPLBACKEND=Agg for matplotlib, QT_QPA_PLATFORM=offscreen for Qt, its batch mode, or `xvfb-run` before it; `unset DISPLAY` in the script"),),
        matches="""\
Could not connect to any X display.
qt.qpa.screen: QXcbConnection: Could not connect to display localhost:12.0
_tkinter.TclError: no display name and no $DISPLAY environment variable
Error: Can't open display: localhost:10.0
Unable to init server: Could not connect: Connection refused
cannot connect to X server n1:0
""",
        others="INFO: display of results is off\n",
    ),
    Symptom(
        id="python-start",
        title="Python itself does not start",
        docs="PYTHONHOME or PYTHONPATH name the files of another Python: usually those of a module that the login shell had loaded, as sbatch passes on the environment.\n",
        printed_by="python",
        releases="Python/pylifecycle.c: `Py_Initialize:` up to 3.7, `init_…:` from 3.8 on",
        literals=("Fatal Python error: ", "Could not find platform "),
        patterns=(r"Fatal Python error: (?:Py_Initialize|init_|initfsencoding|initsite|preconfig|config_)", r"Could not find platform (?:in)?dependent libraries <"),
        causes=(
            Cause("variables", "script", "the script names the files of one Python, and starts another", "unset PYTHONHOME and PYTHONPATH, or load the modules of one Python only", script=assigns("PYTHONHOME", "PYTHONPATH")),
            Cause("inherited", "submission", "the environment of the job names the files of a different Python from the one that starts (PYTHONHOME, PYTHONPATH)", "`module purge` and `unset PYTHONHOME PYTHONPATH` at the beginning of the script, or submit from a clean shell"),
        ),
        matches="""\
Fatal Python error: Py_Initialize: Unable to get the locale encoding
Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding
Could not find platform independent libraries <prefix>
""",
        others="Fatal Python error: Segmentation fault\n",
    ),
    Symptom(
        id="checkpoint-broken",
        title="a checkpoint cannot be read",
        docs="It is incomplete (the job ended while it was being written), or belongs to a different model or number of ranks.\n",
        printed_by="torch, safetensors, h5py",
        literals=("PytorchStreamReader failed", "invalid load key", "SafetensorError", "Error(s) in loading state_dict", "unexpected EOF, expected", "Unable to open file (truncated", "UnpicklingError", "incomplete metadata", "Ran out of input"),
        patterns=(r"PytorchStreamReader failed|SafetensorError: |UnpicklingError: |EOFError: Ran out of input|[Tt]runcated file|unexpected EOF, expected", r"Error\(s\) in loading state_dict for"),
        causes=(
            Cause("half-written", "script", "the checkpoint was removed, or is written by several tasks", "see the finding", codes=("SB811", "SB416", "SB330", "SB806", "SB805")),
            Cause("other-model", "code", "the checkpoint is of a different model, or of other sizes, from what the program builds", "build the model with the settings of the run that wrote it", log=says("state_dict")),
            Cause("checkpoint", "data", "a checkpoint is incomplete, or belongs to a different model", "take the one before, or delete a copy that was downloaded, so that it is fetched again; write to a new name and rename it when it is complete"),
        ),
        matches="""\
RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory
safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered
_pickle.UnpicklingError: invalid load key, '<'.
RuntimeError: Error(s) in loading state_dict for Net:
""",
    ),
)
