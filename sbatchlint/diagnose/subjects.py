"""The subject of a message of an unknown program, by which its cause is classified.

There are many programs, but few kinds of complaints: something is not found, not permitted, not understood, too much,
or not reachable. The causes below are for symptoms whose text is that of the program.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation, VariableAssignment
from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import matches, possible
from sbatchlint.diagnose.evidence import (
    CPUS,
    MEMORY,
    TASKS,
    commands,
    containing,
    lacks,
    options,
    own_commands,
    shown,
    spans_of,
    step_options,
)
from sbatchlint.diagnose.questions import sets_or_lacks
from sbatchlint.diagnose.symptom import Cause, Event, Shown, Verdict
from sbatchlint.job import Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

Subject = Literal[
    "unlike", "exists", "port", "slurm", "submitting", "built", "memory", "system", "geometry", "words", "network", "peer", "rights", "command", "file", "data", "program"
]  # fmt: skip

# The first match is the subject.
_SUBJECTS: tuple[tuple[Subject, re.Pattern[str]], ...] = (
    # Messages of Slurm without a symptom.
    ("slurm", re.compile(r"(?i:\bslurm\b.{0,40}\bnot\b.{0,20}(?:installed|found|available|running))|^(?:srun|sbatch|salloc|sacct|squeue|scontrol|slurmstepd|slurmd|slurmctld|slurmdbd) ?(?:\[[^\]]*\])?: |^[Ss]lurm accounting")),
    # A program that calls commands of a batch system itself.
    ("submitting", re.compile(r"(?<![\w/.-])(?:/\S*/)?(?:sbatch|srun|salloc|squeue|sacct|scancel|qsub|bsub)(?:\.exe)?(?![\w.-]*[\w-])"
                              r"|(?i:submi(?:t|ssion)\w* .*\bfailed|failed to submit)|\bjob ?id\b.* from\b")),
    # Its size is that of the node or the container.
    ("system", re.compile(r"(?i)(?:allocat|attach|creat|open|map)\w* .{0,20}shared memory|/dev/shm\b")),
    # What the program was built without.
    ("built", re.compile(r"(?i)(?:not|without|isn't|wasn't)\b.{0,40}\b(?:compiled|built|linked|configured|enabled) (?:with|for|in|using|against)|(?:compiled|built|linked|configured) without|without \w+(?: \w+)? (?:package|support|library) (?:installed|enabled|built)"
                         r"|not (?:compiled|supported) (?:in|by) this (?:build|version|binary|release|installation)|(?:requires?|needs?) (?:\w+ ){1,4}(?:support|to be (?:compiled|built))\b|support (?:is )?not (?:compiled|built|enabled|available)")),
    ("memory", re.compile(r"(?i)out[- ]of[- ]memory|memory ?error|(?:cannot|can ?not|can't|could not|failed to|unable to) allocate"
                          r"|bad_?alloc|\boom\b|(?:not enough|insufficient) memory|memory limit|allocation (?:of .{1,40} )?failed")),
    ("port", re.compile(r"(?i)\bport\b.{0,40}\b(?:(?:already )?in use|taken|occupied|busy|not available)|\bno (?:free |available )+ports?\b")),
    # Two files that are not of the same thing.
    ("unlike", re.compile(r"(?i)^(?=.*\b(?:files?|reads?|references?|contigs?|samples?|sequences?|chromosomes?|genomes?|headers?|index|vcf|bam|grids?|restart)\b)"
                          r"(?=.*(?:incompatible|do(?:es)? ?n[o']t (?:match|agree|correspond)|mismatch|not (?:the )?same|inconsistent|different (?:number|length|order|reference|contig|sample|grid)))(?!.*\b(?:versions?|releases?|librar\w+)\b)")),
    # What users cannot repair: accounts, daemons, hardware, file systems, and files of the operating system.
    ("system", re.compile(r"(?i)\bmunge\b|\bldap\b|licen[cs]e (?:server|checkout)|\b(?:netmod|dapl|ofi|hfi\w*|psm2?|libfabric|ibv_\w+|openib|fabric|device handle|device driver|drivers?)\b|\bno such device\b|resource temporarily unavailable|stale file handle|read-only file system|/(?:dapl|ofi|ucx|psm2?)/|(?<![\w/-])(?:lustre|gpfs|nfs|autofs|infiniband)\b(?![/-])"
                          r"|user ?id\b|user account|user information|unknown user|\bpasswd (?:entry|database|file)|should never happen|\b127\.0\.1\.1\b|modulecmd"
                          r"|(?:hardware|i/o|input/output|ecc|disk) (?:error|failure)|uncorrectable|\bis down\b|(?:server|service) (?:is )?(?:down|unavailable)"
                          r"|(?:^|[\s'\"=(])/(?:etc|run|sys|proc|var/(?:run|lib|log)|dev/(?!null|shm|std|fd|tty))/?|[\s'\"=(:]/usr/(?:share|libexec)/|\bcgroup|(?:user|mount|pid|network) name ?spaces?\b|\b(?:setns|unshare)\b|\bfuse\b|\b(?:pyxis|enroot|spank)\b")),
    # The number of processes, and the distribution of the work.
    ("geometry", re.compile(r"(?i)\bparallel\b.{0,20}\bon (?:1|one|a single) (?:processor|process|core|rank|cpu|task)\b|\b(?:each|every|per) (?:mpi )?(?:tasks?|ranks?|process\w*|procs?|cores?|pes?)\b.{0,40}\b(?:must|at least|at most|needs?|requires?)\b|(?:number of|num(?:ber)?[_ ]|too (?:many|few)|not enough|wrong number of|more than|at least|multiple of|divisible by|world[_ ]?size|domain decomposition|grid of|per)\W+"
                            r"(?:\w+\W+){0,3}?(?:mpi|ranks?|process(?:es|ors?)|procs?|mpi tasks|(?:openmp |omp )?threads|threads per|pes|cores|cpus|gpus|world[_ ]?size)\b"
                            r"|\b(?:more|fewer|less|larger|smaller|greater|divisible|exceeds?|equal)\b.{0,40}\b(?:than|by|to|the)\b.{0,20}\b(?:mpi|ranks|process(?:es|ors)|procs|threads|pes|cores|cpus|gpus|nodes)\b"
                            r"|\b\d+ (?:\w+ )?(?:mpi |openmp )?(?:ranks|processes|processors|threads|pes|cores|cpus|gpus)\b|domain decomposition|world[_ ]?size .*(?:divisible|match|equal|expect)|processor grid|\bnp(?:roc)?s?\b.{0,20}(?:must|should|divi)|\b\d+\)? (?:is )?not divisible by \(?\d")),
    ("words", re.compile(r"(?i)(?:unknown|unrecogni[sz]ed|unexpected|unsupported|invalid|illegal|missing|ambiguous|conflicting|no such|undefined)\W{1,3}(?:[\w'\"`./-]{1,30}\W{1,3}){0,2}?"
                         r"(?:option|argument|flag|parameter|keyword|command|sub-?command|switch|setting|config\w*|choice|style|profile|queue|partition|account)s?\b|\b(?:above|beyond) the max\w* (?:threshold|limit|value)\b"
                         r"|\b(?:option|argument|flag|parameter|keyword|command|switch|profile|config\w*)\b.{0,60}\b(?:not (?:recogni[sz]ed|known|valid|allowed|supported|set)|unknown|invalid|required|missing)"
                         r"|\b(?:option|argument)\b.{0,40}\b(?:not have enough|requires an?|needs an?|expects an?|expected (?:one|an)) ?\w*"
                         r"|(?:^|[\s'\"`])--?[a-z][\w-]+['\"`]? (?:must|needs|has to|expects|requires|should|can ?not)\b|^usage:|mutually exclusive|only one of|(?:cannot|can not|can't) (?:enable|use|specify|combine)|must (?:be )?(?:specif|set\b|given|provid)|(?:please|make sure to|be sure to|need to) (?:specify|set|provide|choose|select|pass|give)\b"
                         r"|\b(?:not|neither|nor|never|isn't|wasn't)\W+(?:\w+\W+){0,4}?(?:specified|defined|provided|given|supplied)\b")),
    ("rights", re.compile(r"(?i)permission ?(?:denied|error)|access (?:is )?denied|not permitted|\beacces|not writ(?:e)?able|unauthori[sz]ed|forbidden")),
    # The other end, usually another process of the job, is gone.
    ("peer", re.compile(r"(?i)connection (?:was )?(?:reset|closed|lost|aborted|broken)|closed by peer|\beconn(?:reset|aborted)|broken pipe|\bepipe")),
    # Something was removed by another process; no input is missing.
    ("program", re.compile(r"(?i)could not find function|no such (?:function|method|object)\b|\bobject ['‘]?[\w.]+['’]? not found|no such variable|undefined (?:variable|symbol|function|name)|is not defined|has no attribute|\b(?:unlink|rename|rmdir|remov\w+|delet\w+)\b.*(?:no such|not exist|not found)")),
    ("network", re.compile(r"(?i)connection (?:refused|timed out|error)|(?:can ?not|can't|could not|couldn't|unable to|failed to) (?:re)?connect\b|\beconnrefused|\betimedout|unreachable|no route to|name resolution|name or service|unknown host|could not resolve|(?:timed out|timeout) .*(?:connect|waiting|socket|reach|respon)|(?:connect\w*|socket|host|reach\w*|respon\w*) .*(?:timed out|timeout)|handshake|certificate")),
    ("command", re.compile(r"(?i)command ['\"]\S+['\"] failed: no such file|\bexecv?[pe]*\b[^:]{0,40}(?:failed|error)|\b(?:exec|spawn|launch|start)\w* .{0,80}(?:no such file|not found)|command not found|^(?:/\S*/)?which: no |not (?:found )?in (?:your |the |\$)?path\b|executable .{0,60}not (?:be )?found")),
    ("exists", re.compile(r"FileExistsError|(?i:(?:file|folder|directory|output|path|dataset)\b.{0,120}\balready exists?\b|\balready exists?\b.{0,60}\b(?:overwrite|remove|delete|force)|: file exists\b|will not overwrite)")),
    ("file", re.compile(r"(?i)no such (?:file|directory|path|dataset)|FileNotFound|NotADirectory|\benoent\b|does ?(?:n['o]t| not) exist|file not found|not a directory|is a directory"
                        r"|(?:can ?not|can't|could not|couldn't|unable to|failed to|fail to|error|problem)(?: in| while| when| on)? (?:opening|reading|loading|finding|locating|accessing|open|read|find|locate|access|stat)\b"
                        r"|\.\w{1,6}['\"]?\)? (?:was |is |could )?not (?:be )?found|missing (?:input )?file|input file|\b(?:nf(?:90)?|nc|h5f)_open")),
    ("data", re.compile(r"(?i)in reads input|\b(?:does not contain|lacks|has no|contains no) (?:an? |the |required |any )?(?:key|entry|field|variable|column|section|parameter|record|attribute)\b|fast[aq] (?:file|format|entry|record)|(?:incompatible|overlapping) contigs|\b(?:netcdf|hdf5?) ?(?::|error)|\bparse|parsing|malformed|corrupt|truncated|end[- ]of[- ]file|unexpected (?:eof|end)|read block operation|bad (?:format|header|magic)|invalid (?:format|header|data|record|character|literal|byte)"
                        r"|\bno (?:\w+ ){1,3}(?:read|found) in\b|wrong format|empty (?:file|input|data)|codec can't|UnicodeDecode|JSONDecode|EOFError|BadZip|EmptyData|ParserError|checksum|not in gzip")),
)  # fmt: skip

# Exceptions of Python about the program itself, whatever their text.
_OF_THE_CODE = frozenset(
    ["TypeError", "AttributeError", "NameError", "UnboundLocalError", "IndexError", "SyntaxError", "IndentationError",
     "NotImplementedError", "RecursionError", "ZeroDivisionError"]
)  # fmt: skip
# Words of a message, and the options for what they name.
_OPTIONS = (
    (Regex(r"(?i)\bgpus?\b|\bcuda|\bhip\b|gres\b"), GPU_OPTIONS),
    (Regex(r"(?i)\bmemory\b|\boom\b|oom[-_]kill"), MEMORY),
    (
        Regex(
            r"(?i)\btime ?(?:limit|d? ?out)|\b(?:node|core|cpu|gpu|su|service unit)s?[- ]?hours\b|\bwall ?(?:time|clock)"
        ),
        ("time",),
    ),
    (Regex(r"(?i)\btasks?\b|\branks?\b|\benough slots\b|\bprocess(?:es|ors)?\b|world[_ ]size"), TASKS),
    (Regex(r"(?i)\bcpus?\b|\bcores?\b|\bthreads?\b"), ("cpus-per-task", "ntasks-per-node", "ntasks", *CPUS)),
    (Regex(r"(?i)\bnodes\b"), ("nodes",)),
    (Regex(r"(?i)\bpartition\b|\bqueue\b"), ("partition",)),
    (Regex(r"(?i)\b(?:account|project|allocation)\b"), ("account",)),
    (Regex(r"(?i)\bqos\b"), ("qos",)),
    (Regex(r"(?i)\bconstraints?\b|\bfeatures?\b"), ("constraint",)),
    (Regex(r"(?i)\blicen[cs]es?\b"), ("licenses",)),
    (Regex(r"(?i)\bdependenc(?:y|ies)\b|DependencyNever"), ("dependency",)),
    (Regex(r"(?i)\breservation\b"), ("reservation",)),
)
# Words of a message that may also be in the script: options, paths, quoted names, assignments.
_QUOTED = re.compile(r"['\"`‘“]([^'\"`‘’“”\s]{2,120})['\"`’”]")
_MARKED = re.compile(
    r"(?<![\w/])(--?[A-Za-z][\w-]+|(?:\.{0,2}/)?[\w.+-]+(?:/[\w.+-]+)+/?|[\w-]+\.[A-Za-z]\w{0,5}(?![\w.(])|[A-Z][A-Z0-9_]{3,})"
)
# Names of files that are written by users, not by programs.
WRITTEN = re.compile(
    r"\.(?:py|sh|bash|sbatch|slurm|r|R|jl|m|pl|lua|nf|smk|ya?ml|toml|cfg|ini|conf|sif|simg|img|sqsh)\b"
)


def subject(event: Event) -> Subject:
    """The subject of the message of an event."""
    if event.groups.get("type", "").rsplit(".", 1)[-1] in _OF_THE_CODE:
        return "program"
    found = _subject(event.text[:1500])
    if found == "program" and event.symptom.id in _OF_TWO_LINES and event.below:
        return _subject(event.below[0][:1500]) if _GOES_ON.search(event.below[0]) else found
    return found


# Symptoms of any program, whose message may go on in the line below; and how such a line speaks on.
_OF_TWO_LINES = frozenset(["error-message", "failure-words", "last-words"])
_GOES_ON = Regex(
    r"^(?!srun|slurm|mpi|\*\*\*|=|(?i:solution|hint|note|tip|please))(?:\W*[\w./]{2,60}: )?.{0,120}"
    r"\b(?:must|not|cannot|missing|invalid|unknown|too|at least|at most|requires?|needs?|failed|expected)\b"
)


def _subject(text: str) -> Subject:
    return next((name for name, words in _SUBJECTS if words.search(text)), "program")


def about(*names: Subject) -> Callable[[Event], bool | None]:
    """For `Cause.log`: rules a cause out if the message has another subject."""
    return lambda event: None if subject(event) in names else False


def topics(text: str) -> frozenset[str]:
    """What a text is about, each by the first of its options."""
    return frozenset(names[0] for words, names in _OPTIONS if words.search(text))


def related_options(event: Event) -> frozenset[str]:
    """The options, by canonical name, that set what a message is about."""
    return frozenset(name for words, names in _OPTIONS if words.search(event.text) for name in names)


def named(job: Job, event: Event) -> Verdict:
    """The commands and assignments of the script with a word of the message."""
    text = job.source.text
    words = [*_QUOTED.findall(event.text), *_MARKED.findall(event.text)]
    for word in sorted(dict.fromkeys(words), key=len, reverse=True)[:12]:
        if len(word) < (4 if word.startswith("-") else 5) or word in ("ERROR", "FATAL", "STDERR"):
            continue
        inside = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        found = _within(job.invocations, inside, text) or _within(job.assignments, inside, text)
        if found:
            return Shown(tuple(found[:2]), None, "likely")
    return _made_of_variables(job, words)


# A word that may have variables, as the script has it: `data/$sample.bam`, `--out=${dir}/x_${i}.txt`.
_WORD = re.compile(r"(?<![\w$/.{}~+-])[\w$/.{}~+-]+")
_VARIABLE = re.compile(r"\$(?:\{\w+\}|\w+)")
# The least that has to be the same in a path of a message and in a word of the script.
_FIXED = 4
_MOST_PARTS = 6
_LONGEST_PATH = 1000  # characters


def variable_words(job: Job, path: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """The words of the script that come to a path if their variables have these values, which may be empty."""
    for word, parts in _words_with_variables(job) if len(path) <= _LONGEST_PATH else ():
        values = _values_in(parts, path)
        if values is not None:
            yield word, values


def _values_in(parts: list[str], path: str) -> list[str] | None:
    """What stands in a path between the parts of a word; None if the word cannot come to it.

    The word may be relative to any folder of the path.
    """
    first, *between, last = parts
    starts = [0] if first.startswith("/") else [0, *(at + 1 for at, sign in enumerate(path) if sign == "/")]
    for start in reversed(starts):
        if not path.startswith(first, start) or not path.endswith(last):
            continue
        values, at = [], start + len(first)
        for part in between:
            found = path.find(part, at)
            if found < 0:
                break
            values.append(path[at:found])
            at = found + len(part)
        else:
            if at <= len(path) - len(last):
                return [*values, path[at : len(path) - len(last)]]
    return None


@once
def _words_with_variables(job: Job) -> tuple[tuple[re.Match[str], list[str]], ...]:
    """The words with a few variables in the script's text, outside comments, each cut at its variables."""
    text, at = job.source.text, 0
    found = []
    for line in text.splitlines(keepends=True):
        if not line.lstrip().startswith("#"):
            for word in _WORD.finditer(text, at, at + len(line)):
                parts = _VARIABLE.split(word[0])
                if 1 < len(parts) <= _MOST_PARTS and len("".join(parts).strip("./")) >= _FIXED:
                    found.append((word, parts))
        at += len(line)
    return tuple(found)


