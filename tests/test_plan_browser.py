"""The pictures of `sbatchlint plan` in a browser: nothing sticks out, no texts collide, and all can be read.

Chromium measures; without one these tests skip. All pictures of one colour scheme are measured by one start of it.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from test_plan_pictures import CROWD, EARLY, EVIL, HET, MPI
from test_plan_text import BARE, EIGHT, GOOD, LARGE, UNKNOWN, real

__all__ = ["real"]  # a fixture
LONG = """\
#!/bin/bash
#SBATCH --job-name=a-name-that-is-much-longer-than-any-line-of-a-narrow-page-could-ever-hold-without-a-break
#SBATCH --nodes=1 --ntasks=1000 --gpus-per-node=16 --comment="some words that say little, but many of them, in one line"
#SBATCH --output=/a/folder/with/a/long/name/and/another/one/below/it/that/is/longer/still/%x-%j.out --time=1:00:00
srun ./a/program/with/a/long/path/and/a/long/name/below/it/that/has/no/blank/in/it/at/all/so/that/it/breaks --and words
srun -n 16 bash -c 'RANK=$((SLURM_PROCID + 123456)) LOCAL_RANK=$SLURM_LOCALID FOO=some-long-value-$SLURM_PROCID ./b'
srun -n 1000 bash -c 'LOCAL_RANK=0 RANK=0 ./c'
"""
RAY = """\
#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=32 --time=4:00:00
srun --nodes=1 --ntasks=1 ray start --head --port=6379 --num-gpus=4 --block &
srun --nodes=3 --ntasks=3 ray start --address "$HEAD:6379" --num-gpus=4 --block &
python -u train.py
"""
ARRAY = "#!/bin/bash\n#SBATCH --array=0-99%10 -n1 --gres=gpu:1 --time=1:00\nsrun python train.py $SLURM_ARRAY_TASK_ID\n"
SHARES = "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=4 --gpus-per-task=2\nsrun ./a\n"
REFUSED = "#!/bin/bash\n#SBATCH --nodes=none\nsrun ./a\n"
SCRIPTS = {
    "good": GOOD, "eight": EIGHT, "bare": BARE, "large": LARGE, "unknown": UNKNOWN, "evil": EVIL, "mpi": MPI,
    "het": HET,
    "crowd": CROWD.format("--nproc-per-node=8"), "copies": CROWD.format("--nproc-per-node=1"), "early": EARLY,
    "long": LONG, "ray": RAY, "array": ARRAY, "shares": SHARES, "refused": REFUSED,
    "no steps": "#!/bin/bash\n#SBATCH -N4\npython train.py\n", "empty": "#!/bin/bash\n",
}  # fmt: skip

# Runs in the page that embeds the pictures; what is measured are pixels.
MEASURE = """
const numbers = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
const light = (colour) => numbers(colour).slice(0, 3).map((each) => {
  const part = each / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}).reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const opaque = (colour) => colour !== 'none' && numbers(colour)[3] !== 0;
