"""Digits of a text as a number. Scripts may hold any number of them, and Python refuses to read more than 4,300."""

# A number of more digits counts as one of so many nines: larger than anything that it is compared with.
MOST_DIGITS = 400
LARGEST: int = 10**MOST_DIGITS - 1


def is_number(text: str) -> bool:
    """Whether a text is digits and nothing else, as C and the shell know them: `٣` and `²` are none."""
    return text.isascii() and text.isdigit()


def parse_integer(text: str, base: int = 10) -> int:
    """The integer that a text holds, as `int` reads it. Raises ValueError where it holds none."""
    if len(text) <= MOST_DIGITS:
        return int(text, base)
    digits = text.strip().lstrip("+-")
    if not digits.isalnum():
        raise ValueError(f"no number: {text[:20]!r}")
    return -LARGEST if text.strip().startswith("-") else LARGEST
