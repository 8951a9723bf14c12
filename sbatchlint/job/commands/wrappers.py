"""Commands that run another command: what they run, and what they change for it.

`env`, `timeout`, `numactl`, `uv run`, `nsys profile`, `apptainer exec` … A command that is not listed is not a wrapper,
as it is not known what an unknown script does with its arguments. Launchers (torchrun, mpirun) are in
`sbatchlint.job.launchers`; `exec`, `command` and `builtin` belong to the shell.

Options from the manual pages and `--help` of coreutils 9.1, util-linux 2.38, numactl 2.0, strace 6, perf 6, uv 0.9,
coverage 7; profilers are in `sbatchlint.job.commands.profilers`.
"""

import re
from collections.abc import Callable

from sbatchlint.bash.trace import Spawn
from sbatchlint.bash.values import Pieces, cut, shown_text, text_of
from sbatchlint.job.argv import Argv, Lookup, Reading, Syntax, assignment_of, basename, is_unknown, read, syntax
from sbatchlint.job.commands import container_commands, profilers, python_runners, xargs

# Wrappers with only options before the command, and the number of their own operands.
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
    "taskset": (syntax("", "a/all-tasks all-tasks p/pid pid c/cpu-list cpu-list"), 1),
    "chrt": (
        syntax(
            "T/sched-runtime sched-runtime P/sched-period sched-period D/sched-deadline sched-deadline",
            "b/batch batch d/deadline deadline f/fifo fifo i/idle idle o/other other r/rr rr "
            "R/reset-on-fork reset-on-fork a/all-tasks all-tasks m/max max p/pid pid v/verbose verbose",
        ),
        1,
    ),
    "ionice": (syntax("c/class class n/classdata classdata p/pid pid P/pgid pgid u/uid uid", "t/ignore ignore"), 0),
    "chronic": (syntax("", "e v"), 0),
    "unbuffer": (syntax("", "p"), 0),
}
# Options of these with which they start nothing, but act on a process or print something.
_STARTING_NOTHING = {"taskset": ("pid",), "chrt": ("pid", "max"), "ionice": ("pid", "pgid", "uid")}

_SUDO = syntax(
    "C/close-from close-from D/chdir chdir g/group group h/host host p/prompt prompt R/chroot chroot r/role role "
    "T/command-timeout command-timeout t/type type U/other-user other-user u/user user",
    "A b B E/preserve-env preserve-env e H i/login login K k l n P S s v V",
)
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


def _after_operands(kind: str, argv: Argv, reading: Reading, skip: int = 0) -> Spawn:
    """What a wrapper starts whose command is its first operand, or the one after `skip` operands of its own."""
    at = reading.operand
    if at is not None and not reading.certain and not reading.operand_certain:
        # `nice $X`: the unknown word may be a whole command.
        at = at if is_unknown(argv[at]) else None
    if at is not None:
        at += skip
        if at < len(argv) and skip and text_of(argv[at]) == "--":
            at += 1
        if at >= len(argv):
            at = None
    return Spawn(kind, at)


def _env(argv: Argv) -> Spawn:
    """What `env [-i] [-u NAME] [-C DIR] [-S WORDS] [NAME=value…] [command…]` starts."""
    variables: list[tuple[str, Pieces]] = []
    dropped: list[str] = []
    cleared = False
    prefix: list[Pieces] = []
    reading = read(argv, 1, _ENV)
    for option in reading.options:
        if option.name == "unset" and option.text is not None:
            dropped.append(option.text)
        elif option.name == "ignore-environment":
            cleared = True
        elif option.name == "split-string" and option.value is not None:
            prefix.extend(_split_words(option.value))
    at = reading.operand
    if at is not None and text_of(argv[at]) == "-" and not reading.ended:
        cleared = True
        at += 1
    while prefix and (pair := assignment_of(prefix[0])) is not None:
        variables.append(pair)
        del prefix[0]
    while not prefix and at is not None and at < len(argv):
        pair = assignment_of(argv[at])
        if pair is not None:
            variables.append(pair)
        elif not (is_unknown(argv[at]) and at + 1 < len(argv) and assignment_of(argv[at + 1]) is not None):
            break
        at += 1
    if at is not None and at >= len(argv):
        at = None
    if at is None and prefix:
        at = len(argv)
    return Spawn(
        "env", at, variables=tuple(variables), dropped=frozenset(dropped), cleared=cleared, prefix=tuple(prefix)
    )


