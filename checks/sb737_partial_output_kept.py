"""An incomplete result counts as done: the work is skipped if its file exists, and writes directly into that file.

`if [ ! -f out.bam ]; then bwa mem ref.fa reads.fq > out.bam; fi` is there to go on after a job that was cut short. But
the shell makes `out.bam` before `bwa` starts. Where the job reaches its time limit, or `bwa` fails, a part of the file
is left, or an empty one, and every later run takes it for the result.

Reported are programs whose output is redirected to the tested file, and some of which it is known that they write to
the file that they are told from the start. Filters that take a moment are left out, and so is a script that removes or
renames the file, or has a trap. Advice where the test is `-s`, which no empty file passes, and it is not known whether
the program writes a part of its output before it ends.

## Fix

None: write to another name and rename it when it is complete, `bwa mem ref.fa reads.fq > out.bam.part && mv
out.bam.part out.bam`. A rename on the same file system happens at once or not at all.

## References

bash(1), "REDIRECTION"; rename(2)
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.storage.written_paths import OVERWRITING
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span, joined_alike
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB737", "partial-output-kept", severity="warning", fix="never", since="0.1.0", batch=True,
    seen="a review of public scripts",
    unseen="Nothing: a later run skips the work, and uses a part of the result.",
)  # fmt: skip

_MISSING = Regex(
    r"(?:^|[\s(])(?:\[\[?|test)\s+!\s*-([fes])\s+(\S+)|(?:^|\s)!\s*(?:\[\[?|test)\s+-([fes])\s+(\S+)"
)
_THERE = Regex(r"^(?:\[\[?|test)\s+-([fes])\s+(\S+)(?:\s+\]\]?)?$")
_VALUE = Regex(r"(?<=\s)(-{1,2}[a-zA-Z]+)(?:=|(?:[ \t]|\\\n)+)([^\s-]\S*)")
_LONG = 25  # characters of a name that a message shows
# Programs that write to the file of this option from the start.
_DIRECT = {
    "gatk": "--output -O", "bwa": "-o", "minimap2": "-o", "hisat2": "-S", "bowtie2": "-S", "bcftools": "-o --output",
    "samtools": "-o", "cutadapt": "-o --output", "featureCounts": "-o", "stringtie": "-o", "freebayes": "-v --vcf",
    "blastn": "-out", "blastp": "-out", "blastx": "-out", "tblastn": "-out", "diamond": "-o --out",
}  # fmt: skip
_FILTERS = frozenset(
    {"awk", "gawk", "grep", "egrep", "fgrep", "sed", "cut", "sort", "uniq", "tr", "head", "tail", "cat", "zcat", "perl"}
    | {"ls", "find", "wc", "paste", "join", "jq", "nproc", "envsubst", "tee", "gzip", "bgzip"}
)
# Of programs that take a subcommand, those that take a moment.
_SHORT = frozenset({"makewindows", "faidx", "dict", "view-header", "version", "--version", "--help"})


def check(job: Job) -> Iterator[Finding]:
    yield from joined_alike(_of_pipelines(job), "the same")


def _of_pipelines(job: Job) -> Iterator[Finding]:
    """A finding for each file that is written to and tested."""
    if not job.is_shell or commands_named(job, "trap"):
        return
    seen: set[Span] = set()
    handled: str | None = None
    for run in job.pipelines:
        commands = [each for element in run.elements for each in element]
        if not commands or not any(_works(job, each) for each in commands):
            continue
        tested = _tested(job, commands[0])
        for place, written in _outputs(job, commands) if tested else ():
            if written not in tested or place in seen:
                continue
            if handled is None:
                cleaning = commands_named(job, "rm", "mv", "unlink")
                handled = _bare(" ".join(job.source.slice(each.span) for each in cleaning))
            if written in handled:
                continue
            seen.add(place)
            shown = f"`{written}`" if len(written) < _LONG and "\n" not in written else "the file"
            message = f"an interrupted run leaves {shown} incomplete, and the next run treats it as done"
            # an empty file does not pass `-s`, and whether a program writes more before its end is not known
            empty = tested[written] == "s" and not any(each.name in _DIRECT for each in commands)
            severity = "info" if empty else None
            yield Finding(place, f"{message}; write to a temporary file and `mv` it at the end", severity)


def _works(job: Job, command: Invocation) -> bool:
    """Whether a command may take long enough to be cut short."""
    if command.name in _FILTERS or not _SHORT.isdisjoint(command.words[1:2]) or command.calls_function:
        return False
    return not has_trait(command.name, "prints", "looks", "quick") and weight(job, command) >= Weight.PROGRAM


def _outputs(job: Job, commands: list[Invocation]) -> Iterator[tuple[Span, str]]:
    """The files that a pipeline writes to from the start: where they are named, and how, without quotes."""
    for command in commands:
        for redirect in command.redirects:
            if redirect.operator in OVERWRITING and redirect.target and redirect.fd in (None, "1"):
                written = job.source.slice(redirect.span).lstrip("1&>| \t")
                yield redirect.span, _bare(written)
        options = _DIRECT.get(command.name or "", "").split()
        if not options or {"sort", "index", "merge"} & set(command.words[1:2]):
            continue
        start = command.span.start
        for match in _VALUE.finditer(job.source.slice(command.span)):
            if match[1] in options:
                yield Span(start + match.start(2), start + match.end(2)), _bare(match[2])


def _tested(job: Job, command: Invocation) -> dict[str, str]:
    """The files without which a command runs, as they are written in the tests around it, with the letter of those."""
    found: dict[str, str] = {}
    for branch, arm in command.context.guards:
        if isinstance(branch, tuple) and branch[:1] == ("if",):
            match = (_MISSING.search if arm == 0 else _THERE.search)(str(branch[1]))
            if match is not None:
                letter, name = (each for each in match.groups() if each)
                found[_bare(name)] = letter
    return found


def _bare(word: str) -> str:
    return word.replace('"', "").replace("'", "").replace("{", "").replace("}", "").rstrip(";]")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        if [ ! -f out.bam ]; then
            bwa mem -t 8 ref.fa reads.fq «> out.bam»
        fi
        """
    ),
    Bad(
        '#!/bin/bash\n#SBATCH --ntasks=1\nOUT=result.csv\n[ -s "$OUT" ] || python analyse.py «> "$OUT"»\n',
        severity="info",
        title="in a list, where an empty file does not count",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        if [[ ! -e $SAMPLE.vcf ]]; then
            gatk HaplotypeCaller --input $SAMPLE.bam --output «$SAMPLE.vcf»
        fi
        """,
        title="an option of a program that writes at once",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        if [ ! -f out.bam ]; then
            bwa mem -t 8 ref.fa reads.fq > out.bam.part && mv out.bam.part out.bam
        fi
        """,
        title="renamed",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --ntasks=1\n[ -s out.csv ] || python a.py > out.csv || rm -f out.csv\n",
        title="removed where it failed",
    ),
    Good(
        '#!/bin/bash\n#SBATCH --ntasks=1\n[ -s "$OUT" ] || python a.py > "$OUT" || rm -f "${OUT}"\n',
        title="removed under another spelling",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        if [ ! -f list.txt ]; then ls *.fq | sort > list.txt; fi
        if [ -f out.csv ]; then python update.py > out.csv; fi
        if [ ! -f a.csv ]; then python a.py > b.csv; fi
        [ -f out.log ] || echo start > out.log
        """,
        title="filters, and other files",
    ),
]
