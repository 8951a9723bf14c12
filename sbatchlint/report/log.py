"""What a server writes to standard error, which clients keep as a log: one line a message."""

import logging
from traceback import walk_tb

from sbatchlint.report.cells import escape
from sbatchlint.source.secrets import masked, values_in

_MOST = 500


class _Lines(logging.Formatter):
    """Says of an exception what it is and where it was raised."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            text = f"{text}: {type(error).__name__}: {error}"
            places = [f"{frame.f_globals.get('__name__')}:{row}" for frame, row in walk_tb(error.__traceback__)]
            if places:
                text = f"{text:.{_MOST}} ({places[-1]})"
        text = " ".join(text.split())
        return escape(f"{record.levelname}:{record.name}:{masked(text, values_in(text))}")


def log_lines() -> None:
    """Has all warnings and errors logged so."""
    logging.basicConfig(level=logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_Lines())
