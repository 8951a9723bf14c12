"""Which bracket closes which."""

from sbatchlint.bash.syntax.characters import END

# This many characters are searched in any text, and more in a long one, up to this many.
_ALWAYS_SEARCHED = 1 << 20
_MOST_SEARCHED = 1 << 22
_OPENERS = {")": "(", "]": "[", "}": "{"}


class Closings:
    """The closing brackets of a text that ends in `END`; each is looked for once.

    The number of characters searched is bounded: in a text full of unclosed brackets it would grow as their square.
    """

    __slots__ = ("_known", "_patience", "_text")

    def __init__(self, string: str) -> None:
        self._text = string
        self._known: dict[tuple[int, str], int] = {}
        self._patience = min(20 * len(string), _MOST_SEARCHED) + _ALWAYS_SEARCHED

    def of(self, at: int, closer: str) -> int:
        """The position of the bracket that closes the one before `at`, outside quotes; -1 where there is none."""
        known = self._known.get((at, closer))
        if known is None:
            known = self._search(at, closer) if self._patience > 0 else -1
            self._patience -= (len(self._text) if known < 0 else known) - at
            self._known[at, closer] = known
        return known

    def _search(self, at: int, closer: str) -> int:
        text = self._text
        opener = _OPENERS[closer]
        depth = 1
        while True:
            character = text[at]
            if character == closer:
                depth -= 1
                if not depth:
                    return at
            elif character == END:
                return -1
            elif character == opener and closer != "}":
                depth += 1
            elif character == "\\":
                at += text[at + 1] != END
            elif character == "'" or character == "`":
                at = text.find(character, at + 1)
                if at < 0:
                    return -1
            elif character == '"':
                at += 1
                while text[at] != '"':
                    if text[at] == END:
                        return -1
                    at += 2 if text[at] == "\\" and text[at + 1] != END else 1
            elif character == "$" and text[at + 1] in "{(":
                at = self.of(at + 2, ")" if text[at + 1] == "(" else "}")
                if at < 0:
                    return -1
            at += 1
