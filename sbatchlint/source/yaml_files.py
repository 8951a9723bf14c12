"""What a YAML file says, such as the configuration of a launcher.

It is read with PyYAML (the extra `yaml`), which is imported only where there is such a file. Without it, only the names
at the left margin have values, and only plain ones. What is not certain is `UNKNOWN`: a value with a tag, a mapping
that takes in another one or has a name twice.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Union

from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex


class Unknown(Enum):
    """The value that is not known."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN
# A scalar is the string that is written, None where that is empty or null.
Value = Union[str, None, Unknown, Mapping[str, "Value"], Sequence["Value"]]

# Larger files, and those nested deeper, are unknown.
MOST_BYTES = 1 << 16
DEEPEST = 50

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_PLAIN_LINE = Regex(r"([A-Za-z_]\w*):(?:[ \t]+(.*))?")


def read_yaml(path: str) -> Mapping[str, Value] | None:
    """The mapping that a file holds; None where it holds something else, or what it holds is not known."""
    data = lookups.read(path, MOST_BYTES + 1)
    return None if data is None or len(data) > MOST_BYTES else _mapping(data)


def has_reader() -> bool:
    """Whether PyYAML is there."""
    try:
        import yaml
    except ImportError:
        return False
    return hasattr(yaml, "parse")  # a folder of that name can be imported, too


@lru_cache(maxsize=16)  # an editor asks for the same file after each change of a script
def _mapping(data: bytes) -> Mapping[str, Value] | None:
    try:
        string = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    found = _read(string) if has_reader() else _plain(string)
    return found if isinstance(found, dict) else None


def _read(string: str) -> Value:
    """The value of a document. An alias is the very value that it stands for, so that it costs nothing."""
    import yaml

    root: list[Value] = []
    open_: list[tuple[list[Value], Any]] = [(root, None)]  # the values so far, and the event that begins them
    anchors: dict[str, Value] = {}
    documents = 0
    try:
        for event in yaml.parse(string, Loader=yaml.SafeLoader):
            value: Value
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                open_.append(([], event))
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                values, begin = open_.pop()
                value = _paired(values) if isinstance(event, yaml.MappingEndEvent) else values
                _take(open_, anchors, begin, value)
            elif isinstance(event, yaml.ScalarEvent):
                _take(open_, anchors, event, None if event.implicit[0] and event.value in _NULL else event.value)
            elif isinstance(event, yaml.AliasEvent):
                open_[-1][0].append(anchors.get(event.anchor, UNKNOWN))
            if len(open_) > DEEPEST or documents > 1:
                return UNKNOWN
    except (yaml.YAMLError, ValueError, OverflowError):  # the latter of an escape that is not a character
        return UNKNOWN
    return root[0] if len(root) == 1 else UNKNOWN


def _take(open_: list[tuple[list[Value], Any]], anchors: dict[str, Value], event: Any, value: Value) -> None:
    """Appends a value to what it is in."""
    value = UNKNOWN if event.tag is not None else value
    if event.anchor is not None:
        anchors[event.anchor] = value
    open_[-1][0].append(value)


def _paired(values: list[Value]) -> Value:
    """The mapping of names and values that take turns."""
    found: dict[str, Value] = {}
    for name, value in zip(values[::2], values[1::2]):
        if not isinstance(name, str) or name in found or name == "<<":
            return UNKNOWN
        found[name] = value
    return found


def _plain(string: str) -> Value:
    """The names at the left margin, where each line there has one."""
    found: dict[str, Value] = {}
    last = ""
    for line in string.splitlines():
        if not line.strip() or line[0] == "#" or line.strip() == "---" and not found:
            continue
        if last and re.match(r"[ \t]|-(?!--)", line):
            found[last] = UNKNOWN  # its value goes on
            continue
        match = _PLAIN_LINE.fullmatch(line)
        if match is None or match[1] in found:
            return UNKNOWN
        last = match[1]
        found[last] = _plain_value(re.sub(r"(?:^|\s)#.*", "", match[2] or "").strip())
    return found


def _plain_value(text: str) -> Value:
    if text in _NULL:
        return None
    if text[0] in "'\"":
        inner = text[1:-1]
        return inner if len(text) > 1 and text[-1] == text[0] and not set(inner) & {text[0], "\\"} else UNKNOWN
    return UNKNOWN if text[0] in "&*!|>{}[]%@`,?-" or ": " in text or text[-1] == ":" else text
