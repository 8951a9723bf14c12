"""The language server, asked by a client over standard input and output as an editor does."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("pygls")

from lsprotocol import types
from pygls import uris

from conftest import ROOT
from dialogues import of_editor
from language_client import Editor, editor
from sbatchlint.api import InputError, lint
from sbatchlint.bash.syntax.tree import Node
from sbatchlint.job import Invocation, Job
from sbatchlint.server.completion import completions
from sbatchlint.server.hover import hover
from sbatchlint.server.lenses import lenses
from sbatchlint.server.main import made
from sbatchlint.server.positions import Positions, changed
from sbatchlint.server.snapshot import Snapshot, Superseded
from sbatchlint.server.variables import use_at
from sbatchlint.settings import Settings
from sbatchlint.site import Site

Result = TypeVar("Result")
HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4\n#SBATCH --gpus-per-node=4 --time=1:30:00\n"
JOB = HEAD + (
    'export HEAD_NODE=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
    "srun --cpu-bind=none torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d"
    ' --rdzv-endpoint="$HEAD_NODE:29500" train.py\n'
)
EVERYTHING = types.Range(types.Position(0, 0), types.Position(10_000, 0))


class Session:
    """One server for the tests of this file, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._loop = asyncio.new_event_loop()
        self._context = editor(folder)
        self.editor = self._loop.run_until_complete(self._context.__aenter__())
        self._number = 0

    def __call__(self, work: Callable[[Editor], Coroutine[Any, Any, Result]]) -> Result:
        return self._loop.run_until_complete(asyncio.wait_for(work(self.editor), 600))

    def name(self, ending: str = "sbatch") -> str:
        self._number += 1
        return f"job{self._number}.{ending}"

    def end(self) -> None:
        self._loop.run_until_complete(self._context.__aexit__(None, None, None))
        self._loop.close()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    made = Session(tmp_path_factory.mktemp("server"))
    yield made
    made.end()


def key(found: types.Diagnostic) -> tuple[str, str, int, int, int, int]:
    start, end = found.range.start, found.range.end
    return str(found.code), found.message, start.line, start.character, end.line, end.character


def expected(text: str, path: Path) -> list[tuple[str, str, int, int, int, int]]:
    """The findings that the command line reports, by the interface for programs, which is compared with it."""
    positions = Positions(text)
    found: list[tuple[str, str, int, int, int, int]] = []
    try:
        findings = lint(text, path=path)
    except InputError:  # no text
        return found
    for each in findings:
        if not each.reached:
            start, end = positions.position(each.start.offset), positions.position(each.end.offset)
            place = (start.line, start.character, end.line, end.character)
            found.append((each.code, each.message, *place))
    return found


# --- without a server ---------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places_lead_back(encoding: str) -> None:
    text = "a\r\nä😀b\rc\x0cd\u2028e\n\n😀"
    positions = Positions(text, encoding)
    for offset in range(len(text) + 1):
        if text[max(offset - 1, 0) : offset + 1] != "\r\n":
            assert positions.offset(positions.position(offset)) == offset
    assert positions.position(len(text)).line == 4
    assert positions.offset(types.Position(0, 99)) == 1 and positions.offset(types.Position(99, 0)) == len(text)


