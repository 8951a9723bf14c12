"""The options of a `docker run`, in a form that can be translated for other container runtimes.

Each option is converted, or reported as unnecessary or lost with the reason, or the command is refused: none is dropped
silently. Options from the manual pages of docker 28 and podman 5.
"""

from typing import NamedTuple

from sbatchlint.bash.values import UNKNOWN_CHARACTER, Pieces, shown_text, text_of
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.written_words import WrittenWords
from sbatchlint.job.argv import CommandOption, assignment_of
from sbatchlint.job.containers import Container, mount_option

# By reason, the options without a counterpart.
_WITHOUT_COUNTERPART = {
    "it ends with its task": "rm interactive tty attach sig-proxy init detach-keys stop-signal stop-timeout",
    "the container shares this with its node anyway": "ipc shm-size network net pid uts cgroupns",
    "limits are those of the job": "ulimit memory memory-reservation memory-swap memory-swappiness cpus cpuset-cpus "
    "cpuset-mems cpu-shares cpu-period cpu-quota pids-limit oom-score-adj oom-kill-disable kernel-memory blkio-weight",
    "it runs with your rights, and sees the devices of its node": "privileged cap-add cap-drop security-opt device "
    "group-add user userns device-cgroup-rule",
    "there are no ports of its own: what the program listens on is a port of the node": "publish publish-all expose",
    "Slurm says which GPUs it sees": "gpus runtime gpu",
    "it is left out": "name hostname label label-file annotation log-driver log-opt restart cidfile pidfile pull quiet "
    "platform replace health-cmd health-interval health-retries health-start-interval health-start-period "
    "health-timeout no-healthcheck tz read-only disable-content-trust",
}
_REASONS = {name: reason for reason, names in _WITHOUT_COUNTERPART.items() for name in names.split()}
_CONVERTED = frozenset({"volume", "mount", "tmpfs", "env", "env-file", "workdir", "entrypoint"})
_UNSURE = frozenset({"add-host", "dns", "dns-option", "dns-opt", "dns-search", "domainname", "sysctl", "storage-opt"})
# The flags of a bind mount in Linux; docker's others are about labels and copying of files.
_PROPAGATION = frozenset({"shared", "slave", "private", "rshared", "rslave", "rprivate"})
_IGNORED = frozenset({"rw", "z", "Z", "cached", "delegated", "consistent", "nocopy", ""})


class Bind(NamedTuple):
    """A mount, in shell syntax; `source` is "" for a tmpfs. `flags`: those of Linux."""

    source: str
    target: str
    flags: tuple[str, ...]


class Variable(NamedTuple):
    """A variable for the program: `word` is `NAME=value` in shell syntax, "" for one inherited from the job."""

    name: str
    word: str
    value: Pieces


