"""What the fixes of the checks that confirm an answer make of the script."""

from sbatchlint.diagnose.answers import Answer, Picture
from sbatchlint.report.model import shown_path
from sbatchlint.source.text import Source


def repaired(answer: Answer, picture: Picture | None, unsafe: bool = True) -> Source | None:
    """The script after the fixes; None where they change nothing."""
    wanted = {each.code for each in answer.findings if each.fix is not None and (unsafe or each.fix.safe)}
    if picture is None or not wanted:
        return None
    from sbatchlint.fix import fix_source  # only where there is a fix

    fixed = fix_source(picture.source, picture.settings.narrowed(wanted), unsafe).source
    return None if fixed.text == picture.source.text else fixed


def diff_of(answer: Answer, picture: Picture | None) -> str:
    """What `repaired` changes, as people are shown it; "" for nothing."""
    after = repaired(answer, picture)
    if after is None or picture is None:
        return ""
    from sbatchlint.fix import redacted_diff  # as above

    return redacted_diff(picture.source, after, shown_path(picture.source.path))
