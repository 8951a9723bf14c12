"""Where a variable is assigned, and a function is defined, in the script or in a file that it reads."""

import os

from lsprotocol import types
from pygls import uris

from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Assignment, Function
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.server.positions import Positions
from sbatchlint.server.snapshot import Part, Snapshot
from sbatchlint.server.variables import name_at
from sbatchlint.source.documents import Snippet
from sbatchlint.source.text import Source, Span
from sbatchlint.source.workspace import Workspace


def definitions(snapshot: Snapshot, offset: int) -> list[types.Location]:
    """The places, the last before this one first."""
    for part, inner in snapshot.at(offset):
        named = name_at(part.source.text, inner)
        if named is None:
            continue
        found = [*_assigned(snapshot, part, named[0]), *_defined(snapshot, part, named[0])]
        at = snapshot.positions.position(offset)
        own = sorted((each for each in found if each.uri == snapshot.uri), key=_key)
        before = [each for each in own if (each.range.start.line, each.range.start.character) < (at.line, at.character)]
        others = [each for each in found if each not in own]
        rest = [each for each in own if each not in before]
        return list({_key(each): each for each in (*reversed(before), *others, *rest)}.values())
    return []


def _key(location: types.Location) -> tuple[str, int, int]:
    return location.uri, location.range.start.line, location.range.start.character


def _assigned(snapshot: Snapshot, part: Part, name: str) -> list[types.Location]:
    return [
        _location(snapshot, part, job.source, assignment.name_span)
        for job in part.job.with_submitted()
        for assignment in job.assignments
        if assignment.name == name
    ]


def _defined(snapshot: Snapshot, part: Part, name: str) -> list[types.Location]:
    """Functions, and assignments that are not known to run, as the texts have them."""
    workspace = part.job.source
    found = []
    for source, base in workspace.files():
        if name not in source.text:
            continue
        program = parse(source.text)
        for function in nodes_of(program, Function):
            if function.name == name:
                at = source.text.find(name, function.start)
                found.append(_location(snapshot, part, workspace, Span(base + at, base + at + len(name))))
        for assignment in nodes_of(program, Assignment):
            if assignment.name == name:
                at = base + assignment.name_start
                found.append(_location(snapshot, part, workspace, Span(at, at + len(name))))
    return found


def _location(snapshot: Snapshot, part: Part, workspace: Workspace, span: Span) -> types.Location:
    source, base = workspace.part(span.start)
    inner = Span(span.start - base, span.end - base)
    if source is workspace.own:
        place = part.outer(inner) if isinstance(part.source, Snippet) else inner
        return types.Location(snapshot.uri, snapshot.positions.range(place))
    return types.Location(_uri(source, snapshot.uri), Positions(source.text, snapshot.encoding).range(inner))


def _uri(source: Source, otherwise: str) -> str:
    return uris.from_fs_path(os.path.abspath(source.path)) or otherwise
