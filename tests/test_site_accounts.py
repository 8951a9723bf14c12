"""What the associations of `sacctmgr show assoc` come to in a profile, and what the checks say of jobs by them.

What Slurm makes of such jobs: tests/slurm/test_site_live.py, with slurmdbd.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.linting import inspect_file
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.site.collecting import Output, profile_of
from sbatchlint.site.model import Profile
from sbatchlint.site.reading import parsed
from sbatchlint.site.writing import as_toml
from sbatchlint.source.files import InputError
from sbatchlint.source.text import Source

COLUMNS = (
    "Cluster", "Account", "ParentName", "User", "Partition", "GrpTRES", "GrpSubmit", "GrpWall", "GrpTRESMins",
    "GrpTRESRunMins", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxSubmit", "MaxWall", "QOS", "Def QOS",
)  # fmt: skip
USUAL = (
    "Cluster", "Account", "User", "Partition", "Share", "Priority", "GrpJobs", "GrpTRES", "GrpSubmit", "GrpWall",
    "GrpTRESMins", "MaxJobs", "MaxTRES", "MaxTRESPerNode", "MaxSubmit", "MaxWall", "MaxTRESMins", "QOS", "Def QOS",
    "GrpTRESRunMins",
)  # fmt: skip


def row(account: str, user: str = "", parent: str = "", cluster: str = "tests", **limits: str) -> dict[str, str]:
    """A line of `sacctmgr show assoc`, by column; `Def_QOS` stands for the one with a space in its name."""
    named = {name.replace("_", " "): value for name, value in limits.items()}
    return {"Cluster": cluster, "Account": account, "User": user, "ParentName": parent, "QOS": "normal", **named}


def printed(*rows: dict[str, str], columns: tuple[str, ...] = COLUMNS) -> str:
    lines = ["|".join(each.get(name, "") for name in columns) for each in rows]
    return "".join(f"{line}\n" for line in ("|".join(columns), *lines))


LAB = {"MaxTRES": "cpu=150", "MaxTRESPerNode": "cpu=48", "MaxTRESMins": "gres/gpu=9000", "MaxSubmit": "45"}
OF_LAB = {**LAB, "QOS": "gpu,normal,strict"}
OF_EVE = {"MaxTRES": "cpu=90", "MaxSubmit": "40", "QOS": "normal,strict"}
SMALL = {"MaxWall": "02:00:00", "QOS": "normal,strict", "Def_QOS": "strict"}
ROWS = (
    row("root"),
    row("root", "root"),
    row("science", parent="root", GrpTRES="cpu=180,gres/gpu=7", GrpSubmit="60", GrpWall="6-00:00:00"),
    row("lab", parent="science", **OF_LAB),
    row("lab", "ada", **OF_LAB),
    row("lab", "eve", **OF_EVE),
    row("small", parent="science", GrpTRES="node=2", GrpTRESRunMins="cpu=2000", **SMALL),
    row("small", "ada", MaxTRES="cpu=12", **SMALL),
    row("lab", "bob", cluster="other", GrpTRES="cpu=1"),
)
QOS = "Name|Flags|MaxTRES|MaxWall\nnormal|||\ngpu|DenyOnLimit|cpu=24|\nstrict|DenyOnLimit||\n"
CONFIG = """\
Configuration data as of 2026-11-01T00:00:00
AccountingStorageType   = accounting_storage/slurmdbd
AccountingStorageEnforce = associations,limits,qos
ClusterName             = tests
EnforcePartLimits       = ALL
GresTypes               = gpu
TaskPlugin              = task/none
MaxArraySize            = 1001
SelectType              = select/cons_tres
SLURM_VERSION           = 22.05.8
"""
PARTITION = """\
PartitionName=batch
   AllowQos=ALL Default=YES QoS=N/A
   DefaultTime=NONE MaxNodes=UNLIMITED MaxTime=2-00:00:00
   OverSubscribe=NO State=UP TotalCPUs=1000 TotalNodes=10
   TRES=cpu=1000
