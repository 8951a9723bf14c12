"""`sbatchlint mcp`, through the client of the SDK: what its tools answer, how much, and what they do not read."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from sbatchlint.agents import room
from sbatchlint.agents.folder import Folder
from sbatchlint.agents.tools import TOOLS, Tools
from sbatchlint.api import lint, plan
from sbatchlint.registry import registry
from sbatchlint.source.files import InputError

EXAMPLES = sorted((ROOT / "examples").glob("*.sbatch"))
RANKS = (ROOT / "examples" / "ranks.sbatch").read_text(encoding="utf-8")
TOKEN = "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"
# Many findings, and many steps.
LONG = "#!/bin/bash\n#SBATCH --nodes=2\n" + "".join(
    f"module load tool/{n}\n#SBATCH --comment=part{n}\nsrun -n {n + 1} ./part{n} --input data{n}\n" for n in range(40)
)
MANY = "#!/bin/bash\n#SBATCH --nodes=2\n" + "".join(f"srun -n 2 ./part{n}\n" for n in range(150))


if find_spec("mcp") is None:
    pytest.skip("the SDK of the protocol is not installed", allow_module_level=True)

pytestmark = pytest.mark.slow  # the SDK takes seconds to import, here and in each server


class Agent:
    """A client, and its server in a process of its own."""

    def __init__(self, root: Path) -> None:
        # They take seconds to import, which those who only collect the tests need not wait for.
        from anyio.from_thread import start_blocking_portal
        from mcp.client.client import Client
        from mcp.client.stdio import StdioServerParameters

        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        environment = {"PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1"}
        environment["PYTHONPYCACHEPREFIX"] = os.environ["PYTHONPYCACHEPREFIX"]
        arguments = ["-m", "sbatchlint", "mcp", "--root", str(root)]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        self.client = self._stack.enter_context(self._portal.wrap_async_context_manager(Client(server)))

    def tools(self) -> list[Any]:
        return list(self._portal.call(self.client.list_tools).tools)

    def text(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """What a tool answers, and whether that is an error."""
        answer = self._portal.call(self.client.call_tool, tool, arguments)
        (content,) = answer.content
        return content.text, bool(answer.is_error)

    def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        text, is_error = self.text(tool, **arguments)
        assert not is_error, text
        found: dict[str, Any] = json.loads(text)
        return found

    def end(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that may be read, and one beside it that may not."""
    folder = tmp_path_factory.mktemp("agents")
    inside, outside = folder / "inside", folder / "outside"
    (inside / "jobs").mkdir(parents=True)
    outside.mkdir()
    (inside / "jobs" / "ranks.sbatch").write_text(RANKS)
    (inside / "port.log").write_bytes((ROOT / "examples" / "logs" / "port.log").read_bytes())
    (outside / "secret.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=1\nsrun ./outside-of-all\n")
    (inside / "link.sbatch").symlink_to(outside / "secret.sbatch")
    (inside / "folder").symlink_to(outside)
    (inside / "inner.sbatch").symlink_to(inside / "jobs" / "ranks.sbatch")
    os.mkfifo(inside / "pipe.sbatch")
    (inside / "binary.sbatch").write_bytes(b"\x7fELF\0\0")
    return inside


@pytest.fixture(scope="module")
def agent(project: Path) -> Iterator[Agent]:
    made = Agent(project)
    yield made
    made.end()


# --- through a client -------------------------------------------------------------------------------


def test_the_tools_describe_themselves(agent: Agent) -> None:
    tools = agent.tools()
    assert [each.name for each in tools] == list(TOOLS)
    assert all(each.description and each.annotations.read_only_hint for each in tools)
    told = json.dumps([each.model_dump(by_alias=True, exclude_none=True) for each in tools])
    assert len(told) < 2_000 * room.PER_TOKEN, "they stand in each conversation"
    documented = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    names = {name for each in tools for name in each.input_schema["properties"]} | set(TOOLS)
    assert not [name for name in names if f"`{name}`" not in documented]