def test_changes_are_made_one_after_the_other() -> None:
    def part(line: int, start: int, end: int, text: str) -> types.TextDocumentContentChangePartial:
        return types.TextDocumentContentChangePartial(
            types.Range(types.Position(line, start), types.Position(line, end)), text
        )

    assert changed("😀ab\nc", [part(0, 2, 3, "X"), part(1, 0, 0, "\n")]) == "😀Xb\n\nc"
    assert changed("a", [types.TextDocumentContentChangeWholeDocument("\ud800b")]) == "\ufffdb"


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("#SBATCH --mail-t|", ["--mail-type"]),
        ("#SBATCH -N1 --gpus-per-n|", ["--gpus-per-node"]),
        ("#SBATCH --mail-type=BEGIN,E|", ["END"]),
        ("#SBATCH --mail-type=B|", ["BEGIN"]),
        ("#SBATCH --distribution=pl|", ["plane="]),
        ("sbatch --dependency=aftern|", ["afternotok:"]),
        ("#SBATCH --dependency=s|", ["singleton"]),
        ("#SBATCH --open-mode=|", ["append", "truncate"]),
        ("#SBATCH --partition=|", ["gpu"]),
        ("#SBATCH -N1 # --mail-t|", []),
        ("# --mail-t|", []),
        ("srun --cpu-b|", ["--cpu-bind"]),
        ("srun -N1 \\\n  --cpu-b|", ["--cpu-bind"]),
        ("X=$(srun --kill-on-b|", ["--kill-on-bad-exit"]),
        ("srun ./a.out --cpu-b|", []),
        ("srun -n 4 --cpu-b|", ["--cpu-bind"]),
        ("sbatch --depend|", ["--dependency"]),
        ("echo $SLURM_PROCI|", ["SLURM_PROCID"]),
        ("echo ${SLURM_PROCI|}", ["SLURM_PROCID"]),
        ("|", []),
    ],
)
def test_completion(text: str, labels: list[str]) -> None:
    offset = text.index("|")
    text = text.replace("|", "")
    found = completions(text, offset, Positions(text), Site(gpu_partitions=("gpu",)))
    assert [each.label for each in found] == labels


def test_any_place_of_a_script_can_be_completed() -> None:
    for offset in range(0, len(JOB), 3):
        completions(JOB, offset, Positions(JOB), Site())


def test_nothing_is_kept_of_a_notification() -> None:
    """pygls keeps the futures of its own handlers, which are generators, and of coroutines."""

    async def work() -> None:
        protocol = made().protocol

        def handler() -> Iterator[Any]:
            yield coroutine, (), {}

        async def coroutine() -> None:
            return None

        for _ in range(3):
            protocol._execute_handler(str(id(object())), handler, lambda _: None)
        await asyncio.sleep(0.1)
        assert not protocol._request_futures

    asyncio.run(work())


def test_a_document_has_the_jobs_of_its_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"# A\n\n```bash\n{JOB}```\n\n```bash\n{JOB}```\n"
    snapshot = Snapshot("file:///a.md", "/a.md", 1, text, Settings.of_table())
    assert [each.code for each in snapshot.findings] == ["SB301", "SB301"] and len(snapshot.parts) == 2
    monkeypatch.setattr(Job, "from_source", None)
    assert [each.range.start.line for each in lenses(snapshot)] == [7, 15]
    snapshot.release()
    assert not snapshot.parts


def test_without_the_extra(tmp_path: Path) -> None:
    """What is missing is said, and the rest of the program does not need it."""
    code = (
        "import sys; sys.modules['pygls'] = sys.modules['lsprotocol'] = None\n"
        "from sbatchlint.cli import main\nsys.exit(main(['server']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, "error: the server needs pygls: pip install 'sbatchlint[lsp]'\n")


def test_a_failure_is_one_line_of_the_log(tmp_path: Path) -> None:
    code = f"from sbatchlint import registry\nregistry.folder = lambda: {str(tmp_path / 'none')!r}\n"
    code += "import sys\nfrom sbatchlint.cli import main\nsys.exit(main(['server']))\n"
    told = of_editor(tmp_path / "a.sbatch", "#!/bin/bash\n#SBATCH -N 2\nsrun ./a\n")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, input=told, capture_output=True
    )
    log = done.stderr.decode().splitlines()
    assert log and all(line.startswith(("ERROR:", "WARNING:")) for line in log), log


# --- with one -------------------------------------------------------------------------------------------