def _made_of_variables(job: Job, words: list[str]) -> Verdict:
    """The words of the script with variables that come to a path of a message."""
    paths = [each.rstrip(".,") for each in words if "/" in each or re.search(r"\w\.[A-Za-z]\w{0,5}$", each)]
    for path in dict.fromkeys(paths):
        spans = [Span(*word.span()) for word, _ in variable_words(job, path)]
        if spans:
            return Shown(tuple(spans[:2]), None, "likely")
    return None


_PATH = re.compile(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)+")


def sent_to(job: Job, event: Event) -> Verdict:
    """The assignment or the option of the script whose value is a folder above the path of the message, the nearest one."""
    path = _PATH.search(event.text)
    if path is None:
        return None
    text = job.source.text
    parts = path[0].split("/")
    for end in range(len(parts), 2, -1):
        folder = re.escape("/".join(parts[:end]))
        found = re.search(
            rf"(?m)^[^#\n]{{0,400}}?(?:\b\w{{1,60}}=|--?[\w-]{{1,60}}[= ])['\"]?({folder})/?(?=['\"\s;]|$)", text
        )
        if found:
            says = f"the script sends the program to {'/'.join(parts[:end])}, where the user may not do what the message names"
            return Shown((Span(*found.span(1)),), says, "likely")
    return None


