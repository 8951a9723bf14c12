"""bash, dash and the other shells."""

import re

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import group_matches, matches, number, possible, says, says_not
from sbatchlint.diagnose.evidence import commands, containing, options, shown, spans_of, worded
from sbatchlint.diagnose.questions import assigns, calls
from sbatchlint.diagnose.symptom import Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import parse_integer

# The script that a shell names before the number of a line.
_SCRIPT = re.compile(r"^ {0,4}(?:\S*/)?(?P<script>[\w.+-]+): (?:line )?\d+: ")


def row_named(job: Job, event: Event) -> Verdict:
    """The line of the batch script that the shell names (`slurm_script: line 9:`)."""
    row = number(event, "row")
    if (
        row is None
        or row > job.source.own.rows
        or not any(name in event.text for name in ("slurm_script", ".sh", ".sbatch", ".slurm", ".bash", ".job"))
    ):
        return None
    match = _SCRIPT.match(event.text)
    if match is not None and _is_called(job, match["script"]):
        return None
    return Shown((job.source.own.line(row),), None, "likely")


def _is_called(job: Job, name: str) -> bool:
    """Whether a script is a different one: of a workflow engine, or a file that the batch script names."""
    if name in ("slurm_script", job.source.own.path.rpartition("/")[2]):
        return False
    return (
        name.startswith(".command.")
        or re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", job.source.text) is not None
    )


def _read_by_sh(job: Job, event: Event) -> Verdict:
    """The line of a script for bash that another shell read."""
    match = re.search(r": (\d+): (?:Syntax error|Bad substitution|(?P<word>\S+): not found)", event.text)
    named = _SCRIPT.match(event.text)
    source = job.source.own
    if (
        match is None
        or named is None
        or (row := parse_integer(match[1])) > source.rows
        or _is_called(job, named["script"])
    ):
        return None
    span = source.line(row)
    first = source.text.partition("\n")[0]
    word = match["word"] or ""
    if "bash" not in first or word not in source.text[span.start : span.end]:
        return None
    return Shown((span,), None, "likely")


# A program in the folder of an installation, whose first line names an interpreter that is not of the system.
_OF_ENVIRONMENT = re.compile(r"/bin/[\w.+-]+: /(?!bin/|usr/bin/|\S*\^M)\S+: bad interpreter")


# A message by which dash does not know what bash does.
_of_dash = matches(
    r": \d+: (?:Bad substitution|Syntax error: \"\(\" unexpected|(?:source|\[\[|declare|shopt|mapfile|export|pushd|popd|let): not found)"
)


def _installed(job: Job, event: Event) -> Verdict:
    """The command that the shell looked up in PATH: the message has its folder, and the script does not."""
    path = event.groups.get("command", "")
    folder, _, name = path.rpartition("/")
    if not folder.startswith("/") or folder in job.source.text:
        return None
    return shown(tuple(each.span for each in job.invocations if text_of(each.argv[0]) == name)[:1])


def _called(job: Job, event: Event) -> Verdict:
    """The command that the message names, else the line."""
    name = event.groups.get("command", "").strip("'\"`")
    found = commands(job, name) or worded(job, name) if name else ()
    return shown(found) or row_named(job, event)


def _in_image(job: Job, event: Event) -> Verdict:
    """The steps whose containers run the command that the message names, even where the words are in a variable."""
    name = event.groups.get("command", "").strip("'\"`")
    if not name:
        return None
    steps = [each for each in job.steps if each.container is not None]
    found = [step for step in steps if any(each.name == name for each in step.invocation.descendants())]
    return shown(spans_of(found or [each for each in steps if name in job.source.text]) if steps else ())


def _no_command(event: Event) -> bool | None:
    """What the shell looked for is not the name of a command; an option or a variable (`$(NAME)`), least of all."""
    command = event.groups.get("command", "")
    if command.startswith("-") or re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*", command):
        return True
    return possible(any(mark in command for mark in ("--", "=", "$", " ", "'", '"')))


def _module(event: Event) -> bool | None:
    return possible(has_trait(event.groups.get("command"), "loads"))


_USED = re.compile(r"\$\{?([A-Za-z_]\w*)\}?|(?<![\w$])(SLURM_\w+)")