def test_findings_follow_what_is_typed(session: Session) -> None:
    async def work(it: Editor) -> None:
        name = session.name()
        it.open(name, JOB)
        first = await it.findings(name)
        assert list(map(key, first)) == expected(JOB, session.folder / name)
        assert [each.code for each in first] == ["SB301"] and first[0].source == "sbatchlint"
        assert first[0].code_description is not None and first[0].related_information
        line = types.Range(types.Position(1, 0), types.Position(1, 99))
        it.change(name, "#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=4", line)
        assert await it.findings(name) == []
        it.change(name, "#SBATCH --nodes=2 --nta", line)
        assert {each.code for each in await it.findings(name)} == {code for code, *_ in expected(
            JOB.replace("--ntasks-per-node=4", "--nta"), session.folder / name)}  # fmt: skip
        it.change(name, "")
        assert list(map(key, await it.findings(name))) == expected("", session.folder / name)
        it.close(name)

    session(work)


@pytest.mark.slow
def test_actions(session: Session) -> None:
    async def work(it: Editor) -> None:
        name = session.name()
        text = JOB.replace("export", "#SBATCH --mail-user=ada@lab.edu\nexport")
        it.open(name, text)

        async def actions(only: list[str] | None = None) -> dict[str, types.CodeAction]:
            parameters = types.CodeActionParams(it.identifier(name), EVERYTHING, types.CodeActionContext([], only))
            found = await it.client.text_document_code_action_async(parameters) or []
            return {each.title: each for each in found if isinstance(each, types.CodeAction)}

        every = await actions()
        assert set(every) == {
            "Request one task per node, with the CPUs of 4",
            "Add --mail-type=END,FAIL (unsafe)",
            "Ignore launcher-tasks-per-node here",
            "Ignore mail-user-without-type here",
            "Fix everything that is safe to fix",
            "Fix everything, also by guesses (unsafe)",
        }
        assert every["Request one task per node, with the CPUs of 4"].is_preferred
        assert not every["Add --mail-type=END,FAIL (unsafe)"].is_preferred
        on_save = await actions(["source.fixAll"])
        assert set(on_save) == {"Fix everything that is safe to fix"}
        fixed = edited(text, on_save["Fix everything that is safe to fix"])
        assert "--ntasks-per-node=1 --cpus-per-task=4" in fixed and "mail-type" not in fixed
        assert "mail-type" in edited(text, every["Fix everything, also by guesses (unsafe)"])
        for title, action in every.items():
            it.change(name, edited(text, action))
            codes = {each.code for each in await it.findings(name)}
            assert codes < {"SB301", "SB131"}, title
        comment = edited(text, every["Ignore mail-user-without-type here"]).splitlines()[3]
        assert comment == "# sbatchlint: ignore[mail-user-without-type] TODO: say why"
        it.close(name)

    session(work)


def edited(text: str, action: types.CodeAction) -> str:
    assert action.edit is not None and action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    positions = Positions(text)
    for edit in sorted(change.edits, key=lambda each: positions.span(each.range), reverse=True):  # type: ignore[union-attr]
        assert isinstance(edit, types.TextEdit)
        span = positions.span(edit.range)
        text = text[: span.start] + edit.new_text + text[span.end :]
    return text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("--ntasks-per-node", ["**tasks per node: 4**", "without it: what --ntasks says"]),
        ("1:30:00", ["**time limit: 1:30 h**", "minutes, MIN:SEC", "`-t`"]),
        ("--exclusive=topo", ["refused before Slurm 24.05: Invalid --exclusive specification"]),
        ("--cpu-bind", ["how tasks are bound to CPUs", "accepted by srun"]),
        ("SLURM_JOB_NODELIST", ["by the batch script", "known only when it runs"]),
        ("SLURM_NNODES", ["by the batch script", "**2**"]),
        ("SLURM_PROCID", ["by each task", "**0 to 7** in the tasks of line 9"]),
        ("torchrun", ["2 nodes × 4 tasks = 8", "torchrun starts 4 processes in each task"]),
        ("srun --l", ["2 nodes × 4 tasks = 8", "program: python late.py"]),
        ("--time=5", ["sbatch does not read this"]),
        ("--wait=30", ["after the first has ended", "value: seconds"]),
        ("--dependency", ["jobs that must have begun or ended first"]),
    ],
)
def test_hover(session: Session, word: str, says: list[str]) -> None:
    async def work(it: Editor) -> None:
        name = session.name()
        text = JOB.replace("--time", "--exclusive=topo --time")
        text += "echo $SLURM_NNODES\n#SBATCH --time=5\nsbatch --dependency=singleton next.sh\n"
        text += "srun --label --wait=30 bash -c 'python late.py $SLURM_PROCID'\n"
        it.open(name, text)
        place = Positions(text).position(text.index(word) + 1)
        found = await it.client.text_document_hover_async(types.HoverParams(it.identifier(name), place))
        assert found is not None and isinstance(found.contents, types.MarkupContent)
        assert not [each for each in says if each not in found.contents.value], found.contents.value
        it.close(name)

    session(work)


