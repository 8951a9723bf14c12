"""The scripts that stand inside documents: Markdown, MDX, reStructuredText, Python programs,
notebooks, and the settings of workflow engines.
"""

import re
from typing import NamedTuple

from sbatchlint.source.discover import (
    MARKDOWN_ENDINGS,
    NEXTFLOW_ENDINGS,
    NOTEBOOK_ENDINGS,
    PYTHON_ENDINGS,
    YAML_ENDINGS,
)
from sbatchlint.source.documents.blocks import Block, snippets_of
from sbatchlint.source.documents.snippet import Snippet, Unreadable
from sbatchlint.source.text import Source

__all__ = ["Reading", "Snippet", "read_document", "snippets"]

# What each snippet has that is looked at: a directive, or a command of Slurm.
_MENTIONED = re.compile(r"#SBATCH\b|(?:\b|\\n)(?:sbatch|srun|salloc)\b|\bsubmitit\b")


class Reading(NamedTuple):
    """The scripts of a document, in their order; without any, `reason` says why."""

    snippets: list[Snippet]
    reason: str = ""


def snippets(source: Source) -> list[Snippet]:
    """The scripts, and the pieces of scripts, of a document, in their order."""
    return read_document(source).snippets


def read_document(source: Source) -> Reading:
    """The scripts, and the pieces of scripts, of a document."""
    if not source.path.lower().endswith((*YAML_ENDINGS, *NEXTFLOW_ENDINGS)) and _MENTIONED.search(source.text) is None:
        return Reading([], "it has no directive and no command of Slurm")
    try:
        found = _snippets(source)
    except Unreadable as error:
        return Reading([], str(error))
    return Reading(found, "" if found else "it has none that could be read")


def _snippets(source: Source) -> list[Snippet]:
    ending = source.path.lower()
    if ending.endswith(PYTHON_ENDINGS):
        from sbatchlint.source.documents.python import scripts_in_python

        return scripts_in_python(source)
    if ending.endswith(NOTEBOOK_ENDINGS):
        from sbatchlint.source.documents.notebooks import scripts_in_notebook

        return scripts_in_notebook(source)
    if ending.endswith((*YAML_ENDINGS, *NEXTFLOW_ENDINGS)):
        from sbatchlint.source.documents.workflows import scripts_in_nextflow, scripts_in_yaml

        return scripts_in_yaml(source) if ending.endswith(YAML_ENDINGS) else scripts_in_nextflow(source)
    blocks: list[Block]
    if ending.endswith(MARKDOWN_ENDINGS):
        from sbatchlint.source.documents.markdown import blocks_of_markdown

        blocks = blocks_of_markdown(source, is_mdx=ending.endswith(".mdx"))
    else:
        from sbatchlint.source.documents.restructured import blocks_of_restructured_text

        blocks = blocks_of_restructured_text(source)
    return [snippet for block in blocks for snippet in snippets_of(source, block)]