def _within(those: Iterable[Invocation | VariableAssignment], inside: re.Pattern[str], text: str) -> list[Span]:
    """The places of a word in commands or assignments."""
    found = (inside.search(text, each.span.start, each.span.end) for each in those)
    return list(dict.fromkeys(Span(*match.span()) for match in found if match))


def launches(job: Job, event: Event) -> Verdict:
    """The commands that start the processes, and the directives for their number."""
    found = commands(job, *programs_with("mpi", "joins"), "srun", "deepspeed")
    found = found or spans_of(each for _, each in working(job))[-1:]
    directives = options(job, *related_options(event), "ntasks", "ntasks-per-node", "cpus-per-task", "nodes")
    return shown((*found[:2], *directives))


_HOST = Regex(
    r"https?://([\w.-]+)|[Rr]esolve (?:host|proxy)?:? ?'?([\w.-]+\.\w+)|[Hh]ost ?[=:] ?'([\w.-]+)'|[Cc]onnect to ([\w.-]+\.\w+)"
)
# Tools that fetch, as their messages tell them.
_FETCHERS = {
    "git": r"fatal: |Cloning into",
    "pip": r"/simple/|pypi|^ERROR: (?:Could not find|No matching)",
    "uv": r"pypi|^error: |× |No solution",
    "conda": r"conda",
    "mamba": r"conda|mamba",
    "wget": r"^wget:|wget",
    "curl": r"^curl:",
    "Rscript": r"cran",
}


