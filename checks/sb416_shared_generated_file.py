"""Jobs overwrite each other's file: its name is the same in all of them, and they run or read it.

`cat > run.sh <<EOF` writes into the folder from which the job was submitted. A second job of the same script, or
another element of its array, writes the same file while the first still uses it; bash reads a script while it runs it,
so a job may even continue in the middle of the other's. With `>>` each run appends the whole text again.

The same holds for a list of nodes, `scontrol show hostnames > hostfile`: a job that reads it after another one has
written it starts its processes on the other's nodes.

Advice, as a job that is alone is not affected; but a warning where the jobs write different things: the list of their
nodes for a launcher, or, in an array, the index of the task, since one may then use the file of another. A program
that finds all its files by fixed names has a folder for each run: advice, unless arguments tell the runs apart. So it
is where the work itself writes its results to a fixed name, and where all jobs get the same nodes. Not
reported for names that hold a variable, after a `cd` to an unknown folder, and for files on a node's own disk.

## Fix

Puts `$SLURM_JOB_ID` into the name, everywhere in the script. Unsafe: something else may look for the file.

## References

bash(1); sbatch(1), "filename pattern".
"""

from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.expansion.array_elements import several_elements, works_by_index
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.programs import reads_arguments
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.storage.written_paths import names_output, place_before_suffix
from sbatchlint.bash.interpreter.programs import file_name
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, cut, shown_text, span_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, insert
from sbatchlint.job.environment import shows_hostnames
from sbatchlint.job.once import once
from sbatchlint.job.paths import NODE_LOCAL, classify
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB416", "shared-generated-file", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("cat", "tee", "scontrol", "hostname"), batch=True,
)  # fmt: skip

# Variables of folders that are the same for every run of the script.
_FIXED = frozenset({"HOME", "SLURM_SUBMIT_DIR", "PWD"})
# Commands that do not depend on the content of a file.
_HANDLING_NAMES = "[ cat chmod cp echo head ls mv printf rm sed tail tee test touch wc"
_HANDLING = frozenset(_HANDLING_NAMES.split())

# Commands that pass on what they read.
_FILTERS = frozenset({"awk", "cut", "grep", "sort", "tac", "tr", "uniq"})

# Commands that pick one line.
_PICKING = frozenset({"awk", "head", "sed", "tail"})
# Programs that write files of their own names into the folder where they run.
_NAMES_ITS_OUTPUT = Regex(r"(?:.*/)?(?:(?:wrf|real|geogrid|metgrid)\.exe|vasp(?:_(?:std|gam|ncl))?|run_lapw|cm1\.exe)")
_OUTPUT = Regex(r"--?out(?:put)?[_-]?(?:file)?")
# Options that tell a program its nodes: `--machine-file`, `-hostlist`.
_NODES_OPTION = Regex(r"(?i)-{1,2}(?:[a-z]+[-_])?(?:hosts?|machines?|nodes?)[-_]?(?:file|list)|-f$")


def check(job: Job) -> Iterator[Finding]:
    if (job.request.value("dependency") or "").strip() == "singleton":
        return  # one job of this name at a time
    seen: set[str] = set()
    moved = False
    for command in job.invocations:
        if command.phase is not Phase.BATCH:
            continue
        if command.name in ("cd", "pushd"):
            moved = moved or len(command.argv) != 2 or not _is_fixed(job, command.argv[1], moved=False)
        if command.name == "rm":
            seen.update(name for field in command.argv[1:] if (name := file_name(field)) is not None)
        for redirect in command.redirects:
            target = redirect.target
            name = file_name(target) if target and ">" in redirect.operator else None
            if name is None or target is None or name in seen:
                continue
            seen.add(name)
            nodes = _lists_nodes(job, command) and redirect.fd in (None, "1")
            writes = nodes or command.stdin is not None and command.name in ("cat", "tee")
            if not writes or command.context.conditional or not _is_fixed(job, target, moved):
                continue
            places, users = _uses(job)
            user = next((other for other in users.get(name, ()) if other.index > command.index), None)
            if nodes:
                user = _reader(job, command, name)
                if user is not None:
                    meets = _places_ranks(job, user) and not _is_alone(job, command)
                    # by the index of an array or their arguments, jobs do different things in one folder
                    differ = job.request.has_option("array") or reads_arguments(job, job.text)
                    severity = None if differ or meets else "info"
                    finding = _of_nodes(job, target, redirect.operator, user, places[name])
                    yield finding._replace(severity=severity)
                continue
            if user is not None:
                shown = shown_text(target)
                shown = shown if len(shown) < 60 else f"…/{shown.rpartition('/')[2]}"
                happens = f"every job of this script writes {shown}, so concurrent jobs overwrite each other's copy"
                if job.request.has_option("array"):
                    happens = f"every task of the array writes {shown}, so the tasks overwrite each other's copy"
                if redirect.operator == ">>":
                    happens = f"every run of this script appends the same text to {shown} again"
                edits = _with_job_id(job, places[name])
                differ = redirect.operator == ">" and several_elements(job) is not None and works_by_index(job, command)
                yield Finding(
                    span_of(target),
                    f"{happens}; add `$SLURM_JOB_ID` to the name",
                    "warning" if differ else "info",
                    related=[(user.span, "used here")],
                    fix=Fix("add the job ID to the name", edits) if edits else None,
                )


