"""The identity of findings for tools that track them: a path relative to the project, and a fingerprint."""

import os

from sbatchlint.diagnostics import Diagnostic


def repository_path(path: str) -> str:
    """A path relative to the workspace of a CI run, or to the current folder, with `/` as separator.

    Absolute if it is outside; unchanged for `<stdin>`.
    """
    if path.startswith("<"):
        return path
    full = os.path.abspath(path)
    top = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    relative = os.path.relpath(full, top)
    return full if relative.startswith("..") else relative.replace(os.sep, "/")


def uri(path: str) -> str:
    """The path of `repository_path` as a URI reference (RFC 3986), `file://` if it is absolute.

    Bytes that are not UTF-8 are preserved.
    """
    from urllib.parse import quote

    shown = repository_path(path)
    reference = quote(os.fsencode(shown), safe="/-._~")
    return f"file://{reference}" if os.path.isabs(shown) else reference


def fingerprints(found: list[Diagnostic]) -> list[str]:
    """A string for each finding, which stays the same when other lines of its file change.

    It depends on the check, the path, the text of the line, and the number of the finding among those that have these
    in common.
    """
    from hashlib import sha256

    counts: dict[str, int] = {}
    prints = []
    for diagnostic in found:
        line = diagnostic.source.slice(diagnostic.source.line_of(diagnostic.span.start)).strip()
        key = "\0".join((diagnostic.code, repository_path(diagnostic.source.path), line))
        counts[key] = counts.get(key, 0) + 1
        text = f"{key}\0{counts[key]}"
        prints.append(sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32])
    return prints