"""


def profile(rows: str = printed(*ROWS), private: bool = False, user: str | None = None, more: str = "") -> Profile:
    texts = (rows, QOS, CONFIG, PARTITION, more)
    return profile_of([Output("saved", each) for each in texts if each], private, user)


def said(of: Profile, head: str, folder: Path) -> list[str]:
    path = folder / "site.toml"
    path.write_text(as_toml(of))
    settings = Resolver(Overrides(site=str(path), isolated=True)).settings("job.sh")
    text = f"#!/bin/bash\n#SBATCH {head}\nsrun ./a.out\n"
    found = inspect_file(Source(text, "job.sh"), settings).diagnostics
    return [f"{each.code} {each.message}" for each in found if each.code.startswith("SB9")]


def test_no_names_without_asking_and_what_is_true_of_all() -> None:
    made = profile()
    assert made.accounts == () and made.any_account is not None and "accounts" not in made.complete
    assert not any(f'"{name}"' in as_toml(made) for name in ("ada", "eve", "bob", "lab", "small", "science"))
    every = made.any_account
    assert every.max_tres == {"cpu": 150} and every.group_tres == {"cpu": 180, "gres/gpu": 7}
    assert (every.max_time, every.group_time, every.max_submitted_jobs) == (None, "6-00:00:00", None)
    assert every.differs and every.default_qos is None and every.qos == ("gpu", "normal", "strict")


def test_the_limits_of_accounts_are_those_of_who_may_have_most() -> None:
    made = profile(private=True)
    assert not any(f'"{name}"' in as_toml(made) for name in ("ada", "eve", "bob"))
    assert {name for each in made.accounts for name in each.names} == {"lab", "root", "small"}
    lab, small = made.account("Lab"), made.account("small")
    assert lab is not None and small is not None and made.account("none") is None
    assert (lab.max_tres, lab.max_tres_per_node, lab.max_submitted_jobs, lab.differs) == ({"cpu": 150}, {}, 45, True)
    assert small.group_tres == {"cpu": 180, "gres/gpu": 7, "node": 2} and small.max_submitted_jobs_of_all == 60
    assert (small.max_time, small.default_qos, small.differs) == ("02:00:00", "strict", False)
    assert parsed(as_toml(made).encode(), "site.toml") == made


def test_the_profile_of_a_user() -> None:
    made = profile(user="eve", more="User|Def Acct|Admin\neve|lab|None\n")
    lab = made.account("lab")
    assert lab is not None and (lab.max_tres, lab.max_submitted_jobs, lab.differs) == ({"cpu": 90}, 40, False)
    assert made.account("small") is None and made.any_account is not None and made.any_account.max_tres == {"cpu": 90}
    assert '"eve"' not in as_toml(made)
    with pytest.raises(InputError, match="no association of the user joe"):
        profile(user="joe")
    with pytest.raises(InputError, match="associations of eve are not known"):  # a cluster without accounting
        profile_of([Output("config", CONFIG)], user="eve")


def test_who_may_not_see_all_accounts_makes_a_profile_without_them() -> None:
    rows = printed(*(each for each in ROWS if each["User"] == "eve"))
    made = profile(rows, private=True)
    assert made.accounts == () and made.any_account is None and "accounts" not in made.complete
    assert profile(rows, user="eve").account("lab") is not None


def test_the_usual_columns_do_as_well() -> None:
    rows = row("root", GrpTRES="node=9"), row("lab", GrpTRES="cpu=9"), row("lab", "ada", MaxTRES="cpu=4")
    lab = profile(printed(*rows, columns=USUAL), private=True).account("lab")
    assert lab is not None and lab.group_tres == {"cpu": 9, "node": 9} and lab.max_tres == {"cpu": 4}


@pytest.mark.parametrize(
    ("head", "codes"),
    [
        ("-A small -n 13 -t 30", ["SB920"]),
        ("-A small -n 12 -t 30", []),
        ("-A small -t 3:00:00", ["SB914"]),
        ("-A small -N 3 -t 30", ["SB920"]),
        ("-A small -q normal -n 13 -t 30", ["SB920"]),
        ("-A lab -q strict -n 151 -t 30", ["SB920"]),
        ("-A lab -q gpu -n 30 -t 30", ["SB920"]),  # the QOS counts first
        ("-A lab -q gpu -n 20 -t 30", []),
        ("-A lab -a 1-46 -t 30", ["SB920"]),
        ("-A small -a 1-61 -t 30", ["SB920"]),
        ("-A small -q gpu -t 30", ["SB911"]),
        ("-A labb -t 30", ["SB921"]),
        ("-q nope -t 30", ["SB911"]),
        ("-q strict -n 151 -t 30", ["SB920"]),  # of whatever account
        ("-n 91 -t 30", []),  # of another account perhaps
    ],
)
def test_what_the_checks_say(head: str, codes: list[str], tmp_path: Path) -> None:
    found = said(profile(private=True), head, tmp_path)
    assert [each[:5] for each in found] == codes, found


def test_limits_become_the_time_of_a_job_without_one(tmp_path: Path) -> None:
    """Seen live: a limit of six days, two in the partition, and sbatch refuses the job."""
    six = {"MaxWall": "6-00:00:00", "QOS": "strict"}
    made = profile(printed(row("root"), row("lab", **six), row("lab", "ada", **six)), private=True)
    assert [each[:5] for each in said(made, "-n 1", tmp_path)] == ["SB914"]
    assert said(made, "-n 1 -t 1-0", tmp_path) == []


@pytest.mark.parametrize(
    ("limits", "error"),
    [({"GrpTRES": "cpu=x"}, "'cpu=x' for a limit"), ({"MaxWall": "soon"}, "'soon' for a time")],
)
def test_a_damaged_limit_is_told(limits: dict[str, str], error: str) -> None:
    with pytest.raises(InputError, match=error):
        profile(printed(row("root"), row("lab", "ada", **limits)))


def test_a_line_that_is_cut_off_is_told() -> None:
    with pytest.raises(InputError, match="has 4 columns, and its header 17"):
        profile(printed(row("root")) + "tests|lab|root|ada\n")


def test_rows_without_a_header_are_told() -> None:
    text = "normal|0|00:00:00|||cluster|||1.0\n\n" + QOS
    with pytest.raises(InputError, match="has no header"):
        profile_of([Output("saved", text)])


def partition(fields: str) -> str:
    return PARTITION.replace("AllowQos=ALL", f"{fields} AllowQos=ALL")


def of_partition(fields: str, release: str = "22.05.8", user: str | None = None, groups: str = "") -> Profile:
    texts = (printed(*ROWS), QOS, CONFIG.replace("22.05.8", release), partition(fields), groups)
    return profile_of([Output("saved", each) for each in texts if each], True, user)


@pytest.mark.parametrize(
    ("fields", "release", "head", "codes"),
    [
        ("AllowGroups=ALL AllowAccounts=lab", "22.05.8", "-A small -t 30", ["SB921"]),
        ("AllowGroups=ALL AllowAccounts=lab", "22.05.8", "-A Lab -t 30", []),
        ("AllowGroups=ALL AllowAccounts=lab", "22.05.8", "-t 30", []),  # whose account that is is not known
        ("AllowGroups=ALL AllowAccounts=none", "22.05.8", "-t 30", ["SB921"]),
        ("AllowGroups=ALL DenyAccounts=small", "22.05.8", "-A small -t 30", ["SB921"]),
        ("AllowGroups=ALL DenyAccounts=small", "22.05.8", "-A lab -t 30", []),
        # those below count since 23.02, _find_acct_in_list() in partition_mgr.c: seen live
        ("AllowGroups=ALL AllowAccounts=science", "22.05.8", "-A lab -t 30", ["SB921"]),
        ("AllowGroups=ALL AllowAccounts=science", "23.02.7", "-A lab -t 30", []),
        ("AllowGroups=ALL DenyAccounts=science", "22.05.8", "-A lab -t 30", []),
        ("AllowGroups=ALL DenyAccounts=science", "26.05.3", "-A lab -t 30", ["SB921"]),
        ("AllowGroups=adm AllowAccounts=ALL", "26.05.3", "-A lab -t 30", []),  # of nobody in particular
    ],
)
def test_accounts_of_partitions(fields: str, release: str, head: str, codes: list[str], tmp_path: Path) -> None:
    made = of_partition(fields, release)
    assert parsed(as_toml(made).encode(), "site.toml") == made
    found = said(made, head, tmp_path)
    assert [each[:5] for each in found] == codes, found


def test_the_profile_of_a_user_has_the_groups_and_the_default_account(tmp_path: Path) -> None:
    more = "User|Def Acct|Admin\nada|small|None\n\nuid=7(ada) gid=8(staff) groups=8(staff),9(domain users)\n"
    made = of_partition("AllowGroups=adm,wheel AllowAccounts=ALL", user="ada", groups=more)
    assert (made.groups, made.default_account) == (("staff", "domain users"), "small")
    assert "is for users of the groups adm, wheel" in said(made, "-A lab -t 30", tmp_path)[0]
    assert said(of_partition("AllowGroups=adm,staff", user="ada", groups=more), "-A lab -t 30", tmp_path) == []
    made = of_partition("AllowGroups=ALL AllowAccounts=lab", user="ada", groups=more)
    assert "the account `small` by default, and partition" not in said(made, "-p batch -A lab -t 30", tmp_path)
    assert "requests the account `small` by default" in said(made, "-t 30", tmp_path)[0]


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("uid=7(ada) gid=8 groups=8,9(adm)", ("adm",)),
        ("uid=7(ada) gid=8(staff) Gruppen=8(staff),9(adm)", ("staff", "adm")),
        ("uid=7(ada) gid=8(staff) 组=8(staff)", ("staff",)),
        ("uid=7(ada) gid=8(staff) groups=8(staff) context=unconfined_u:s0-s0:c0.c1023", ("staff",)),
        ("uid=7(ada) gid=8(staff) gro", "is the output cut off"),
        ("uid=7(ada) gid=8(staff) groups=8(st", "is the output cut off"),
        ("uid=7(ada) gid=8(staff) groups=8(staff),", "is the output cut off"),
        ("uid=8(eve) gid=8(staff) groups=8(staff)", "is of the user eve, not of ada"),
    ],
)
def test_the_groups_of_a_user_in_any_language(line: str, groups: tuple[str, ...] | str) -> None:
    outputs = [Output("out", text) for text in (printed(*ROWS), CONFIG, line)]
    if isinstance(groups, tuple):
        assert profile_of(outputs, user="ada").groups == groups
    else:
        with pytest.raises(InputError, match=groups):
            profile_of(outputs, user="ada")


def test_no_names_of_accounts_and_groups_of_partitions_without_asking() -> None:
    texts = (
        printed(*ROWS),
        QOS,
        CONFIG,
        partition("AllowGroups=adm AllowAccounts=lab"),
        "uid=7(ada) gid=9(adm) groups=9(adm)\n",
    )
    made = profile_of([Output("saved", each) for each in texts])
    assert made.groups is None and not any(f'"{name}"' in as_toml(made) for name in ("adm", "lab", "ada"))


def test_which_accounts_are_below_is_not_known_without_their_parents() -> None:
    rows = printed(row("root"), row("lab", "ada"), columns=USUAL)
    texts = (rows, CONFIG.replace("22.05.8", "23.11.4"), partition("AllowAccounts=science"))
    assert profile_of([Output("saved", each) for each in texts], True).partitions["batch"].allow_accounts is None
