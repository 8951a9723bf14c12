"""The model of a launcher: a command that starts the workers of a distributed program."""

from collections.abc import Mapping
from typing import NamedTuple

from sbatchlint.bash.values import Pieces, cut, span_of, text_of
from sbatchlint.job.argv import Argv, CommandOption, Lookup, Reading, Syntax, integer, partition, read
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_COUNTS_GPUS = Regex(r"\$\(\s*(?:(?:nvidia|rocm|amd)-smi\b.*(?:wc -l|grep -\w*c\b)|python.*\bdevice_count\(\))")


class Setting(NamedTuple):
    """A value that a launcher uses, and where it comes from.

    `value`: None for a flag. `span`: of the option's word, or of the variable's value. `at`: index of the option's word
    in argv, None if an environment variable sets it. `name`: the option's canonical name, or the variable's name.
    """

    value: Pieces | None
    span: Span
    at: int | None
    name: str

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)

    @property
    def number(self) -> int | None:
        return integer(self.value)

    @property
    def from_environment(self) -> bool:
        return self.at is None


class Rendezvous(NamedTuple):
    """How the launchers of several nodes find each other.

    `backend`: `static`, `c10d`, `etcd` …, None where it is not known. `address`: the host, from the endpoint or from
    `--master_addr`; None where neither is set. `port` likewise. `endpoint`: `host:port` as written.
    """

    backend: str | None
    address: Setting | None
    port: Setting | None
    endpoint: Setting | None


class Call(NamedTuple):
    """A call of a launcher.

    `name`: as written (`python -m torch.distributed.run`). `at`, `span`: index and place of the word that names it.
    `after`: the index of its first argument. `environment`: the values of exported variables.
    """

    name: str
    argv: Argv
    at: int
    after: int
    span: Span
    environment: Lookup

    @property
    def first_argument(self) -> int | None:
        """The index of its first argument; None where there is none."""
        return self.after if self.after < len(self.argv) else None

    @property
    def verb(self) -> str | None:
        """Its first argument; None where that is missing or not known."""
        at = self.first_argument
        return None if at is None else text_of(self.argv[at])

    def subcommand(self, *, is_placed: bool = False) -> "Call":
        """The call of its subcommand, such as `fabric run`; `is_placed`: the place is that of both words."""
        span = self.span
        if is_placed:
            word = span_of(self.argv[self.after])
            span = Span(span.start, word.end) if word.start >= span.start else span
        return self._replace(name=f"{self.name} {self.verb}", after=self.after + 1, span=span)

    def read(self, syntax: Syntax) -> Reading:
        """Its options."""
        return read(self.argv, self.after, syntax)


