"""Puts a launcher that runs on the node into a container: `--container pyxis --image IMAGE --mounts MOUNTS`."""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.convert.wish import NotConvertible, Wish
from sbatchlint.convert.words import CommandWords
from sbatchlint.job import Job, Launch
from sbatchlint.programs import programs_with
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

# What sets up the node, and not the container.
_SETTING_UP = programs_with("software") | {"activate"}


class Entered:
    """The edits, and what is to be said of them. Raises `NotConvertible`."""

    def __init__(self, job: Job, launch: Launch, wish: Wish) -> None:
        assert wish.image is not None
        self.job = job
        words = CommandWords(job, launch)
        self.before = [each for each in _of_batch_shell(job) if each.span.start < launch.launcher.span.start]
        self.todos = [
            f"see that the image has what {each.name} on line {job.line(each.span.start)} sets up"
            for each in self.before
            if each.name in _SETTING_UP or each.name in ("source", ".") and "activate" in (_word(each) or "")
        ]
        self.edits: list[Edit] = []
        workdir = self._workdir(wish)
        if wish.container == "pyxis":
            mounts = [f"--container-mounts={wish.mounts}"] if wish.mounts else []
            options = [f"--container-image={wish.image}", *mounts, f"--container-workdir={workdir}"]
            said = " ".join([*options, "--no-container-mount-home"])
            if launch.step is None:
                start = words.prefix.start
                self.edits.append(insert(start, f"srun --kill-on-bad-exit=1 {said} "))
            else:
                end = launch.step.invocation.name_span.end
                self.edits.append(insert(end, f" {said}"))
        else:
            bind = f"--bind {wish.mounts} " if wish.mounts else ""
            start = words.prefix.start
            said = f"apptainer exec --nv {bind}--pwd {workdir} {wish.image} "
            self.edits.append(insert(start, said))
        if workdir == '"$PWD"' and not wish.mounts:
            self.todos.append("say --mounts: the container has to see the working directory")
        self.decisions = [f"it runs in {wish.image}, and begins in {workdir}"]

    def _workdir(self, wish: Wish) -> str:
        """The folder in which the program begins: where the script goes to, if that is a folder of the container."""
        targets = [each.split(":")[1] for each in (wish.mounts or "").split(",") if each.count(":")]
        changes = [each for each in self.before if each.name in ("cd", "pushd")]
        if not changes:
            return '"$PWD"'
        folder = _word(changes[-1])
        inside = folder is not None and any(f"{folder}/".startswith(f"{each.rstrip('/')}/") for each in targets)
        if len(changes) > 1 or not inside or folder is None:
            return '"$PWD"'
        line = self.job.source.line_of(changes[0].span.start)
        if self.job.source.slice(line).strip() != self.job.source.slice(changes[0].span):
            raise NotConvertible(f"the cd on line {self.job.line(line.start)} does not stand alone")
        self.edits.append(Edit(Span(line.start, min(line.end + 1, len(self.job.source.own.text))), ""))
        return folder


def _of_batch_shell(job: Job) -> Iterator[Invocation]:
    return (each for each in job.invocations if each.phase is Phase.BATCH and each.context.parent is None)


def _word(command: Invocation) -> str | None:
    return text_of(command.argv[1]) if len(command.argv) > 1 else None
