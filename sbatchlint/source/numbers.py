"""Digits of a text as a number. Scripts may hold any number of them, and Python refuses to read more than 4,300."""

# A number of more digits counts as one of so many nines: larger than anything that it is compared with.
MOST_DIGITS = 400
LARGEST: int = 10**MOST_DIGITS - 1


def is_number(string: str) -> bool:
    """Whether a text is digits and nothing else, as C and the shell know them: `٣` and `²` are none."""
    return string.isascii() and string.isdigit()


def parse_integer(string: str, base: int = 10) -> int:
    """The integer that a text holds, as `int` reads it. Raises ValueError where it holds none."""
    if len(string) <= MOST_DIGITS:
        return int(string, base)
    digits = string.strip().lstrip("+-")
    if not digits.isalnum():
        raise ValueError(f"no number: {string[:20]!r}")
    return -LARGEST if string.strip().startswith("-") else LARGEST