class Launcher:
    """A launcher, with the options of one call.

    `kind`: `torchrun`, `torch.distributed.launch`, `accelerate`, `deepspeed`, `deepspeed.launch`, `swift`, `mpi`,
    `fabric`, `colossalai`, `composer`, `ray`, `horovod`, `torchpack`. `name`: as written (`python -m
    torch.distributed.run`). `index`, `span`: of the word that names it. `spawns`: whether it starts several workers on
    a node. `options`, `flags`: those with and without a value, the last of each, by canonical name. `all_options`: all
    of them in order. `program`: index in argv of what it runs, None where that is missing or not known; `program_kind`:
    `script` (a Python file), `module` (the name of one) or `command`. `certain`: whether no word may hide further
    options. `program_certain`: whether `program` is not a guess. `variables`: the environment variables that set
    options, by option. `configured`: the settings of a configuration file that could be read; None if there is none.
    `joined`: whether it is one of several application contexts of an mpirun (`-n 1 a : -n 3 b`).
    """

    def __init__(
        self,
        kind: str,
        call: Call,
        reading: Reading,
        *,
        spawns: bool = True,
        variables: Mapping[str, str] = {},
        program_kind: str = "script",
    ) -> None:
        self.kind = kind
        self.name: str = call.name
        self.index: int = call.at
        self.span: Span = call.span
        self.argv: Argv = call.argv
        self.environment: Lookup = call.environment
        self.all_options = reading.options
        self.options: dict[str, CommandOption] = {}
        self.flags: dict[str, CommandOption] = {}
        for option in reading.options:
            (self.flags if option.value is None else self.options)[option.name] = option
        self.program = reading.operand
        self.program_certain = reading.operand_certain and reading.operand is not None
        self.certain = reading.certain
        self.spawns = spawns
        self.joined = False
        self.configured: dict[str, Setting] | None = None
        self.variables = dict(variables)
        self.program_kind = program_kind

    def has_flag(self, name: str) -> bool:
        """Whether a flag is set, by itself or by its environment variable."""
        if name in self.flags:
            return True
        setting = self.setting(name)
        return setting is not None and setting.from_environment and setting.text not in ("0", "", None)

    def read_program_kind(self) -> None:
        """Sets the kind of its program by the flags of torchrun, which others have too."""
        if self.has_flag("module"):
            self.program_kind = "module"
        elif self.has_flag("no_python"):
            self.program_kind = "command"

    def runs_arguments(self, call: Call) -> None:
        """Makes the first argument of a call, and what follows, the command that it runs."""
        self.program = call.first_argument
        self.program_certain = self.program is not None
        self.program_kind = "command"

    def is_a(self, *traits: str) -> bool:
        """Whether launchers of its kind have one of these traits in the table of programs."""
        return has_trait(self.kind, *traits)

    @property
    def starts_several(self) -> bool:
        """Whether it starts several processes: on its node, or as MPI ranks."""
        return self.spawns or self.kind == "mpi"

    def setting(self, *names: str) -> Setting | None:
        """The first of these options that is set: by an option, its environment variable, or the configuration file."""
        for name in names:
            option = self.options.get(name) or self.flags.get(name)
            if option is not None:
                return Setting(option.value, option.span, option.at, name)
        for name in names:
            variable = self.variables.get(name)
            if variable is None:
                continue
            value = self.environment(variable)
            if value is not None:
                span = Span(value[0].start, value[-1].end) if value else Span(0, 0)
                return Setting(value, span, None, variable)
        configured = self.configured or {}
        return next((configured[name] for name in names if name in configured), None)

    @property
    def program_words(self) -> Argv:
        """The program that it runs, with its arguments; empty where that is not known."""
        return () if self.program is None else self.argv[self.program :]

    @property
    def program_name(self) -> str | None:
        """The file or module that it runs; None where that is not known."""
        return None if self.program is None else text_of(self.argv[self.program])

    # Properties that the kinds override where they have other rules.

    @property
    def processes_per_task(self) -> int | str | None:
        """Workers that one launcher starts on its node: a number, `auto` (one per device), or None where not known."""
        return None

    @property
    def nnodes(self) -> int | tuple[int, int] | Pieces | None:
        """Nodes that take part: a number, (least, most), the field if it is not known; None if not set."""
        return nodes(self.machines)

    @property
    def node_rank(self) -> Setting | None:
        return None

    @property
    def rendezvous(self) -> Rendezvous | None:
        return None

    @property
    def takes_free_port(self) -> bool:
        """Whether it may meet at a free port of its own node without an option for that."""
        return False

    @property
    def standalone(self) -> bool:
        return False

    @property
    def total_processes(self) -> Setting | None:
        """The setting of the number of workers on all nodes."""
        return None

    @property
    def machines(self) -> Setting | None:
        """The setting of the number of nodes."""
        return None

    @property
    def config_file(self) -> Setting | None:
        """The setting of a file that may set any of its options, if that file could not be read."""
        return None

    @property
    def cpu(self) -> bool:
        """Whether it is set to use no GPU."""
        return False

    @property
    def hostfile(self) -> Setting | None:
        return None


def count(setting: Setting | None) -> int | str | None:
    """A number of processes, `auto` for one per device, None where it is not known."""
    text = None if setting is None else setting.text
    if text is None:
        return "auto" if setting is not None and counts_gpus(setting.value) else None
    if text in ("auto", "gpu", "cpu", "xpu"):
        return "auto"
    number = integer(setting.value if setting else None)
    return number if number is not None and number >= 0 else None


def counts_gpus(value: Pieces | None) -> bool:
    """Whether a value is the number of GPUs that a node, or the job on it, has: `$(nvidia-smi -L | wc -l)`."""
    if value is None or len(value) != 1 or value[0].expansion is None:
        return False
    name = value[0].expansion.name
    return name == "SLURM_GPUS_ON_NODE" or _COUNTS_GPUS.match(name) is not None


def nodes(setting: Setting | None) -> int | tuple[int, int] | Pieces | None:
    """A number of nodes (`4`), a range of them (`2:4`), or the field itself where it is not known or not a number."""
    if setting is None or setting.value is None:
        return None
    text = setting.text
    if text is None:
        return setting.value
    least, _, most = text.partition(":")
    if is_number(least.strip()) and (not most or is_number(most.strip())):
        if not most or parse_integer(least) == parse_integer(most):
            return parse_integer(least)
        return parse_integer(least), parse_integer(most)
    return setting.value


def host_and_port(setting: Setting) -> tuple[Setting, Setting | None]:
    """The host and the port of an endpoint `host:port`; the port is None if it has none."""
    value = setting.value
    if value is None:
        return setting, None
    text = setting.text
    if text is not None and text.startswith("["):
        # [::1]:29500
        end = text.find("]") + 1
        host = cut(value, 0, end)
        port = cut(value, end + 1, len(text)) if text[end : end + 1] == ":" else None
    else:
        host, port = partition(value, ":")
    return setting._replace(value=host), setting._replace(value=port) if port else None
