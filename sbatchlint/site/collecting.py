"""Makes a profile from what Slurm's commands print, on this cluster or in saved files."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from sbatchlint.site.model import Nodes, Partition, Profile
from sbatchlint.site.outputs import config, groups, licenses, nodes, partitions, sacctmgr, sinfo
from sbatchlint.site.outputs.associations import Associations
from sbatchlint.site.outputs.records import Damaged
from sbatchlint.site.outputs.sections import Foreign, Section, sections
from sbatchlint.site.profile import GPU, gpus_of, total
from sbatchlint.site.reading import FORMAT
from sbatchlint.slurm.plugin_help import NoHelp, options_of_help
from sbatchlint.source.files import InputError
from sbatchlint.source.regex import Regex

SINFO = "sinfo --all --format=%P|%a|%l|%D|%c|%m|%d|%G|%f|%N"
ASSOCIATIONS = (
    "sacctmgr --parsable2 show assoc format=Cluster,Account,ParentName,User,Partition,GrpTRES,GrpSubmit,GrpWall,"
    "GrpTRESMins,GrpTRESRunMins,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxSubmit,MaxWall,QOS,DefaultQOS"
)
COMMANDS = (
    "scontrol show config",
    "scontrol --all show partition",
    "scontrol --all show node",
    "scontrol show licenses",
    SINFO,
    "sacctmgr --parsable2 show qos",
    "sacctmgr --parsable2 show qos format=Name,Flags,LimitFactor",
    ASSOCIATIONS,
    "sbatch --help",
)
USER_COMMANDS = ("sacctmgr --parsable2 show user", "id")  # and the name
_OF_USERS = frozenset({"id", "sacctmgr show user"})
_LAST_OPTION = Regex(r"^\s+(?:-V, )?--version\b")
_TIMEOUT_SECONDS = 60


class Output(NamedTuple):
    """What a command printed; `name`: the file, or the command."""

    name: str
    text: str


def printed(user: str | None = None) -> tuple[list[Output], list[str]]:
    """What the commands print here, and why some printed nothing. Raises `InputError` if no scontrol command works."""
    found, missing = [], []
    for line in (*COMMANDS, *(f"{each} {user}" for each in USER_COMMANDS if user is not None)):
        words = line.split(" ")
        result = _run(words)
        if isinstance(result, Output):
            found.append(result)
        else:
            missing.append(f"{line}: {result.args[0]}")
    if not any(each.name.startswith("scontrol") for each in found):
        raise InputError(f"no cluster answers here ({missing[0]}); save the outputs on a login node, and use --from")
    return found, missing


def _run(words: list[str]) -> Output | Damaged:
    program = shutil.which(words[0])
    if program is None:
        return Damaged(f"there is no {words[0]}")
    try:
        done = subprocess.run(
            [program, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Damaged(f"no answer in {_TIMEOUT_SECONDS} seconds")
    except OSError as error:
        return Damaged(f"cannot be started: {error.strerror}")
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode or not text.strip():
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return Damaged(
            said[-1][:200] if said else f"ended with {done.returncode}" if done.returncode else "printed nothing"
        )
    return Output(" ".join(words), text)


def profile_of(outputs: Sequence[Output], private: bool = False, user: str | None = None) -> Profile:
    """The profile that the outputs describe. Raises `InputError` if one is damaged, or is not from such a command.

    `private`: with the names of accounts and groups. `user`: for this user alone, with the names of the accounts of the
    user.
    """
    parts = _Parts(private or user is not None, user)
    for output in outputs:
        try:
            for section in sections(output.text):
                parts.take(section)
            parts.combine()
        except (Damaged, Foreign, NoHelp) as error:
            raise InputError(f"{output.name}: {error}") from None
    if user is not None and not parts.associations:
        raise InputError(f"the associations of {user} are not known (sacctmgr show assoc); leave out --for-user")
    if user is not None and not parts.fields.get("accounts"):
        raise InputError(f"sacctmgr shows no association of the user {user}; leave out --for-user")
    if parts.sources.keys() <= _OF_USERS:
        raise InputError(f"{', '.join(each.name for each in outputs)}: says nothing of a cluster; add"
                         " what `scontrol show config`, `partition` and `node` print")  # fmt: skip
    return parts.profile()


class _Parts:
    """The parts of a profile that have been read so far."""

    def __init__(self, private: bool, user: str | None) -> None:
        self.private = private
        self.user = user
        self.fields: dict[str, Any] = {}
        self.sources: dict[str, None] = {}
        self.partitions: dict[str, Partition] = {}
        self.nodes: dict[str, Nodes] = {}
        self.planned: set[str] = set()
        self.rows: list[sinfo.Row] = []
        self.qos: list[sacctmgr.Row] = []
        self.associations: list[sacctmgr.Row] = []
        self.users: list[sacctmgr.Row] = []
        self.found: Associations | None = None

    def take(self, section: Section) -> None:
        command, lines = section
        if command == "scontrol show config":
            self._take_configuration(config.read_config(lines))
        elif command == "scontrol show partition":
            self.partitions |= partitions.read_partitions(lines, self.private)
        elif command == "scontrol show node":
            self._take_nodes(nodes.read_nodes(lines))
        elif command == "scontrol show licenses":
            self.fields["licenses"] = licenses.read_licenses(lines)
        elif command == "sinfo":
            self.rows += sinfo.read_sinfo(lines)
        elif command == "sacctmgr show qos":
            self.qos += sacctmgr.rows_of(lines)
        elif command == "sacctmgr show assoc":
            self.associations += sacctmgr.rows_of(lines)
        elif command == "sacctmgr show user":
            self.users += sacctmgr.rows_of(lines)
        elif command == "id":
            if self.user is not None:
                self.fields["groups"] = groups.read_groups(lines[0], self.user)
        else:
            if not any(_LAST_OPTION.search(line) for line in lines):
                raise Damaged("the help of sbatch has no --version, its last option: is the output cut off?")
            self.fields["plugin_options"] = options_of_help("\n".join(lines))
        self.sources[command] = None

    def _take_configuration(self, fields: dict[str, Any]) -> None:
        known, name = self.fields.get("cluster"), fields["cluster"]
        if known and name and known != name:
            raise Damaged(f"is of the cluster {name}, and what came before of {known}; make a profile of each")
        known, release = self.fields.get("release"), fields["release"]
        if known and release and known[:5] != release[:5]:
            raise Damaged(
                f"is of release {release}, and what came before of {known}; save both again, from one release"
            )
        self.fields |= fields

    def _take_nodes(self, read: Iterable[tuple[str, Nodes | None]]) -> None:
        for name, each in read:
            if each is None:
                self.planned.add(name)
            else:
                self.nodes[name] = each

    def combine(self) -> None:
        """Reads what may be spread over several outputs: QOS and associations. Raises `Damaged`."""
        if self.qos:
            self.fields["qos"] = sacctmgr.read_qos(self.qos)
        self._accounts()

    def _accounts(self) -> None:
        if not self.associations:
            return
        default = next((row["Def Acct"] or None for row in self.users if row["User"] == self.user), None)
        found = Associations(self.associations, self.fields.get("cluster", ""), self.user, default)
        self.found = found
        self.fields["any_account"] = found.of_any()
        self.fields["default_account"] = default
        self.fields["accounts"] = found.named() if self.private and found.complete else ()

    def profile(self) -> Profile:
        complete = [name for name in ("partitions", "nodes") if getattr(self, name)]
        if self.nodes and self.partitions:
            complete = [name for name in complete if not self._lacks(name)]
        complete += [name for name in ("qos", "accounts") if self.fields.get(name)]
        tables = self._with_accounts_below() if self.partitions else self._partitions_of_rows()
        kinds = nodes.kinds(self.nodes.items()) if self.nodes else self._nodes_of_rows()
        if tables:
            kinds = tuple(
                replace(each, partitions=tuple(filter(tables.__contains__, each.partitions))) for each in kinds
            )
        has_gpus = GPU in self.fields.get("gres_types", (GPU,)) and any(gpus_of(each) for each in kinds)
        return Profile(
            format=FORMAT, source=tuple(self.sources), complete=tuple(complete), gpus="gres" if has_gpus else None,
            partitions=tables, nodes=kinds, **self.fields,
        )  # fmt: skip

    def _lacks(self, what: str) -> bool:
        """Whether the nodes and the partitions name others (`what`) that are not there: hidden, or cut off."""
        shown = Counter(name for each in self.nodes.values() for name in each.partitions)
        if what == "partitions":
            return not shown.keys() <= self.partitions.keys()
        return any((each.nodes or 0) > shown[name] + len(self.planned) for name, each in self.partitions.items())

    def _with_accounts_below(self) -> dict[str, Partition]:
        """The partitions with all accounts that they allow or deny: since 23.02 those below the ones that are named."""
        if self.found is None or (self.fields.get("release") or "99") < "23.02":
            return self.partitions
        made = {}
        for name, each in self.partitions.items():
            allowed = self.found.below(each.allow_accounts) if each.allow_accounts is not None else None
            denied = self.found.below(each.deny_accounts) if each.deny_accounts is not None else None
            made[name] = replace(each, allow_accounts=allowed, deny_accounts=denied or each.deny_accounts)
        return made

    def _partitions_of_rows(self) -> dict[str, Partition]:
        found: dict[str, Partition] = {}
        for row in self.rows:
            own = (each.nodes for each in self.rows if each.partition == row.partition)
            found[row.partition] = Partition(
                nodes=total(own), default=row.default, state=row.state or "UP", max_time=row.max_time
            )
        return found

    def _nodes_of_rows(self) -> tuple[Nodes, ...]:
        """The kinds of nodes in the rows of sinfo, which lists a node once for each of its partitions."""
        named: dict[str, Nodes] = {}
        for row in self.rows:
            if not row.sized:
                continue
            for name in row.names:
                known = named.get(name)
                others = known.partitions if known is not None else ()
                every = tuple(sorted({*others, *row.nodes.partitions}))
                named[name] = replace(row.nodes, count=1, partitions=every)
        return nodes.kinds(named.items())


def carried_over(new: Profile, old: Profile) -> Profile:
    """A profile with what was written by hand into the one that it replaces: prices, watts, the currency."""
    tables = {
        name: replace(each, price=old.partitions[name].price, watts=old.partitions[name].watts)
        if name in old.partitions
        else each
        for name, each in new.partitions.items()
    }
    by_hand = {(each.gres, each.cpus, each.memory): each for each in old.nodes}
    kinds = tuple(
        replace(each, price=known.price, watts=known.watts, gpus=known.gpus) if known is not None else each
        for each, known in ((each, by_hand.get((each.gres, each.cpus, each.memory))) for each in new.nodes)
    )
    return replace(new, partitions=tables, nodes=kinds, currency=old.currency, gpus=new.gpus or old.gpus)


__all__ = ["ASSOCIATIONS", "COMMANDS", "USER_COMMANDS", "Output", "carried_over", "printed", "profile_of"]
