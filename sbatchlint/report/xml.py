"""XML for the formats that need it."""

import re
from xml.etree import ElementTree

from sbatchlint.report.cells import escape

_IMPOSSIBLE = re.compile("[^\t\n\r -~\x80-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(tag: str, parent: ElementTree.Element | None = None, /, **attributes: str | int) -> ElementTree.Element:
    """An element, below `parent` where one is given; characters that XML cannot hold are shown by their code."""
    given = {key: _IMPOSSIBLE.sub(lambda match: escape(match[0]), str(value)) for key, value in attributes.items()}
    return ElementTree.Element(tag, given) if parent is None else ElementTree.SubElement(parent, tag, given)


def document(root: ElementTree.Element) -> str:
    """The text of a document. What is not ASCII stands as a reference, so that nothing in it moves a cursor."""
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="us-ascii").decode()}\n'
