"""What any program may print: looked for after all others."""

import re

from sbatchlint.diagnose.clues import possible
from sbatchlint.diagnose.subjects import GENERAL_CAUSES
from sbatchlint.diagnose.symptom import Below, Cause, Event, Example, Symptom

# Exceptions are called so, with few exceptions.
_TYPE = r"(?P<type>(?:[A-Za-z_]\w*\.){0,8}(?:[A-Z]\w*Error|(?:[A-Z]\w*)?(?:Exception|Interrupt|Failure|Fault|Timeout|Exit)))"
# What logging puts before a line of a traceback that it prints.
_LOGGED = r"^ {0,8}(?:\[?(?:ERROR|CRITICAL)\]?[\s:|-][^\]]{0,60}\][:\s]+)?"
# Rulers and marks that programs draw before a message.
_DRAWN = r"^[\s*#!|=>%<-]{0,30}(?:\"\w+\": ?\")?"


def _older_python(event: Event) -> bool | None:
    """A syntax of later releases, which an older one refuses."""
    if not event.text.startswith("SyntaxError"):
        return False
    near = "\n".join((event.text, *event.above[-3:]))
    return possible(
        re.search(
            r"""no encoding declared|\bf["'{]|:=|\bprint\(|\bmatch \w|\basync |\bawait |-> |: \w+ = |\w+: (?:int|str|float|bool|list)|parenthes[ie]s in call to 'print'|\bexcept\*""",
            near,
        )
    )