def test_one_call_says_what_is_wrong_and_what_would_run(agent: Agent) -> None:
    answer = agent("check", path="jobs/ranks.sbatch")
    assert answer == agent("check", script=RANKS, path="jobs/ranks.sbatch") == agent("check", script=RANKS)
    assert answer["verdict"]["accepted"] is True and answer["verdict"]["error"] == 1
    (finding,) = answer["findings"]
    assert (finding["code"], finding["certainty"], finding["at"]) == ("SB301", "certain", "4:9-28")
    assert finding["message"] and finding["why"] and finding["fix"]["safe"]
    assert finding["fix"]["edits"] == [{"at": "4:27-28", "old": "8", "new": "1"}]
    (step,) = answer["plan"]["steps"]
    assert step["counts"] == "2 nodes × 8 tasks = 16" and step["problems"]
    (full,) = agent("check", script=RANKS, detail="full")["findings"]
    assert full.items() >= finding.items() and {"source", "silence", "url"} <= full.keys()


def test_what_if(agent: Agent) -> None:
    for arguments in ({"nodes": 4}, {"sbatch_options": "--nodes=4"}):
        answer = agent("check", path="jobs/ranks.sbatch", **arguments)
        assert [each["code"] for each in answer["findings"]] == ["SB301", "SB304"]
        assert agent("plan", script=RANKS, **arguments)["plan"]["steps"][0]["counts"] == "4 nodes × 8 tasks = 32"
    refused = agent("plan", script="#!/bin/bash\n#SBATCH --exclusive=topo\n./a.out\n", slurm_version="23.11")
    assert refused["accepted"] is False and "Invalid --exclusive" in refused["plan"]["slurm"][0]
    whole = agent("plan", script=RANKS, detail="full")["plan"]
    assert whole["steps"][0]["by_task"] and whole["request"]["accepted"] is True


def test_repairs(agent: Agent) -> None:
    answer = agent("fix", path="jobs/ranks.sbatch")
    assert answer["changed"] and answer["applied"] and not answer["left"]
    assert "-#SBATCH --ntasks-per-node=8\n+#SBATCH --ntasks-per-node=1\n" in answer["diff"]
    whole = agent("fix", script=RANKS, detail="full")
    assert whole["script"] == RANKS.replace("--ntasks-per-node=8", "--ntasks-per-node=1")
    assert not agent("fix", script=RANKS, checks=["SB304"])["changed"]


def test_conversions(agent: Agent) -> None:
    command = ["torchrun", "--nproc-per-node=4", "train.py"]
    answer = agent("convert", command=command, nodes=2, options={"time": "1:00:00"}, cpus_per_node=32)
    assert answer["converted"] and answer["proven"] and "srun" in answer["script"]
    assert answer["before"] == ["line 2 batch shell: 1 node × 1 task"]
    assert answer["after"][0].endswith("srun: 2 nodes × 1 task")
    for same in ("torchrun --nproc-per-node=4 train.py", ["torchrun --nproc-per-node=4 train.py"]):
        assert agent("convert", command=same, nodes=2, options={"time": "1:00:00"}, cpus_per_node=32) == answer
    assert agent("convert", script="#!/bin/bash\necho done\n", nodes=2)["reason"]
    assert not agent("convert", command=command, nodes=2)["proven"]


def test_diagnoses(agent: Agent) -> None:
    log = (ROOT / "examples" / "logs" / "port.log").read_text(encoding="utf-8")
    for arguments in ({"logs": [log]}, {"log_paths": ["port.log"]}):
        (answer,) = agent("diagnose", script=RANKS, **arguments)["diagnoses"]
        assert (answer["symptom"], answer["where"], answer["codes"]) == ("address-in-use", "script", ["SB301"])
        assert answer["log"]["path"] in ("log 1", "port.log") and "+#SBATCH --ntasks-per-node=1" in answer["diff"]
    assert agent("diagnose", logs=["all went well\n"])["diagnoses"] == []
    assert agent("diagnose", sacct="JobID|State|ExitCode\n1|TIMEOUT|0:0\n")["diagnoses"]


def test_explanations(agent: Agent) -> None:
    for name in ("SB301", "launcher-tasks-per-node", "address-in-use"):
        assert len(agent("explain", name=name)["page"]) > 300
    text, is_error = agent.text("explain", name="launcher-tasks-per-nod")
    assert is_error and "launcher-tasks-per-node" in text