@pytest.mark.slow
def test_lenses_and_the_plan(session: Session) -> None:
    async def work(it: Editor) -> None:
        name = session.name()
        it.open(name, JOB)
        found = await it.client.text_document_code_lens_async(types.CodeLensParams(it.identifier(name))) or []
        assert [(each.range.start.line, each.command and each.command.title) for each in found] == [
            (4, "2 nodes × 4 tasks = 8; torchrun starts 4 processes in each task, 32 in all")
        ]
        assert (await it.command(it.uri(name), "svg")).startswith("<svg")
        assert "torchrun starts 4 processes" in await it.command(it.uri(name), "text")
        it.close(name)

    session(work)


@pytest.mark.slow
def test_definitions(session: Session) -> None:
    (session.folder / "env.sh").write_text("PORT=1234\nsay() {\n  echo $1\n}\n")

    async def work(it: Editor) -> None:
        name = session.name()
        text = HEAD + "source env.sh\nA=1\nA=2\nsay $A $PORT\nlater() { :; }\n"
        (session.folder / name).write_text(text)
        it.open(name, text)
        for word, places in (
            ("$A", [(name, 5), (name, 4)]),
            ("$PORT", [("env.sh", 0)]),
            ("say $A", [("env.sh", 1)]),
            ("later", [(name, 7)]),
            ("nodes", []),
        ):
            place = Positions(text).position(text.index(word) + 1)
            parameters = types.DefinitionParams(it.identifier(name), place)
            found = await it.client.text_document_definition_async(parameters) or []
            assert isinstance(found, (list, tuple))
            assert [
                (Path(uris.to_fs_path(each.uri) or "").name, each.range.start.line)
                for each in found
                if isinstance(each, types.Location)
            ] == places, word
        it.close(name)

    session(work)


@pytest.mark.slow
def test_scripts_in_documents_and_heredocs(session: Session) -> None:
    async def work(it: Editor) -> None:
        name = session.name("md")
        text = f"# How to run\n\n- as so:\n\n  ```bash\n{''.join(f'  {line}' for line in JOB.splitlines(True))}  ```\n"
        it.open(name, text, "markdown")
        assert list(map(key, await it.findings(name))) == expected(text, session.folder / name)
        place = Positions(text).position(text.index("torchrun") + 1)
        found = await it.client.text_document_hover_async(types.HoverParams(it.identifier(name), place))
        assert found is not None and found.range is not None and found.range.start == types.Position(9, 23)
        lenses = await it.client.text_document_code_lens_async(types.CodeLensParams(it.identifier(name))) or []
        assert [each.range.start.line for each in lenses] == [9]
        outer = session.name("sh")
        text = f"#!/bin/bash\nsbatch <<'END'\n{JOB}END\n"
        it.open(outer, text)
        assert list(map(key, await it.findings(outer))) == expected(text, session.folder / outer) != []
        place = Positions(text).position(text.index("--nodes") + 1)
        found = await it.client.text_document_hover_async(types.HoverParams(it.identifier(outer), place))
        assert found is not None and "**nodes: 2**" in str(found.contents)
        it.close(name)
        it.close(outer)

    session(work)