# fmt: off
SYMPTOMS = (
    Symptom(
        id="python-exception",
        title="a Python program ended with an exception",
        docs="""\
The last line of a traceback. Where another message of the log names a reason, that is the answer; else it is the first
exception of the first rank that failed. Of exceptions that led to each other the first is taken, but where it only says
that a look-up failed, and the next one says what for.
""",
        printed_by="python",
        role="consequence",
        literals=("Error", "Exception", "Interrupt", "Failure", "Timeout: ", "Fault: ", "Exit: "),
        patterns=(_LOGGED + _TYPE + r": (?P<text>.+)", _LOGGED + _TYPE + r":?$"),
        causes=(
            Cause("older-python", "code", "the program is written for a newer Python than the one that runs it, or for Python 3, and Python 2 runs it", "activate its environment in the job, or call python3 of it; `python --version` in the script shows which one runs", log=_older_python),
            *GENERAL_CAUSES,
            Cause("exception", "code", "the program failed with {type}", "see the traceback in the log: its last frame that is the program's own"),
        ),
        matches="""\
ValueError: invalid literal for int() with base 10: 'x'
mymodule.errors.BadShapeError: expected 3
Exception: no model
ERROR 11-24 08:50:34 [core.py:842] ValueError: no free memory blocks
AssertionError
""",
        others="""\
no Error: here
2024-05-01 error: x
""",
        examples=(
            Example("ValueError: invalid literal for int() with base 10: '4(x2)'\n", None, "slurm-list"),
            Example("SystemError: opening file /var/spool/slurmd/job00071/model.jl\n", None, "beside-the-script"),
        ),
        near_end=400,
    ),
    Symptom(
        id="python-traceback",
        title="a Python program ended with an exception",
        docs="The exception has no name by which it is known as one: it is the first line below the frames that is not indented.\n",
        printed_by="python",
        role="teardown",
        literals=("Traceback (most recent call last)",),
        patterns=(r"Traceback \(most recent call last\)",),
        causes=(
            *GENERAL_CAUSES,
            Cause("exception", "code", "the program failed with an exception", "see the traceback in the log: its last frame that is the program's own"),
        ),
        matches="Traceback (most recent call last):\n",
        near_end=400,
        below=Below(r"^(?!srun|slurm)(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?$", instead=True),
    ),
    Symptom(
        id="error-message",
        title="a program reports an error",
        docs="""\
A line of the form that programs give to errors, near the end of a log that says nothing else. What it mentions, such as a
file, an option, or a number of processes, says where to look first.
""",
        printed_by="any program",
        role="teardown",
        literals=(
            "error:", "Error:", "ERROR", "FATAL", "fatal:", "Fatal", "fatal error", "panic:", "SEVERE", "CRITICAL", "ABORT", "Error in routine",
            "ABNORMAL", "terminated abnormally", "Error :", "error :", "error when ", "error while ", "Exception: ", "ailed to initialize and", "likely abort", "(error)", "[error]", "rror occurred", "[ERR]", "[E::hts", "[E::bgzf", "[E::sam", "[E::vcf", "[E::bcf", "[E::cram", "[E::fai", "[E::bwa", "[E::main", "[E::bseq", "[E::mem",
        ),
        patterns=(
            _DRAWN + r"(?:[\w./+~-]+(?:\[\d+\])? ?: ?(?:line \d+: )?){0,3}\[?(?:fatal|FATAL|Fatal|ERROR|[Ee]rror|CRITICAL|panic|SEVERE|ABORT(?:ING)?)\b(?! SUMMARY|[_ ]?(?:rate|count|log|bars?|margin|corr))[ \]:!~*]",
            r"^(?!.{0,60}\[INFO\]).{0,90}?(?<![\w./-])(?:FATAL|CRITICAL|SEVERE|ERROR|ABORTING|ABNORMAL)(?: ERROR)?\]?(?=[\s:|)~!*-])(?!\s*(?:=|SUMMARY|RATE|COUNT|LOG|BARS?)|S?: ?[0]\b)",
            _DRAWN + r"(?:[\w .()/-]{1,60}: |\w+ +\d+ +)?(?:[Aa]n? )?(?:[Ff]atal |[Ii]nternal |[Rr]untime |[Uu]nrecoverable |[Ss]erious )?[Ee]rror(?:\(s\))? (?:in routine|in|at|on|when|while|reading|opening|occurred|code|termination|launching)\b",
            _DRAWN + r"(?:[A-Za-z]\w* )(?:\w+ ){0,2}[Ee]rror: (?![\d.+-])\S",
            r"[Ff]atal [Ee]rror\b|terminated abnormally|will\s+likely abort|[\[(]error[\])]|\[ERR\]|^\[E::",
        ),
        causes=(
            *GENERAL_CAUSES,
            Cause("program", "code", "the program reports an error, and nothing else in the log says more about it", "read the lines around it, and search for its text", unproven="possible"),
        ),
        matches="""\
mytool: error: the grid has no points
 *** ERROR: the cell is too small ***
2024-05-01 - trainer - ERROR - no batch
 MOM_SOLVE: error when solving the tridiagonal problem
Fatal error in the input
will likely abort
[ERR] the pool has no workers
--> Submission error: all jobs must have a queue
****** Error occurred in routine <types  >
[E::fai_load] the index is older than the reads
""",
        others="""\
error_rate 0.5
epoch 3 error 0.2
""",
        near_end=60,
        below=Below(r"^(?!.*:$).*\w\W*\s.*\w", after=r"[:!=,]$|^\W*\w+(?: \w+)?\W*$|\bERROR: \([\w.-]+\)$"),
    ),
    Symptom(
        id="failure-words",
        title="a program says that it could not do something",
        docs="""\
A line of the form in which programs say that something did not go, near the end of a log in which nothing is called an
error. Many programs go on after such a line.
""",
        printed_by="any program",
        role="teardown",
        literals=("which: no ", "annot ", "nable to ", "ailed to ", "not found", "nvalid ", "refused", "denied", "No such file", "Abort", "could not ", "Could not ", "couldn't ", "Couldn't ", "failed: ", "Failed: ", "can't ", "an't ", "does not exist", "not recognized", "not exist", "exceeded", "Terminated", "Aborting", "aborting", "FAILED", "giving up", " FAIL ", "has failed", "have failed", "non-zero exit status", ": not in ", ": not a", ": unexpected ", ": corrupt", ": truncated", "ermission denied", "not permitted", "nput/output error", "temporarily unavailable", "resource busy", "No such device", "tale file handle", "oo many open files", "timed out", "reset by peer", "ead-only file system", "ust be ", "ust have ", "ust match ", "ust divide ", "ust contain ", "ust specify ", "can not ", "unable to ", " is not available", " error", "exited unexpectedly", "umber of "),
        patterns=(
            _DRAWN + r"(?:[\w./+-]+(?:\[\d+\])? ?: ){1,3}.{0,200}\b(?:[Cc]annot|[Cc]an't|[Uu]nable to|[Ff]ailed(?: to|:)|not found|[Ii]nvalid|refused|denied|No such file|[Cc]ould not|[Cc]ouldn't|do(?:es)? not exist)",
            _DRAWN + r"(?:[Cc]annot|[Cc]an't|[Uu]nable to|[Ff]ailed to|[Cc]ould(?: not|n't)|[Ii]nvalid|Abort(?:ed|ing)?|Terminated)\b",
            r"^[\w.+-]+: .{1,200}: (?:not (?:in|an?) |unexpected |corrupt|truncated)",
            r"(?i)\b(?:aborting|ending|stopping) (?:the )?(?:run|job|program|calculation|simulation)\b",
            r"^[\w.+-]{2,40}: (?:the |option )?\S+ (?:must|can ?not|needs to|has to) (?:be|have|match|divide|contain)\b|^[\w.+-]{2,40}: can not \w",
            r"(?<![\w=-])FAIL(?:ED|URE)?(?![\w-])(?!\W{0,3}[0]\b)|\bgiving up\b|\b(?:jobs?|tasks?|steps?|process(?:es)?|run|simulation|calculation|command|script|program) ha(?:s|ve) failed\b|returned non-zero exit status",
            r"^(?:Remote |The )?(?:\w+ ){1,3}not found: \S",
            r"^(?:[\w'\"./()-]+:? ){1,9}(?:cannot be|could not be|does not exist|was not found|not recognized|is not available|exceeded|died)\b",
            r"^.{1,200}: (?:No such file or directory|No such device|Permission denied|Operation not permitted|Invalid argument|Input/output error|Cannot allocate memory|Resource temporarily unavailable|Device or resource busy|Stale file handle|Too many open files|Connection (?:refused|timed out|reset by peer)|Read-only file system)\W*$",
            r"^\W*(?:[\w-]+:? ){1,4} ?\w+: (?:\w+ ){1,3}error$|\bexited unexpectedly\b",
            r"\b[Nn]umber of (?:\w+ ){0,2}(?:processes|processors|procs|ranks|tasks|CPUs|cores|PEs)\b.{0,60}\b(?:exceeds|needs to be|must be|divisible|too (?:large|small|many|few))\b",
            r"^\W*(?:[\w-]+ ){0,4}[Mm]ust (?:be|have|match|divide|contain|specify)\b",
            r"^\[[\w.-]+@[\w.-]+\] .{0,150}\b(?:unable to|error|failed)\b|^(?:/\S*/)?which: no \S+ in \(",
        ),
        causes=(
            *GENERAL_CAUSES,
            Cause("program", "code", "the program could not do something, and nothing else in the log says more about it", "read the lines around it, and search for its text", unproven="possible"),
        ),
        matches="""\
solver: cannot read mesh.dat
Failed to open the restart file
the grid cannot be divided
the simulation has failed
solver: mesh.dat: not in grid format
fabric_open: assign_context command failed: Invalid argument
There must be more cells than processes
"message": "java.lang.RuntimeException: Could not find the number
[mpiexec@n1] main (mpiexec.c:212): unable to get the size
Some subprocesses exited unexpectedly:
which: no Rscript in (/usr/bin)
mesher: --grid must be a multiple of eight
Remote resource not found: https://git.example.org/main.nf
init_grid(): Number of processes exceeds number of cells
  .... aborting the run
""",
        others="INFO trainer: samples are skipped\n",
        near_end=30,
    ),
    Symptom(
        id="last-words",
        title="the last lines of a program say that something is not as it should be",
        docs="""\
A complaint in other words than those of an error, in the last few lines of a log that says nothing else: something is
missing, not given, too much, or does not fit. A program that goes on after such a line did not mean it.
""",
        printed_by="any program",
        role="teardown",
        literals=(
            "not specified", "not defined", "not given", "not provided", "not supplied", "not supported", "not allowed", "not permitted",
            "not valid", "not set", "not installed", "not readable", "not writ", "not reachable", "not possible", "not enough", "not initiali",
            "not present", "not compatible", "not match", "not loaded", "not configured", "Neither ", "neither ", "ake sure ", "lease specify", "lease set ",
            "lease provide", "lease choose", "lease select", "lease define", "lease supply", "lease correct", "could not ", "cannot ", "can't ", "unable to ",
            "failed to ", "fails to ", "refuses to ", "Missing ", "missing ", "Incorrect ", "Wrong ", "Unknown ", "Unsupported ", "Unexpected ", "Illegal ",
            "Insufficient ", "Incompatible ", "Inconsistent ", "ismatch", "too many ", "too few ", "too large", "too small", "too long", "too short",
            "exceeds ", "nconsistent", "ncompatible", "out of range", "out of bounds", "out of space", "iled with ", "but have ", "but has ", "but had ", "but got ", "but found ", "but only ", "but there ", "only found ", "only have ", "only has ", " read in", "found in ", "No valid ", "No input", "No data", "No such ", "available",
        ),
        patterns=(
            r"\bnot (?:specified|defined|given|provided|supplied|supported|allowed|permitted|valid|set\b|installed|readable|writ(?:e?able)|reachable|possible|enough|initiali[sz]ed|present|compatible|match\b|loaded|configured)",
            r"(?i)^\W*neither \S.* nor \S.* (?:is|are|was|were|has|have)\b",
            r"\b(?:but|only) (?:only )?(?:have|has|had|got|found|is|are|was|were|there (?:is|are)) (?:no |only )?\d",
            r"^\W*No (?:\w+ ){1,5}(?:read|found|given|left|available|specified|loaded|present)\b",
            r"(?i)\b(?:make sure (?:to|that|you)|please (?:specify|set|provide|choose|select|define|supply|correct))\b",
            r"^[^=]{0,160}?\b(?:could not|cannot|can't|unable to|failed to|fails to|refuses to) \w",
            r"^\W*(?:[A-Z]\w+ )?(?:[Mm]issing|Incorrect|Wrong|Unknown|Unsupported|Unexpected|Illegal|Insufficient|Incompatible|Inconsistent) \w+ ",
            r"\b(?:too (?:many|few|large|small|long|short)|out of (?:range|bounds|space)|exceeds (?:the|its|\d)|mismatch(?:ed)?|inconsistent|incompatible)\b",
            r"\bfailed with \w",
        ),
        causes=(
            *GENERAL_CAUSES,
            Cause("program", "code", "the program complains of something, and nothing else in the log says more about it", "read the lines around it, and search for its text", unproven="possible"),
        ),
        matches="""\
Mesh folder was not specified!
Neither --work nor $WORK are set, so there is no place for results
You gave no mesh: make sure to pass one
The farm of the solver could not start within 60 seconds.
Missing files after 5 seconds:
the world has 32 ranks but have 4 devices
No initial positions read in
the number of columns is inconsistent with the header
the solver has failed with a residual of 3
""",
        others="""\
please cite the paper
not bad
""",
        near_end=6,
        below=Below(r"\S.*", after=r":\s*$"),
    ),
)  # fmt: skip
