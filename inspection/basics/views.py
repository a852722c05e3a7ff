"""Projections: views that have the fields of rows, events and totals under their own names."""

import inspect
from functools import cache
from typing import TypeVar

from msgspec import Struct

V = TypeVar("V", bound=Struct)


def view_of(view: type[V], *sources: object, **rest: object) -> V:
    """Return a *view* whose fields are *rest*, and for other names the equally named fields and
    properties of *sources*.

    Raise TypeError for a name that two sources have, for a field that nobody has and that has no
    default, and for a name of *rest* that is not a field of the view.
    """
    kinds = tuple(map(type, sources))
    for name, number in _copied_fields(view, kinds, frozenset(rest)):
        rest[name] = getattr(sources[number], name)
    return view(**rest)


@cache
def _copied_fields(
    view: type[Struct], kinds: tuple[type, ...], given: frozenset[str]
) -> tuple[tuple[str, int], ...]:
    """Return each field of *view* that is not *given*, with the number of the source that has it.
    *kinds*: the types of the sources."""
    found = dict[str, int]()
    for number, kind in enumerate(kinds):
        for name in _names(kind).intersection(view.__struct_fields__) - given:
            if name in found:
                raise TypeError(f"{view.__name__}.{name}: of {kinds[found[name]]} or of {kind}?")
            found[name] = number
    return tuple(found.items())


def _names(kind: type) -> frozenset[str]:
    """Return the names of the fields and properties of objects of this *kind*."""
    listed = ("__struct_fields__", "__dataclass_fields__", "_fields")
    fields = (name for attribute in listed for name in getattr(kind, attribute, ()))
    members = inspect.getmembers_static(kind, lambda member: isinstance(member, property))
    return frozenset((*fields, *(name for name, _ in members)))