@pytest.mark.slow
def test_files_that_are_no_scripts(session: Session) -> None:
    async def work(it: Editor) -> None:
        for name, text in (("notes.txt", "srun later\n"), ("run.sh", "echo $SLURM_PROCID\n"), ("a.sbatch", "\0\1")):
            it.open(name, text, "plaintext")
            assert await it.findings(name) == []
            place = types.HoverParams(it.identifier(name), types.Position(0, 8))
            assert await it.client.text_document_hover_async(place) is None
            it.close(name)

    session(work)


@pytest.mark.slow
def test_settings_are_read_again(tmp_path: Path) -> None:
    async def work() -> None:
        async with editor(tmp_path, settings={"ignore": ["SB131"]}, minSeverity="error") as it:
            text = JOB + "#SBATCH --mail-user=ada@lab.edu\n"
            it.open("job.sbatch", text)
            assert [each.code for each in await it.findings("job.sbatch")] == ["SB301"]
            for content, codes in (('ignore = ["SB301"]', []), ("no-such-key = 1", ["SB301"]), (None, ["SB301"])):
                path = tmp_path / "sbatchlint.toml"
                if content is None:
                    path.unlink()
                else:
                    path.write_text(content)
                it.published.clear()
                event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
                it.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
                assert [each.code for each in await it.findings("job.sbatch")] == codes
            assert len([each for each in it.messages if "no-such-key" in each]) == 1
            it.published.clear()
            wrong = types.DidChangeConfigurationParams({"sbatchlint": {"settings": {"select": ["SB999"]}}})
            it.client.workspace_did_change_configuration(wrong)
            await it.findings("job.sbatch")
            assert any("SB999" in each for each in it.messages)

    asyncio.run(work())


@pytest.mark.slow
def test_requests_are_cancelled(session: Session) -> None:
    """A request that a client gives up is answered as cancelled, and the next one is answered."""

    async def work(it: Editor) -> None:
        name = session.name()
        text = HEAD + "for i in $(seq 2000); do X=$((i+1)); srun python t.py $X; done\n" * 30
        it.open(name, text)
        parameters = types.HoverParams(it.identifier(name), types.Position(1, 12))
        request = it.client.protocol.send_request("textDocument/hover", parameters)
        (number,) = [number for number, each in it.client.protocol._request_futures.items() if each is request]
        it.client.protocol.notify("$/cancelRequest", types.CancelParams(number))
        with pytest.raises(Exception, match="cancel"):
            await asyncio.wrap_future(request) if not asyncio.isfuture(request) else await request
        for size in range(5):
            it.change(name, text + "\n" * size)
        it.change(name, JOB)
        assert [each.code for each in await it.findings(name)] == ["SB301"]
        assert it.published[it.uri(name)].version == 7
        it.close(name)

    session(work)


def _spoken(*messages: dict[str, Any] | bytes) -> tuple[dict[Any, Any], int]:
    """What a server answers to messages, by their ids: its errors' codes, or results; and its status."""
    data = b""
    for message in messages:
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        data += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    command = [sys.executable, "-m", "sbatchlint", "server"]
    done = subprocess.run(command, input=data, capture_output=True, cwd=ROOT, timeout=60)
    found = [
        json.loads(each) for each in re.findall(rb'\{"[^\r\n]*"jsonrpc"[^\r\n]*?\}(?=Content-Length|\Z)', done.stdout)
    ]
    return {each["id"]: each.get("error", {}).get("code") for each in found if "method" not in each}, done.returncode