class Docker:
    """A `docker run`. Raises `NotConvertible`.

    `entered`: it runs in the background, and another command enters the container, whose options are added by `add`.
    `notes`: the options without a counterpart, with the reasons.
    """

    def __init__(self, container: Container, words: WrittenWords, entered: bool = False) -> None:
        self.container = container
        self.entered = entered
        self.words = words
        self.name = words.command.name or "docker"
        self.binds: list[Bind] = []
        self.variables: dict[str, Variable] = {}
        self.files: list[str] = []
        self.workdir: str | None = None
        self.entrypoint: str | None = None
        self.gpus = self.rocm = False
        self.user: str | None = None
        self.todos: list[str] = []
        self._options: dict[str, list[str]] = {}
        if not container.certain or container.image is None:
            raise NotConvertible(f"not all words of {self.name} on line {self._line} are known")
        for option in container.options:
            self._take(option)
        self._of_image = words
        self.image_at = next(at for at, field in enumerate(words.command.argv) if field is container.image)

    @property
    def runs_as_root(self) -> bool:
        """Whether it runs as root, by its options or because it mounts something in root's home folder."""
        if self.user is not None:
            return self.user == "0"
        return any(each.target.strip("\"'").startswith("/root") for each in self.binds)

    @property
    def notes(self) -> list[str]:
        return [f"{' '.join(options)} of {self.name}: {reason}" for reason, options in self._options.items()]

    @property
    def image_shown(self) -> str:
        return shown_text(self.container.image or ())

    @property
    def image_word(self) -> str:
        return self._of_image.text(self.image_at)

    def add(self, container: Container, words: WrittenWords) -> None:
        """Adds the options of the command that enters the container."""
        self.entered, self.words = False, words
        before = next(at for at, field in enumerate(words.command.argv) if field is container.name)
        if any(piece.open for field in words.command.argv[: before + 1] for piece in field):
            raise NotConvertible(f"not all words of {self.name} on line {self._line} are known")
        for option in container.options:
            self._take(option)

    def refuse(self, reason: str) -> NotConvertible:
        return NotConvertible(f"line {self._line}: {reason}")

    @property
    def _line(self) -> int:
        return self.words.job.line(self.words.command.span.start)

    def _take(self, option: CommandOption) -> None:
        name = option.name
        if name in _CONVERTED:
            if option.value is None:
                raise self.refuse(f"--{name} has no value")
            self._convert(option)
            return
        text, shown = option.text or "", self._shown(option)
        if name == "detach" and not self.entered:
            raise self.refuse("a container in the background (-d) outlives the command, and Slurm would end it")
        if name in ("ipc", "network", "net", "pid", "uts") and (option.value is None or text.startswith("container:")):
            raise self.refuse(f"{shown} is shared with another container")
        if name in ("network", "net") and text not in ("host", "bridge", "default", "none"):
            raise self.refuse(
                f"{shown} is a network of docker, which there is not: leave it out if no other container is asked"
            )
        if name in _UNSURE:
            self.todos.append(f"{shown} of {self.name} has no counterpart: see whether the program needs it")
        elif name in _REASONS:
            if name == "user":
                self.user = text.partition(":")[0].replace("root", "0")
            self.gpus |= name in ("gpus", "gpu") or name == "runtime" and text == "nvidia"
            if name == "device":
                self.rocm |= text.startswith("/dev/kfd")
                self.gpus |= text.startswith("nvidia.com/gpu")
            options = self._options.setdefault(_REASONS[name], [])
            options += [shown] if shown not in options else []
        elif name != "detach":
            raise self.refuse(f"{shown} of {self.name} has no counterpart")

    def _shown(self, option: CommandOption) -> str:
        found = self.words.text(option.at)
        is_separate = option.value_at != option.at and option.value is not None
        return f"{found} {self.words.text(option.value_at)}" if is_separate else found

    def _value(self, option: CommandOption) -> str:
        return self.words.value(option.value_at, option.at)

    def _convert(self, option: CommandOption) -> None:
        match option.name:
            case "volume":
                self._volume(option)
            case "mount":
                self._mount(option)
            case "tmpfs":
                self.binds.append(Bind("", _split(self._value(option))[0], ()))
            case "env":
                self._env(option)
            case "env-file":
                name = self._value(option)
                self.files.append(name if "/" in name else f"./{name}")
            case "workdir":
                self.workdir = self._value(option)
            case "entrypoint":
                self.entrypoint = self._value(option)

    def _volume(self, option: CommandOption) -> None:
        assert option.value is not None
        parts = _split(self._value(option))
        start = shown_text(option.value)[:1]
        if len(parts) > 3 or len(parts) == 1 and start == UNKNOWN_CHARACTER:
            raise self.refuse(f"what {self._shown(option)} mounts is not known")
        if len(parts) == 1:
            self.binds.append(Bind("", parts[0], ()))
        elif start.isalnum():
            raise self.refuse(f"{parts[0]} is a volume of docker: write a folder that all nodes see there")
        else:
            self._bind(parts[0], parts[1], tuple(parts[2].strip("\"'").split(",")) if len(parts) > 2 else ())

    def _mount(self, option: CommandOption) -> None:
        assert option.value is not None
        mount = mount_option(option.value)
        pairs = [each.partition("=")[::2] for each in self._value(option).strip("\"'").split(",")]
        values = {name.strip(): value for name, value in pairs}
        target = values.get("target") or values.get("destination") or values.get("dst")
        source = values.get("source") or values.get("src")
        if mount is None or not target:
            raise self.refuse(f"what {self._shown(option)} mounts is not known")
        if values.get("type") == "tmpfs":
            self.binds.append(Bind("", f'"{target}"' if "$" in target else target, ()))
        elif values.get("type") != "bind" or not source:
            raise self.refuse(f"{source or target} is a volume of docker: write a folder that all nodes see there")
        else:
            flags = ["ro"] if {"readonly", "ro"} & values.keys() else []
            if "bind-propagation" in values:
                flags.append(values["bind-propagation"])
            source, target = (f'"{each}"' if "$" in each else each for each in (source, target))
            self._bind(source, target, tuple(flags))

    def _bind(self, source: str, target: str, flags: tuple[str, ...]) -> None:
        if source.startswith("~"):
            source = f"$HOME{source[1:]}"
        if "docker.sock" in source:
            raise self.refuse("the program talks to docker's daemon, which there is not")
        odd = set(flags) - _PROPAGATION - _IGNORED - {"ro", "readonly"}
        if odd:
            raise self.refuse(f"the flag {sorted(odd)[0]} of a mount has no counterpart")
        kept = tuple("ro" if each == "readonly" else each for each in flags if each not in _IGNORED)
        self.binds.append(Bind(source, target, kept))

    def _env(self, option: CommandOption) -> None:
        assert option.value is not None
        pair, text = assignment_of(option.value), text_of(option.value)
        if pair is None and (text is None or not text.isidentifier()):
            raise self.refuse(f"which variable {self._shown(option)} sets is not known")
        name = pair[0] if pair is not None else text or ""
        word = self._value(option)
        self.variables[name] = Variable(name, word if pair is not None else "", () if pair is None else pair[1])


def _split(word: str) -> list[str]:
    """The parts of a shell word between colons, except those in `${…}` and `$(…)`; each part keeps its quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in word:
        depth += (letter in "({") - (letter in ")}")
        if letter == ":" and not depth:
            parts[-1] += quote
            parts.append(quote)
            continue
        if letter in "\"'" and not depth:
            quote = "" if quote == letter else quote or letter
        parts[-1] += letter
    return parts
