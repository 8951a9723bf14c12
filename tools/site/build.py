"""Builds the documentation as a site, of the same Markdown that lies in docs/.

    python tools/site/build.py [--output build/site] [--without-playground]

What Zensical warns of fails the build, and so does a link or an anchor of the finished pages that leads nowhere, or
anything that a page would load from another host. The playground needs npm, which brings Pyodide, and the wheel of this
tree, which is built for it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from links import problems

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCE = "https://github.com/sbatchlint/sbatchlint"
# What stands above some pages: these need the room of the columns beside them.
HEADS = {
    "symptoms.md": "---\nhide: [navigation]\n---\n\n",
    "playground.md": "---\nhide: [navigation, toc]\ntemplate: playground.html\n---\n\n",
}
# What a browser needs of the npm package.
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
# A comment that begins a line of code, as Pygments writes it.
_DIRECTIVE = re.compile(r"""(^|\n|<code>|</a>)<span class="c1">(?=#SBATCH\b)""")
# Rows of docs/checks/README.md, below the heading of their group.
GROUP = re.compile(r"^## SB(\d) (\w+)(?::.*)?$|^\| (SB\d+) \| \[([\w-]+)\]", re.MULTILINE)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation as a site.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--without-playground", action="store_true", help="build no wheel, and ask npm for nothing")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="sbatchlint-site-") as name:
        folder = Path(name)
        stage(folder, has_playground=not options.without_playground)
        if not options.without_playground:
            playground(folder / "docs" / "assets" / "playground", folder)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        environment = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        if done.returncode or "arning" in said:
            print(re.sub(r"\x1b\[[\d;]*m", "", said), file=sys.stderr)
            return 1
        site = folder / "out"
        for path in site.rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            path.write_text(with_directives(text), encoding="utf-8")
        wrong = problems(site)
        for each in wrong:
            print(each, file=sys.stderr)
        if wrong:
            return 1
        shutil.rmtree(options.output, ignore_errors=True)
        shutil.copytree(site, options.output)
    files = [path for path in options.output.rglob("*") if path.is_file()]
    pages = sum(path.suffix == ".html" for path in files)
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{pages} pages, {len(files)} files, {size:.1f} MB in {options.output}")
    return 0


def stage(folder: Path, has_playground: bool) -> None:
    """Lays out what Zensical reads: the documentation, with its links to other files of the project led to GitHub."""
    heads = HEADS if has_playground else {name: head for name, head in HEADS.items() if name != "playground.md"}
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copytree(HERE / "overrides", folder / "overrides")
    shutil.copytree(HERE / "assets", folder / "docs" / "assets")
    for path in (folder / "docs").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        text = led(text, (ROOT / "docs" / path.relative_to(folder / "docs")).parent)
        path.write_text(heads.get(path.name, "") + text, encoding="utf-8")
    schema = subprocess.run(
        [sys.executable, "-m", "sbatchlint", "schema"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    (folder / "docs" / "sbatchlint.schema.json").write_bytes(schema)
    settings = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
    (folder / "mkdocs.yml").write_text(settings.replace(" CHECKS\n", f"\n{checks()}", 1), encoding="utf-8")


def playground(target: Path, folder: Path) -> None:
    """What the playground loads: Pyodide, the wheel of this tree, and the examples."""
    shutil.copytree(HERE / "playground", target)
    package = HERE / "node_modules" / "pyodide"
    if not package.is_dir():
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(command, cwd=HERE, check=True, timeout=400)
    (target / "pyodide").mkdir()
    for name in PYODIDE:
        shutil.copy(package / name, target / "pyodide")
    # Without the list of packages that its makers' host has, nothing can be asked of that.
    lock = json.loads((package / "pyodide-lock.json").read_text(encoding="utf-8"))
    (target / "pyodide" / "pyodide-lock.json").write_text(json.dumps({**lock, "packages": {}}), encoding="utf-8")
    tree = folder / "tree"
    for name in ("sbatchlint", "checks"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*wheel, "--wheel-dir", str(folder / "wheels"), str(tree)], check=True, timeout=400)
    (built,) = (folder / "wheels").glob("sbatchlint-*.whl")
    shutil.copy(built, target / "sbatchlint.whl")
    scripts = sorted((ROOT / "examples").glob("*.sbatch"))
    examples = {path.stem: path.read_text(encoding="utf-8") for path in scripts}
    (target / "examples.json").write_text(json.dumps(examples), encoding="utf-8")


def led(text: str, folder: Path) -> str:
    """The text with links to files outside of docs/ made links to the repository."""

    def link(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        if "://" in match[1] or target.is_relative_to(ROOT / "docs") and target.suffix in (".md", ".svg"):
            return match[0]
        if not target.is_relative_to(ROOT) or not target.exists():
            return match[0]  # which Zensical finds
        kind = "tree" if target.is_dir() else "blob"
        return f"]({SOURCE}/{kind}/main/{target.relative_to(ROOT)}{match[2] or ''})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", link, text)


def with_directives(html: str) -> str:
    """A page in which the comments that sbatch reads are told from others, which are grey."""
    return _DIRECTIVE.sub(r'\1<span class="c1 directive">', html)


def checks() -> str:
    """The part of the navigation with a page for each check, by groups."""
    lines = ["      - All checks: checks/README.md"]
    for number, group, code, name in GROUP.findall((ROOT / "docs" / "checks" / "README.md").read_text("utf-8")):
        if code:
            lines.append(f"          - {code} {name}: checks/{name}.md")
        else:
            lines.append(f"      - SB{number} {group}:")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