def test_nothing_outside_of_the_folder_is_read(agent: Agent, project: Path) -> None:
    outside = project.parent / "outside" / "secret.sbatch"
    hostile = (
        "../outside/secret.sbatch", "jobs/../../outside/secret.sbatch", str(outside), "link.sbatch", "inner.sbatch",
        "folder/secret.sbatch", "pipe.sbatch", "jobs", ".", "", "/", "/etc/passwd", "/proc/self/environ", "a\0b",
        f"{project}/../outside/secret.sbatch", f"{project}evil/x", "no-such.sbatch", "binary.sbatch", "~/x",
        "//etc/passwd",
    )  # fmt: skip
    for path in hostile:
        for name, arguments in (("check", {"path": path}), ("diagnose", {"log_paths": [path]})):
            if (name, path) == ("diagnose", "binary.sbatch"):
                continue  # a log may hold anything
            text, is_error = agent.text(name, **arguments)
            assert is_error and "\n" not in text and "outside-of-all" not in text and "Traceback" not in text, text
    including = "#!/bin/bash\n#SBATCH -N1\nsource ../outside/secret.sbatch\nsource folder/secret.sbatch\nsrun ./a.out\n"
    for path in ("job.sbatch", "folder.sbatch"):
        answer = agent("plan", script=including, path=path)
        assert [each["facts"] for each in answer["plan"]["steps"]] and "outside-of-all" not in json.dumps(answer)
    for settings in ({"plugin-options-from": str(outside)}, {"extend": str(outside)}):
        answer, is_error = agent.text("check", script=RANKS, path="x.sbatch", settings=settings)
        assert "outside-of-all" not in answer and (is_error or "extend" in settings)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("check", {}, "give `script`"),
        ("check", {"script": 3}, "argument `script`"),
        ("check", {"scripts": "x"}, "unknown field `scripts`"),
        ("check", {"script": "a\0b"}, "cannot read"),
        ("check", {"script": "x", "nodes": 0}, "argument `nodes`"),
        ("check", {"script": "x", "detail": "all"}, "argument `detail`"),
        ("check", {"script": "x", "settings": {"no-such-key": 1}}, "no-such-key"),
        ("check", {"script": "x", "sbatch_options": "--no-such-option"}, "sbatch takes no such options"),
        ("check", {"script": "x", "slurm_version": "1.0"}, "slurm-version"),
        ("fix", {"script": "x", "checks": ["SB999"]}, "SB999"),
        ("convert", {"script": "x"}, "`nodes`"),
        ("convert", {"script": "x", "command": ["y"], "nodes": 2}, "or `command`"),
        ("convert", {"command": ["y"], "nodes": 2, "options": {"no-such": "1"}}, "--no-such"),
        ("diagnose", {}, "needs a log"),
        ("explain", {"name": "no-such"}, "no check and no symptom"),
        ("no-such", {}, "there is no tool"),
    ],
)
def test_errors_are_one_line(agent: Agent, name: str, arguments: dict[str, Any], said: str) -> None:
    text, is_error = agent.text(name, **arguments)
    assert is_error and text.startswith("error: ") and said in text and "\n" not in text, text


# --- the tools themselves -----------------------------------------------------------------------------


def test_errors_show_no_secret(agent: Agent) -> None:
    text, is_error = agent.text("diagnose", log_paths=["KeyError: 'DB_PASSWORD=correct-horse9' refused correct-horse9"])
    assert is_error and "DB_PASSWORD=***" in text and "correct-horse9" not in text


def call(name: str, **arguments: Any) -> str:
    return Tools(None).call(name, arguments)