function ground(element, view) {
  for (let each = element; each; each = each.parentElement) {
    const colour = view.getComputedStyle(each).backgroundColor;
    if (opaque(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
}
function measured(frame) {
  const page = frame.contentDocument, view = frame.contentWindow, said = [];
  const root = page.documentElement;
  if (root.scrollWidth > frame.clientWidth) said.push(`the page is ${root.scrollWidth} pixels wide`);
  for (const picture of page.querySelectorAll('svg')) {
    const texts = [...picture.querySelectorAll('text')], rects = [...picture.querySelectorAll('rect:not(.bar)')];
    const whole = picture.getBoundingClientRect();
    const boxes = rects.map((each) => [each, each.getBoundingClientRect()]);
    const places = texts.map((each) => each.getBoundingClientRect());
    texts.forEach((text, at) => {
      const place = places[at], middle = (place.top + place.bottom) / 2;
      const around = boxes.filter(([, box]) => box.left <= place.left + 1 && box.right > place.left + 1
        && box.top <= middle && box.bottom >= middle);
      const right = Math.min(whole.right, ...around.map(([, box]) => box.right));
      if (place.width && place.right > right + 0.5) said.push(`sticks out: ${text.textContent}`);
      for (let other = 0; other < at; other++) {
        const its = places[other];
        if (its.left < place.right - 1 && place.left < its.right - 1 && its.top < place.bottom - 4
            && place.top < its.bottom - 4) said.push(`collides: ${text.textContent} / ${texts[other].textContent}`);
      }
      const filled = around.map(([each]) => view.getComputedStyle(each).fill).filter(opaque);
      const ratio = contrast(view.getComputedStyle(text).fill, filled.pop() || ground(picture, view));
      if (ratio < 4.5) said.push(`contrast ${ratio.toFixed(1)}: ${text.textContent}`);
    });
  }
  for (const each of page.querySelectorAll('h1, h2, h3, p, th, td, li, a, strong')) {
    if (each.getBoundingClientRect().right > root.clientWidth + 0.5) said.push(`sticks out: ${each.textContent}`);
    const ratio = contrast(view.getComputedStyle(each).color, ground(each, view));
    if (ratio < 4.5) said.push(`contrast ${ratio.toFixed(1)}: ${each.textContent}`);
  }
  return said;
}
async function corner(image) {
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 10;
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  return [...context.getImageData(2, 2, 1, 1).data];
}
addEventListener('load', async () => {
  const found = {frames: {}, corners: {}, dark: matchMedia('(prefers-color-scheme: dark)').matches};
  for (const frame of document.querySelectorAll('iframe')) found.frames[frame.title] = measured(frame);
  for (const image of document.querySelectorAll('img')) found.corners[image.alt] = await corner(image);
  document.querySelector('pre').textContent = JSON.stringify(found);
});
"""


@cache
def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no chromium here: what it makes of the pictures is not measured")


def seen(page: str, folder: Path, dark: bool) -> dict[str, Any]:
    """What the page writes into its `pre`."""
    path = folder / "page.html"
    path.write_text(page)
    options = (
        "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
        "--disable-sync --disable-dev-shm-usage --no-first-run --timeout=120000 --window-size=1200,900"
    )
    command = [browser(), *options.split(), f"--user-data-dir={folder / 'profile'}",
               f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", path.as_uri()]  # fmt: skip
    environment = {**os.environ, "HOME": str(folder)}
    result = subprocess.run(command, capture_output=True, text=True, timeout=400, env=environment)
    written = re.search(r"<pre>(\{.*?\})</pre>", result.stdout, re.DOTALL)
    assert written is not None, result.stderr[-2000:]
    found: dict[str, Any] = json.loads(html.unescape(written[1]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_in_a_browser(real: Command, tmp_path: Path, dark: bool) -> None:
    browser()
    frames, images = [], []
    for name, script in SCRIPTS.items():
        real.write("job.sbatch", script)
        page = real("plan", "--output-format", "html", "job.sbatch").out
        picture = real("plan", "--output-format", "svg", "job.sbatch").out
        frames += [(f"{name}: page of {width}", width, page) for width in (500, 1000)]
        frames.append((f"{name}: picture", 1000, picture))
        images.append((name, base64.b64encode(picture.encode()).decode()))
    body = "".join(
        f'<iframe title="{title}" width="{width}" height="800" style="border: 0" srcdoc="{html.escape(text)}">'
        "</iframe>\n"
        for title, width, text in frames
    )
    body += "".join(f'<img alt="{name}" src="data:image/svg+xml;base64,{text}">\n' for name, text in images)
    page = (
        "<!DOCTYPE html><html><head><style>:root { color-scheme: light dark; }</style></head>"
        f"<body><pre></pre>\n{body}<script>{MEASURE}</script></body></html>"
    )
    found = seen(page, tmp_path, dark)
    assert found["dark"] == dark
    assert {title: said for title, said in found["frames"].items() if said} == {}
    assert len(found["frames"]) == 3 * len(SCRIPTS)
    # as an image of another page it follows the colour scheme too
    ground = [0x12, 0x16, 0x1D, 255] if dark else [255, 255, 255, 255]
    assert found["corners"] == dict.fromkeys(SCRIPTS, ground)
