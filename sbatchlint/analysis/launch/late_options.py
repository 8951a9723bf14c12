"""Options of a launcher or wrapper that come after its program, which gets them instead.

`valgrind ./a --tool=massif`, `torchrun train.py --nproc_per_node 4`, `java -jar a.jar -Xmx8g`: each of these reads its
options up to the program, and passes the rest on. Only options count that hardly another program has, or that a
program whose text is known does not have. Of srun, SB328 tells.
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, is_open, known_prefix, shown_text, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv, hides_options, read, syntax
from sbatchlint.job.commands.xargs import SOURCES, operand
from sbatchlint.job.launchers.mpi import SYNTAX
from sbatchlint.job.once import once
from sbatchlint.job.python.program import python_program
from sbatchlint.programs import programs_with
from sbatchlint.source import lookups
from sbatchlint.source.numbers import is_number
from sbatchlint.source.records import Record
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Names of programs that pass such options on to another launcher.
SUBMITTING = Regex(
    r"submit|sbatch|srun|slurm|launch|snakemake|nextflow|sweep|cluster|dask|parsl|nemo|run_?with|container"
)
_CONTAINER = (
    r"--(?:rm|ipc[= ]host|net(?:work)?[= ]host|shm-size[= ]\S+|gpus[= ](?:all|\W*device=.*))"
    r"|(?:-v|--volume)[= ][^\s:]*/[^\s:]*:/\S*"
)
_TORCH = r"--(?:nproc[-_]per[-_]node|rdzv[-_](?:backend|endpoint|id|conf))(?:[= ].*)?|--standalone"
_TORCH_TOO = r"--(?:nnodes|node[-_]rank|master[-_](?:addr|port)|max[-_]restarts)(?:[= ].*)?"
# By launcher or wrapper: options, with or without a value, that hardly another program has.
_OWN = {
    "accelerate": r"--(?:num_processes|num_machines|machine_rank|main_process_(?:ip|port))(?:[= ].*)?|--multi_gpu",
    "apptainer": r"--(?:nv|nvccli|rocm|cleanenv|containall|writable-tmpfs|fakeroot|no-home)"
    r"|(?:-B|--bind)[= ][^\s:]*/[^\s:]*(?::\S*)?",
    "conda run": r"--no-capture-output|--live-stream",
    "deepspeed": r"--hostfile(?:[= ].*)?|--(?:include|exclude)[= ]\S*(?:localhost|worker|@|:)\S*",
    "docker": _CONTAINER,
    "gdb": r"--?(?:batch|ex[= ].*)",
    "horovod": r"-np|--num-proc(?:[= ].*)?",
    "java": r"-Xm[nsx]\d+[bkmgtBKMGT]?|-XX:.*|-Djava\..*|-javaagent:.*",
    "julia": r"--(?:project|sysimage|startup-file|check-bounds)(?:=.*)?",
    "mpi": r"-np [1-9\ue000]\S*|--np [\d$].*|--?(?:map-by|bind-to|rank-by|hostfile|machinefile|npernode|mca)(?:[= ].*)?"
    r"|--?(?:oversubscribe|report-bindings|allow-run-as-root|genvall)|-(?:genv|ppn) .*",
    "ncu": r"--set[= ](?:full|basic|detailed|roofline)|--(?:kernel-name|launch-skip|launch-count|target-processes"
    r"|replay-mode|section)[= ].*",
    "nsys launch": r"--trace[= ](?:cuda|nvtx|osrt|cudnn|cublas|mpi)\S*",
    "nsys profile": r"(?:-t|--trace)[= ](?:cuda|nvtx|osrt|cudnn|cublas|mpi)\S*"
    r"|(?:-o|--output)[= ]\S*\.(?:nsys-rep|qdrep)|--stats[= ](?:true|false)"
    r"|--(?:cuda-memory-usage|gpu-metrics-devices?|capture-range|cudabacktrace)[= ].*",
    "numactl": r"--(?:interleave|cpunodebind|membind|physcpubind|preferred)[= ].*|--localalloc",
    "nvprof": r"--print-(?:gpu|api)-(?:trace|summary)|--analysis-metrics|--profile-child-processes",
    "parallel": r"(?:-j|--jobs)(?:[= ]?\d.*)?|--joblog.*|--halt.*|--bar|--colsep.*",
    "perf record": r"--call-graph(?:[= ].*)?",
    "podman": _CONTAINER,
    "stdbuf": r"-[eo][L0]",
    "strace": r"-e (?:trace|signal)=.*",
    "torch.distributed.launch": _TORCH,
    "torchrun": _TORCH,
    "uv run": r"--no-sync|--with-requirements[= ].*",
    "valgrind": r"--(?:tool=(?:memcheck|callgrind|cachegrind|massif|helgrind|drd|dhat|none)|(?:leak-check|track-origins"
    r"|show-leak-kinds|show-reachable|trace-children|num-callers|callgrind-out-file|massif-out-file|suppressions"
    r"|error-exitcode|gen-suppressions|track-fds|leak-resolution)=.*)",
    "vtune": r"--?(?:collect|result-dir|knob)[= ].*",
    "xargs": r"-I ?\{\}|--max-(?:procs|args)(?:[= ].*)?",
    "xvfb-run": r"--(?:auto-servernum|server-args|server-num)(?:[= ].*)?",
}
# Others of them, which count where the text of the program is known and does not have them.
_SHARED = {
    "accelerate": r"--(?:use_deepspeed|use_fsdp|deepspeed_config_file|mixed_precision|gpu_ids)(?:[= ].*)?",
    "deepspeed": r"--(?:num_gpus|num_nodes|master_port)(?:[= ].*)?",
    "julia": r"(?:-t|--threads|-p|--procs)[= ](?:\d+|auto|\$\S*)",
    "torch.distributed.launch": _TORCH_TOO,
    "torchrun": _TORCH_TOO,
}
_OF_LAUNCHER = {kind: Regex(pattern) for kind, pattern in _OWN.items()}
_OF_KNOWN = {kind: Regex(pattern) for kind, pattern in _SHARED.items()}
# What SB512 says of these, where they directly follow the image.
_OF_GPUS = Regex(r"--(?:nv|nvccli|rocm|gpus)\b.*")

_JAVA = syntax("cp classpath class-path p module-path add-modules add-opens add-exports", "", single_dash=True)
_JULIA = syntax("t/threads threads p/procs procs J/sysimage sysimage L/load load C e E", "O g q i project")
_OTHER_PARSERS = (
    "hfargumentparser", "parse_known", "hydra", "fire", "click", "typer", "tyro", "jsonargparse", "omegaconf",
)  # fmt: skip
_MOST_BYTES = 200_000
NAMES = programs_with("mpi") | {
    "apptainer", "singularity", "conda", "mamba", "micromamba", "docker", "podman", "podman-hpc", "gdb", "java",
    "julia", "ncu", "nsys", "numactl", "nvprof", "parallel", "perf", "stdbuf", "strace", "uv", "valgrind", "vtune",
    "xargs", "xvfb-run",
}  # fmt: skip


class LateOption(Record):
    """An option after the program: the launcher's name, the index of the program and that of the option in argv.

    `known`: whether the program's text is known, and does not have the option. `written`: the option without its value.
    """

    command: Invocation
    launcher: str
    program: int
    at: int
    written: str
    known: bool


@once
def late_options(job: Job) -> list[LateOption]:
    """The options of launchers and wrappers that come after their programs."""
    return [each for command in job.invocations for each in _of_command(job, command)]


def _of_command(job: Job, command: Invocation) -> Iterator[LateOption]:
    started = _started(job, command)
    if started is None:
        return
    kind, name, program, own = started
    # a program that is put together, or another launcher that has the same options
    if program >= len(command.argv) or is_number(command.words[program]):
        return
    if SUBMITTING.search(" ".join(command.words[program : program + 2]).lower()):
        return
    if not _is_certain(command, program):
        return
    if any(each.spawn.kind == kind or _kind(job, each) == kind for each in command.descendants()):
        return
    pattern, of_known = _OF_LAUNCHER[kind], _OF_KNOWN.get(kind)
    text: tuple[bool, str] | None = None
    first = program + (kind not in ("apptainer", "docker", "podman"))
    leading = True
    for at in range(first, len(command.argv)):
        word, leading = command.words[at], leading and command.words[at][:1] == "-"
        if word == "--":
            return
        following = command.words[at + 1] if at + 1 < len(command.argv) else ""
        if word[:1] != "-" or leading and _OF_GPUS.fullmatch(word):
            continue
        both = f"{word} {following}"
        shared = of_known is not None and (of_known.fullmatch(word) or of_known.fullmatch(both)) is not None
        if not shared and not pattern.fullmatch(word) and not pattern.fullmatch(both):
            continue
        if not pattern.fullmatch(word) and _has_several(command, at):
            continue
        written = known_prefix(command.argv[at]).partition("=")[0]
        stem = written.lstrip("-").replace("-", "_")
        if not stem or stem in own:
            continue  # the launcher has it, so that the program may have its own
        text = text or _text(job, command, program)
        known, string = text
        if stem.lower() in string or shared and not known:
            continue
        yield LateOption(command, name, program, at, written, known)


def _has_several(command: Invocation, at: int) -> bool:
    """Whether several numbers follow an option, which only a program's own takes: a launcher's has one value."""
    values = command.argv[at + 1 : at + 3]
    texts = [text_of(each) for each in values]
    return len(values) > 1 and (is_number(texts[1] or "") or texts == [None, None])


def _is_certain(command: Invocation, program: int) -> bool:
    """Whether the program of a launcher certainly begins at this index: no unknown word before it may be an option."""
    argv, words = command.argv, command.words
    for at in range(1, program):
        value = words[at - 1][:1] == "-" and "=" not in words[at - 1]
        is_image = at == program - 1 and not hides_options(argv[at])
        if is_open(argv[at]) and (hides_options(argv[at]) or not value and not is_image):
            return False
    image = words[program - 1]
    if words[program].startswith("-") and (image[:1] == "-" or not any(each in image for each in "/:.")):
        return False
    return not words[program].startswith("+")


def _started(job: Job, command: Invocation) -> tuple[str, str, int, frozenset[str]] | None:
    """The kind of a launcher, its name, the index of its program, and its options; None for other commands."""
    argv = command.argv
    launcher = job.launcher_of(command)
    if launcher is not None:
        if launcher.kind not in _OWN or launcher.program is None or not launcher.program_certain:
            return None
        if launcher.kind == "mpi" and not _is_of_mpirun(command, launcher.program):
            return None
        own = {each.name.replace("-", "_") for each in launcher.all_options}
        return launcher.kind, launcher.name, launcher.program, frozenset(own)
    spawn, name = command.spawn, command.name or ""
    if name in ("java", "julia"):
        at = _interpreted(argv, name)
        return None if at is None else (name, name, at, frozenset())
    if name in ("xargs", "parallel"):
        at = operand(argv)
        if name == "parallel" and at is not None:  # what follows `:::` are arguments
            at = next((number for number in range(at, len(argv)) if text_of(argv[number]) in SOURCES), None)
        return None if at is None else (name, name, at, frozenset())
    kind = spawn.kind.replace("mamba run", "conda run").replace("microconda", "conda")
    if kind not in _OWN or spawn.command is None or spawn.command >= len(argv) or spawn.prefix:
        return None
    before = {word.lstrip("-").partition("=")[0].replace("-", "_") for word in command.words[1 : spawn.command]}
    return kind, name if " " not in kind else kind, spawn.command, frozenset(before)


def _is_of_mpirun(command: Invocation, program: int) -> bool:
    """Whether a launcher has the options of mpirun, and none right before the program that may take it as its value."""
    before = command.words[program - 1]
    flag = before[:1] != "-" or before.lstrip("-") in SYNTAX.flags or "=" in before
    return flag and (command.name or "").startswith(("mpirun", "mpiexec", "orterun", "prterun"))


def _interpreted(argv: Argv, name: str) -> int | None:
    """The index of the program of java (its jar or class) or julia (its file)."""
    if name == "java":
        for at in range(1, len(argv) - 1):
            if text_of(argv[at]) == "-jar":
                return at + 1
    reading = read(argv, 1, _JAVA if name == "java" else _JULIA)
    if reading.operand is None or not reading.certain or any(each.name in "eE" for each in reading.options):
        return None
    return reading.operand


def _kind(job: Job, command: Invocation) -> str | None:
    launcher = job.launcher_of(command)
    return None if launcher is None else launcher.kind


def _text(job: Job, command: Invocation, program: int) -> tuple[bool, str]:
    """Whether all options of a program are known, and what its text says of them, in lower case with `_` for `-`."""
    for each in (command, *command.descendants()):
        found = python_program(job, each)
        if found is not None:
            own = found.mentions("add_argument") and not found.mentions(*_OTHER_PARSERS)
            words = "\n".join((*found.names, *found.strings)).lower().replace("-", "_")
            return found.complete and own, words
    return _of_file(job, command, command.argv[program])


def _of_file(job: Job, command: Invocation, field: Pieces) -> tuple[bool, str]:
    path = job.beside.path(command, field)
    data = None if path is None else lookups.read(path, _MOST_BYTES)
    if data is None or b"\0" in data:
        return False, ""
    text = data.decode("utf-8", "replace")
    is_plain = shown_text(field).endswith(".jl") and "ARGS" not in text and "include(" not in text
    return is_plain, text.lower().replace("-", "_")


def place(late: LateOption) -> Pieces:
    """The word of the option."""
    return late.command.argv[late.at]


def is_late(job: Job, field: Pieces) -> bool:
    """Whether a word is an option that a launcher should have got."""
    return span_of(field) in _places(job)


@once
def _places(job: Job) -> frozenset[Span]:
    return frozenset(span_of(place(each)) for each in late_options(job))