def _computed(job: Job, event: Event) -> Verdict:
    """The line with a computation that lacks a number, and its variable of Slurm, which only an option sets."""
    verdict = row_named(job, event)
    if not isinstance(verdict, Shown) or not re.search(r"operand expected|division by|error token", event.text):
        return None
    (span,) = verdict.spans
    names = [name for match in _USED.findall(job.source.own.text[span.start : span.end]) for name in match if name]
    for name in names:
        wanted = _SET_BY.get(name)
        if wanted is not None and job.directives.certain and not options(job, *wanted):
            says = f"the script computes with {name}, which is set only where the job is given --{wanted[0]}"
            return Shown((span,), says)
    unset = [name for name in names if not any(each.name == name for each in job.assignments)]
    if unset and len(names) == 1:
        return Shown((span,), f"the script computes with {names[0]}, which is empty there", "likely")
    return verdict


# Variables of Slurm that a job has only with an option, and the options; sbatch(1), OUTPUT ENVIRONMENT VARIABLES.
_SET_BY = {
    "SLURM_MEM_PER_CPU": ("mem-per-cpu",), "SLURM_MEM_PER_NODE": ("mem",), "SLURM_MEM_PER_GPU": ("mem-per-gpu",),
    "SLURM_CPUS_PER_TASK": ("cpus-per-task",), "SLURM_CPUS_PER_GPU": ("cpus-per-gpu",),
    "SLURM_NTASKS": ("ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core", "nodes"),
    "SLURM_NTASKS_PER_NODE": ("ntasks-per-node",), "SLURM_GPUS": ("gpus",), "SLURM_GPUS_PER_NODE": ("gpus-per-node",),
    "SLURM_GPUS_PER_TASK": ("gpus-per-task",), "SLURM_ARRAY_TASK_ID": ("array",), "SLURM_ARRAY_TASK_COUNT": ("array",),
    "SLURM_ARRAY_TASK_MAX": ("array",), "SLURM_ARRAY_JOB_ID": ("array",),
}  # fmt: skip


def _threads_unset(job: Job, event: Event) -> Verdict:
    """Steps of several tasks, in a script that sets no number of threads."""
    if any(each.name.endswith("_NUM_THREADS") for each in job.assignments):
        return None
    return shown(spans_of([each for each in job.steps if (each.tasks or 0) > 1]))


def _slurm_tool(event: Event) -> bool | None:
    return possible(has_trait(event.groups.get("command"), "slurm"))


def _carriage_return(event: Event) -> bool | None:
    """A carriage return that bash names, or that hid the word before a message."""
    if "$'\\r'" in event.text:
        return True
    return possible(event.text.startswith(": ") or "^M" in event.text)


