"""Commands that run another command: what they run, and what they change for it.

`env`, `timeout`, `numactl`, `uv run`, `nsys profile`, `apptainer exec` … A command that is not listed is no wrapper:
what an unknown script does with its arguments is unknown. Launchers (torchrun, mpirun) are in
`sbatchlint.job.launchers`; `exec`, `command` and `builtin` belong to the shell.

Options from the manual pages and `--help` of coreutils 9.1, util-linux 2.38, numactl 2.0, strace 6, perf 6, uv 0.9,
coverage 7; profilers of GPUs and processors are in `sbatchlint.job.commands.profilers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sbatchlint.bash.values import Pieces, cut, literal, shown_text, span_of, text_of
from sbatchlint.job.commands import container_commands, profilers, python_runners
from sbatchlint.job.commands import xargs as feeders
from sbatchlint.job.commands.argv import (
    Argv,
    Lookup,
    Reading,
    Syntax,
    assignment_of,
    basename,
    is_unknown,
    read,
    syntax,
)
from sbatchlint.job.containers import Container
from sbatchlint.source.text import Span


class Wrapped:
    """A command inside another.

    `kind`: the wrapper's name (`env`, `uv run`, `nsys profile`, `apptainer`). `index`: of the word of argv at which the
    command inside begins; None where there is none, or nobody knows which word it is. `prefix`: words that the wrapper
    puts in front of it (`python` for `uv run train.py`); they stand in the file where the wrapper's name does.
    `variables`: what it sets; `dropped`: what it unsets; `cleared`: nothing else of the environment remains but `kept`.
    `container`: the one it enters; `through_image`: the image's own entry point gets the words and may do anything
    with them. `workdir`: where it changes to. `environment_known`: no file or tool adds further variables.
    `span`: of the wrapper's name.
    """

    __slots__ = (
        "cleared",
        "container",
        "dropped",
        "environment_known",
        "index",
        "kept",
        "kind",
        "prefix",
        "span",
        "through_image",
        "variables",
        "workdir",
    )

    def __init__(
        self,
        kind: str,
        index: int | None,
        span: Span,
        prefix: tuple[Pieces, ...] = (),
        variables: tuple[tuple[str, Pieces], ...] = (),
        dropped: tuple[str, ...] = (),
        *,
        cleared: bool = False,
        kept: tuple[str, ...] = (),
        container: Container | None = None,
        through_image: bool = False,
        workdir: Pieces | None = None,
        environment_known: bool = True,
    ) -> None:
        self.kind = kind
        self.index = index
        self.span = span
        self.prefix = prefix
        self.variables = variables
        self.dropped = dropped
        self.cleared = cleared
        self.kept = kept
        self.container = container
        self.through_image = through_image
        self.workdir = workdir
        self.environment_known = environment_known

    def words(self, argv: Argv) -> list[Pieces]:
        """The argv of the command inside; empty where there is none."""
        if self.index is None:
            return []
        return [*self.prefix, *argv[self.index :]]

    def __repr__(self) -> str:
        return f"Wrapped({self.kind!r}, {self.index}, {[shown_text(each) for each in self.prefix]})"


# Wrappers that only have options before the command, and how many operands of their own.
_PLAIN: dict[str, tuple[Syntax, int]] = {
    "nohup": (syntax("", "help version"), 0),
    "time": (syntax("f/format format o/output output", "a/append append v/verbose verbose p q/quiet quiet V"), 0),
    "timeout": (
        syntax(
            "k/kill-after kill-after s/signal signal",
            "preserve-status p/preserve-status foreground f/foreground v/verbose verbose",
        ),
        1,
    ),
    "nice": (syntax("n/adjustment adjustment", "help version", numbers=True), 0),
    "stdbuf": (syntax("i/input input o/output output e/error error", "help"), 0),
    "setsid": (syntax("", "c/ctty ctty f/fork fork w/wait wait"), 0),
    "numactl": (
        syntax(
            "i/interleave interleave w/weighted-interleave weighted-interleave p/preferred preferred preferred-many "
            "P/preferred-many m/membind membind N/cpunodebind cpunodebind C/physcpubind physcpubind S/shm shm f/file "
            "file o/offset offset L/length length M/shmmode shmmode I/shmid shmid c/cpunodebind",
            "a/all all l/localalloc localalloc b/balancing balancing H/hardware hardware s/show show t/strict strict d "
            "D u T V cpu-compress",
        ),
        0,
    ),
    "catchsegv": (syntax("", "help"), 0),
    "unshare": (
        syntax(
            "map-user map-group map-users map-groups propagation setgroups R/root root w/wd wd S/setuid setuid "
            "G/setgid setgid monotonic boottime",
            "m/mount mount u/uts uts i/ipc ipc n/net net p/pid pid U/user user C/cgroup cgroup T/time time f/fork fork "
            "r/map-root-user map-root-user c/map-current-user map-current-user map-auto kill-child mount-proc "
            "keep-caps",
        ),
        0,
    ),
    "strace": (
        syntax(
            "e E/env env p/attach attach u/user user b/detach-on detach-on I/interruptible P/trace-path trace-path "
            "a/columns columns o/output output s/string-limit string-limit X O S/summary-sort-by U/summary-columns "
            "trace signal inject fault",
            "D f/follow-forks c C d h i k n q r t T v V w x y Y z Z A",
        ),
        0,
    ),
    "ltrace": (syntax("a A D e F l n o p s u w x", "b c C f h i L r S t T V"), 0),
    "gdb": (
        syntax(
            "x/command command ex/eval-command eval-command ix/init-command init-command iex/init-eval-command "
            "init-eval-command core exec pid directory se symbols cd data-directory D tty b l interpreter",
            "args batch batch-silent q quiet nx nh n nw w tui return-child-result readnow readnever write fullname",
            single_dash=True,
        ),
        0,
    ),
    "cuda-gdb": (syntax("x/command command ex/eval-command", "args batch q nx", single_dash=True), 0),
    "valgrind": (syntax("", "q v d h"), 0),
    "dumb-init": (syntax("r/rewrite rewrite", "c/single-child single-child v/verbose verbose"), 0),
    "tini": (syntax("p e", "s v w g l"), 0),
    "catatonit": (syntax("", "g P L"), 0),
    "xvfb-run": (
        syntax(
            "e/error-file error-file f/auth-file auth-file n/server-num server-num p/xauth-protocol xauth-protocol "
            "s/server-args server-args w/wait wait",
            "a/auto-servernum auto-servernum l/listen-tcp listen-tcp",
        ),
        0,
    ),
    "chronic": (syntax("", "e v"), 0),
    "unbuffer": (syntax("", "p"), 0),
}

_SUDO = syntax(
    "C/close-from close-from D/chdir chdir g/group group h/host host p/prompt prompt R/chroot chroot r/role role "
    "T/command-timeout command-timeout t/type type U/other-user other-user u/user user",
    "A b B E/preserve-env preserve-env e H i/login login K k l n P S s v V",
)
_TASKSET = syntax("", "a/all-tasks all-tasks p/pid pid c/cpu-list cpu-list")
_CHRT = syntax(
    "T/sched-runtime sched-runtime P/sched-period sched-period D/sched-deadline sched-deadline",
    "b/batch batch d/deadline deadline f/fifo fifo i/idle idle o/other other r/rr rr R/reset-on-fork reset-on-fork "
    "a/all-tasks all-tasks m/max max p/pid pid v/verbose verbose",
)
_IONICE = syntax("c/class class n/classdata classdata p/pid pid P/pgid pgid u/uid uid", "t/ignore ignore")
_ENV = syntax(
    "u/unset unset C/chdir chdir S/split-string split-string",
    "i/ignore-environment ignore-environment 0/null null v/debug debug block-signal default-signal ignore-signal",
)
_CONDA = syntax(
    "n/name name p/prefix prefix cwd a/attach attach e/env env r/root-prefix root-prefix",
    "v/verbose verbose dev debug-wrapper-scripts no-capture-output live-stream s/no-capture-output detach d/detach "
    "clean-env q/quiet quiet y/yes yes",
)
_PIXI = syntax(
    "e/environment environment manifest-path m/manifest-path w/workspace workspace tls-root-certs auth-file "
    "pypi-keyring-provider concurrent-solves concurrent-downloads color",
    "locked frozen no-install as-is no-lockfile-update revalidate clean-env x/executable executable skip-deps "
    "force-activate no-completions q/quiet quiet v/verbose verbose no-progress",
)


def _wrapped(kind: str, argv: Argv, reading: Reading, skip: int = 0, *, loads: bool = False) -> Wrapped:
    at = reading.operand
    if at is not None and not reading.certain and not reading.operand_certain:
        # `nice $X`: a whole command may hide in the unknown word, which is all there is to know.
        at = at if is_unknown(argv[at]) else None
    if at is not None:
        at += skip
        if at < len(argv) and skip and text_of(argv[at]) == "--":
            at += 1
        if at >= len(argv):
            at = None
    return Wrapped(kind, at, span_of(argv[0]), environment_known=not loads)


def _env(argv: Argv, lookup: Lookup) -> Wrapped:
    """`env [-i] [-u NAME] [-C DIR] [-S WORDS] [NAME=value…] [command…]`."""
    span = span_of(argv[0])
    sets: list[tuple[str, Pieces]] = []
    drops: list[str] = []
    clears = False
    workdir: Pieces | None = None
    prefix: list[Pieces] = []
    reading = read(argv, 1, _ENV)
    known = reading.certain
    for each in reading.given:
        if each.name == "unset" and each.text is not None:
            drops.append(each.text)
        elif each.name == "ignore-environment":
            clears = True
        elif each.name == "chdir":
            workdir = each.value
        elif each.name == "split-string" and each.value is not None:
            prefix.extend(_blank_separated(each.value))
    at = reading.operand
    if at is not None and text_of(argv[at]) == "-" and not reading.ended:
        clears = True
        at += 1
    while prefix and (pair := assignment_of(prefix[0])) is not None:
        sets.append(pair)
        del prefix[0]
    while not prefix and at is not None and at < len(argv):
        pair = assignment_of(argv[at])
        if pair is not None:
            sets.append(pair)
        elif not (is_unknown(argv[at]) and at + 1 < len(argv) and assignment_of(argv[at + 1]) is not None):
            break
        else:
            known = False
        at += 1
    if at is not None and at >= len(argv):
        at = None
    if at is None and prefix:
        at = len(argv)
    return Wrapped(
        "env",
        at,
        span,
        tuple(prefix),
        tuple(sets),
        tuple(drops),
        cleared=clears,
        workdir=workdir,
        environment_known=known,
    )


def _blank_separated(field: Pieces) -> list[Pieces]:
    """The words of a string as `env -S` splits it; quotes and escapes in it end what is known."""
    text = shown_text(field)
    if re.search(r"[\"'\\$#]", text):
        return []
    return [cut(field, found.start(), found.end()) for found in re.finditer(r"\S+", text)]


def _taskset(argv: Argv, lookup: Lookup) -> Wrapped | None:
    """`taskset [-c] MASK command…`; with -p it acts on a process."""
    reading = read(argv, 1, _TASKSET, trusting=True)
    if any(each.name == "pid" for each in reading.given):
        return None
    return _after_operand("taskset", argv, reading)


def _after_operand(kind: str, argv: Argv, reading: Reading) -> Wrapped:
    """A wrapper whose first operand is its own; an unknown one is that (`taskset $MASK …`), not the command."""
    return _wrapped(kind, argv, reading, 1)


def _chrt(argv: Argv, lookup: Lookup) -> Wrapped | None:
    reading = read(argv, 1, _CHRT, trusting=True)
    if any(each.name in ("pid", "max") for each in reading.given):
        return None
    return _after_operand("chrt", argv, reading)


def _ionice(argv: Argv, lookup: Lookup) -> Wrapped | None:
    reading = read(argv, 1, _IONICE)
    if any(each.name in ("pid", "pgid", "uid") for each in reading.given):
        return None
    return _wrapped("ionice", argv, reading)


def _gdb(argv: Argv, lookup: Lookup) -> Wrapped:
    reading = read(argv, 1, _PLAIN["gdb"][0])
    if not any(each.name == "args" for each in reading.given):
        return Wrapped("gdb", None, span_of(argv[0]))
    return _wrapped("gdb", argv, reading)


def _sudo(argv: Argv, lookup: Lookup) -> Wrapped:
    """sudo drops most of the environment unless -E says otherwise (env_reset is the default)."""
    reading = read(argv, 1, _SUDO)
    at = reading.operand
    sets: list[tuple[str, Pieces]] = []
    while at is not None and at < len(argv) and (pair := assignment_of(argv[at])) is not None:
        sets.append(pair)
        at += 1
    inside = _wrapped("sudo", argv, reading._replace(operand=at), loads=True)
    inside.variables = tuple(sets)
    inside.cleared = not any(each.name == "preserve-env" and each.value is None for each in reading.given)
    return inside


def _verb(argv: Argv, at: int = 1) -> str | None:
    return text_of(argv[at]) if at < len(argv) else None


def _conda(argv: Argv, lookup: Lookup) -> Wrapped | None:
    """`conda run [-n ENV] command…`, mamba and micromamba alike."""
    name = basename(argv[0]) or "conda"
    if _verb(argv) != "run":
        return None
    reading = read(argv, 2, _CONDA)
    return _wrapped(f"{name} run", argv, reading, loads=True)


def _pixi(argv: Argv, lookup: Lookup) -> Wrapped | None:
    if _verb(argv) not in ("run", "exec"):
        return None
    reading = read(argv, 2, _PIXI)
    return _wrapped("pixi run", argv, reading, loads=True)


def _dotenv(argv: Argv, lookup: Lookup) -> Wrapped | None:
    """`dotenv [-f FILE] run command…` (python-dotenv)."""
    top = read(argv, 1, syntax("f/file file q/quote quote e/export export", "version help"))
    if top.operand is None or _verb(argv, top.operand) != "run":
        return None
    reading = read(argv, top.operand + 1, syntax("", "override no-override"))
    return _wrapped("dotenv run", argv, reading, loads=True)


def _direnv(argv: Argv, lookup: Lookup) -> Wrapped | None:
    """`direnv exec DIR command…`."""
    if _verb(argv) != "exec":
        return None
    return _wrapped("direnv exec", argv, read(argv, 2, syntax(), trusting=True), 1, loads=True)


def _fed(name: str, command: Callable[[Argv], tuple[Pieces, ...] | None]) -> Callable[[Argv, Lookup], Wrapped]:
    """One that runs a command of its own making (see `feeders`), which stands nowhere among its words."""

    def unwrapped(argv: Argv, lookup: Lookup) -> Wrapped:
        words = command(argv)
        return Wrapped(name, None if words is None else len(argv), span_of(argv[0]), words or ())

    return unwrapped


_SPECIAL: dict[str, Callable[[Argv, Lookup], Wrapped | None]] = {
    "env": _env,
    "taskset": _taskset,
    "chrt": _chrt,
    "ionice": _ionice,
    "gdb": _gdb,
    "cuda-gdb": _gdb,
    "sudo": _sudo,
    "conda": _conda,
    "mamba": _conda,
    "micromamba": _conda,
    "pixi": _pixi,
    "dotenv": _dotenv,
    "direnv": _direnv,
    "xargs": _fed("xargs", feeders.xargs),
    "parallel": _fed("parallel", feeders.parallel),
}


def unwrap(argv: Argv, lookup: Lookup | None = None) -> Wrapped | None:
    """What the command runs, where it is a wrapper; None where it is none.

    `lookup` gives exported variables (APPTAINER_BIND, ENROOT_MOUNT_HOME, UV_NO_SYNC …).
    """
    if not argv:
        return None
    name = basename(argv[0])
    if name is None:
        return None
    values: Lookup = lookup or (lambda name: None)
    if name in container_commands.NAMES:
        entry = container_commands.enter(name, argv, values)
        if entry is None:
            return None
        return _entered(argv, entry)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(argv, values)
    plain = _PLAIN.get(name)
    if plain is not None:
        known, operands = plain
        reading = read(argv, 1, known, trusting=operands > 0)
        return _after_operand(name, argv, reading) if operands else _wrapped(name, argv, reading)
    profiled = profilers.profiled(name, argv)
    if profiled is not None:
        return Wrapped(profiled.kind, profiled.at, span_of(argv[0]), variables=profiled.sets)
    run = python_runners.runs(name, argv)
    if run is None:
        return None
    return Wrapped(
        run.kind, run.at, span_of(argv[0]), _located(run.prefix, argv), environment_known=not run.loads_environment
    )


def _located(words: tuple[str, ...], argv: Argv) -> tuple[Pieces, ...]:
    """Words that stand nowhere: they are shown where the wrapper's name is."""
    start = span_of(argv[0]).start
    return tuple((literal(word, start)._replace(end=start),) for word in words)


def _entered(argv: Argv, entry: container_commands.Entry) -> Wrapped:
    container = entry.container
    sets = tuple((name, value) for name, value in container.passed.items() if value is not None)
    return Wrapped(
        container.kind,
        entry.at,
        container.span,
        entry.prefix,
        sets,
        cleared=not container.inherits,
        kept=tuple(name for name, value in container.passed.items() if value is None),
        container=container,
        through_image=entry.through_image,
        workdir=container.workdir,
        environment_known=not container.hidden_environment,
    )


# Names of all commands that may be wrappers: a cheap test before `unwrap`.
WRAPPERS = frozenset(_SPECIAL) | frozenset(_PLAIN) | container_commands.NAMES | profilers.NAMES | python_runners.NAMES
