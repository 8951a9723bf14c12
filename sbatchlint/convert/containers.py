"""Starts what runs under docker by pyxis or Apptainer, whose containers belong to the job.

A container of docker's daemon is not a child of the task: Slurm neither limits nor ends it. The program's words stay
where they are; before them stand the options that say the same to pyxis (srun's plugin, 0.1 to 0.24) or to Apptainer 1.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.editing.options import lines_above
from sbatchlint.bash.interpreter.programs import SHELLS
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, expansions, text_of
from sbatchlint.convert.background import entered
from sbatchlint.convert.docker import Bind, Docker, Variable
from sbatchlint.convert.draft import Draft
from sbatchlint.convert.entering import enter
from sbatchlint.convert.syncing import synced
from sbatchlint.convert.wish import Goal, NotConvertible
from sbatchlint.convert.words import is_of_daemon
from sbatchlint.convert.written import WrittenWords
from sbatchlint.job import Job, Launch
from sbatchlint.job.containers import Container
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

KINDS = ("pyxis", "apptainer")
_HUB = ("docker.io", "index.docker.io")
# What the host's own programs read: set for the program alone.
_OF_THE_HOST = frozenset({"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "HOME", "BASH_ENV", "IFS", "TMPDIR"})


def contain(draft: Draft, goal: Goal) -> None:
    """Puts the script into the wanted containers, if any are wanted. Raises `NotConvertible`."""
    if goal.container is not None:
        _replace_docker(draft, goal)
        places = _places(draft.job)
        if len(places) == 1 and places[0].container is None:
            enter(draft, places[0], goal)
    if goal.nodes > 1 and (edits := [edit for launch in _places(draft.job) for edit in synced(draft.job, launch)]):
        draft.edit(edits)
        draft.decisions.append("uv makes its environment once, before all nodes use it")


def _places(job: Job) -> list[Launch]:
    """The launchers of a job, one for each place where one stands."""
    return list({each.launcher.span: each for each in job.launches if each.launcher.spawns}.values())


def has_container(job: Job) -> bool:
    """Whether anything of a job runs in a container."""
    return any(each.container is not None for each in job.steps) or any(
        isinstance(command.spawn.info, Container) for command in job.invocations
    )


def _replace_docker(draft: Draft, goal: Goal) -> None:
    job = draft.job
    starts = list({command.span: command for command in job.invocations if is_of_daemon(command.spawn.info)}.values())
    if not starts:
        return
    background = {id(command): entered(job, starts, command) for command in starts if _enters(command)}
    runs = {number: found.run for number, found in background.items()}
    made = [_Start(job, command, goal, runs.get(id(command))) for command in starts if command not in runs.values()]
    removed = [edit for found in background.values() for edit in found.edits]
    draft.edit([*(edit for start in made for edit in start.edits()), *removed])
    draft.decisions += dict.fromkeys(note for start in made for note in start.notes)
    todos = [*(start.todos for start in made), *(found.todos for found in background.values())]
    draft.todos += dict.fromkeys(todo for found in todos for todo in found)
    draft.todos += _other_commands(job, [edit.span for edit in removed])


def _enters(command: Invocation) -> bool:
    """Whether a command enters a container that another one starts."""
    info = command.spawn.info
    return isinstance(info, Container) and info.name is not None and info.image is None


def _other_commands(job: Job, gone: list[Span]) -> Iterator[str]:
    """What else the script asks of docker."""
    for command in job.invocations:
        if any(span.start <= command.span.start < span.end for span in gone):
            continue
        if command.name in ("docker", "podman", "nvidia-docker") and not isinstance(command.spawn.info, Container):
            verb = text_of(command.argv[1]) if len(command.argv) > 1 else None
            yield f"see whether {command.name} {verb or ''} on line {job.line(command.span.start)} is needed still"


class _Start:
    """One `docker run` and what stands in its place. Raises `NotConvertible`.

    `run`: for a `docker exec`, what starts the container that it enters.
    """

    def __init__(self, job: Job, command: Invocation, goal: Goal, run: Invocation | None = None) -> None:
        self.job = job
        self.command = command
        self.wish = goal
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
            raise docker.refuse("the name of the image stands in one word with others")
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
        """What stands between options: a continued line, where docker's stood so."""
        text = self.job.source.slice(span)
        if "\\\n" not in text:
            return " "
        following = text.split("\\\n", 1)[1]
        return " \\\n" + following[: len(following) - len(following.lstrip(" \t"))]

    def _lines(self) -> list[str]:
        """Lines before the command."""
        lines = []
        if self.exports:
            lines.append("export " + " ".join(each.word for each in self.exports))
        if self.wish.container == "pyxis":
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
            self._files()
        command = [*self._of_tasks(), *(["env", *inside] if inside else [])]
        command += self._entrypoint("--container-entrypoint does so here")
        if self.step is not None:
            return [*options, *command]
        return [f"srun {'--kill-on-bad-exit=1' if self.launches else '--nodes=1 --ntasks=1'}", *options, *command]

    def _image_of_pyxis(self) -> str:
        """The image as enroot reads it: what stands before `#` is the registry."""
        if self.wish.image is not None:
            return self.wish.image
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
        """The host before an image, '' without one."""
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
        if self.wish.image is not None:
            return self.wish.image
        word = self.docker.image_word
        if self.docker.image_shown.startswith(UNKNOWN_CHARACTER):
            self.todos.append(f"see that {word} names an image of a registry; else write the path of a .sif file")
        else:
            self._registry(self.docker.image_shown)
        return f'"docker://{word[1:]}' if word[:1] == '"' else f"docker://{word}"

    # --- both ---

    def _of_tasks(self) -> list[str]:
        """A shell in the container that gives variables the values of its task."""
        words = [each.word.strip('"') for each in self.docker.variables.values() if _of_task(each)]
        if any(not re.fullmatch(r"\w+=\$\{?\w+\}?", each) for each in words):
            raise self.docker.refuse(f"{words[0]} is put together of several parts")
        if words and (place := self._string_of_shell()) is not None:
            dollar = "\\$" if self.job.source.text[place - 1] == '"' else "$"
            self.told.append(insert(place, f"export {' '.join(words)}; ".replace("$", dollar)))
            return []
        return [f"bash -c 'export {' '.join(words)}; exec \"$@\"' bash"] if words else []

    def _string_of_shell(self) -> int | None:
        """Where the string begins, after its quote, that a shell in the container runs; None without one."""
        at, argv = self.last + 1, self.command.argv
        name, flag = (text_of(field) or "" for field in (*argv[at : at + 2], (), ())[:2])
        if name.rpartition("/")[2] not in SHELLS or not re.fullmatch(r"-[a-z]*c", flag) or self.docker.entrypoint:
            return None
        span = self.words.span(at + 2) if at + 2 < len(argv) else None
        return span.start + 1 if span is not None and self.job.source.text[span.start] in "\"'" else None

    def _entrypoint(self, how: str) -> list[str]:
        """The program that docker was told to begin with; that of the image is not known."""
        given = self.docker.entrypoint
        if given is None:
            self.notes.append(f"an entry point of the image is not run: {how}")
        if self.command.spawn.command is None or self.last + 1 >= len(self.command.argv) and not given:
            raise self.docker.refuse("it runs the image's own program, of which nothing is known")
        return [given] if given is not None and given.strip("\"'") else []

    def _files(self) -> None:
        name = self.docker.files[0]
        self.todos.append(f"see that {name} is right for a shell, and that the image sets none of its variables itself")


def _of_task(variable: Variable) -> bool:
    """Whether the batch shell would give a variable the value of the first task, where each has another."""
    return any(each.name in TASK_VARIABLES for each in expansions(variable.value))


def _pyxis_mount(bind: Bind) -> str:
    if not bind.source:
        return f"tmpfs:{bind.target}"
    return f"{bind.source}:{bind.target}" + (f":{'+'.join(bind.flags)}" if bind.flags else "")


def _variable(word: str) -> str | None:
    """The variable that alone makes a word as a shell reads it."""
    found = re.fullmatch(r'"?\$(?:(\w+)|\{(\w+)\})"?', word)
    return found and (found.group(1) or found.group(2))