# fmt: off
SYMPTOMS = (
    Symptom(
        id="conda-not-initialised",
        title="conda activate in a shell that has no function for it",
        docs="A batch shell reads no ~/.bashrc. `source CONDA/etc/profile.d/conda.sh`, or `eval \"$(conda shell.bash hook)\"`, has to stand before `conda activate`; else the script goes on without the environment.\n",
        printed_by="conda, mamba",
        releases="conda 4.4 and later; `Run 'conda init' before 'conda activate'` 23.11.0 and later",
        literals=("conda init", "conda activate'", "mamba init", "modify the parent shell", "Shell not initialized"),
        patterns=(r"CondaError: Run 'conda init'", r"has not been properly configured to use '(?:conda|mamba|micromamba) activate'", r"(?:mamba|micromamba|conda) activate.* (?:needs|not) .*initiali[sz]ed|'(?:micro)?mamba' is running as a subprocess and can't modify the parent shell|Shell not initialized"),
        causes=(
            Cause("no-hook", "script", "conda activate runs in a batch shell, which has no function for it", "add `source \"$(conda info --base)/etc/profile.d/conda.sh\"` before it", codes=("SB610", "SB617"), script=calls("conda", "mamba", "micromamba", confidence="certain")),
        ),
        matches="""\
CondaError: Run 'conda init' before 'conda activate'
CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.
'mamba' is running as a subprocess and can't modify the parent shell.
""",
        examples=(Example("CondaError: Run 'conda init' before 'conda activate'\n", "#!/bin/bash\n«conda activate lab»\npython x.py\n", "no-hook"),),
    ),
    Symptom(
        id="interpreter-line",
        title="the first line of a script passes its interpreter what it does not understand",
        docs="""\
The kernel takes all that follows the interpreter in a line `#!…` as one argument, blanks and comments included: `#!/bin/bash -l -e`
is one option `-l -e`, and `#!/usr/bin/env bash -l` a program `bash -l`.
""",
        printed_by="bash, dash, env",
        releases="all releases; the hint at `-S` is that of coreutils 8.30 and later",
        literals=(": invalid option", "Illegal option", "invalid option name", "No such file or directory", "options in shebang lines"),
        patterns=(
            r"^(?:\S*/)?(?:ba|da|k|z)?sh: (?:[0]: )?(?:-.?: invalid option|-+\w+ .*: invalid option|Illegal option -|# .*: No such file)",
            r"^(?:\S*/)?(?:ba|k|z)?sh: line [0]: \S+: (?:\S+: )?invalid option name",
            r"^(?:\S*/)?env: ['‘](?:\S*/)?(?:ba|da|k|z)?(?:sh|python[\d.]*) [^'’]*['’]: No such file|env: use -\[v\]S to pass options in shebang lines",
        ),
        causes=(
            Cause("options", "script", "the first line of the script has more than one argument", "join the options (`#!/bin/bash -le`), and move a comment to a line of its own", codes=("SB007",)),
            Cause("other-script", "code", "the first line of a script that the job runs has more than one argument", "join the options (`#!/bin/bash -le`), and move a comment to a line of its own"),
        ),
        matches="""\
/bin/bash: - : invalid option
/bin/bash: --login -e: invalid option
/bin/bash: # train: No such file or directory
/bin/sh: 0: Illegal option -
/bin/bash: line 0: /bin/bash: /var/spool/slurmd/job7/slurm_script: invalid option name
/usr/bin/env: ‘bash -l’: No such file or directory
/usr/bin/env: use -[v]S to pass options in shebang lines
""",
        others="bash: -x: command not found\n/bin/bash: run.sh: No such file or directory\n",
        examples=(Example("/bin/bash: - : invalid option\n", "«#!/bin/bash -l -e»\n#SBATCH -N 1\nsrun ./a\n", "options"),),
    ),
    Symptom(
        id="shell-syntax",
        title="the shell cannot read the script",
        docs="What is above the place has run. `sh` may be dash, which does not know arrays, `[[`, `<(…)` or `source`.\n",
        printed_by="bash, dash",
        literals=("syntax error", "Syntax error", "unexpected end of file", "unexpected EOF while looking", "Bad substitution", "bad substitution", "source: not found", "[[: not found", "shopt: not found", "declare: not found", "mapfile: not found", "pushd: not found", "popd: not found", "$'\\r'", ": No such file or directory", ": command not found", "not a valid identifier", ": numeric argument required", ": invalid option", "^M: bad interpreter", "ambiguous redirect", "event not found", "delimited by end-of-file"),
        patterns=(
            r"line (?P<row>\d+): (?:syntax error|unexpected EOF|\$'\\r'|[^:]*: (?:bad substitution|ambiguous redirect))",
            r"^ {0,4}\S+: (?:\d+: )?(?:\S+: )?(?:Syntax error: |Bad substitution|(?:source|\[\[|declare|shopt|mapfile|export|pushd|popd): not found)",
            r"syntax error (?:near unexpected token|in conditional|: unexpected end of file)|unexpected EOF while looking for matching",
            r"^: (?:No such file or directory|command not found|not a valid identifier|numeric argument required|invalid option)|\^M: bad interpreter",
            r"\$'\\r': command not found|here-document at line \d+ delimited by end-of-file",
        ),
        causes=(
            Cause("slurm-script", "script", "the shell cannot read the script of the job at that line", "look for an open quote, `fi`, `done` or `\\` above it", log=lambda event: possible("slurm_script" in event.text and "^M" not in event.text and "\\r'" not in event.text)),
            Cause("carriage-return", "script", "a script has DOS line breaks: the carriage return hides the word that the message begins with", "write \\n alone (`sed -i 's/\\r$//' FILE`), and keep git from changing it (.gitattributes)", log=_carriage_return),
            Cause("script-syntax", "script", "the shell cannot read the script", "see the finding", codes=("SB001", "SB003", "SB006", "SB412", "SB411", "SB420", "SB426")),
            Cause("line", "script", "the shell cannot read the script at that line", "look for an open quote, `fi`, `done` or `\\` above it", script=row_named),
            Cause("read-by-sh", "submission", "sh, which is not bash on this machine, reads a script that is written for bash: it was started as `sh NAME`", "submit it (sbatch NAME), or start it with `bash NAME`: after `sh` its first line is a comment", script=_read_by_sh, log=_of_dash),
            Cause("shell-of-script", "code", "a script that is written for bash is read by sh, which is not bash on this machine", "write `#!/bin/bash` as its first line, and start it as itself or with bash, not with sh; a program that runs a command line takes /bin/sh", log=_of_dash),
            Cause("other-script", "code", "the shell cannot read a script at the place that it names", "look for an open quote, `fi`, `done` or carriage returns there", log=lambda event: False if "slurm_script" in event.text or event.text.startswith(": ") else None),
        ),
        matches="""\
/var/spool/slurmd/job7/slurm_script: line 31: syntax error near unexpected token `done'
job.sh: line 40: unexpected EOF while looking for matching `"'
job.sh: 12: Syntax error: "(" unexpected
sh: 4: Bad substitution
run.sh: line 3: $'\\r': command not found
bash: -c: line 1: syntax error: unexpected end of file
: No such file or directory
run.sh: line 9: warning: here-document at line 2 delimited by end-of-file (wanted `EOF')
eval: syntax error near unexpected token `('
""",
    ),
    Symptom(
        id="command-not-found",
        title="a command was not found",
        docs="""\
`module` and `ml` are functions that a login shell defines (`#!/bin/bash -l`, or source the init file). Other programs come with a module, an
environment or a container, which has to be loaded inside the job. The script goes on after it, unless `set -e` is on.
""",
        printed_by="bash, dash, zsh, env",
        near_end=400,
        literals=("command not found", ": not found", "No such file or directory"),
        patterns=(
            r"^ {0,4}(?:\S*/)?[\w.-]+(?:\.\w+)?: (?:(?:line )?(?P<row>\d+): )?(?:exec: )?(?P<command>[^\s:]+): (?:command )?not found$",
            r"^ {0,4}(?:\S*/)?[\w.-]+: (?:line (?P<row>\d+): )?(?P<command>[^:]{1,200}): command not found",
            r"^ {0,4}zsh:\d*:? command not found: (?P<command>\S+)|^ {0,4}(?P<program>[a-z][\w.-]+): command not found$",
            r"^ {0,4}(?:/usr/bin/)?env: ['‘]?(?P<command>[^'’:]+)['’]?: No such file or directory",
        ),
        causes=(
            Cause("directive-in-text", "script", "directives stand within quotes, where the shell takes them for a command and sbatch does not read them", "write each `#SBATCH` at the beginning of a line, before the first command", codes=("SB101",), log=lambda event: "#SBATCH" in event.groups.get("command", "")),
            Cause("broken-line", "script", "a command of the script is cut, or text was taken for a command: {command}", "look for a missing backslash on the line before, at the quotes, and for round brackets where a variable needs `${{…}}`", codes=("SB411", "SB422", "SB439", "SB425", "SB427", "SB101", "SB003"), log=_no_command),
            Cause("mistyped", "script", "the script has a mistyped name, a folder, or a line of a notebook where a command stands: {command}", "write the name as it is, `cd` before a folder, and no `!`", codes=("SB444",)),
            Cause("path-replaced", "script", "the script sets PATH without the folders that were in it, so {command} is not found any more", "keep them: PATH=/new/folder:$PATH", codes=("SB619", "SB609", "SB430")),
            Cause("module", "script", "the shell of the job knows no {command}: the functions of the module system are not loaded in it", "use `#!/bin/bash -l`, or source the module system's init file before", script=_called, log=_module),
            Cause("no-docker", "cluster", "the nodes have no docker, as it needs root: sites offer Apptainer (Singularity), Podman or Enroot instead", "run the image with `apptainer exec docker://NAME`, or srun --container-image where the site has pyxis", log=says("docker: ", ": docker")),
            Cause("slurm-in-container", "script", "{command} is called where Slurm's commands are not, as in a container", "call it outside, and pass the answer on", codes=("SB515",), script=_called, log=_slurm_tool),
            Cause("slurm-not-there", "cluster", "{command} is not on this machine, or in this container: Slurm's commands are not installed in it", "call it where they are", log=_slurm_tool),
            Cause("outside-container", "script", "the command that enters the container gets no program, so {command} runs on the host, where it is not installed", "write the program on the line that enters the container, for each command anew", codes=("SB337",)),
            Cause("not-in-image", "script", "{command} is not in the image of the container in which it runs, or its folder is not in the PATH there", "take an image that has {command}, install it into the image, or mount its folder and give its full path", codes=("SB520", "SB507"), script=_in_image),
            Cause("environment", "script", "{command} is not in the PATH of the job: its module or environment was not loaded there", "load it inside the job, or give its full path", codes=("SB607", "SB610", "SB617", "SB006", "SB428"), script=_called),
            Cause("not-initialised", "script", "the shell of the job knows no {command}: the functions of the module system are not loaded in it", "use `#!/bin/bash -l`, or source the module system's init file before", log=_module),
            Cause("not-in-path", "submission", "{command} is not in the PATH of the job", "load its module or environment inside the job, or give its full path", log=lambda event: possible(event.groups.get("command") not in ("module", "ml"))),
        ),
        matches="""\
/var/spool/slurmd/job00156/slurm_script: line 4: ml: command not found
/bin/sh: 1: torchrun: not found
job.sh: line 12: --nodes=2: command not found
bash: line 1: nvcc: command not found
zsh:1: command not found: module
docker: command not found
/usr/bin/env: 'python': No such file or directory
""",
        others="echo 'command not found' > log\n404: page not found\nINFO: checkpoint latest: not found, starting from scratch\n",
        examples=(
            Example("/var/spool/slurmd/job00156/slurm_script: line 2: module: command not found\n", "#!/bin/sh\n«module load gcc»\n", "module", "likely"),
            Example("/var/spool/slurmd/job7/slurm_script: line 9: --mesh: command not found\n", None, "broken-line"),
        ),
    ),
    Symptom(
        id="unbound-variable",
        title="a variable that is not set, under set -u",
        docs="`set -u` ends the shell at it. Activation scripts of conda and start files of the shell read unset variables.\n",
        printed_by="bash, dash",
        literals=("unbound variable", "parameter not set", "parameter null or not set"),
        patterns=(r"(?:line (?P<row>\d+): )?(?P<name>\w+)(?:\[[^\]]*\])?: unbound variable", r": (?P<name>\w+): parameter (?:null or )?not set"),
        causes=(
            Cause("activation", "script", "`set -u` is on while a script of conda or of the shell reads {name}, which is not set", "write `set +u` before it and `set -u` after it", codes=("SB611",), log=says("activate", "conda", "/etc/", "bashrc", "profile", "module", "lmod")),
            Cause("element", "script", "`set -u` ends the script at an element of the list {name} that is not there: its number is beyond the end of the list", "let --array end at the last element (a list of N has 0 to N-1), or test the number before", codes=("SB708",), script=row_named, log=says("]: unbound")),
            Cause("not-set", "script", "the script reads {name} under `set -u`, and nothing sets it", "set it, or write ${{{name}:-}}", codes=("SB405", "SB409", "SB414", "SB613", "SB419", "SB708", "SB431", "SB413", "SB429", "SB614"), script=row_named, log=says_not("]: unbound")),
            Cause("nounset", "script", "`set -u` ends the script at {name}, which is not set", "set it, or write ${{{name}:-}}", script=lambda job, event: shown(containing(job, commands_named(job, "set"), "-u", "nounset", "-eu"))),
            Cause("not-given", "submission", "a script reads {name} under `set -u`, and the submission did not set it", "give it with --export=ALL,{name}=…"),
        ),
        matches="""\
/opt/conda/envs/lab/etc/conda/activate.d/proj4-activate.sh: line 6: PROJ_LIB: unbound variable
/var/spool/slurmd/job7/slurm_script: line 9: SLURM_ARRAY_TASK_ID: unbound variable
job.sh: 3: DATA: parameter not set
""",
    ),
    Symptom(
        id="no-such-program-file",
        title="a file that the shell should run is not there, or may not be run",
        docs="A path of another machine or of the image, a script without the x bit, a `#!` that names what is not there, or a program for another architecture.\n",
        printed_by="bash",
        near_end=400,
        literals=("No such file or directory", "Permission denied", "cannot execute", "bad interpreter", "s a directory", "Exec format error"),
        patterns=(
            r"^ {0,4}\S+: line (?P<row>\d+): (?:(?:cd|source|\.|pushd|exec): )?(?P<command>[^:]+): (?:No such file or directory|Permission denied|[Ii]s a directory|cannot execute.*|Exec format error)$",
            r"(?P<command>[^\s:]+): bad interpreter: ",
            r"^ {0,4}(?:/bin/|/usr/bin/)?(?:ba|da|z)?sh: (?:\d+: )?(?P<command>(?!\S*slurm_script)[^:]+): (?:No such file or directory|Permission denied|cannot execute.*|not found|Is a directory)$",
        ),
        causes=(
            Cause("other-architecture", "code", "{command} is not a program for this kind of machine: it was built for another architecture, or is a script without `#!`, or incomplete", "build it on the kind of node that runs it (`file NAME` says what it is for), or ask for that kind with --constraint", script=_called, log=says("Exec format error")),
            Cause("installed", "code", "{command}, which the shell found in PATH, may not be executed: it was installed, or copied, without that right", "chmod +x {command}, or install it again; `python -m NAME` avoids that if it is Python's", script=_installed, log=says("Permission denied", "cannot execute: required file")),
            Cause("interpreter-of-environment", "code", "the first line of an installed program names {command}, which is not there on the node: the environment was moved, or made by another Python, a module or a machine", "create the environment again where it is now, with a Python that the nodes have, or load the module that it was made with", log=matches(_OF_ENVIRONMENT)),
            Cause("path-of-script", "script", "{command} is not there on the node, or may not be used as the script does", "correct the path, or chmod +x it", codes=("SB507", "SB808", "SB618", "SB409", "SB414", "SB419", "SB115", "SB435", "SB520", "SB431", "SB609", "SB619"), script=_called),
            Cause("interpreter", "cluster", "{command}, which a script names in its first line, is not there on the node", "name a shell or an interpreter that all nodes have, or load it first", log=lambda event: None if "bad interpreter" in event.text and "/usr/" in event.text else False),
            Cause("of-system", "cluster", "{command}, which comes with the system, is not there on the node", "tell the site, or bring it in an environment of your own", log=group_matches("command", r"^/(?:usr/)?s?bin/")),
            Cause("path", "submission", "{command} is not there on the node, or may not be used that way", "give a path that the nodes see; chmod +x"),
        ),
        matches="""\
/var/spool/slurmd/job7/slurm_script: line 12: ./run.sh: Permission denied
/var/spool/slurmd/job7/slurm_script: line 12: /opt/env/bin/activate: No such file or directory
/var/spool/slurmd/job7/slurm_script: line 5: cd: /data/run: No such file or directory
job.sh: ./x.py: bad interpreter: No such file or directory
bash: train.sh: No such file or directory
/var/spool/slurmd/job7/slurm_script: line 3: ./a.out: cannot execute binary file: Exec format error
""",
    ),
    Symptom(
        id="shell-test",
        title="a test or a loop of the script does not ask what is meant",
        docs="Mostly a variable that is empty: `[ $N -gt 1 ]` becomes `[ -gt 1 ]`.\n",
        printed_by="bash, dash",
        role="warning",
        literals=("operator expected", "expression expected", "too many arguments", "missing `]'", "value too great for base", "division by", "not a valid identifier", "operand expected", "invalid arithmetic operator", "in expression (error token"),
        patterns=(r"line (?P<row>\d+): .*(?:(?:unary|binary) operator expected|integer expression expected|too many arguments|missing `\]'|value too great for base|division by 0|not a valid identifier|operand expected|invalid arithmetic operator|syntax error in expression)",),
        causes=(
            Cause("empty-number", "script", "the script computes with a variable that is empty", "see that it is set, or give a default: ${{NAME:-1}}", codes=("SB420", "SB414", "SB409", "SB405"), script=_computed),
            Cause("test", "script", "a test of the script fails on an empty or odd value", "quote the variable, or see the finding", codes=("SB420", "SB439", "SB414", "SB409", "SB405", "SB708", "SB413", "SB431", "SB721"), script=row_named),
        ),
        matches="/var/spool/slurmd/job7/slurm_script: line 12: [: -gt: unary operator expected\n",
    ),
    Symptom(
        id="wait-for-no-child",
        title="the shell waits for a process that is not its own",
        docs="`wait` goes on at once with status 127. A number written in the script is not one of its processes: `sleep` waits for seconds.\n",
        printed_by="bash",
        releases="all releases; without `pid` from 5.2 on",
        role="warning",
        literals=("is not a child of this shell",),
        patterns=(r"(?:line (?P<row>\d+): )?wait: (?:pid )?\S+ is not a child of this shell",),
        causes=(
            Cause("number", "script", "the script waits for a process that is not its own, so it does not wait", "write sleep for a time, and wait alone, or with the number in $!, for what it started", codes=("SB820", "SB711"), script=row_named),
        ),
        matches="/var/spool/slurmd/job7/slurm_script: line 12: wait: pid 20 is not a child of this shell\n",
    ),
    Symptom(
        id="locale-missing",
        title="harmless: the node, or the image, does not have the locale of the login shell",
        docs="The job inherits LC_ALL and LANG. C++ programs (`locale::facet`) may fail because of it.\n",
        printed_by="bash, perl, R, manpath",
        role="warning",
        literals=("setlocale", "Setting locale failed", "Setting LC_"),
        patterns=(r"setlocale: LC_\w+: cannot change locale|Setting locale failed|Setting LC_\w+ failed",),
        causes=(
            Cause("locale", "script", "the locale that the script sets is not there", "export LC_ALL=C.UTF-8", script=assigns("LC_ALL", "LANG")),
            Cause("image-locale", "code", "the locale of the environment is not installed there (usually harmless)", "export LC_ALL=C.UTF-8"),
        ),
        matches="bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)\nperl: warning: Setting locale failed.\n",
    ),
    Symptom(
        id="argument-list-too-long",
        title="a command line is too long for the system",
        docs="The kernel takes a command line and an environment of some 2 MB in all, and 128 kB for one word (getconf ARG_MAX). `*.txt` in a folder of many files is longer.\n",
        printed_by="bash, Python",
        literals=("Argument list too long",),
        patterns=(r"(?:^\S+: line (?P<row>\d+): )?(?P<command>[^\s:]+): Argument list too long|Argument list too long",),
        causes=(
            Cause("pattern-of-script", "script", "a pattern of the script matches more files than a command line has room for", "let find or xargs pass them on in parts: find DIR -name '*.txt' -print0 | xargs -0 COMMAND, or loop over them", script=row_named),
            Cause("environment", "submission", "the command line, or the environment (an exported variable that is very long), is larger than the system allows", "pass long lists in a file"),
        ),
        matches="/var/spool/slurmd/job3/slurm_script: line 6: /usr/bin/cat: Argument list too long\nOSError: [Errno 7] Argument list too long: 'tool'\n",
    ),
    Symptom(
        id="fork-failed",
        title="no further process, or thread, could be started",
        docs="The limit of processes (`ulimit -u`), of the cgroup (pids.max), or memory. Threads count: OMP_NUM_THREADS times processes.\n",
        printed_by="bash, OpenMP, OpenBLAS, Python",
        literals=("Resource temporarily unavailable", "can't start new thread", "pthread_create failed", "Cannot allocate memory", "fork: retry", "Thread creation failed", "resources for OMP thread"),
        patterns=(r"fork: (?:retry: )?(?:Resource temporarily unavailable|Cannot allocate memory)", r"can't start new thread|pthread_create failed|BlockingIOError: (?!.*lock).*Resource temporarily unavailable|OSError: \[Errno 12\] Cannot allocate memory", r"libgomp: Thread creation failed|necessary resources for OMP thread"),
        causes=(
            Cause("threads", "script", "the processes start more threads than the job has CPUs, and the node lets them", "set OMP_NUM_THREADS to SLURM_CPUS_PER_TASK", codes=("SB616", "SB213", "SB330")),
            Cause("threads-unset", "script", "each task starts as many threads as the node has cores, as the script does not set their number", "export OMP_NUM_THREADS=${{SLURM_CPUS_PER_TASK:-1}} (OpenBLAS and MKL follow it) before srun", script=_threads_unset, log=says("hread")),
            Cause("memory", "submission", "the processes need more memory than the job has", "ask for more with --mem, or start fewer workers", log=says("allocate memory")),
            Cause("limit", "cluster", "the node lets the job start no further processes or threads", "fewer workers or threads; `ulimit -u` shows the limit", unproven="possible"),
        ),
        matches="""\
bash: fork: retry: Resource temporarily unavailable
RuntimeError: can't start new thread
OpenBLAS blas_thread_init: pthread_create failed for thread 12 of 64: Resource temporarily unavailable
OSError: [Errno 12] Cannot allocate memory
libgomp: Thread creation failed: Resource temporarily unavailable
""",
    ),
)
