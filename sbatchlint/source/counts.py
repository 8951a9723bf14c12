"""Numbers of things, as people say them."""


def counted(number: int, noun: str) -> str:
    """`1 task`, `3 tasks`, `2 processes`."""
    return f"{number} {noun if number == 1 else plural(noun)}"


def all_of(number: int, noun: str) -> str:
    """`the task`, `both tasks`, `all 3 tasks`."""
    if number == 1:
        return f"the {noun}"
    return f"both {plural(noun)}" if number == 2 else f"all {number} {plural(noun)}"


def others(number: int, noun: str) -> str:
    """`one other task`, `2 other tasks`."""
    return f"one other {noun}" if number == 1 else f"{number} other {plural(noun)}"


def plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