def fetching(job: Job, event: Event) -> Verdict:
    """The commands of the script that fetch from where the message says that nothing is reached."""
    near = "\n".join((event.text, *event.above[-6:]))
    hosts = {host for match in _HOST.findall(event.text) for host in match if host}
    text = job.source.text
    found = []
    for command in own_commands(job):
        if command.kind:
            continue
        written = text[command.span.start : command.span.end]
        tool = next((name for name in _FETCHERS if re.search(rf"(?<![\w.-]){name}[\d.]{{0,5}}(?= )", written)), "")
        if weight(job, command) is not Weight.STAGING and not tool:
            continue
        if any(host in written for host in hosts) or tool and re.search(f"(?m){_FETCHERS[tool]}", near):
            found.append(command.span)
    return shown(tuple(dict.fromkeys(found))[:2])


def working(job: Job) -> list[tuple[Weight, Invocation]]:
    """The commands of the script itself that do the work of the job."""
    own = ((weight(job, each), each) for each in job.invocations if not each.kind)
    return [(its, each) for its, each in own if its >= Weight.PROGRAM]


def runs(job: Job, event: Event) -> Verdict:
    """The command whose program printed the message (`prog: cannot …`, `/path/prog: …`)."""
    match = re.match(r"(?:\S*/)?([\w.+-]{2,60}): ", event.text)
    if match is None or match[1] in ("srun", "sbatch", "salloc"):
        return None
    found = [
        command.span
        for command in job.invocations
        if any(word and word.split("/")[-1] == match[1] for word in (command.name, *map(text_of, command.argv)))
    ]
    return shown(tuple(found[:2]))