def test_each_request_is_answered() -> None:
    begin = {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
    hover = {
        "method": "textDocument/hover",
        "params": {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}},
    }
    answers, status = _spoken(
        {"id": 0, **hover}, begin, {"method": "initialized", "params": {}}, {"id": 2, "method": "no/such"},
        {"id": 3, "method": "textDocument/hover", "params": {"x": 1}}, b"{,", b"[]", b"null", b'{"id": 9}',
        {"id": 4, "method": "shutdown"}, {"id": 5, **hover}, {"method": "exit"},
    )  # fmt: skip
    assert answers == {0: -32002, 1: None, 2: -32601, 3: -32602, 4: None, 5: -32600}
    assert status == 0
    assert _spoken(begin, {"method": "exit"})[1] == 1


def test_no_trees_of_two_versions_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache with trees for keys would compare them all with each change, and keep those of versions that are gone."""
    text = JOB + "say() { echo one; }\nall() { say; say; }\n" + "all\nsay\n" * 5
    settings = Settings.of_table()
    Snapshot("file:///a.sbatch", "/a.sbatch", 1, text, settings).release()
    compared: list[Node] = []
    monkeypatch.setattr(Node, "__eq__", lambda self, other: compared.append(self) or self is other)
    Snapshot("file:///a.sbatch", "/a.sbatch", 2, text + "\n", settings).release()
    assert not compared


def test_an_evaluation_ends_when_nobody_waits_for_it() -> None:
    """At the next statement or check; what it made so far is freed then, without a search for circles."""
    asked = 0

    def is_superseded() -> bool:
        nonlocal asked
        asked += 1
        return asked > stop

    text = JOB + "bash -c 'echo a | tee b'\nsbatch --wrap='srun a'\n" * 9
    gc.collect()
    gc.disable()
    try:
        for stop in (0, 5, 60, 100):
            asked = 0
            with pytest.raises(Superseded):
                Snapshot("file:///a", "/a.sbatch", 1, text, Settings.of_table(), is_superseded=is_superseded)
            assert asked == stop + 1
            assert not [each for each in gc.get_objects() if isinstance(each, Invocation)]
        stop = 10_000
        last = Snapshot("file:///a", "/a.sbatch", 1, text, Settings.of_table(), is_superseded=is_superseded)
        assert asked > 200 and "SB301" in {each.code for each in last.findings}
        last.release()
    finally:
        gc.enable()


def scripts() -> list[str]:
    """A fixed third of two hundred scripts."""
    found = sorted(ROOT.glob("tests/cases_real/**/*.sh")) + sorted(ROOT.glob("examples/**/*.sbatch"))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in found]
    return texts[:200][::3]


@pytest.mark.slow
def test_findings_are_those_of_the_command_line(session: Session) -> None:
    async def work(it: Editor) -> None:
        for text in scripts():
            name = session.name()
            it.open(name, text)
            assert list(map(key, await it.findings(name))) == expected(text, session.folder / name), text
            it.close(name)

    session(work)


MARKS = ("\n", '"', "'", "$(", "`", "<<EOF\n", "\\\n", "#SBATCH --", "{", "}", "\0", "😀", "\r")
WORDS = ("srun -n2 ", "\n#SBATCH --nodes=4\n", "torchrun ", "$SLURM_PROCID", "done\n", "fi\n")


def random_edit(text: str, chosen: random.Random) -> tuple[int, int, str]:
    """What somebody may do to a script: the characters that go, and what is written instead."""
    at = chosen.randrange(len(text) + 1)
    kind = chosen.randrange(6)
    if kind == 0:
        return at, min(at + chosen.randrange(40), len(text)), ""
    if kind == 1:
        return at, at, chosen.choice(MARKS)
    if kind == 2:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        return start, len(text) if end < 0 else end + 1, ""
    if kind == 3:
        other = chosen.randrange(len(text) + 1)
        return at, at, text[other : other + chosen.randrange(80)]
    if kind == 4:
        return at, at, chosen.choice(WORDS)
    return at, min(at + 1, len(text)), chosen.choice("abc -=0129")


async def edit_at_random(it: Editor, folder: Path, texts: list[str], edits: int, seed: int) -> None:
    """Edits scripts at random, as fast as it goes, with questions in between; what is found must be right."""
    chosen = random.Random(seed)
    for number, text in enumerate(texts):
        name = f"random{seed}-{number}.sbatch"
        it.open(name, text)
        for each in range(edits):
            start, end, content = random_edit(text, chosen)
            positions = Positions(text)
            range_ = types.Range(positions.position(start), positions.position(end))
            span = positions.span(range_)
            text = text[: span.start] + content + text[span.end :]
            it.change(name, content, range_)
            if chosen.random() < 0.2 or each == edits - 1:
                assert list(map(key, await it.findings(name))) == expected(text, folder / name), text
            elif chosen.random() < 0.2:
                place = Positions(text).position(chosen.randrange(len(text) + 1))
                identifier = it.identifier(name)
                await it.client.text_document_hover_async(types.HoverParams(identifier, place))
                await it.client.text_document_completion_async(types.CompletionParams(identifier, place))
                await it.client.text_document_code_lens_async(types.CodeLensParams(identifier))
                await it.client.text_document_definition_async(types.DefinitionParams(identifier, place))
                context = types.CodeActionContext([])
                actions = types.CodeActionParams(identifier, types.Range(place, place), context)
                await it.client.text_document_code_action_async(actions)
        it.close(name)
    assert not it.messages, it.messages


@pytest.mark.slow
def test_random_edits(session: Session) -> None:
    session(lambda it: edit_at_random(it, session.folder, scripts()[::12], 15, 1))


SECRETS = (
    ("export COMET_API_KEY=", "oZB4xvduPRC1y0hHQvLDdvx7j", "\nsrun ./a $COMET_API_KEY\n"),
    ("URL=redis://:", "Moth-9c", "@cache:6379/0\nsrun ./a --broker $URL\n"),
    ("ARGS=(--nodes 3 sshpass -p", "Moth.od3", ' ssh h)\nsrun "${ARGS[@]}"\n'),
    ("cat > env.sh <<EOF\nexport PGPASSWORD=", "Kiefer.7Jl", "\nEOF\nsource env.sh\nsrun ./a $PGPASSWORD\n"),
    ("f() { srun curl -H 'X-Api-Key: ", "zK8sQm2LwP", "' https://h; }\nf\n"),
    ("#SBATCH --export=ALL,MLFLOW_TRACKING_PASSWORD=", "Blau_Xq7", "\nsrun -N 3 ./a\n"),
    ("SLURM_NTASKS=7 HF_TOKEN=hf_", "Q" * 3 + "aB3dE6gH9jK2mN5pR8tV1xY4zC7fL", "\nsrun ./a $HF_TOKEN\n"),
)


@pytest.mark.parametrize(("before", "secret", "after"), SECRETS)
def test_no_hover_and_no_lens_shows_a_secret(before: str, secret: str, after: str) -> None:
    text = HEAD + before + secret + after
    snapshot = Snapshot("file:///job.sbatch", "job.sbatch", 1, text, Settings.of_table())
    told = [found[0] for offset in range(len(text)) if (found := hover(snapshot, offset)) is not None]
    told += [each.command.title for each in lenses(snapshot) if each.command is not None]
    told += [each.message for each in snapshot.findings]
    assert told and not [each for each in told if secret in each]


def test_the_elements_of_an_array_are_one_value() -> None:
    text = HEAD + 'ARGS=(-n 2 ./a)\nsrun "${ARGS[@]}"\n'
    snapshot = Snapshot("file:///job.sbatch", "job.sbatch", 1, text, Settings.of_table())
    use = use_at(snapshot.parts[0].job, text, text.rindex("ARGS"))
    assert use is not None and use.values == ("(-n 2 ./a)",)