def test_no_folder_is_allowed_unless_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder is allowed"):
        call("check", path="job.sbatch")
    with pytest.raises(InputError, match="is not a folder"):
        Folder(str(tmp_path / "none"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_answers_are_small_and_complete(path: Path) -> None:
    script = path.read_text(encoding="utf-8")
    text = call("check", script=script)
    assert len(text) < room.characters("brief")
    answer = json.loads(text)
    assert [each["code"] for each in answer["findings"]] == [each.code for each in lint(script)]
    assert len(answer["plan"]["steps"]) == len(plan(script).steps)
    assert "characters more" not in text
    for name in ("plan", "fix"):
        assert len(call(name, script=script)) < room.characters("brief")


def every_answer(name: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """The pages of an answer."""
    start: int | None = 0
    while start is not None:
        text = call(name, start=start, **arguments)
        assert len(text) <= room.characters(arguments.get("detail", "brief"))
        answer = json.loads(text)
        yield answer
        assert answer.get("next", start + 1) > start
        start = answer.get("next")


def test_what_does_not_fit_goes_to_the_next_page() -> None:
    pages = list(every_answer("check", script=LONG))
    found = [each["code"] for page in pages for each in page["findings"]]
    assert len(pages) > 3 and found == [each.code for each in lint(LONG)]
    first = pages[0]
    assert first["plan"]["steps"] and first["findings"] and "plan_left_out" in first
    assert "plan" not in pages[1]
    plans = list(every_answer("plan", script=MANY))
    steps = [each["step"] for page in plans for each in page["plan"]["steps"]]
    assert len(steps) == len(set(steps)) == 150 and "request" in plans[0]["plan"] and "request" not in plans[1]["plan"]
    fewer = len(list(every_answer("check", script=LONG, detail="full")))
    assert fewer < len(pages)
    lines = "".join(page["script"] for page in every_answer("convert", nodes=2, script=RANKS + "# more\n" * 3000))
    assert lines.count("# more\n") == 3000
    diff = "".join(page["diff"] for page in every_answer("fix", script=LONG, unsafe=True))
    assert diff.startswith("--- script\n")


def spoken(calls: list[tuple[int | None, str, Any]], code: str = "") -> tuple[list[dict[str, Any]], list[str]]:
    """The answers to some methods, of which those without a number are told only, and what is logged meanwhile. The
    input ends at once. `code`: runs before the server."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    first = [(1, "initialize", about), (None, "notifications/initialized", {})]
    lines = [
        {"jsonrpc": "2.0", "method": method, "params": given} | ({} if number is None else {"id": number})
        for number, method, given in [*first, *calls]
    ]
    text = "".join([f"{json.dumps(line)}\n" for line in lines]) + "no JSON\n"
    command = [sys.executable, "-c", f"import sys\nfrom sbatchlint.cli import main\n{code}\nsys.exit(main(['mcp']))\n"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=50, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.splitlines()


CHECK = {"name": "check", "arguments": {"script": "#!/bin/bash\n#SBATCH -N 2\nsrun ./a\n"}}


def test_what_was_asked_before_the_input_ends_is_answered() -> None:
    calls = [
        (
            number,
            "tools/call",
            {"name": "check", "arguments": {"script": f"#!/bin/bash\n#SBATCH -N {number}\nsrun ./a\n"}},
        )
        for number in range(2, 8)
    ]
    for _ in range(3):
        answers, _ = spoken([*calls, (8, "tools/list", {}), (9, "no/method", {})])
        assert sorted([each["id"] for each in answers]) == [*range(1, 10)]
    answers, _ = spoken([(2, "tools/call", CHECK)] * 3)
    assert sorted([each["id"] for each in answers]) == [1, 2, 2, 2]


@pytest.mark.parametrize("number", [2, "2", [2], None, 7])
def test_what_is_cancelled_is_not_waited_for(number: object) -> None:
    """By its number, also as text; what is no number, or none of a request, cancels nothing."""
    answers, log = spoken([(2, "tools/call", CHECK), (None, "notifications/cancelled", {"requestId": number})])
    assert [each["id"] for each in answers] == ([1] if number in (2, "2") else [1, 2])
    assert len(log) <= 1 and "Traceback" not in "".join(log)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_failure_is_one_line_of_the_log(tmp_path: Path, is_there: bool) -> None:
    """Without the folder of the checks; with one that cannot be loaded, only its page is lost."""
    folder = tmp_path / "checks"
    if is_there:
        folder.mkdir()
        (folder / "sb101_no_such_check.py").touch()
    calls = [(2, "tools/call", CHECK), (3, "tools/call", {"name": "explain", "arguments": {"name": "SB101"}})]
    answers, log = spoken([*calls], f"from sbatchlint import registry\nregistry.folder = lambda: {str(folder)!r}")
    failed = [each["id"] for each in answers if each["id"] > 1 and each["result"]["isError"]]
    assert sorted(failed) == ([3] if is_there else [2, 3])
    assert len(log) == len(failed) and all(":the tool " in line for line in log), log


def test_every_text_has_an_end() -> None:
    long = "x" * 100_000
    written = f"#!/bin/bash\n#SBATCH --comment={long} --nodes={long}\nsrun ./{long} {long}\n"
    for script in (written, f"#SBATCH {long}", long):
        for name in ("check", "plan", "fix"):
            assert len(call(name, script=script)) <= room.characters("brief")
    assert len(room.written(room.shortened([[long[:9_000]] * 20] * 20, 1000))) <= 1000
    submitted = "#!/bin/bash\n#SBATCH -N1\n" + "sbatch -N1 --wrap='srun -n 2 ./x'\n" * 100
    assert len(call("check", script=submitted)) <= room.characters("brief")


@pytest.mark.slow
def test_every_bad_case_fits() -> None:
    for entry in registry().entries[:: 1 if os.environ.get("SBATCHLINT_ALL") else 7]:
        for case in registry().load(entry).cases[:2]:
            assert len(call("check", script=case.example.text, min_severity="info")) < room.characters("brief")


def test_no_answer_shows_a_secret() -> None:
    script = (
        f"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --comment={TOKEN}\n"
        f"export HF_TOKEN={TOKEN}\nmodule load x\n#SBATCH --comment={TOKEN}\n"
        f"srun torchrun --nnodes=2 --nproc-per-node=8 t.py --token {TOKEN}\n"
    )
    calls: list[tuple[str, dict[str, Any]]] = [
        ("diagnose", {"script": script, "logs": [f"ValueError: bad {TOKEN}\nTraceback (most recent call last):\n"]}),
        ("convert", {"script": script, "nodes": 4}),
        ("convert", {"command": ["torchrun", "--nproc-per-node=4", "t.py", "--token", TOKEN], "nodes": 4}),
    ]
    for name in ("check", "plan", "fix"):
        calls += [(name, {"script": script, "detail": detail}) for detail in ("brief", "full")]
    calls.append(("fix", {"script": script, "unsafe": True}))
    for name, arguments in calls:
        assert TOKEN[:20] not in call(name, **arguments), (name, arguments)
    assert "redacted" in json.loads(call("fix", script=script))
    shown = json.loads(call("fix", script=script, detail="full"))["script"]
    assert "--comment=***\n" in shown and "export HF_TOKEN=***\n" in shown, "nor how long it is"


def test_a_document_is_checked_without_a_plan(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"# A page\n\n```bash\n{RANKS}```\n")
    answer = json.loads(Tools(Folder(str(tmp_path))).call("check", {"path": "page.md"}))
    assert [each["code"] for each in answer["findings"]] == ["SB301"] and "plan" not in answer


def test_nothing_of_one_call_is_left_to_the_next() -> None:
    tools = Tools(None)
    first = tools.call("check", {"script": RANKS})
    tools.call("check", {"script": RANKS, "settings": {"ignore": ["SB301"]}, "nodes": 7})
    assert tools.call("check", {"script": RANKS}) == first


def test_without_the_extra(tmp_path: Path) -> None:
    """What is missing is said, and the rest of the program does not need it."""
    code = "import sys; sys.modules['mcp'] = None\nfrom sbatchlint.cli import main\nsys.exit(main(['mcp']))\n"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (
        2,
        "error: mcp needs the SDK of the protocol: pip install 'sbatchlint[mcp]'\n",
    )


def test_a_fault_is_told_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp.client.client import Client

    from sbatchlint.agents import main

    def fail(*_: object) -> None:
        raise RuntimeError("a path of the machine")

    monkeypatch.setattr(Tools, "call", fail)
    server = main.made(None)

    async def asked() -> Any:
        async with Client(server) as client:
            return await client.call_tool("check", {"script": "x"})

    answer = asyncio.run(asked())
    assert answer.is_error and "itself failed (RuntimeError)" in answer.content[0].text
    assert "path of the machine" not in answer.content[0].text