def _by_file_command(event: Event) -> bool | None:
    """A message of a command that handles files, about a file, an option or the program."""
    match = re.match(r"(?:\S*/)?([\w-]+): ", event.text)
    if match is None or not has_trait(match[1], "files"):
        return False
    return about("program", "file", "words")(event)


def prepares_nothing(job: Job, event: Event) -> Verdict:
    """The command that fails, in a script that loads neither a module nor an environment."""
    names = programs_with("software", "container") | {"source", ".", "eval"}
    if any(each.name in names for each in job.invocations) or step_options(job, "container-image", "export"):
        return None
    if any(each.name in ("PATH", "LD_LIBRARY_PATH") for each in job.assignments) or not lacks(job, "get-user-env"):
        return None
    return runs(job, event)


def _of_gpu(event: Event) -> bool | None:
    """A message about the memory of a GPU."""
    is_of_gpu = re.search(r"(?i)cuda|hip|gpu|device memory|hbm|RESOURCE_EXHAUSTED", event.text)
    return possible(subject(event) == "memory" and is_of_gpu)


def _of_environment(event: Event) -> bool | None:
    """A failed lookup of an environment variable in Python."""
    is_of_environment = any("raise KeyError(key) from None" in line for line in event.above[-2:])
    return possible(event.groups.get("type", "").endswith("KeyError") and is_of_environment)


