"""mpirun, mpiexec and the like: Open MPI (prterun, orterun), MPICH and Intel MPI (Hydra), PALS, jsrun, aprun, ibrun.

Most are read in the same way: long names have one dash or two, and the options that take two words (`--mca`, `-genv`)
are the same wherever they exist.
"""

import re

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Setting, count
from sbatchlint.source.numbers import parse_integer

_VALUES = """c/np n/np np ppn perhost/ppn npernode/ppn N/ppn npersocket x mca omca pmca prtemca gmca H/host
hosts/host host
hostfile machinefile/hostfile f/hostfile default-hostfile rf/rankfile rankfile map-by rank-by bind-to display-map-option
wdir/wd wd path prefix genv env genvlist envlist configfile bootstrap bootstrap-exec launcher launcher-exec iface rmk
outfile-pattern errfile-pattern prepend-pattern s/stdin stdin output-filename report-uri timeout tune am
cpus-per-proc cpus-per-rank cpu-list cpu-set personality mpi depth d/depth j hostlist l/hostlist
gtool ordering-output print-rank-map-option dvm dvm-uri app preload-files pmi cpu-bind mem-bind gpu-bind
line-buffer-size nrs tasks_per_rs a/tasks_per_rs cpu_per_rs gpu_per_rs g/gpu_per_rs rs_per_host r/rs_per_host
latency_priority launch_distribution smpiargs E F env_eval stdio_stderr stdio_stdout"""
_FLAGS = """h/help V/version v/verbose q/quiet oversubscribe nooversubscribe use-hwthread-cpus allow-run-as-root
tag-output timestamp-output report-bindings display-map display-allocation merge-stderr-to-stdout do-not-launch
debug-daemons leave-session-attached xterm nolocal novm enable-recovery disable-recovery bynode byslot bycore bysocket
bind-to-core bind-to-socket bind-to-none use-regexp genvall genvnone envall envnone print-rank-map
project prepend-rank disable-hostname-propagation no-local verbose-all line-buffer pernode"""

SYNTAX = syntax(
    _VALUES,
    _FLAGS,
    single_dash=True,
    greedy=True,
    pairs="mca omca pmca prtemca gmca genv env gtool",
)
# jsrun, aprun and ibrun read letters as ordinary programs do, and n, N, c have other meanings.
_JSRUN = syntax(
    "n/np nrs/np np/np p/np a/tasks_per_rs tasks_per_rs c/cpu_per_rs cpu_per_rs g/gpu_per_rs gpu_per_rs r/rs_per_host "
    "rs_per_host l/latency_priority latency_priority d/launch_distribution launch_distribution b/bind bind E/env env "
    "F/env_eval env_eval M/smpiargs smpiargs m/memory_per_rs h/chdir chdir k/stdio_stderr stdio_stderr o/stdio_stdout "
    "stdio_stdout t/stdio_input stdio_input U/use_resources_file e/stdio_mode stdio_mode f/appfile appfile",
    "i/immediate H/help V/version v/verbose",
    underscores=True,
)
_APRUN = syntax(
    "n/np np N/ppn ppn d/depth depth S sn sl ss j L l a b cc e/env env m B C D p P r t", "q/quiet T F h/help"
)
_IBRUN = syntax("n/np np o/offset offset", "v/verbose dbg/debug")

# Of NSC in Linköping (`man mpprun` there).
_MPPRUN = syntax("n/np np/n nranks/np pass debug", "v/verbose h/help force")


class Mpi(Launcher):
    """An MPI launcher, which starts its program `-n` times on the nodes of the job."""

    @property
    def total_processes(self) -> Setting | None:
        return None if self.joined else self.setting("np")

    @property
    def own_processes(self) -> Setting | None:
        """The setting of the number of processes of this application context."""
        return self.setting("np")

    @property
    def hostfile(self) -> Setting | None:
        return self.setting("hostfile")

    @property
    def processes_per_node(self) -> int | None:
        """The processes per node by `-ppn`, `-N`, `--npernode`, `--map-by ppr:N:node`; None where unknown or zero."""
        if "pernode" in self.flags:
            return 1
        setting = self.setting("ppn", "rs_per_host")
        if setting is not None:
            found = count(setting)
            return found or None if isinstance(found, int) else None
        mapped = self.setting("map-by")
        text = None if mapped is None else mapped.text
        match = re.match(r"ppr:(\d+):node", text or "")
        return parse_integer(match.group(1)) or None if match else None


def mpi(call: Call) -> Launcher:
    base = call.name.rsplit("/", 1)[-1]
    known = {"jsrun": _JSRUN, "aprun": _APRUN, "ibrun": _IBRUN, "mpprun": _MPPRUN}.get(base, SYNTAX)
    return Mpi("mpi", call, call.read(known), spawns=False, program_kind="command")