def _lists_nodes(job: Job, command: Invocation) -> bool:
    """Whether a command writes the names of the job's nodes, or filters what such a command writes."""
    first = command
    if command.piped_from:
        run = next(iter(runs_of(job, command)), None)
        first = run.elements[0][0] if run is not None and run.elements[0] else command
    if first.name == "scontrol":
        return shows_hostnames(("scontrol", *first.words[1:]))
    return first.name == "srun" and [each.name for each in first.children] == ["hostname"]


def _reader(job: Job, command: Invocation, name: str) -> Invocation | None:
    """The first later command that reads a file."""
    for other in job.invocations[command.index + 1 :]:
        if other.name in ("rm", "chmod", "[", "[[", "test", "ls", "touch"):
            continue
        read = [*other.argv[1:], *(each.target for each in other.redirects if each.operator == "<" and each.target)]
        if any(name == each for field in read if field for each in _names(field)):
            return other
    return None


def _is_alone(job: Job, writing: Invocation) -> bool:
    """Whether all jobs of the script get the same nodes, or would overwrite each other's results in this folder too."""
    nodes, listed = job.request.exact_nodes(), hosts(job.request.value("nodelist"))
    if nodes is not None and listed is not None and len(listed) == nodes:
        return True
    return writing.index < _last_result(job)


@once
def _last_result(job: Job) -> int:
    """The last command that does work and writes its results to fixed names; -1 without one."""
    for command in reversed(job.invocations):
        if weight(job, command) < Weight.PROGRAM:
            continue
        if _NAMES_ITS_OUTPUT.fullmatch(command.name or "") or _names_output(job, command):
            return command.index
        results = [each for each in command.redirects if each.operator in (">", ">|", "&>") and each.fd != "2"]
        if any(_is_fixed(job, each.target or (), moved=False) for each in results):
            return command.index
    return -1


def _names_output(job: Job, command: Invocation) -> bool:
    """Whether an option of a command is the fixed name of what it writes: `-outputfile out.mph`."""
    for option, value in pairwise(command.argv[1:] if not command.children else ()):
        word = shown_text(option)
        if word[:1] == "-" and (names_output(word) or _OUTPUT.fullmatch(word)) and _is_fixed(job, value, moved=False):
            return not shown_text(value).startswith("-")
    return False


def _places_ranks(job: Job, user: Invocation, hops: int = 2) -> bool:
    """Whether a reader of the nodes, or of what is made of them, starts processes on them.

    Other programs have a folder for each run, as they find all their files there by fixed names.
    """
    if user.context.captured and user.name in _PICKING:
        return True  # the node where processes meet
    if any(map(_NODES_OPTION.match, user.words)):
        return True
    if user.kind == "mpi" or has_trait(user.name, "spreads", "mpi", "repeats", "slurm"):
        return True
    if any(each.kind == "mpi" or has_trait(each.name, "spreads", "mpi") for each in user.descendants()):
        return True
    written = [each.target for each in user.redirects if ">" in each.operator and each.target]
    name = file_name(written[0]) if written else None
    reader = None if name is None or not hops else _reader(job, user, name)
    return reader is not None and _places_ranks(job, reader, hops - 1)


def _of_nodes(job: Job, target: Pieces, operator: str, user: Invocation, places: list[Pieces]) -> Finding:
    """The finding on a list of nodes that all jobs of a folder write."""
    shown = shown_text(target)
    shown = f"`{shown}`" if len(shown) < 50 else f"`…/{shown.rpartition('/')[2]}`"
    message = f"every job writes its nodes to {shown}, so concurrent jobs may read each other's list"
    if operator == ">>":
        message = f"every run appends its node list to {shown}, so the nodes of earlier jobs stay in it"
    # what the reader writes in turn stays shared
    passes_on = user.name in _HANDLING | _FILTERS and any(">" in each.operator for each in user.redirects)
    edits = _with_job_id(job, places) if not passes_on else []
    fix = Fix("add the job ID to the name", edits) if edits else None
    related = [(user.name_span, "read here")]
    return Finding(span_of(target), f"{message}; add `$SLURM_JOB_ID` to the name", related=related, fix=fix)