def _split_words(field: Pieces) -> list[Pieces]:
    """The words of a string as `env -S` splits it; none if it has quotes or escapes."""
    text = shown_text(field)
    if re.search(r"[\"'\\$#]", text):
        return []
    return [cut(field, found.start(), found.end()) for found in re.finditer(r"\S+", text)]


def _gdb(argv: Argv) -> Spawn:
    reading = read(argv, 1, _PLAIN["gdb"][0])
    return _after_operands("gdb", argv, reading) if _has(reading, "args") else Spawn("gdb", None)


def _has(reading: Reading, *names: str) -> bool:
    return any(each.name in names for each in reading.options)


def _sudo(argv: Argv) -> Spawn:
    """What sudo starts; it drops most of the environment unless -E is set (env_reset is the default)."""
    reading = read(argv, 1, _SUDO)
    at = reading.operand
    variables: list[tuple[str, Pieces]] = []
    while at is not None and at < len(argv) and (pair := assignment_of(argv[at])) is not None:
        variables.append(pair)
        at += 1
    found = _after_operands("sudo", argv, reading._replace(operand=at))
    found.variables = tuple(variables)
    found.cleared = not any(each.name == "preserve-env" and each.value is None for each in reading.options)
    return found


def _verb(argv: Argv, at: int = 1) -> str | None:
    return text_of(argv[at]) if at < len(argv) else None


def _conda(argv: Argv) -> Spawn | None:
    """What `conda run [-n ENV] command…` starts, also for mamba and micromamba; None for other verbs."""
    if _verb(argv) != "run":
        return None
    return _after_operands(f"{basename(argv[0])} run", argv, read(argv, 2, _CONDA))


def _pixi(argv: Argv) -> Spawn | None:
    if _verb(argv) not in ("run", "exec"):
        return None
    return _after_operands("pixi run", argv, read(argv, 2, _PIXI))


def _dotenv(argv: Argv) -> Spawn | None:
    """What `dotenv [-f FILE] run command…` (python-dotenv) starts; None for other verbs."""
    top = read(argv, 1, syntax("f/file file q/quote quote e/export export", "version help"))
    if top.operand is None or _verb(argv, top.operand) != "run":
        return None
    return _after_operands("dotenv run", argv, read(argv, top.operand + 1, syntax("", "override no-override")))


def _direnv(argv: Argv) -> Spawn | None:
    """What `direnv exec DIR command…` starts; None for other verbs."""
    if _verb(argv) != "exec":
        return None
    return _after_operands("direnv exec", argv, read(argv, 2, syntax(), trusting=True), 1)


def _for_items(argv: Argv) -> Spawn:
    """What xargs or parallel starts, a command that is not among its words."""
    name = basename(argv[0]) or "xargs"
    command = xargs.parallel(argv) if name == "parallel" else xargs.xargs(argv)
    return Spawn(name, None if command is None else len(argv), prefix=command or ())


_SPECIAL: dict[str, Callable[[Argv], Spawn | None]] = {
    "env": _env,
    "gdb": _gdb,
    "cuda-gdb": _gdb,
    "sudo": _sudo,
    "conda": _conda,
    "mamba": _conda,
    "micromamba": _conda,
    "pixi": _pixi,
    "dotenv": _dotenv,
    "direnv": _direnv,
    "xargs": _for_items,
    "parallel": _for_items,
}


def unwrap(argv: Argv, lookup: Lookup) -> Spawn | None:
    """What a wrapper starts; None for other commands.

    `lookup`: the values of exported variables (APPTAINER_BIND, ENROOT_MOUNT_HOME, UV_NO_SYNC …).
    """
    name = basename(argv[0]) if argv else None
    if name is None:
        return None
    if name in container_commands.NAMES:
        return container_commands.enter(name, argv, lookup)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(argv)
    plain = _PLAIN.get(name)
    if plain is not None:
        known, operands = plain
        reading = read(argv, 1, known, trusting=operands > 0)
        is_idle = _has(reading, *_STARTING_NOTHING.get(name, ()))
        return None if is_idle else _after_operands(name, argv, reading, operands)
    return profilers.profiled(name, argv) or python_runners.runs(name, argv)


# The names of all commands that may be wrappers: a cheap test before `unwrap`.
WRAPPERS = frozenset(_SPECIAL) | frozenset(_PLAIN) | container_commands.NAMES | profilers.NAMES | python_runners.NAMES
