"""XML for the formats that are based on it."""

import re
from xml.etree import ElementTree

from sbatchlint.report.cells import escape

_IMPOSSIBLE = re.compile("[^\t\n\r -~\x80-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(tag: str, parent: ElementTree.Element | None = None, /, **attributes: str | int) -> ElementTree.Element:
    """An element, below `parent` if there is one; characters that XML cannot represent are shown by their codes."""
    escaped = {key: _IMPOSSIBLE.sub(lambda match: escape(match[0]), str(value)) for key, value in attributes.items()}
    return ElementTree.Element(tag, escaped) if parent is None else ElementTree.SubElement(parent, tag, escaped)


def document(root: ElementTree.Element) -> str:
    """The text of a document, with non-ASCII characters as references, so that none can move a cursor."""
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="us-ascii").decode()}\n'
