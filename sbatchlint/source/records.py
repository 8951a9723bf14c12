"""Named tuples that are cheap to define.

`typing.NamedTuple` turns every annotation into an object at import, and `collections.namedtuple` compiles a constructor
for each class; with some eighty of them that was a tenth of a cold run. Here the constructors of all classes with as
many fields share their code. For type checkers this is `typing.NamedTuple` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter as _field
    from types import CodeType, FunctionType

    # By number of fields, the code of their constructor.
    _constructors: dict[int, CodeType] = {}

    def _constructor(name: str, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> FunctionType:
        """`lambda cls, a, b: new(cls, (a, b))` with the names of the fields."""
        code = _constructors.get(len(fields))
        if code is None:
            names = "".join(f"_{index}, " for index in range(len(fields)))
            code = _constructors[len(fields)] = eval(f"lambda cls, {names}: new(cls, ({names}))").__code__
        code = code.replace(co_varnames=("cls", *fields), co_name="__new__", co_qualname=f"{name}.__new__")
        return FunctionType(code, {"new": tuple.__new__, "__builtins__": {}}, "__new__", defaults)

    class _Record(tuple):
        """What all named tuples have."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"expected {len(cls._fields)} values, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            made = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"unknown fields: {', '.join(changes)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self):
            return tuple(self)

    class _Definition(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {each: body.pop(each) for each in fields if each in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            body.update((each, _field(index, "")) for index, each in enumerate(fields))
            body["__slots__"] = ()
            body["__match_args__"] = body["_fields"] = fields
            body["_field_defaults"] = defaults
            body["__new__"] = _constructor(name, fields, tuple(defaults.values()))
            return type(name, (_Record,), body)

    class NamedTuple(metaclass=_Definition):
        pass
