"""`sbatchlint plan` as SVG and as a page: what is drawn equals the plan, and nothing of a script is markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Command
from test_plan_text import BARE, EIGHT, GOOD, LARGE, UNKNOWN, real

__all__ = ["real"]  # a fixture
SVG = "{http://www.w3.org/2000/svg}"
EVIL = """\
#!/bin/bash
#SBATCH --job-name="<script>alert(1)</script>&amp;]]>"
#SBATCH -N2 -o "<img src=x onerror=alert(1)>" --gpus-per-node=2
srun --container-image='<b>image</b>' "./<script>alert(2)</script>" "--></svg>\x1b\x00\ufffe"
srun ./zürich
"""
MPI = "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=4\nmpirun -np 8 ./solver\n"
HET = "#!/bin/bash\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -N2 -n8\nsrun --het-group=0 ./a &\nsrun --het-group=1 ./b\n"


def written(command: Command, script: str, form: str) -> str:
    command.write("job.sbatch", script)
    result = command("plan", "--output-format", form, "job.sbatch")
    assert (result.code, result.err) == (0, "")
    return result.out


def picture(command: Command, script: str) -> ElementTree.Element:
    return ElementTree.fromstring(written(command, script, "svg"))


def boxes(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [each for each in root.iter(f"{SVG}rect") if kind in (each.get("class") or "").split()]


def texts(root: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("script", [GOOD, EIGHT, BARE])
def test_what_is_drawn_is_what_the_plan_counts(command: Command, script: str) -> None:
    root = picture(command, script)
    steps: list[dict[str, Any]] = json.loads(written(command, script, "json"))["steps"]
    assert len(boxes(root, "band")) == len(steps)
    for kind, key in (("node", "nodes"), ("task", "tasks")):
        assert len(boxes(root, kind)) == sum(step[key] for step in steps), kind
    # a process that is alone, of which no rank is known, is its task
    assert len(boxes(root, "process")) == sum(step["processes"] for step in steps if step["launcher"])
    assert len(boxes(root, "gpu")) == sum(step["nodes"] * step["gpus_per_task"] for step in steps)


def test_ranks_stand_in_the_boxes_of_their_processes(command: Command) -> None:
    root = picture(command, GOOD)
    labels = [
        (element.find(f"{SVG}text[1]").text, [text.text for text in element.findall(f"{SVG}text")[1:]])  # type: ignore[union-attr]
        for element in root.iter(f"{SVG}g")
        if element.findall(f"{SVG}rect[@class='process']")
    ]
    assert labels == [("task 0", ["0", "1"]), ("task 1", ["2", "3"])]


def test_of_many_tasks_whole_nodes_are_drawn(command: Command) -> None:
    root = picture(command, LARGE)
    assert (len(boxes(root, "node")), len(boxes(root, "task"))) == (2, 16)
    assert "… and 2 more nodes like these (16 tasks)" in texts(root)
    root = picture(command, LARGE.replace("nodes=4 --ntasks-per-node=8", "nodes=3 --ntasks-per-node=10"))
    assert (len(boxes(root, "node")), len(boxes(root, "task"))) == (1, 10)
    assert "… and 2 more nodes like these (20 tasks)" in texts(root)
    root = picture(command, LARGE.replace("nodes=4 --ntasks-per-node=8", "nodes=1 --ntasks-per-node=40"))
    assert (len(boxes(root, "node")), len(boxes(root, "task"))) == (1, 16)
    assert "… and 24 more tasks like these" in texts(root)
    root = picture(command, LARGE.replace("nodes=4 --ntasks-per-node=8", "nodes=40 --ntasks-per-node=1"))
    assert (len(boxes(root, "node")), len(boxes(root, "task"))) == (8, 8)
    assert "… and 32 more nodes like these (32 tasks)" in texts(root)


def test_nodes_that_are_left_idle_or_not_known(command: Command) -> None:
    assert len(boxes(picture(command, BARE), "unused")) == 1
    root = picture(command, UNKNOWN)
    # the one after the rounds; of the first nobody knows where a task runs, and the last one is refused
    assert (len(boxes(root, "unknown")), len(boxes(root, "node")), len(boxes(root, "task"))) == (0, 1, 1)
    assert len(boxes(root, "refused")) == 1
    assert (len(boxes(picture(command, HET), "band")), len(boxes(picture(command, HET), "node"))) == (2, 1)
    root = picture(command, UNKNOWN.replace("srun ./sim", "srun bash -c 'RANK=$SLURM_PROCID ./sim'"))
    assert (len(boxes(root, "unknown")), len(boxes(root, "process"))) == (1, 16)
    root = picture(command, MPI)
    assert not boxes(root, "task")
    assert "line 3: mpirun, 8 tasks, nodes: ? (depends on how mpirun spreads them)" in texts(root)


CROWD = "#!/bin/bash\n#SBATCH -N1 --ntasks-per-node=8 --gpus-per-node=8\nsrun torchrun --standalone {} train.py\n"
EARLY = """\
#!/bin/bash
#SBATCH -N2 --ntasks-per-node=4 --gpus-per-node=4
export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
srun python train.py
"""


@pytest.mark.parametrize(
    ("script", "processes", "bars", "gpus", "said"),
    [
        (
            CROWD.format("--nproc-per-node=8"), 64, 64, 8,
            ["RANK 0-7 is given 8 times: 8 worlds of 8 processes, not one of 64",
             "64 processes for the 8 GPUs of the node: 8 on each"],
        ),
        (
            CROWD.format("--nproc-per-node=1"), 8, 8, 1,
            ["RANK 0 is given 8 times: 8 worlds of 1 process, not one of 8",
             "8 processes for the 8 GPUs of the node: 8 on one, 7 unused"],
        ),
        (
            EARLY, 8, 8, 2,
            ["RANK 0 is given 8 times, in a world of 8 processes",
             "4 processes for the 4 GPUs of a node: 4 on one, 3 unused"],
        ),
        (GOOD, 0, 0, 0, []),
        (EARLY.replace("export", "#").replace("srun", "srun -n8"), 0, 0, 0, []),
    ],
)  # fmt: skip
def test_what_several_processes_have_is_seen(
    command: Command, script: str, processes: int, bars: int, gpus: int, said: list[str]
) -> None:
    root = picture(command, script)
    shared = [(each.get("class") or "").split()[0] for each in boxes(root, "twice")]
    assert [shared.count(kind) for kind in ("process", "bar", "gpu")] == [processes, bars, gpus]
    text = " ".join(written(command, script, "text").split())
    for words in said:
        assert words in texts(root) and words in text
    assert said or "is given" not in text and " processes for " not in text


def test_what_is_not_known_takes_little_room(command: Command) -> None:
    request = "#!/bin/bash\n#SBATCH -N128 -n1024 --gres=gpu:4\n"
    script = request + 'srun ./a\nsrun -n "$N" ./b\nsrun -N "$M" -n 128 torchrun --nproc-per-node="$G" t.py\n'
    root = picture(command, script)
    assert not boxes(root, "task") and not boxes(root, "node")
    assert float(root.get("height") or 0) < 560
    assert sum("?" in each for each in texts(root)) <= 6
    assert not any("a box for" in each for each in texts(root))
    assert any("a box for" in each for each in texts(picture(command, request + "srun -N2 -n2 ./a\n")))
    assert "a box for" not in Page(written(command, script, "html")).text


def test_a_picture_has_the_request_and_the_verdict(command: Command) -> None:
    root = picture(command, GOOD.replace("--nodes=2", "--nodes=2 --time=1-0 --mem=8G --job-name=train"))
    for said in ("nodes", "2", "time limit", "1 d 0:00 h", "8 GB per node", "--job-name", "train", "line 2"):
        assert said in texts(root)
    assert sum(each.startswith("component ") for each in texts(picture(command, HET))) == 2


def test_steps_of_a_refused_script_are_not_reached(command: Command) -> None:
    script = GOOD.replace("--nodes=2", "--nodes=none")
    said = "sbatch refuses this script: nothing below starts"
    (line,) = [each for each in picture(command, script).iter(f"{SVG}text") if each.text == said]
    assert line.get("class") == "error"
    assert said in written(command, script, "text") and said in written(command, script, "html")


def test_a_step_on_more_nodes_than_the_job_has_is_refused(command: Command) -> None:
    script = "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=4\nsrun --nodes=3 ./solve\n"
    assert len(boxes(picture(command, script), "refused")) == 1
    assert '<section class="step has-error refused">' in written(command, script, "html")
    assert not boxes(picture(command, script.replace("=3", "=2")), "refused")


def test_what_does_not_add_up_is_said_and_coloured(real: Command) -> None:
    root = picture(real, EIGHT)
    (said,) = [each for each in root.iter(f"{SVG}text") if (each.text or "").startswith("! line 2: SB301: ")]
    assert said.get("class") == "error"
    assert len(boxes(root, "error")) == 1
    refused = picture(real, UNKNOWN)
    assert "! srun refuses this: the job has 2 nodes and srun requests 3" in texts(refused)
    assert len(boxes(refused, "error")) >= 1
    assert not boxes(picture(real, GOOD), "error")


@pytest.mark.parametrize("script", [GOOD, EIGHT, BARE, LARGE, UNKNOWN, EVIL, MPI, HET])
def test_pictures_stand_alone_and_can_be_read_aloud(command: Command, script: str) -> None:
    text = written(command, script, "svg")
    root = ElementTree.fromstring(text)
    assert text.isascii() and text == written(command, script, "svg")
    assert root.get("role") == "img"
    named = (root.get("aria-labelledby") or "").split()
    assert named == [root[0].get("id"), root[1].get("id")]
    assert (root[0].tag, root[1].tag) == (f"{SVG}title", f"{SVG}desc")
    assert "line " in (root[1].text or "")
    assert "prefers-color-scheme: dark" in text
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "g", "text", "line"}
    assert not re.search(r"\bhref|url\(|@import|http(?!://www.w3.org/2000/svg)", text)


@pytest.mark.parametrize("script", [GOOD, EIGHT, BARE, LARGE, UNKNOWN, EVIL, MPI, HET])
def test_all_is_inside_of_the_picture(command: Command, script: str) -> None:
    root = picture(command, script)
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)

    def visit(element: ElementTree.Element, x: float, y: float) -> None:
        moved = re.findall(r"[\d.]+", element.get("transform") or "")
        if moved:
            x, y = x + float(moved[0]), y + float(moved[1])
        if element.tag == f"{SVG}rect":
            right = x + float(element.get("x") or 0) + float(element.get("width") or 0)
            bottom = y + float(element.get("y") or 0) + float(element.get("height") or 0)
            assert right <= width and bottom <= height
        if element.tag == f"{SVG}text":
            assert x + float(element.get("x") or 0) + 7.2 * len(element.text or "") <= width or element.get("class")
            assert y + float(element.get("y") or 0) <= height
        for child in element:
            visit(child, x, y)

    visit(root, 0, 0)


class Page(HTMLParser):
    """The elements of a page, its texts, and the ids in it."""

    def __init__(self, string: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(string)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in ("meta", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("script", [GOOD, EIGHT, BARE, LARGE, UNKNOWN, EVIL, MPI, HET])
def test_a_page_is_well_formed_and_holds_no_script(command: Command, script: str) -> None:
    text = written(command, script, "html")
    page = Page(text)
    assert text.isascii() and not re.search(r"url\(|@import", text) and page.open == []
    assert not {"script", "img", "b", "link", "iframe"} & set(page.tags)
    assert not [name for name in page.attributes if name.startswith("on") or name == "src"]
    assert len(page.ids) == len(set(page.ids))
    root = picture(command, script)
    steps = page.tags.count("section")
    assert steps == len(boxes(root, "band"))
    kinds = ("node", "unused", "unknown")
    assert page.tags.count("svg") == sum(len(boxes(root, kind)) for kind in kinds)


def test_what_a_script_says_is_text(command: Command) -> None:
    page = Page(written(command, EVIL, "html"))
    for said in ("<script>alert(1)</script>&amp;]]>", "<img src=x onerror=alert(1)>", "<b>image</b>", "./zürich"):
        assert said in page.text
    assert "program: ./<script>alert(2)</script>" in texts(picture(command, EVIL))


def test_a_page_has_the_request_the_verdict_and_all_findings(real: Command) -> None:
    script = EIGHT.replace("--time=1:00", "--time=1:00 --exclusive=topo --mem=8G --mem-per-cpu=2G")
    page = Page(written(real, script, "html"))
    text = re.sub(r"\s+", " ", page.text)
    assert "Slurm 22.05 to 23.11: refused: " in text
    assert "tasks per node8line 2" in text
    lint = real("--output-format", "json", "job.sbatch")
    messages = [each["message"] for each in json.loads(lint.out)]
    assert any("`" in each for each in messages)
    assert all(re.sub(r"\s+", " ", each.replace("`", "")) in text for each in messages)


def test_several_scripts_are_one_page_and_no_picture(command: Command) -> None:
    command.write("one.sbatch", GOOD)
    command.write("two.sbatch", BARE)
    page = Page(command("plan", "--output-format", "html", "one.sbatch", "two.sbatch").out)
    assert page.tags.count("article") == 2 and page.tags.count("section") == 2
    result = command("plan", "--output-format", "svg", "one.sbatch", "two.sbatch")
    assert (result.code, result.out) == (2, "")
    assert "svg is a picture of one script" in result.err


def test_steps_that_are_the_same_are_drawn_once(command: Command) -> None:
    script = "#!/bin/bash\n#SBATCH -N1 -n1\nsrun ./a; srun ./a; srun ./a; srun ./b\n"
    root = picture(command, script)
    assert len(boxes(root, "band")) == 2
    assert "… and 2 more steps like this" in texts(root)
    script = "#!/bin/bash\n#SBATCH -N1 -n1\n" + "srun ./a\n" * 9 + "srun ./b\n"
    root = picture(command, script)
    assert len(boxes(root, "band")) == 2
    told = "… and 8 more steps like this (lines 4, 5, 6, 7, 8, 9, 10, 11)"
    assert told in texts(root) and "line 12: srun, 1 node × 1 task" in texts(root)
    assert told[1:] in written(command, script, "html")
