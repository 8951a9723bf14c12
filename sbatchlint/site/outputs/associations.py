"""`sacctmgr --parsable2 show assoc`: what the users of each account may have, of 22.05 (seen live) to 26.05.

Limits of a job (`Max...`) stand there as each user has inherited them; those of a group (`Grp...`) are of the account
alone, and count for the accounts below (`ParentName`, which is there only if it is asked for). Which default QOS
counts: `assoc_mgr_get_default_qos_info()` in src/common/assoc_mgr.c. Names of users are read, and never kept.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from sbatchlint.site.model import Accounts
from sbatchlint.site.outputs.records import number
from sbatchlint.site.outputs.sacctmgr import Row, time, tres
from sbatchlint.slurm.grammar.times import minutes

ROOT = "root"
_OF_JOB = {"max_tres": "MaxTRES", "max_tres_per_node": "MaxTRESPerNode", "max_tres_minutes": "MaxTRESMins"}
_MINUTES = {"group_tres_minutes": "GrpTRESMins", "group_tres_run_minutes": "GrpTRESRunMins"}


def is_association(line: str) -> bool:
    return line.startswith("Cluster|Account|") and "|User|" in line


def is_user(line: str) -> bool:
    return line.startswith("User|") and "|Def Acct" in line


class Associations:
    """The rows for a cluster ("": whichever there is). `user`: whose profile it is, None for everybody's.

    `default`: the account of the user for jobs that name none, if it is known.
    """

    def __init__(self, rows: Iterable[Row], cluster: str, user: str | None = None, default: str | None = None) -> None:
        every = [row for row in rows if row["Account"]]
        names = {row["Cluster"] for row in every}
        own = cluster.lower() if cluster else next(iter(names)) if len(names) == 1 else None
        mine = [row for row in every if row["Cluster"].lower() == own]
        self.accounts = {row["Account"]: row for row in mine if not row["User"]}
        self.used = {row["Account"] for row in mine if row["User"] and user in (None, row["User"])}
        self.users = [row for row in mine if row["User"] and (row["User"] == user if user else row["User"] != ROOT)]
        self.default = default
        # whoever may not see all of them does not see this one
        self.complete = ROOT in self.accounts or user is not None and bool(self.users)

    def named(self) -> tuple[Accounts, ...]:
        """The accounts, those together that allow the same. Raises `Damaged`."""
        found: list[Accounts] = []
        for name in sorted(self.used & {*self.accounts, *(row["Account"] for row in self.users)}):
            made = widest(map(self._of_user, self._rows(name)))
            same = next((each for each in found if replace(each, names=()) == made), None)
            if same is not None:
                found[found.index(same)] = replace(same, names=(*same.names, name))
            else:
                found.append(replace(made, names=(name,)))
        return tuple(found)

    def of_any(self) -> Accounts | None:
        """What is true of every account that a job may have which names none; None where none has users.

        Raises `Damaged`.
        """
        users = [row for row in self.users if self.default in (None, row["Account"])]
        return widest(map(self._of_user, users)) if users and self.complete else None

    def below(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        """These accounts and all below them; None where it is not known which are."""
        found, given = [], {each.lower() for each in names}
        for name in sorted(self.used):
            row = self.accounts.get(name)
            if row is None or "ParentName" not in row:
                return None
            chain = {each["Account"] for each in self._above(row)}
            if ROOT not in chain:
                return None
            if given & chain:
                found.append(name)
        return tuple(found)

    def _rows(self, account: str) -> list[Row]:
        """Those of its users, or (it has none but root) its own."""
        return [row for row in self.users if row["Account"] == account] or [self.accounts[account]]

    def _above(self, row: Row) -> Iterator[Row]:
        """An association and those above it, as far as they are known."""
        yield row
        name, seen = row["Account"], set()
        while name in self.accounts and name not in seen:
            seen.add(name)
            if self.accounts[name] is not row:
                yield self.accounts[name]
            name = self.accounts[name].get("ParentName") or ROOT

    def _of_user(self, row: Row) -> Accounts:
        of = f"the account {row['Account']}"
        found: dict[str, Any] = {field: tres(row.get(column, ""), of) for field, column in _OF_JOB.items()}
        every = list(self._above(row))
        amounts = [tres(each.get("GrpTRES", ""), of) for each in every]
        found["group_tres"] = {
            name: min(each[name] for each in amounts if name in each) for one in amounts for name in one
        }
        for field, column in _MINUTES.items():  # the nearest one counts
            found[field] = {
                name: most for each in reversed(every) for name, most in tres(each.get(column, ""), of).items()
            }
        walls = [time(each.get("GrpWall"), of) for each in every]
        jobs = [each for each in (number(one.get("GrpSubmit")) for one in every) if each is not None]
        qos = tuple(each for each in row["QOS"].split(",") if each) if "QOS" in row else None
        return Accounts(
            qos=qos,
            default_qos=self._default_qos(row, qos),
            max_time=time(row.get("MaxWall"), of),
            group_time=next((each for each in walls if each is not None), None),
            max_submitted_jobs=number(row.get("MaxSubmit")),
            max_submitted_jobs_of_all=min(jobs, default=None),
            **found,
        )

    def _default_qos(self, row: Row, qos: tuple[str, ...] | None) -> str | None:
        if qos is None or "Def QOS" not in row:
            return None
        one = qos[0] if len(qos) == 1 else ""
        return row["Def QOS"] or one or self.accounts.get(ROOT, {}).get("Def QOS") or "normal"


def widest(every: Iterable[Accounts]) -> Accounts:
    """What is true of all of these: each limit where it is the widest, and none that some do not have."""
    rows = list(every)
    fields = [name for name in rows[0].__struct_fields__ if name not in ("names", "differs")]
    differs = any(getattr(each, name) != getattr(rows[0], name) for each in rows for name in fields if name != "qos")
    return Accounts(differs=differs, **{name: _widest([getattr(each, name) for each in rows], name) for name in fields})


def _widest(values: list[Any], name: str) -> Any:
    if name == "qos":
        return None if None in values else tuple(sorted({each for one in values for each in one}))
    if name == "default_qos":
        return values[0] if len(set(values)) == 1 else None
    if isinstance(values[0], dict):
        common = [key for key in values[0] if all(key in each for each in values)]
        return {key: max(each[key] for each in values) for key in common}
    if None in values:
        return None
    return max(values, key=lambda each: (minutes(each) or 0) if isinstance(each, str) else each)