# The folder in which slurmd stores the copy of a batch script.
_SPOOL = re.compile(r"/(?:var|spool|slurm\w*)/\S*/job\d+/(?!slurm_script)([\w.+-]+)")


def _copied(job: Job, event: Event) -> Verdict:
    """The place where the script names the file."""
    match = _SPOOL.search(event.text)
    at = job.source.own.text.find(match[1]) if match else -1
    return Shown((Span(at, at + len(match[1])),), None, "likely") if match and at >= 0 else None


_FABRIC = r"libfabric:|\b(?:cxip|psm[23]|uc[tpsm]|ibv|mlx5|fi)_\w+|libuc[tpsm]\.so"


def _in_network(event: Event) -> bool | None:
    """A stack trace, or a warning before it, that names a library of a fabric."""
    near = " ".join((*event.above[-4:], *event.below))
    ended = re.search(r"(?i)\bSIG|signal|abort|segmentation", event.text)
    return possible(ended and re.search(_FABRIC, near))


def _inputs(event: Event) -> bool | None:
    """A file with data, not a program or its settings."""
    return possible(subject(event) == "file" and not WRITTEN.search(event.text))


# A file that somebody else has made, removed or opened.
_TAKEN = (
    r"FileExistsError|(?i:file exists|already exists|directory not empty|(?:resource|device|file) (?:is )?busy|is locked"
    r"|by another (?:process|program))"
)
_of_copies = matches(_TAKEN)


def _of_several(event: Event) -> bool | None:
    """The same of several tasks, which therefore do it all."""
    return possible(len(event.tasks) > 1 and _of_copies(event) is None)


# An index by the rank in a line of Python.
_BY_RANK = Regex(r"\[[^\]]*(?:\b|_)rank\b[^\]]*\]")


def _of_rank(event: Event) -> bool | None:
    """A list that is shorter than the rank by which the program looks into it."""
    is_index = event.groups.get("type", "").endswith("IndexError")
    return possible(is_index and event.above and _BY_RANK.search(event.above[-1]))


def _ranks(job: Job, event: Event) -> Verdict:
    """The directives and steps that say how many ranks, and how many GPUs, a node has."""
    names = ("ntasks-per-node", "ntasks", *GPU_OPTIONS)
    return shown((*options(job, *names), *step_options(job, *names)))


_REMOVED = Regex(
    r"(?i)\b(?:unlink|rmdir|remov\w*|renam\w*|delet\w*)\b.*(?:no such|not exist|not found|enoent)"
    r"|(?:no such|not exist|not found|enoent).*(?:unlink|rmdir|renam)"
)
_REMOVES = Regex(r"\b(?:os\.(?:remove|unlink|rename|replace|rmdir)|shutil\.(?:rmtree|move)|unlink|rmtree)\(")


