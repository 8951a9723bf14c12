"""A container gets a search path of the host instead of its own.

In `bash -c "export PATH=/opt/app/bin:$PATH; app"` the shell outside the container expands `$PATH`. The container gets
the folders of the host, most of which it does not have, and loses those of its image: `python` is a different one, or
"command not found". The host's PYTHONPATH and LD_LIBRARY_PATH are worse: where its folders are mounted, packages and
libraries of the host hide those of the image.

## Fix

A backslash before the `$`, so that the shell in the container expands it. Unsafe: the host's value may be meant, where
the folders are mounted.

## References

bash(1), "Quoting"; https://github.com/NVIDIA/enroot/blob/v3.5.0/doc/cmd/start.md (the image's environment).
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import reads_in
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Expansion, Pieces
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.launches import container_of
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB520", "host-path-in-container", severity="warning", fix="sometimes", since="0.1.0", when=Containers(),
    seen="a row of a guide for Megatron Bridge",
)  # fmt: skip

_PATHS = frozenset({"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"})
_ASSIGNS = Regex(r"\b(?P<name>PATH|PYTHONPATH|LD_LIBRARY_PATH)=[\"'\\]*[^\s;&|]*$")
_REST = Regex(r"[^\s;&|\"']*")

# Options with which apptainer passes no variables of the host.
_CLEAN = frozenset({"-C", "--cleanenv", "--contain", "--containall"})


def check(job: Job) -> Iterator[Finding]:
    for command in job.invocations:
        container = container_of(command)
        if container is None:
            continue
        if command.text is not None and command.alternatives == 1:
            for field in command.argv[1:]:
                found = {each.name: _places_in(job, command, each) for each in _of_host(field)}
                for name, places in found.items():
                    setting = [each for each in places if _assigns(job, each, name)]
                    if setting:
                        yield _finding(job, setting, name, command)
                        break
        elif container.kind in ("docker", "podman") and command.parent is not None:
            for name, value in container.passed.items():
                passed = [each.span for each in _of_host(value or ()) if each.name == name]
                if passed:
                    yield _finding(job, passed[:1], name, command)


def _of_host(field: Pieces) -> Iterator[Expansion]:
    """The search paths in a word whose values are the host's."""
    for piece in field:
        if piece.text is None and piece.expansion is not None and piece.expansion.name in _PATHS:
            yield piece.expansion


def _places_in(job: Job, command: Invocation, expansion: Expansion) -> list[Span]:
    """Where the shell outside expands the variable in a text for the container; none where that is another text."""
    if not job.source.slice(expansion.span).startswith("$"):
        return []
    inside = {each.span for each in reads_in(job, command.span) if each.name == expansion.name}
    # a text that is in a variable of its own
    return sorted(inside) or ([] if _sets_own(job, expansion) else [expansion.span])


def _sets_own(job: Job, expansion: Expansion) -> bool:
    """Whether the expansion is part of the new value of the same variable, outside the container."""
    own = (each for each in job.assignments if each.name == expansion.name and each.context.parent is None)
    return any(each.span.contains(expansion.span) for each in own)


def _assigns(job: Job, place: Span, name: str) -> bool:
    """Whether the text around an expansion sets the same variable in the container, and leaves out the container's."""
    before = job.source.text[max(place.start - 200, 0) : place.start]
    match = _ASSIGNS.search(before)
    if match is None or match["name"] != name:
        return False
    after = _REST.match(job.source.text, place.end)
    return f"${name}" not in (match[0] + (after[0] if after else "")).replace("{", "")


def _gets_it_anyway(command: Invocation, name: str) -> bool:
    """Whether the container has the host's value by itself: of PYTHONPATH, whose folders may be missing."""
    container = container_of(command)
    apptainer = container is not None and container.kind in ("apptainer", "singularity")
    words = {word for each in command.ancestors() for word in each.words[1:]}
    return apptainer and name == "PYTHONPATH" and _CLEAN.isdisjoint(words)


def _finding(job: Job, places: list[Span], name: str, command: Invocation) -> Finding:
    """The finding on the last of the places, whose value is the one that counts."""
    place = places[-1]
    written = job.source.slice(place)
    is_text = command.text is not None and written.startswith("$")
    # in an environment that is activated, its programs come first
    activates = command.text is not None and "activate" in command.text.string
    advice = f"write `\\{written}` for the shell in the container" if is_text else "remove it"
    edits = [insert(each.start, "\\") for each in places]
    fix = Fix("let the container expand it", edits, safe=False) if is_text else None
    return Finding(
        place,
        f"the container gets the host's {name}, whose folders may not exist in it; {advice}",
        "info" if activates and name == "PATH" or _gets_it_anyway(command, name) else None,
        related=[(each, "overwritten by this") for each in places[:-1][:3]],
        fix=fix,
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/img/app.sqsh bash -c "export PATH=/opt/app/bin:«$PATH»; app --train"
        """,
        unsafe_fixed={"PATH=/opt/app/bin:$PATH;": "PATH=/opt/app/bin:\\$PATH;"},
    ),
    Good("#!/bin/bash\n#SBATCH -N2\napptainer exec app.sif bash -c 'export PATH=/opt/app/bin:$PATH; app'\n"),
    Good('#!/bin/bash\n#SBATCH -N2\nbash -c "export PATH=/opt/app/bin:$PATH; app"\n', title="no container"),
]
