"""Records: values of named attributes."""

from typing import Any, dataclass_transform


@dataclass_transform()
class Record:
    """A value whose attributes are those that its class annotates, set in that order when it is made.

    Unlike a named tuple it may be changed, and is not equal to another one. The function that sets the attributes is
    made for the first value of a class, as most classes that a short run imports have none.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        made = type(self)
        defaults = {name: made.__dict__[name] for name in made.__annotations__ if name in made.__dict__}
        parameters = [f"{name}={name}" if name in defaults else name for name in made.__annotations__]
        lines = [f"def __init__(self, {', '.join(parameters)}):"]
        lines += [f" self.{name} = {name}" for name in made.__annotations__]
        functions: dict[str, Any] = {}
        exec("\n".join(lines), defaults, functions)
        made.__init__ = functions["__init__"]  # type: ignore[method-assign]
        made.__init__(self, *values, **named)
