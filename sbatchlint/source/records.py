"""Named tuples that are cheap to define.

`typing.NamedTuple` turns every annotation into an object at import; with some sixty of them that was a tenth of a cold
run. For type checkers this is `typing.NamedTuple` itself.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _OWN = frozenset({"__module__", "__qualname__", "__annotations__", "__classcell__", "__static_attributes__"})

    class _Definition(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = list(body.get("__annotations__", ()))
            record = namedtuple(name, fields, defaults=[body[each] for each in fields if each in body])
            for key, value in body.items():
                if key in ("__module__", "__qualname__", "__annotations__") or key not in _OWN and key not in fields:
                    setattr(record, key, value)
            return record

    class NamedTuple(metaclass=_Definition):
        pass
