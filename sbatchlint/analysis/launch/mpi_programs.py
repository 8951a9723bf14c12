"""Programs that a job of several tasks starts as ranks of MPI, by their names."""

from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.job.launchers import is_python
from sbatchlint.source.regex import Regex

_PROGRAMS = Regex(
    r"lmp(?:_(?!serial)\w+)?|(?:pw|ph|cp|neb|pp|bands|projwfc)\.x|vasp(?:_(?:std|gam|ncl))?|nwchem|siesta|abinit|xhpl|xhpcg"
    r"|(?:sander|pmemd|cpptraj)\.MPI|mdrun_mpi|cp2k\.popt|(?:wrf|real|metgrid|geogrid)\.exe|raxmlHPC-MPI(?:-\w+)?"
    r"|ior|mdtest|osu_\w+|IMB-MPI1|castep\.mpi|raxml-ng-mpi|mb-mpi|hoomd|qmcpack|PeleC\w*|octopus|elk|fleur_MPI"
)
_LAMMPS = Regex(r"lmp(?:_\w+)?")
_HOROVOD = Regex(r"--?(?:use[-_])?(?:horovod|hvd)")
_LAMMPS_THREADS = Regex(r"-(?:sf|suffix) (?:omp|intel|hybrid|kk|kokkos)|-(?:k|kokkos) on|-(?:pk|package) (?:omp|intel)")
# Options with which a program only prints something about itself.
_TELLING = frozenset({"-h", "--help", "-help", "--version", "-v"})


def is_lone_mpi_rank(command: Invocation) -> bool:
    """Whether the batch shell starts a program once that would be one of several ranks."""
    if command.phase is not Phase.BATCH or not _TELLING.isdisjoint(command.words) or command.children:
        return False
    if is_python(command.argv[0]):
        return any(map(_HOROVOD.fullmatch, command.words[1:]))
    if command.name is None or not _PROGRAMS.fullmatch(command.name):
        return False
    words = " ".join(command.words)
    if _LAMMPS.fullmatch(command.name):
        return _LAMMPS_THREADS.search(words) is None
    threads = text_of(exported(command, "OMP_NUM_THREADS") or ())
    return threads in ("", "1")
