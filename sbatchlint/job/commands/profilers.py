"""Profilers that start the program they measure: nsys, ncu, nvprof, rocprof, omniperf, vtune, perf.

Options from the manuals of Nsight Systems 2025, Nsight Compute 2025, ROCm 6, VTune 2025 and perf 6. If there is a `--`
between options and command, it alone counts.
"""

from sbatchlint.bash.trace import Spawn
from sbatchlint.bash.values import text_of
from sbatchlint.job.argv import Argv, Syntax, assignment_of, is_unknown, read, syntax

_NSYS = syntax("", "h/help help", greedy=True)
_NCU = syntax(
    "",
    "h/help help v/version version f/force-overwrite force-overwrite csv nvtx q/quiet quiet call-stack "
    "disable-profiler-start-stop support-32bit verbose null-stdin fp open-in-ui list-sets list-sections list-rules "
    "list-metrics query-metrics details-all list-chips print-fp graph-print",
    greedy=True,
)
_NVPROF = syntax(
    "",
    "h/help help V/version version f/force-overwrite force-overwrite csv print-gpu-trace print-api-trace "
    "print-gpu-summary print-api-summary print-summary print-summary-per-gpu profile-all-processes s q quiet "
    "print-dependency-analysis-trace print-openmp-summary analysis-metrics concurrent-kernels skip-kernel-replay-save",
    greedy=True,
)
_ROCPROF = syntax(
    "i o d t m timestamp trace-start trace-period flush-rate heartbeat",
    "stats basenames hip-trace hsa-trace roctx-trace sys-trace kfd-trace verbose parallel-kernels merge-traces "
    "list-basic list-derived obj-tracking ctx-wait",
    single_dash=True,
)
_ROCPROF3 = syntax(
    "i/input input o/output-file output-file d/output-directory output-directory output-format f/output-format "
    "pmc M/mangled-kernels kernel-include-regex kernel-exclude-regex log-level E/extra-counters extra-counters",
    "hip-trace hsa-trace kernel-trace memory-copy-trace marker-trace scratch-memory-trace stats S/stats "
    "s/sys-trace sys-trace r/runtime-trace runtime-trace rccl-trace hip-runtime-trace",
)
_PERF = {
    "stat": syntax(
        "C/cpu cpu D/delay delay e/event event G/cgroup cgroup I/interval-print interval-print M/metrics metrics "
        "o/output output p/pid pid r/repeat repeat t/tid tid x/field-separator field-separator control cputype filter "
        "for-each-cgroup interval-count log-fd post pre td-level timeout",
        "a A B d g i j n S T v",
    ),
    "record": syntax(
        "c/count count C/cpu cpu D/delay delay e/event event F/freq freq G/cgroup cgroup j/branch-filter branch-filter "
        "k/clockid clockid m/mmap-pages mmap-pages o/output output p/pid pid r/realtime realtime t/tid tid u/uid uid "
        "affinity call-graph clang-opt clang-path control filter max-size mmap-flush num-thread-synthesize "
        "proc-map-timeout switch-max-files switch-output-event synth vmlinux",
        "a b B d g i N n P q R s T v W",
    ),
    "trace": syntax("e/event event o/output output p/pid pid t/tid tid m", "s/summary summary S T v F"),
}
_VTUNE = syntax(
    "collect c/collect result-dir r/result-dir knob k/knob duration d/duration data-limit target-duration-type "
    "finalization-mode user-data-dir search-dir source-search-dir app-working-dir strategy trace-mpi",
    "q/quiet quiet v/verbose verbose",
    single_dash=True,
    greedy=True,
)

_TOOLS: dict[str, tuple[str, Syntax]] = {
    "ncu": ("ncu", _NCU),
    "nv-nsight-cu-cli": ("ncu", _NCU),
    "nvprof": ("nvprof", _NVPROF),
    "rocprof": ("rocprof", _ROCPROF),
    "rocprofv2": ("rocprof", _ROCPROF),
    "rocprofv3": ("rocprofv3", _ROCPROF3),
    "vtune": ("vtune", _VTUNE),
}
# Tools whose command always follows `--`.
_SEPARATED = frozenset({"rocprof-compute", "omniperf", "rocprof-sys-run", "omnitrace-run"})
NAMES = frozenset(_TOOLS) | _SEPARATED | {"nsys", "perf"}


def _command(argv: Argv, start: int, known: Syntax) -> int | None:
    reading = read(argv, start, known)
    for at in range(start, len(argv)):
        if text_of(argv[at]) == "--" and (reading.operand is None or at < reading.operand or not reading.certain):
            return at + 1 if at + 1 < len(argv) else None
    at_operand = reading.operand
    if at_operand is not None and not reading.certain and not reading.operand_certain:
        return at_operand if is_unknown(argv[at_operand]) else None
    return at_operand


def profiled(name: str, argv: Argv) -> Spawn | None:
    """What a profiler starts; None for a command that is not one, or starts nothing."""
    if name in _SEPARATED:
        for at in range(1, len(argv)):
            if text_of(argv[at]) == "--":
                return Spawn(name, at + 1 if at + 1 < len(argv) else None)
        return Spawn(name, None)
    tool = _TOOLS.get(name)
    if tool is not None:
        return Spawn(tool[0], _command(argv, 1, tool[1]))
    verb = text_of(argv[1]) if len(argv) > 1 else None
    if name == "perf" and verb in _PERF:
        return Spawn(f"perf {verb}", _command(argv, 2, _PERF[verb]))
    if name == "nsys" and verb in ("profile", "launch"):
        pairs = [
            assignment_of(option.value)
            for option in read(argv, 2, _NSYS).options
            if option.name in ("e", "env-var") and option.value is not None
        ]
        variables = tuple(pair for pair in pairs if pair is not None)
        return Spawn(f"nsys {verb}", _command(argv, 2, _NSYS), variables=variables)
    return None