def of_removed(event: Event) -> bool | None:
    """A file that is gone when the program removes or renames it: another one did so before."""
    lost = _NO_DATA.search(event.text) and any(_REMOVES.search(line) for line in event.above[-3:])
    return possible(_REMOVED.search(event.text) or lost)


def shares_folder(job: Job, event: Event) -> Verdict:
    """The array whose elements all work in the folder of submission, or the step whose tasks do."""
    array = options(job, "array")
    if containing(job, commands_named(job, "cd", "pushd"), "ARRAY"):
        return None
    return shown((*array, *[each.span for _, each in working(job)][:1])) if array else None


# A program that has no data, where it expects some.
_NO_DATA = Regex(
    r"'NoneType' object|StopIteration|num_samples=0|(?i:no such file|not (?:be )?found|does not exist|empty (?:dataset|file)"
    r"|no (?:data|samples|files))"
)

# A value that is empty.
_EMPTY = Regex(r"""(?::|\bvalue|\bliteral|\bfloat|\bint|=) *(?:''|\"\")|(?<![\w-])--[\w-]+=: """)
# A value of a Slurm variable in the short form `2(x3)`, 2 on each of 3 nodes, where a number was expected.
_SLURM_LIST = Regex(r"""['"]\d+(?:,\d+)*\(x\d+\)""")
_OPTION = Regex(r"(?<![\w-])(--?[A-Za-z][\w-]*)")
_INDEX = Regex(r"""(?:(?<![\w-])(--?[A-Za-z][\w-]*)[= ])?['"]?\$(?:SLURM_ARRAY_TASK_ID\b|\{SLURM_ARRAY_TASK_ID\})""")


def _array_index(job: Job, event: Event) -> Verdict:
    """The array's index in a command, at the option that the message names if it names one, in a job that is no array."""
    if not lacks(job, "array") or any(each.name == "SLURM_ARRAY_TASK_ID" for each in job.assignments):
        return None
    text, options_named = job.source.text, _OPTION.findall(event.text)
    own = dict.fromkeys(each.span for each in own_commands(job) if not each.kind)
    found = (match for each in own for match in _INDEX.finditer(text, each.start, each.end))
    spans = (Span(*match.span()) for match in found if not options_named or match[1] in options_named)
    return shown(tuple(dict.fromkeys(spans)), "likely" if options_named else "possible")