def _is_fixed(job: Job, target: Pieces, moved: bool) -> bool:
    """Whether a path is the same in every run. `moved`: the script has changed to a folder that is not."""
    if not target:
        return False
    expanded = [piece for piece in target if piece.expansion is not None]
    if any(piece.expansion is not None and piece.expansion.name not in _FIXED for piece in expanded):
        return False
    if any(piece is not target[0] for piece in expanded) or any(piece.text is None for piece in target[1:]):
        return False
    if not expanded and not shown_text(target).startswith("/"):
        return not moved
    return classify(target, job.site).kind != NODE_LOCAL and not shown_text(target).startswith(("/dev/", "/proc/"))


@once
def _uses(job: Job) -> tuple[dict[str, list[Pieces]], dict[str, list[Invocation]]]:
    """By file: the words that name it, and the commands that run it or have its name as an argument."""
    places: dict[str, list[Pieces]] = {}
    users: dict[str, list[Invocation]] = {}
    for command in job.invocations:
        for field in command.argv:
            for name in _names(field):
                places.setdefault(name, []).append(field)
                if command.name not in _HANDLING:
                    users.setdefault(name, []).append(command)
        for redirect in command.redirects:
            for name in _names(redirect.target or ()):
                places.setdefault(name, []).append(redirect.target or ())
    return places, users


def _names(field: Pieces) -> Iterator[str]:
    """The file that a word names, or an option in it (`--config=NAME`)."""
    name = file_name(field)
    if name is None:
        return
    yield name
    word = shown_text(field)
    at = word.find("=") + 1
    value = file_name(cut(field, at, len(word))) if at > 0 else None
    if value is not None:
        yield value


def _with_job_id(job: Job, fields: list[Pieces]) -> list[Edit]:
    """Edits that put the job id before the suffix wherever the name is written; none if one place cannot be edited."""
    file = job.source.text
    places: set[int] = set()
    for field in fields:
        where = place_before_suffix(field, file)
        if where is None:
            return []
        places.add(where)
    return [insert(at, "-$SLURM_JOB_ID" if file[at] == "." else "-${SLURM_JOB_ID}") for at in sorted(places)]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        scontrol show hostnames > «hostfile»
        mpirun --hostfile hostfile ./solve
        """,
        unsafe_fixed={
            "> hostfile": "> hostfile-${SLURM_JOB_ID}",
            "hostfile ./solve": "hostfile-${SLURM_JOB_ID} ./solve",
        },
        title="a list of nodes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > «run.sh» <<'EOF'
        #!/bin/bash
        python train.py --rank $SLURM_PROCID
        EOF
        chmod +x run.sh
        srun ./run.sh
        """,
        severity="info",
        unsafe_fixed={
            "run.sh <<'EOF'": "run-$SLURM_JOB_ID.sh <<'EOF'",
            "+x run.sh": "+x run-$SLURM_JOB_ID.sh",
            "./run.sh": "./run-$SLURM_JOB_ID.sh",
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-3
        SCRIPT=«test_nccl.py»
        cat << EOT >> $SCRIPT
        import torch
        print(torch.cuda.is_available())
        EOT
        srun python $SCRIPT
        """,
        severity="info",
        unsafe_fixed={"SCRIPT=test_nccl.py": "SCRIPT=test_nccl-$SLURM_JOB_ID.py"},
        title="appended at every run",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-3
        cat > «settings.yaml» <<EOF
        seed: $SLURM_ARRAY_TASK_ID
        EOF
        srun ./model settings.yaml
        """,
        unsafe_fixed={
            "settings.yaml <<EOF": "settings-$SLURM_JOB_ID.yaml <<EOF",
            "settings.yaml": "settings-$SLURM_JOB_ID.yaml",
        },
        title="each task of the array writes another text",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > run-$SLURM_JOB_ID.sh <<'EOF'
        python train.py
        EOF
        srun bash run-$SLURM_JOB_ID.sh
        cat > /tmp/run.sh <<'EOF'
        python train.py
        EOF
        srun --nodes=1 bash /tmp/run.sh
        """,
        title="a name of its own; a node's own disk",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        mkdir -p runs/$SLURM_JOB_ID && cd runs/$SLURM_JOB_ID
        cat > run.sh <<'EOF'
        python train.py
        EOF
        srun bash run.sh
        """,
        title="in a folder of its own",
    ),
]
