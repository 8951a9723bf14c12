"""The partitions in which a job would run, according to the profile of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.directives.placeholders import may_open_placeholder, placeholder
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.request import Request
from sbatchlint.site.profile import lists
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.site.model import Accounts, Profile, Qos


class Target(NamedTuple):
    """A component of a job, and its partitions, as many as the profile knows of those that are named.

    `named`: whether the script names them, or how it is submitted is known; else they are the default one, which the
    command line of sbatch may replace.
    """

    profile: Profile
    request: Request
    component: int
    partitions: tuple[str, ...]
    named: bool


@once
def targets(job: Job) -> tuple[Target, ...]:
    """The components of a job whose partitions are known; none without a profile, or where all of them are refused."""
    profile = job.site.profile
    if profile is None or not job.directives.certain:
        return ()
    found = []
    for request in requests(job):
        names = named_partitions(request)
        if names is None:
            continue
        if names:
            known = tuple(name for name in names if name in profile.partitions)
            if len(known) == len(names):
                found.append(Target(profile, request, request.component, known, True))
        elif profile.default_partition is not None:
            sure = job.site.submit_options is not None
            found.append(Target(profile, request, request.component, (profile.default_partition,), sure))
    return tuple(found)


@once
def requests(job: Job) -> tuple[Request, ...]:
    """What each component of a job requests, but for those that other clusters may run (`--clusters`)."""
    count = job.directives.components
    every = (job.request, *(Request(job.directives, number) for number in range(1, count)))
    return tuple(each for each in every if not each.has_option("clusters"))


def named_partitions(request: Request) -> tuple[str, ...] | None:
    """The partitions that a component names, empty where it names none; None where they are not known."""
    if not request.has_option("partition"):
        return ()
    text = named(request, "partition")
    return None if text is None else tuple(each for each in text.split(",") if each)


def named(request: Request, option: str) -> str | None:
    """The value of an option; None even where it is still to be filled in (`<partition>`, `[partition name]`)."""
    text = request.value(option)
    if text is None or placeholder(option, text) is not None or may_open_placeholder(option, text):
        return None
    return text


def place(job: Job, request: Request, *names: str) -> Span:
    """Where the first of these options is written that is set; else the partition, else the first line."""
    for name in (*names, "partition"):
        setting = request.setting(name)
        if setting is not None:
            return setting.span
        foreign = [each for each in request.foreign_settings() if each.name == name]
        if foreign:
            return foreign[-1].span
    first = job.text.string.partition("\n")[0]
    return job.span(0, len(first))


def severity(job: Job, target: Target | None = None, waits: bool = False) -> str:
    """How loud a finding is that sbatch refuses the job, or (`waits`) leaves it waiting for good.

    Only a warning where a program of the site may change the job first (even where it is not known if there is one, as
    in a profile that was made of documentation), or another partition may be given.
    """
    profile = job.site.profile
    changed = profile is not None and profile.submit_plugins != ()
    return "warning" if waits or changed or target is not None and not target.named else "error"


def shown(target: Target, name: str) -> str:
    """A partition in a message."""
    return f"{'' if target.request.has_option('partition') else 'default '}partition `{name}`"


def account_of(profile: Profile, request: Request) -> Accounts | None:
    """What the account of a job allows it; None where that is not known."""
    if not request.has_option("account"):
        return profile.account(None)
    name = named(request, "account")
    return profile.account(name) if name else None


def accounts_of(profile: Profile, request: Request) -> tuple[str, ...] | None:
    """The account of a job, or those of which it has one; None where that is not known, or no user has it."""
    if not profile.accounting_enforce or not lists(profile, "accounts"):
        return None
    known = tuple(name for each in profile.accounts for name in each.names)
    if not request.has_option("account"):
        return known if profile.default_account is None else (profile.default_account,)
    name = named(request, "account")
    return (name.lower(),) if name and name.lower() in known else None


def whose_account(request: Request) -> str:
    """The account of a job in a message."""
    return f"the account `{request.value('account')}`" if request.has_option("account") else "its account"


def qos_name(target: Target) -> str | None:
    """The QOS that a job names, or has by its account; None where it is not known."""
    if target.request.has_option("qos"):
        return target.request.value("qos")
    account = account_of(target.profile, target.request)
    return account.default_qos if account is not None else None


def qos_of(target: Target) -> Qos | None:
    """The QOS of a job, if it is known and the profile has it."""
    return target.profile.qos.get(qos_name(target) or "")


def lifts_limits(target: Target, flag: str) -> bool:
    """Whether the QOS of the job may lift a limit of its partition (`PartitionTimeLimit`, `PartitionMaxNodes`)."""
    profile = target.profile
    if qos_name(target) is None and not target.request.has_option("qos"):
        return any(flag in each.flags for each in profile.qos.values())
    own = qos_of(target)
    return flag in own.flags if own is not None else not lists(profile, "qos")