# For symptoms of role consequence or teardown whose text is the program's own.
GENERAL_CAUSES = (
    Cause("copies-of-script", "script", "several tasks of a step run the same program, and disturb each other in the same files", "start the program once (--ntasks=1), or give each task files of its own (SLURM_PROCID)", codes=("SB330", "SB416", "SB724", "SB713"), log=_of_copies),
    Cause("copies", "code", "several tasks do the same to the same file, and all but one fail at it", "let one rank do it while the others wait (a barrier), or give each its own file", log=_of_several),
    Cause("rank-beyond", "script", "the program takes a device by its rank, and there are fewer than ranks: more tasks on a node than devices that it was told of, or each task sees one", "as many tasks on a node as GPUs (--ntasks-per-node), all of which each task sees, and the same number for the program", codes=("SB310", "SB301", "SB317", "SB211"), script=_ranks, log=_of_rank),
    Cause("removed-by-another", "script", "the elements of the array work in one folder, and remove each other's files there: this one was gone already", "give each element a folder of its own: mkdir -p run_$SLURM_ARRAY_TASK_ID && cd run_$SLURM_ARRAY_TASK_ID", script=shares_folder, log=of_removed, unproven="possible"),
    Cause("there-already", "code", "the program wants to make what is there already: from an earlier run, from this job before it was requeued, or by another of its processes just now", "let one process make it where several do; remove it (delete) or move it before the job starts again, name it after the job (SLURM_JOB_ID), or tell the program to overwrite or to resume", script=named, log=about("exists")),
    Cause("port", "submission", "the port that the program wants is taken by another program on the node", "take one from the number of the job: PORT=$((20000 + SLURM_JOB_ID % 20000))", script=named, log=about("port")),
    Cause("unlike", "data", "files that the program reads together are not of the same reference, release or size", "compare their headers, their order and their indexes; sort them alike, and make or fetch them from the same reference", log=about("unlike")),
    Cause("data-of-one-node", "script", "what one node prepared is not there on the others: its folder is a different one on each node, or in each container", "see the finding: keep it in a folder that all nodes see", codes=("SB602", "SB817"), log=matches(_NO_DATA), told="datasets|^(?!.*UV_CACHE)(?!.*MODELSCOPE)"),
    Cause("in-network", "cluster", "the program ended within the library of the network", "look at the fabric of the nodes, or set its library to another provider", log=_in_network),
    Cause("slurm", "cluster", "Slurm reports an error of its own", "see its text; tell your administrators if it persists", log=about("slurm")),
    Cause("program-submits", "submission", "a program calls Slurm's commands itself, and that went wrong", "look at the settings of that program, and try its command by hand", log=about("submitting")),
    Cause("beside-the-script", "script", "a file is looked for beside the script, and Slurm runs a copy of the script in a folder of its own", "name the file by its full path, or from SLURM_SUBMIT_DIR", codes=("SB808",), script=_copied, log=lambda event: _SPOOL.search(event.text) is not None),
    Cause("built-without", "code", "the program was built without a part that it is asked to use", "load or build one that has it (another module of the same program, often), or leave the option out that needs it", log=about("built")),
    Cause("memory-of-script", "script", "the program ran out of memory, and the script says how much there is", "ask for more with --mem, or let the program take less", script=sets_or_lacks(*MEMORY), log=about("memory"), unproven="possible"),
    Cause("gpu-memory", "code", "the memory of the GPU is used up", "smaller batches, or more GPUs", log=_of_gpu),
    Cause("memory", "submission", "the program needs more memory than the job has", "ask for more with --mem, or let the program take less", log=about("memory")),
    Cause("words-broken", "script", "a command of the script does not get the words that are meant for it", "see the finding", codes=("SB411", "SB412", "SB414", "SB419", "SB421", "SB424", "SB425", "SB427", "SB409", "SB613", "SB708", "SB431"), log=about("words", "file", "command"), unproven="possible"),
    Cause("geometry-of-script", "script", "the program cannot work with so many processes, threads or nodes", "compare what the script starts and asks for with what the message wants", script=launches, log=about("geometry"), unproven="possible"),
    Cause("geometry", "submission", "the program cannot work with so many processes, threads or nodes", "start as many as the message wants", log=about("geometry")),
    Cause("variable", "submission", "the program needs an environment variable that nothing sets", "export it in the script, and pass it to the container", log=_of_environment),
    Cause("slurm-list", "code", "the program takes a variable of Slurm for a number, and it is a list: `2(x3)` stands for 2 on each of 3 nodes", "let the program read such a list (SLURM_TASKS_PER_NODE), or a variable that is one number (SLURM_NTASKS)", log=lambda event: _SLURM_LIST.search(event.text) is not None),
    Cause("index-of-no-array", "script", "SLURM_ARRAY_TASK_ID is empty, as the job is no array, and the program wants a value", "add `#SBATCH --array=FIRST-LAST`, or submit with --array", script=_array_index, log=matches(_EMPTY)),
    Cause("words-of-script", "script", "the program does not take a word that the script gives it", "compare it with the program's manual, in the release that the job uses", script=named, log=about("words"), unproven="possible"),
    Cause("words", "submission", "the program does not take an option or a setting that it was given", "compare it with the program's manual, in the release that the job uses", log=about("words")),
    Cause("file-of-script", "script", "a file that the script names cannot be used on the node", "correct the path; a relative one is looked for where sbatch was called", script=named, log=about("file", "rights"), unproven="possible"),
    Cause("housekeeping", "script", "a command of the script cannot do what its words say", "look at these words, and at what an earlier run left behind", script=runs, log=_by_file_command, unproven="possible"),
    Cause("command", "submission", "a program that is to be started is not there", "load or install in the job what brings it, or give its path", log=about("command")),
    Cause("rights-of-script", "script", "the script sends the program to a folder where the user may not do what the message names", "set it to a folder of the user's own", script=sent_to, log=about("rights"), unproven="possible"),
    Cause("rights", "submission", "the user may not do on the node what the message names", "look at the rights of it and of all folders above", log=about("rights")),
    Cause("input", "data", "a file that the program wants to read is not there, or not readable", "look for it from a node, and at the folder in which the job runs", log=_inputs),
    Cause("file", "submission", "a file that belongs to the job is not there, or not readable", "look for it from a node, and at the folder in which the job runs", log=about("file")),
    Cause("content", "data", "the program does not understand what it reads", "look at the file that the message names: it may be empty, cut short, or of another form", log=about("data")),
    Cause("system", "cluster", "something of the node or of the site does not work", "submit again with --exclude of that node, and tell the site", log=about("system")),
    Cause("peer", "code", "the other end of a connection went away: usually another process of the job", "look for the process whose output stops first", log=about("peer")),
    Cause("network", "cluster", "a connection was not made, or was lost", "look whether the other end runs, and at the network between them", log=about("network")),
)  # fmt: skip
