"""Every rank stops at the start: its parallel layout is for a different number of ranks.

Programs that divide their work among ranks by hand refuse a number that does not fit: `veros run -n 4 4` wants 16
ranks, `lmp -partition 4x8` 32, `pw.x -npool 6` a multiple of 6, and so do `gmx mdrun -multidir` with the number of its
folders, `pmemd.MPI -ng 8`, `KPAR = 3` of VASP, and the grids of `HPL.dat`. The ranks are those that srun or mpirun
starts, by the number of tasks of the job unless they are told otherwise; often one of the two numbers was changed, and
the other forgotten.

## Fix

None: either number may be the right one.

## References

veros, distributed.py, `validate_decomposition()` ("number of processes … does not match size of communicator").
LAMMPS, src/lammps.cpp, `universe->consistent()` ("Processor partitions do not match number of allocated processors").
Quantum ESPRESSO, Modules/mp_pools.f90 ("invalid number of pools, parent_nproc /= nproc_pool * npool") and mp_images.f90
("n. of images must be divisor of nproc").
GROMACS, src/gromacs/mdrunutility/multisim.cpp ("The number of ranks … is not a multiple of the number of simulations").
pmemd of Amber, `setup_groups` ("MPI size is not a multiple of -ng", unless a file says which rank is in which group).
HPL, testing/ptest/HPL_pdinfo.c ("Need at least … processes for these tests").
VASP, mpi.F, `M_divide` ("can not subdivide … nodes by"; a number above that of the ranks is lowered to it); the wiki:
KPAR is "an integer divisor of the total number of cores".
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import NamedTuple

from sbatchlint.analysis.launch.cpu_use import ranks_of
from sbatchlint.analysis.script.program_texts import written_text
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, span_of_words, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.programs import commands_of
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB340", "rank-layout-mismatch", severity="error", fix="never", since="0.1.0", when=Launchers("mpi") | Steps(),
    certain=True, homogeneous=True, seen="veros/distributed.py of veros 1.5",
)  # fmt: skip

_NUMBER = Regex(r"[1-9][0-9]{0,5}")
_PARTITION = Regex(r"([1-9][0-9]{0,4})(?:x([1-9][0-9]{0,4}))?")
_ROWS, _COLUMNS = (
    Regex(r"(?m)^[ \t]*([0-9]{1,5}(?:[ \t]+[0-9]{1,5})*)[ \t]+Ps\b"),
    Regex(r"(?m)^[ \t]*([0-9]{1,5}(?:[ \t]+[0-9]{1,5})*)[ \t]+Qs\b"),
)
_KPAR = Regex(r"(?m)^[ \t]*(KPAR|NPAR|IMAGES)[ \t]*=[ \t]*([1-9][0-9]{0,4})\b")
_LOWERED = "a divisor, or more than"
# The options of mdrun, GROMACS 4.5 to 2025, and those of PLUMED, which divides the ranks as GROMACS does.
_MDRUN_OPTION = Regex(
    r"-(?:no)?(?:s|cpi|table|tablep|tableb|tabletf|rerun|ei|eo|multi|multidir|awh|membed|mp|mn|o|x|cpo|c|e|g|dhdl|field|tpi"
    r"|tpid|px|pf|ro|ra|rs|rt|mtx|dn|if|swap|deffnm|xvg|dd|ddorder|npme|nt|ntmpi|ntomp|ntomp_pme|pin|pinoffset"
    r"|pinstride|pinht|gpu_id|gputasks|ddcheck|rdd|rcon|dlb|dds|gcom|nb|nstlist|tunepme|pme|pmefft|bonded|update|v"
    r"|compact|seppot|pforce|reprod|cpt|cpnum|append|nsteps|maxh|replex|nex|reseed|hrex|plumed|resethway|resetstep"
    r"|stepout|confout|ionize|testverlet|cutoff|j|jo|ffout|devout|runav|pd|rerunvsite|dgdl|h|version|quiet|nice|nocopyright"
    r"|copyright|backup|nobackup|noddcheck)|-?\d[\w.+-]*"
)
_POOLS = frozenset({"-nk", "-npool", "-npools"})
_IMAGES = frozenset({"-ni", "-nimage", "-nimages"})


class Layout(NamedTuple):
    """The layout of ranks that a program is given, and the words that give it.

    `rule`: whether it wants just this number ("just"), a multiple of it ("a multiple of"), or at least this many ("at
    least"); "a divisor, or more than": a multiple, or fewer, for which it lowers the number.
    """

    number: int
    rule: str
    span: Span
    shown: str


def check(job: Job) -> Iterator[Finding]:
    for command in commands_of(job, _is_known):
        if command.children or command.name is None:
            continue
        read = next(each for pattern, each in _PROGRAMS if pattern.fullmatch(command.name))
        layout, found = read(job, command), ranks_of(job, command)
        if layout is None or found is None:
            continue
        ranks, place = found
        fits = {"just": ranks == layout.number, "at least": ranks >= layout.number}
        if layout.rule == _LOWERED and ranks <= layout.number:
            continue
        if fits.get(layout.rule, ranks % layout.number == 0):
            continue
        wants = {"just": "", _LOWERED: "a multiple of "}.get(layout.rule, f"{layout.rule} ")
        yield Finding(
            layout.span,
            f"`{layout.shown}` needs {wants}{layout.number} ranks, but `{command.name}` starts with {ranks}, and "
            "stops; make the numbers agree",
            related=[] if place is None else [(place, f"{ranks} ranks")],
        )


def _is_known(name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern, _ in _PROGRAMS)


def _after(command: Invocation, names: frozenset[str], count: int = 1) -> tuple[list[int], Span, str] | None:
    """The numbers after an option, with the place and the words of all; None without it, or where one is not known."""
    words = command.words
    for at, word in enumerate(words[1:], 1):
        if word in names and all(map(_NUMBER.fullmatch, words[at + 1 : at + 1 + count])):
            fields = command.argv[at : at + 1 + count]
            if len(fields) == count + 1:
                span = span_of_words(fields)
                numbers = [parse_integer(each) for each in words[at + 1 : at + 1 + count]]
                return numbers, span, " ".join(map(shown_text, fields))
    return None


def _veros(job: Job, command: Invocation) -> Layout | None:
    found = _after(command, frozenset({"-n", "--num-proc"}), 2) if command.words[1:2] == ["run"] else None
    return None if found is None else Layout(prod(found[0]), "just", found[1], found[2])


def _espresso(job: Job, command: Invocation) -> Layout | None:
    """Images divide the ranks, and pools those of an image."""
    found = [each for each in (_after(command, _POOLS), _after(command, _IMAGES)) if each is not None]
    if not found:
        return None
    return Layout(prod(each[0][0] for each in found), "a multiple of", found[0][1], " ".join(each[2] for each in found))


def _up_to_option(command: Invocation, *names: str) -> slice | None:
    """An option and the words after it, up to the next option; None without it."""
    words = command.words
    at = next((at for at, word in enumerate(words) if word in names), None)
    if at is None:
        return None
    return slice(at, next((end for end in range(at + 1, len(words)) if words[end][:1] == "-"), len(words)))


def _lammps(job: Job, command: Invocation) -> Layout | None:
    part = _up_to_option(command, "-partition", "-p")
    if part is None:
        return None
    words, total = command.words[part], 0
    for match in map(_PARTITION.fullmatch, words[1:]):
        if match is None:
            return None
        total += parse_integer(match[1]) * parse_integer(match[2] or "1")
    return Layout(total, "just", span_of_words(command.argv[part]), " ".join(words)) if total else None


def _gromacs(job: Job, command: Invocation) -> Layout | None:
    part = _up_to_option(command, "-multidir")
    if part is None or not all(_MDRUN_OPTION.fullmatch(word) for word in command.words[1:] if word[:1] == "-"):
        return None  # a patched program may divide its ranks otherwise
    folders = [text_of(field) for field in command.argv[part][1:]]
    if not folders or any(each is None or not set(each).isdisjoint("*?[") for each in folders):
        return None
    span = span_of_words(command.argv[part])
    return Layout(len(folders), "a multiple of", span, f"-multidir … ({len(folders)} folders)")


def _amber(job: Job, command: Invocation) -> Layout | None:
    found = _after(command, frozenset({"-ng"}))
    if any("map" in word for word in command.words[1:] if word.startswith("-")):
        return None  # a file says which ranks belong together
    return None if found is None else Layout(found[0][0], "a multiple of", found[1], found[2])


def _hpl(job: Job, command: Invocation) -> Layout | None:
    """The largest grid of processes in `HPL.dat`."""
    text = written_text(job, command, "HPL.dat")
    rows, columns = (None if text is None else each.search(text.string) for each in (_ROWS, _COLUMNS))
    if text is None or rows is None or columns is None:
        return None
    grids = zip(*(map(parse_integer, found[1].split()) for found in (rows, columns)), strict=False)
    most = max((row * column for row, column in grids), default=0)
    return Layout(most, "at least", text.span(rows.start(1), columns.end(1)), "P × Q of HPL.dat") if most else None


def _vasp(job: Job, command: Invocation) -> Layout | None:
    """Images divide the ranks, k-points those of an image, and bands (NPAR) what is left."""
    text = written_text(job, command, "INCAR")
    found = [] if text is None else list(_KPAR.finditer(text.string))
    if text is None or not found or len(found) > 1 and any(each[1] == "NPAR" for each in found):
        return None
    number = prod(parse_integer(each[2]) for each in found)
    shown = ", ".join(" ".join(each[0].split()) for each in found)
    return Layout(number, _LOWERED, text.span(found[0].start(1), found[0].end()), shown)


_PROGRAMS: list[tuple[Regex, Callable[[Job, Invocation], Layout | None]]] = [
    (Regex(r"veros"), _veros),
    (Regex(r"(?:pw|ph|cp|neb|hp|pp|bands|projwfc|turbo_\w+|epw)\.x"), _espresso),
    (Regex(r"lmp(?:_\w+)?|lammps"), _lammps),
    (Regex(r"gmx_mpi(?:_d)?|mdrun_mpi(?:_d)?"), _gromacs),
    (Regex(r"xhpl"), _hpl),
    (Regex(r"vasp_(?:std|gam|ncl)"), _vasp),
    (Regex(r"pmemd(?:\.cuda(?:_\w+)?)?\.MPI"), _amber),
]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks=64
        srun veros run acc.py -b jax «-n 4 4»
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16
        mpirun -np 16 pw.x «-npool 6» -in scf.in
        """,
        title="pools of k-points",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=16
        srun lmp «-partition 4x8» -in in.neb
        """,
        title="partitions",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --ntasks=10\nmpirun gmx_mpi mdrun -deffnm md «-multidir a b c» -replex 500 -nsteps -1\n",
        title="simulations",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --ntasks=10\nmpirun mdrun_mpi -deffnm md -multidir a b c -replex 500 -reservoir 1\n",
        title="a patched program",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks=64
        srun veros run acc.py -b jax -n 8 8
        srun pw.x -ni 2 -nk 8 -in scf.in
        """
    ),
]
