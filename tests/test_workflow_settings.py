"""Options of sbatch in profiles of Snakemake and in the configuration of Nextflow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT, examples
from sbatchlint.documents import fix_document, inspect_document
from sbatchlint.settings import Settings
from sbatchlint.source.discover import is_document
from sbatchlint.source.documents import read_document, snippets
from sbatchlint.source.text import SLOT, Source

ALL = Settings.of_table({})

YAML = {
    "plain": "cluster: sbatch -N=2 --mem={resources.mem_mb}\njobs: 4\n",
    "plain, of several lines": "cluster:\n  mkdir -p logs &&\n  sbatch\n    -N=2\n    --mem={resources.mem}\njobs: 4\n",
    "plain, with a comment": "cluster: sbatch -N=2 # two\n",
    "in quotes": 'cluster: "sbatch -N=2 --output={rule}.out"\n',
    "in quotes, of several lines": "cluster: 'sbatch\n  -N=2\n\n  -t 5'\n",
    "continued": 'cluster: "sbatch \\\n  -N=2 \\\n  -t 5"\n',
    "folded": "cluster-generic-submit-cmd: >-\n  sbatch\n  -N=2\n  -t 5\njobs: 4\n",
    "literal": "cluster: |\n  mkdir -p logs\n  sbatch -N=2\n",
    "of the executor": "default-resources:\n  slurm_extra: --gres=gpu:1 -N=2\n",
    "of the executor, quoted twice": "set-resources:\n  a:\n    slurm_extra: \"'-N=2'\"\n",
    "in a list": "default-resources:\n  - mem_mb=4\n  - slurm_extra='-N=2'\n",
    "line ends of DOS": "cluster: sbatch -N=2\r\njobs: 4\r\n",
}
NEXTFLOW = {
    "a string": "process.executor = 'slurm'\nprocess.clusterOptions = '-N=2'\n",
    "a closure": 'process {\n  executor = "slurm"\n  clusterOptions = { "-N=2 --mem=${task.memory.mega}" } // x\n}\n',
    "a list": "process {\n  executor = 'slurm'\n  clusterOptions = ['-t 5', '-N=2']\n}\n",
    "of one process": "process { executor = 'slurm'\n  withLabel: gpu { clusterOptions = '-N=2' }\n}\n",
    "an argument": "executor { name = 'slurm' }\nprocess x {\n  clusterOptions '-N=2'\n}\n",
}
EXAMPLES = [("config.yaml", title, text) for title, text in YAML.items()]
EXAMPLES += [("nextflow.config", title, text) for title, text in NEXTFLOW.items()]


@pytest.mark.parametrize(("path", "text"), [(path, text) for path, _, text in EXAMPLES], ids=[e[1] for e in EXAMPLES])
def test_findings_and_fixes_have_their_places(path: str, text: str) -> None:
    assert is_document(path, text.encode())
    source = Source(text, path)
    found = [each for each in inspect_document(source, ALL).diagnostics if each.severity != "info"]
    assert [(each.code, source.slice(each.span)) for each in found] == [("SB107", "-N=2")]
    assert fix_document(source, ALL).source.text == text.replace("-N=2", "-N 2")


@pytest.mark.parametrize(
    ("path", "text", "script"),
    [
        ("a.yml", "cluster: sbatch -t {resources.time} --comment={{x}}", "sbatch -t _ --comment={x}"),
        ("a.yml", 'slurm_extra: "--comment={rule}"', "sbatch --comment=_"),
        ("a.nf", 'executor = "slurm"\nclusterOptions = "-A $a -t ${b ?: 5}"', "#SBATCH -A _ -t _"),
        ("a.nf", 'executor = "slurm"\nclusterOptions = { "--gpus=1" + more }', "#SBATCH --gpus=1_"),
        ("a.nf", 'executor = "slurm"\nx { y { clusterOptions = { "-t $a" } } }', "#SBATCH -t _"),
        ("a.nf", "executor = 'slurm'; clusterOptions = '-N=2'; time = '4h'", "#SBATCH -N=2"),
    ],
)
def test_what_is_filled_in_is_not_known(path: str, text: str, script: str) -> None:
    (found,) = snippets(Source(text, path))
    assert found.text == script.replace("_", SLOT) and found.is_fragment


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "cluster: slurm-submit.py -N=2\n"),
        ("a.yaml", "cluster:\n  submit: sbatch -N=2\n"),
        ("a.yaml", "cluster: [sbatch, -N=2]\n"),
        ("a.yaml", "cluster: *sbatch\n"),
        ("a.yaml", "# cluster: sbatch -N=2\n"),
        ("a.yaml", "slurm_extra: lambda w: '-N=2'\n"),
        ("a.yaml", 'slurm_extra: "sbatch \\x20"\n'),
        ("a.config", "process.clusterOptions = '-N=2'\n"),
        ("a.config", "process.executor = 'sge'\nprocess.clusterOptions = '-N=2'\n"),
        ("a.config", "a { executor = 'slurm' }\nb { executor = 'lsf'\nclusterOptions = '-N=2' }\n"),
        ("a.config", "process.executor = 'slurm'\n// clusterOptions = '-N=2'\n"),
        ("a.config", "process.executor = 'slurm'\nclusterOptions = { a ? '-N=2' : null }\n"),
        ("a.config", "process.executor = 'slurm'\nclusterOptions = params.options\n"),
    ],
)
def test_what_is_not_read(path: str, text: str) -> None:
    reading = read_document(Source(text, path))
    assert reading.snippets == [] and reading.reason == "it has none that could be read"


def test_which_files_may_have_settings() -> None:
    assert not is_document("a.yaml", b"jobs: 4\n") and not is_document("a.config", b"x = 1\n")
    assert not is_document(
        "a.config", b"#!/bin/bash\n#SBATCH -N 2\necho clusterOptions\n"
    )  # a script, whatever its name
    assert is_document("a.yaml", b"default-resources:\n  - slurm_extra='x'\n")


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        st.sampled_from(["-N=2", "--mem={m}", "a", "&&", "'x'", "\\", "#", "é", "it's", '"']), min_size=1, max_size=6
    ),
    st.sampled_from(["plain", "single", "double", "|", ">"]),
    st.booleans(),
)
def test_scalars_are_read_as_yaml_does(words: list[str], style: str, broken: bool) -> None:
    """What is read of a value is what a library for YAML reads, with spaces at the ends apart."""
    words = ["sbatch", *words]
    joint = "\n  " if broken else " "
    if style == "plain":
        text = "cluster: " + joint.join(words)
    elif style in "|>":
        text = f"cluster: {style}\n  " + joint.join(words)
    elif style == "single":
        text = "cluster: '" + joint.join(word.replace("'", "''") for word in words) + "'"
    else:
        text = 'cluster: "' + joint.join(word.replace("\\", "\\\\").replace('"', '\\"') for word in words) + '"'
    text += "\njobs: 4\n"
    try:
        expected = yaml.safe_load(text)["cluster"]
    except yaml.YAMLError:
        return
    found = snippets(Source(text, "a.yaml"))
    assert [each.text.strip() for each in found] == [expected.strip().replace("{m}", SLOT)]


def test_a_walk_reads_them_where_they_are_included(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("cluster: sbatch -N=2\n")
    (tmp_path / "nextflow.config").write_text(dedent(NEXTFLOW["a string"]))
    (tmp_path / "other.yaml").write_text("jobs: 4\n")

    def listed(*arguments: str) -> list[str]:
        command = [sys.executable, "-m", "sbatchlint", "--show-files", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return sorted(done.stdout.split())

    assert listed(".") == []
    assert listed("config.yaml", "nextflow.config", "other.yaml") == ["config.yaml", "nextflow.config"]
    (tmp_path / "sbatchlint.toml").write_text('include = ["*.yaml", "nextflow.config"]\n')
    assert listed(".") == ["config.yaml", "nextflow.config"]
