"""Conversion of docker containers to pyxis or Apptainer, whose containers belong to the job.

A container of docker's daemon is not a child of the task: Slurm neither limits nor ends it. The words of the program
stay; the options before them are translated for pyxis (the plugin of srun, 0.1 to 0.24) or Apptainer 1.
"""

import re
from collections.abc import Iterable, Iterator

from sbatchlint.analysis.editing.options import lines_above
from sbatchlint.bash.interpreter.programs import SHELLS
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, expansions, text_of
from sbatchlint.convert.background import entered
from sbatchlint.convert.docker import Bind, Docker, Variable
from sbatchlint.convert.draft import Draft
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.convert.syncing import synced
from sbatchlint.convert.words import CommandWords, is_of_daemon
from sbatchlint.convert.written_words import WrittenWords
from sbatchlint.job import Job, Launch
from sbatchlint.job.containers import Container
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.programs import programs_with
from sbatchlint.source.edits import Edit, insert, remove
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

KINDS = ("pyxis", "apptainer")
_HUB = ("docker.io", "index.docker.io")
# Variables that programs of the host read, too: set for the program in the container only.
_OF_THE_HOST = frozenset({"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "HOME", "BASH_ENV", "IFS", "TMPDIR"})
# Programs that set up the node, not the container.
_SETTING_UP = programs_with("software") | {"activate"}


def contain(draft: Draft, goal: Goal) -> None:
    """Converts the script to the containers of the goal, if it has any. Raises `NotConvertible`."""
    if goal.container is not None:
        _replace_docker(draft, goal)
        places = _places(draft.job)
        if len(places) == 1 and places[0].container is None:
            _enter(draft, places[0], goal)
    if goal.nodes > 1 and (edits := [edit for launch in _places(draft.job) for edit in synced(draft.job, launch)]):
        draft.edit(edits)
        draft.decisions.append("uv makes its environment once, before all nodes use it")


def _places(job: Job) -> list[Launch]:
    """The launchers of a job, one for each place in the script."""
    return list({each.launcher.span: each for each in job.launches if each.launcher.spawns}.values())


def has_container(job: Job) -> bool:
    """Whether anything of a job runs in a container."""
    return any(each.container is not None for each in job.steps) or any(
        isinstance(command.spawn.info, Container) for command in job.invocations
    )


_VARIABLE = Regex(r"\$(?:(\w+)|\{(\w+)\})(?=\s)")
# An assignment of words in double quotes, without a command or an escape in them but the end of a line.
_QUOTED_VALUE = Regex(r'(\w+)="([^"`\\]*(?:\\\n[^"`\\]*)*)"')


def _write_out(draft: Draft, starts: Iterable[Invocation]) -> None:
    """Writes a command in a variable (`RUN="docker run …"`, `$RUN torchrun …`) where it is run."""
    text, edits, names = draft.source.text, dict[Edit, None](), dict[str, None]()  # a start may stand for several
    for command in starts:
        at = command.span.start
        variable = None if at <= command.name_span.start < command.span.end else _VARIABLE.match(text, at)
        name = "" if variable is None else variable.group(1) or variable.group(2)
        assignments = [each for each in draft.job.assignments if each.name == name]
        if variable is None or len(assignments) != 1:
            continue
        (assignment,) = assignments
        written = _QUOTED_VALUE.fullmatch(text[assignment.span.start : assignment.span.end])
        words = "" if written is None or written[1] != name else written[2].replace("\\\n", " ")
        used = re.findall(r"\$\{?(\w+)", words)
        changes = [each.span for each in draft.job.assignments if each.name in used]
        if "PWD" in words:
            changes += [each.span for each in draft.job.invocations if each.name in ("cd", "pushd", "popd")]
        changed = any(assignment.span.end <= span.start < at for span in changes)
        if words and not changed and "$(" not in words and "\n" not in words:
            edits[Edit(Span(at, variable.end()), words)] = None
            names[name] = None
    if edits:
        draft.edit(edits)
        draft.decisions += [f"the words of ${name} are written where they are run" for name in names]


def _replace_docker(draft: Draft, goal: Goal) -> None:
    _write_out(draft, [each for each in draft.job.invocations if is_of_daemon(each.spawn.info)])
    job = draft.job
    starts = list({command.span: command for command in job.invocations if is_of_daemon(command.spawn.info)}.values())
    if not starts:
        return
    background = {id(command): entered(job, starts, command) for command in starts if _enters(command)}
    runs = {number: found.run for number, found in background.items()}
    converted = [_Start(job, each, goal, runs.get(id(each))) for each in starts if each not in runs.values()]
    removed = [edit for found in background.values() for edit in found.edits]
    draft.edit([*(edit for start in converted for edit in start.edits()), *removed])
    draft.decisions += dict.fromkeys(note for start in converted for note in start.notes)
    todos = [*(start.todos for start in converted), *(found.todos for found in background.values())]
    draft.todos += dict.fromkeys(todo for found in todos for todo in found)
    draft.todos += _other_commands(job, [edit.span for edit in removed])


def _enters(command: Invocation) -> bool:
    """Whether a command enters a container that another command starts."""
    info = command.spawn.info
    return isinstance(info, Container) and info.name is not None and info.image is None


def _other_commands(job: Job, removed: list[Span]) -> Iterator[str]:
    """To-dos for the other docker commands of the script."""
    for command in job.invocations:
        if any(span.start <= command.span.start < span.end for span in removed):
            continue
        if command.name in ("docker", "podman", "nvidia-docker") and not isinstance(command.spawn.info, Container):
            verb = text_of(command.argv[1]) if len(command.argv) > 1 else None
            yield f"see whether {command.name} {verb or ''} on line {job.line(command.span.start)} is needed still"


class _Start:
    """A `docker run` and its replacement. Raises `NotConvertible`.

    `run`: for a `docker exec`, the command that starts the container; else None.
    """

    def __init__(self, job: Job, command: Invocation, goal: Goal, run: Invocation | None = None) -> None:
        self.job = job
        self.command = command
        self.goal = goal
        container = command.spawn.info
        assert isinstance(container, Container)
        words = self.words = WrittenWords(job, command)
        self.step = next((each for each in job.steps if each.invocation is command.context.parent), None)
        if command.phase is not Phase.BATCH and self.step is None:
            raise NotConvertible(f"{command.name} on line {job.line(command.span.start)} is started by another command")
        if run is None:
            self.docker = Docker(container, words)
            self.last = self.docker.image_at
        else:
            assert isinstance(run.spawn.info, Container)
            self.docker = Docker(run.spawn.info, WrittenWords(job, run), entered=True)
            self.docker.add(container, words)
            self.last = next(at for at, field in enumerate(command.argv) if field is container.name)
        self.todos = list(self.docker.todos)
        self.notes = list(self.docker.notes)
        self.exports: list[Variable] = []
        self.told: list[Edit] = []
        self.launches = any(each.launcher.spawns and command in each.invocation.ancestors() for each in job.launches)
        options = self._pyxis() if goal.container == "pyxis" else self._apptainer()
        self.start_words = [each for each in options if each]

    def edits(self) -> Iterator[Edit]:
        job, docker, words = self.job, self.docker, self.words
        start = self.command.name_span.start
        if self.step is None and words.first is not self.command:
            if words.first.name not in ("sudo", "exec"):
                raise docker.refuse(f"{words.first.name} starts {docker.name}")
            first = words.span(len(self.command.argv) - len(words.first.argv))
            start = first.start if first is not None and words.first.name == "sudo" else start
        end = words.span(self.last)
        if end is None:
            raise docker.refuse("the name of the image is in one word with others")
        span = Span(start, end.end)
        gap = self._gap(span)
        before = self._lines()
        if before:
            added = lines_above(job, words.first.span.start, before)
            if added is None:
                raise docker.refuse(f"no line can be put before {docker.name}")
            yield added
        yield Edit(span, gap.join(self.start_words))
        yield from self.told

    def _gap(self, span: Span) -> str:
        """The separator of options: a continued line if docker's were on several lines, else a space."""
        text = self.job.source.slice(span)
        if "\\\n" not in text:
            return " "
        following = text.split("\\\n", 1)[1]
        return " \\\n" + following[: len(following) - len(following.lstrip(" \t"))]

    def _lines(self) -> list[str]:
        """The lines to add before the command."""
        lines = []
        if self.exports:
            lines.append("export " + " ".join(each.word for each in self.exports))
        if self.goal.container == "pyxis":
            lines += [f"set -a; source {each}; set +a" for each in self.docker.files]
        return lines

    # --- pyxis ---

    def _pyxis(self) -> list[str]:
        docker = self.docker
        options = [f"--container-image={self._image_of_pyxis()}"]
        if docker.binds:
            options.append("--container-mounts=" + ",".join(map(_pyxis_mount, docker.binds)))
        if docker.workdir is not None:
            options.append(f"--container-workdir={docker.workdir}")
        options.append("--no-container-mount-home")
        if docker.runs_as_root:
            options.append("--container-remap-root")
            self.notes.append("--container-remap-root, as it runs as root")
        inside = []
        names = []
        for variable in docker.variables.values():
            if _of_task(variable):
                continue
            if variable.name in _OF_THE_HOST and variable.word:
                inside.append(variable.word)
            else:
                names.append(variable.name)
                if variable.word:
                    self.exports.append(variable)
        if names:
            options.append(f"--container-env={','.join(names)}")
        if docker.files:
            name = docker.files[0]
            self.todos.append(
                f"see that {name} is right for a shell, and that the image sets none of its variables itself"
            )
        command = [*self._of_tasks(), *(["env", *inside] if inside else [])]
        command += self._entrypoint("--container-entrypoint does so here")
        if self.step is not None:
            return [*options, *command]
        return [f"srun {'--kill-on-bad-exit=1' if self.launches else '--nodes=1 --ntasks=1'}", *options, *command]

    def _image_of_pyxis(self) -> str:
        """The image as enroot reads it, with `#` after the registry."""
        if self.goal.image is not None:
            return self.goal.image
        word, shown = self.docker.image_word, self.docker.image_shown
        host, _ = self._registry(shown)
        name = _variable(word)
        if UNKNOWN_CHARACTER in (host or shown):
            self.todos.append(f"see that {word} is an image as pyxis reads it: REGISTRY#IMAGE, or a file")
        elif not host:
            return word
        elif f"{host}/" in word:
            return word.replace(f"{host}/", "" if host in _HUB else f"{host}#", 1)
        elif name is not None:
            return f'"${{{name}#{host}/}}"' if host in _HUB else f'"${{{name}/\\//#}}"'
        else:
            raise self.docker.refuse(f"where the registry of {word} ends is not known")
        return word

    def _registry(self, name: str) -> tuple[str, str]:
        """The registry of an image, '' if there is none, and its name."""
        host, slash, rest = name.partition("/")
        if slash and (host == "localhost" or "." in host or ":" in host):
            if host == "localhost":
                self.todos.append(f"{name} is on one machine only: import it to a file, and say --image FILE")
            return host, rest
        if not slash and UNKNOWN_CHARACTER not in name:
            self.todos.append(f"see that {name} is on Docker Hub; else import it to a file, and say --image FILE")
        return "", name

    # --- Apptainer ---

    def _apptainer(self) -> list[str]:
        docker = self.docker
        gpus = " --rocm" if docker.rocm else " --nv" if docker.gpus else ""
        options = [f"apptainer exec{gpus}"]
        for bind in docker.binds:
            if not bind.source:
                options.append(f"--scratch {bind.target}")
                continue
            lost = [flag for flag in bind.flags if flag != "ro"]
            if lost:
                self.notes.append(f"{', '.join(lost)} of a mount: Apptainer has one propagation for all mounts")
            options.append(f"--bind {bind.source}:{bind.target}{':ro' if 'ro' in bind.flags else ''}")
        if docker.workdir is not None:
            options.append(f"--pwd {docker.workdir}")
        else:
            self.todos.append("add --pwd: docker began in the folder that the image names, Apptainer begins here")
        if docker.user == "0":
            options.append("--fakeroot")
        elif docker.runs_as_root:
            self.todos.append("bind to $HOME instead of /root, which is not the home folder under Apptainer")
        for variable in docker.variables.values():
            value = text_of(variable.value)
            if variable.name == "HOME":
                raise docker.refuse("HOME cannot be set for Apptainer by --env; say --home there")
            if not variable.word or _of_task(variable):
                continue  # Apptainer passes on the job's own
            if value is not None and "," in value:
                word = variable.word.replace(variable.name, f"APPTAINERENV_{variable.name}", 1)
                self.exports.append(variable._replace(word=word))
            else:
                options.append(f"--env {variable.word}")
        options += [f"--env-file {file}" for file in docker.files]
        if docker.files:
            self.todos.append(f"see that {docker.files[0]} is right for a shell, which Apptainer reads it as")
        self.notes.append("Apptainer mounts your home folder and /tmp too, and its image is read-only")
        options.append(self._image_of_apptainer())
        return [*options, *self._of_tasks(), *self._entrypoint("apptainer run does so")]

    def _image_of_apptainer(self) -> str:
        if self.goal.image is not None:
            return self.goal.image
        word = self.docker.image_word
        if self.docker.image_shown.startswith(UNKNOWN_CHARACTER):
            self.todos.append(f"see that {word} names an image of a registry; else write the path of a .sif file")
        else:
            self._registry(self.docker.image_shown)
        return f'"docker://{word[1:]}' if word[:1] == '"' else f"docker://{word}"

    # --- both ---

    def _of_tasks(self) -> list[str]:
        """The words of a shell in the container that sets variables to the values of its task; none if not needed."""
        words = [each.word.strip('"') for each in self.docker.variables.values() if _of_task(each)]
        if any(not re.fullmatch(r"\w+=\$\{?\w+\}?", each) for each in words):
            raise self.docker.refuse(f"{words[0]} is put together of several parts")
        if words and (place := self._string_of_shell()) is not None:
            dollar = "\\$" if self.job.source.text[place - 1] == '"' else "$"
            self.told.append(insert(place, f"export {' '.join(words)}; ".replace("$", dollar)))
            return []
        return [f"bash -c 'export {' '.join(words)}; exec \"$@\"' bash"] if words else []

    def _string_of_shell(self) -> int | None:
        """The start of the string, after its quote, that a shell in the container runs; None if there is none."""
        at, argv = self.last + 1, self.command.argv
        name, flag = (text_of(field) or "" for field in (*argv[at : at + 2], (), ())[:2])
        if name.rpartition("/")[2] not in SHELLS or not re.fullmatch(r"-[a-z]*c", flag) or self.docker.entrypoint:
            return None
        span = self.words.span(at + 2) if at + 2 < len(argv) else None
        return span.start + 1 if span is not None and self.job.source.text[span.start] in "\"'" else None

    def _entrypoint(self, how: str) -> list[str]:
        """The entry point set for docker; that of the image is unknown."""
        entrypoint = self.docker.entrypoint
        if entrypoint is None:
            self.notes.append(f"an entry point of the image is not run: {how}")
        if self.command.spawn.command is None or self.last + 1 >= len(self.command.argv) and not entrypoint:
            raise self.docker.refuse("it runs the image's own program, of which nothing is known")
        return [entrypoint] if entrypoint is not None and entrypoint.strip("\"'") else []


def _of_task(variable: Variable) -> bool:
    """Whether the value of a variable differs between tasks, so that the batch shell cannot set it."""
    return any(each.name in TASK_VARIABLES for each in expansions(variable.value))


def _pyxis_mount(bind: Bind) -> str:
    if not bind.source:
        return f"tmpfs:{bind.target}"
    return f"{bind.source}:{bind.target}" + (f":{'+'.join(bind.flags)}" if bind.flags else "")


def _variable(word: str) -> str | None:
    """The variable that a shell word consists of; None for other words."""
    found = re.fullmatch(r'"?\$(?:(\w+)|\{(\w+)\})"?', word)
    return found and (found.group(1) or found.group(2))


# --- a launcher without a container ---


def _enter(draft: Draft, launch: Launch, goal: Goal) -> None:
    """Runs a launcher of the node in the container of the goal. Raises `NotConvertible`."""
    if goal.image is None:
        raise NotConvertible("it runs in no container: say --image, and --mounts")
    job, words = draft.job, CommandWords(draft.job, launch)
    of_batch_shell = [each for each in job.invocations if each.phase is Phase.BATCH and each.context.parent is None]
    before = [command for command in of_batch_shell if command.span.start < launch.launcher.span.start]
    draft.todos += [
        f"see that the image has what {command.name} on line {job.line(command.span.start)} sets up"
        for command in before
        if command.name in _SETTING_UP or command.name in ("source", ".") and "activate" in (_word(command) or "")
    ]
    change = _change_of_folder(before, goal)
    workdir = '"$PWD"' if change is None else _word(change)
    start = words.prefix.start
    if goal.container == "apptainer":
        bind = f"--bind {goal.mounts} " if goal.mounts else ""
        edits = [insert(start, f"apptainer exec --nv {bind}--pwd {workdir} {goal.image} ")]
    else:
        mounts = f"--container-mounts={goal.mounts} " if goal.mounts else ""
        options = f"--container-image={goal.image} {mounts}--container-workdir={workdir} --no-container-mount-home"
        if launch.step is None:
            edits = [insert(start, f"srun --kill-on-bad-exit=1 {options} ")]
        else:
            edits = [insert(launch.step.invocation.name_span.end, f" {options}")]
    if change is not None:
        line = job.source.line_of(change.span.start)
        if job.source.slice(line).strip() != job.source.slice(change.span):
            raise NotConvertible(f"the cd on line {job.line(line.start)} does not stand alone")
        edits.append(remove(Span(line.start, min(line.end + 1, len(job.source.own.text)))))
    elif not goal.mounts:
        draft.todos.append("say --mounts: the container has to see the working directory")
    draft.edit(edits)
    draft.decisions.append(f"it runs in {goal.image}, and begins in {workdir}")


def _change_of_folder(before: list[Invocation], goal: Goal) -> Invocation | None:
    """The only `cd`, if it is to a folder that the goal mounts into the container; else None."""
    changes = [command for command in before if command.name in ("cd", "pushd")]
    folder = _word(changes[0]) if len(changes) == 1 else None
    targets = [mount.split(":")[1] for mount in (goal.mounts or "").split(",") if ":" in mount]
    inside = folder is not None and any(f"{folder}/".startswith(f"{target.rstrip('/')}/") for target in targets)
    return changes[0] if inside else None


def _word(command: Invocation) -> str | None:
    return text_of(command.argv[1]) if len(command.argv) > 1 else None
