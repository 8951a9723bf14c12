"""The scripts that stand inside documents: Markdown, MDX, reStructuredText, and the strings of Python programs."""

import re

from sbatchlint.source.discover import MARKDOWN_ENDINGS, PYTHON_ENDINGS
from sbatchlint.source.documents.blocks import Block, snippets_of
from sbatchlint.source.documents.snippet import Snippet
from sbatchlint.source.text import Source

__all__ = ["Snippet", "snippets"]

# What each snippet has that is looked at: a directive, or a command of Slurm.
_MENTIONED = re.compile(r"#SBATCH\b|\b(?:sbatch|srun|salloc)\b")


def snippets(source: Source) -> list[Snippet]:
    """The scripts, and the pieces of scripts, of a document, in their order."""
    if _MENTIONED.search(source.text) is None:
        return []
    ending = source.path.lower()
    if ending.endswith(PYTHON_ENDINGS):
        from sbatchlint.source.documents.strings import scripts_in_strings

        return scripts_in_strings(source)
    blocks: list[Block]
    if ending.endswith(MARKDOWN_ENDINGS):
        from sbatchlint.source.documents.markdown import blocks_of_markdown

        blocks = blocks_of_markdown(source, is_mdx=ending.endswith(".mdx"))
    else:
        from sbatchlint.source.documents.restructured import blocks_of_restructured_text

        blocks = blocks_of_restructured_text(source)
    return [snippet for block in blocks for snippet in snippets_of(source, block)]
