"""Records: values of named attributes."""

from typing import Any, dataclass_transform


@dataclass_transform()
class Record:
    """A value whose attributes are those that its class annotates, in that order.

    Unlike a named tuple it may be changed, and is not equal to another one.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        self.__dict__.update(zip(type(self).__annotations__, values, strict=False), **named)
