"""How programs end that were written in C, C++, Fortran, Java, MATLAB and other languages, whatever they are."""

import re

from sbatchlint.diagnose.clues import matches
from sbatchlint.diagnose.evidence import shown
from sbatchlint.diagnose.subjects import GENERAL_CAUSES
from sbatchlint.diagnose.symptom import Below, Cause, Event, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.source.text import Span

_UNDEFINED = re.compile(r"(?:Undefined function|Unrecognized function or variable)(?: or variable)? '(?P<name>\w+)'")


def _calls(job: Job, event: Event) -> Verdict:
    """Where the script itself calls the function that MATLAB does not find."""
    match = _UNDEFINED.search(event.text)
    if match is None:
        return None
    called = re.compile(rf"(?<![\w.]){match['name']}(?!\w)")
    text = job.source.text
    found = [called.search(text, each.span.start, each.span.end) for each in job.invocations if not each.kind]
    return shown(tuple(dict.fromkeys(Span(*each.span()) for each in found if each)))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="assertion-failed",
        title="an assertion of the program does not hold",
        docs="The program looked at its own state, or at its input, and found what must not be. The text of the condition, and the place in the source, are for those who wrote it.\n",
        printed_by="C, C++ (glibc, glog, Kokkos), Fortran, Julia",
        role="consequence",
        literals=("Assertion ", "assertion ", "Check failed: ", "CHECK failed", "ASSERT"),
        patterns=(r"\b[Aa]ssertion [`'\"(]?.{1,300}?[`'\")]? ?[Ff]ailed|\b[Aa]ssertion [Ff]ailed|^ASSERT(?:ION)?(?: FAILED)?[: (!]", r"\b(?:Check failed: |CHECK failed)"),
        causes=(*GENERAL_CAUSES, Cause("assertion", "code", "an assertion of the program does not hold", "look at what it read and printed before; tell its authors")),
        matches="a.out: grid.c:12: build: Assertion `n > 0' failed.\nF0919 12:00:01 7 mesh.cc:31] Check failed: rows > 0 (0 vs. 0)\n",
        others="test_assertions.py PASSED\n",
        near_end=400,
    ),
    Symptom(
        id="uncaught-exception",
        title="a C++ program ended with an exception that nobody caught",
        docs="`what():` in the next line has its text.\n",
        printed_by="libstdc++, libc++",
        role="consequence",
        literals=("terminate called after", "terminate called without", "terminate called recursively", "terminating with uncaught", "terminating due to uncaught", "what():  "),
        patterns=(r"terminate called (?:after throwing an instance of '(?P<type>[^']+)'|without an active exception|recursively)|terminating (?:with|due to) uncaught", r"^ *what\(\): +(?P<what>.+)"),
        causes=(*GENERAL_CAUSES, Cause("exception", "code", "the program ended with an exception of C++", "look at its text, and at what the program printed before")),
        matches="terminate called after throwing an instance of 'std::runtime_error'\n  what():  the mesh has no cells\n",
        near_end=400,
        below=Below(r"^ *what\(\): +(?P<what>.+)"),
    ),
    Symptom(
        id="signal-caught",
        title="a program crashed",
        docs="A library caught the signal, and printed where it was: the frames below are the program's own, and the libraries'.\n",
        printed_by="Open MPI, UCX, Julia, ROOT, Java, gfortran, Python (faulthandler), AddressSanitizer",
        role="consequence",
        literals=("Process received signal", "Caught signal ", "Signal: Segmentation", "Signal: Bus error", "Signal: Aborted", "Signal: Floating", "Received signal", "received signal", "A fatal error has been detected by the Java", "segmentation violation", "signal (", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "AddressSanitizer", "munmap_chunk(): ", "realloc(): ", "corrupted double-linked", "buffer overflow detected", "Backtrace for this error", "caught segfault", "pure virtual method called", "invalid pointer"),
        patterns=(
            r"\*\*\* Process received signal|Caught signal \d+ \((?P<signal>[\w ]+)|\bSignal: (?P<name>Segmentation fault|Bus error|Aborted|Floating point exception)|(?i:received signal) (?:\d+|SIG(?!TERM|CONT|INT|USR|CHLD|HUP|KILL))",
            r"A fatal error has been detected by the Java|segmentation violation|\*\*\* caught segfault|^(?:\[\d+\] )?signal (?:\d+ )?\(\d+(?:\.\d+)?\): (?!Terminated|Killed)|\b(?:SIGSEGV|SIGABRT|SIGBUS|SIGFPE)\b|Backtrace for this error",
            r"(?:munmap_chunk|realloc|free)\(\): [a-z ]+|corrupted double-linked list|buffer overflow detected|AddressSanitizer: |pure virtual method called",
        ),
        causes=(Cause("crash", "code", "the program crashed", "look at what it printed last, and at the frames below the line"),),
        matches="""\
[n1:4711] *** Process received signal ***
[n1:4711:0:4711] Caught signal 8 (Floating point: integer divide by zero)
 *** caught segfault ***
munmap_chunk(): invalid pointer
""",
        near_end=400,
    ),
    Symptom(
        id="fortran-stop",
        title="a Fortran program stopped itself",
        docs="`STOP` with a text or a number is the program's own word; `At line` names the place at which its library gave up.\n",
        printed_by="gfortran, ifort, nvfortran, crayftn",
        role="consequence",
        literals=("STOP ", "At line ", "Error termination", "FIO-F-", " UNRECOVERABLE"),
        patterns=(r"^\s*(?:ERROR )?STOP (?!\d+ (?:of|jobs))(?P<text>\S.*)", r"^At line \d+ of file (?P<file>\S+)", r"^Error termination\b|\bFIO-F-\d+|^lib-\d+ : UNRECOVERABLE"),
        causes=(Cause("input-broken", "data", "the program cannot read its input: a file is not there, ends early, or holds what it does not expect", "look at the file, or the unit, that the message names; compare a namelist with the release of the program", log=lambda event: None if event.text.lstrip().startswith("At line") and re.search(r"(?i)namelist|end of file|end of record|bad (?:\w+ )?(?:integer|real|value|logical)|cannot open file", event.text) else False), *GENERAL_CAUSES, Cause("stop", "code", "the Fortran program stopped itself", "see its text, and what it printed before")),
        matches=" STOP in routine hydro: negative density\nAt line 12 of file solver.f90 (unit = 10, file = 'in.dat')\nError termination. Backtrace:\n",
        others="nonstop STOPS\n",
        near_end=200,
        below=Below(r"^(?:Fortran runtime error: )?(?P<text>\w.*)", after="^At line"),
    ),
    Symptom(
        id="java-exception",
        title="a Java program ended with an exception",
        docs="The last `Caused by:` below it has the reason.\n",
        printed_by="Java, Scala, Groovy",
        role="consequence",
        literals=("Exception in thread ", "Caused by: ", "Exception: ", "Error: "),
        patterns=(
            r"^Exception in thread \"[^\"]*\" (?P<type>[\w.$]+)(?:: (?P<text>.*))?",
            r"^Caused by: (?P<cause>[\w.$]+)",
            r"^(?P<type>(?:java|javax|scala|groovy|kotlin|org|com|htsjdk|picard|nextflow|net|io)\.(?:[a-z_]\w*\.){1,8}[A-Z][\w$]*(?:Exception|Error)): (?P<text>.+)",
        ),
        causes=(*GENERAL_CAUSES, Cause("exception", "code", "the program ended with an exception of Java", "see the last `Caused by:` below it")),
        matches="Exception in thread \"main\" java.lang.NullPointerException: no reads\nCaused by: java.io.FileNotFoundException: ref.fa\norg.example.grid.GridException: no cells\n",
        near_end=400,
    ),
    Symptom(
        id="matlab-error",
        title="a MATLAB or Octave program stopped",
        docs="The line below `Error using` has the reason; `Error in` names the callers.\n",
        printed_by="MATLAB, Octave",
        role="consequence",
        literals=("Error using ", "Undefined function", "Unrecognized function or variable", "error: called from", "' undefined"),
        patterns=(r"^(?:\{\S* ?)?Error using (?P<function>\S+)", r"^(?:\{\S* ?)?(?:Undefined function|Unrecognized function or variable) |^error: called from|^error: '(?P<name>\w+)' undefined"),
        causes=(
            Cause("not-on-path", "script", "MATLAB finds no function of that name: its file is neither in the folder in which the script starts it, nor on its path", "`cd` to the folder that has it before matlab, or add it: -batch \"addpath('/full/path'); …\"", script=_calls, log=matches(_UNDEFINED)),
            *GENERAL_CAUSES,
            Cause("program", "code", "the MATLAB program stopped", "see the line below it"),
        ),
        matches="Error using fopen (line 3)\nUnrecognized function or variable 'rows'.\nerror: 'rows' undefined\n",
        near_end=400,
        below=Below(r"^(?!Error in|srun: |slurm|mpirun)\S.*"),
    ),
    Symptom(
        id="script-language-error",
        title="a Perl, Ruby or Tcl program stopped",
        docs="The text of `die`, of an exception or of a syntax error, with the place in the source.\n",
        printed_by="Perl, Ruby, Tcl",
        role="consequence",
        literals=(".pl line ", ".pm line ", "Error)", "while executing"),
        patterns=(r"^(?P<text>\S.{3,300}) at \S+\.p[lm] line \d+[.,]", r"^\S+\.rb:\d+:in .*\((?P<type>\w+Error)\)|^    while executing$"),
        causes=(*GENERAL_CAUSES, Cause("program", "code", "the program stopped", "see its text, and the place that it names")),
        matches="Cannot find a column in scores.tsv at /opt/bin/sum.pl line 12.\nrun.rb:3:in 'rows': undefined method 'x' (NoMethodError)\n",
        near_end=200,
    ),
)
