"""Projections: views that have the fields of rows, events and totals under their own names."""

import inspect
from functools import cache
from typing import TypeVar

from msgspec import Struct

V = TypeVar("V", bound=Struct)


def view_of(view: type[V], *sources: object, **rest: object) -> V:
    """Return a *view* whose fields are *rest*, and for other names the equally named fields and
    properties of *sources*.

    No field takes its default. Raise TypeError for a field that nobody has or that two sources
    have, and for a name of *rest* that is not a field.
    """
    kinds = tuple(map(type, sources))
    for name, number in _find_copied_fields(view, kinds, tuple(rest)):
        rest[name] = getattr(sources[number], name)
    return view(**rest)


@cache
def _find_copied_fields(
    view: type[Struct], kinds: tuple[type, ...], given: tuple[str, ...]
) -> tuple[tuple[str, int], ...]:
    """Return each field of *view* that is not *given*, with the number of the source that has it.
    *kinds*: the types of the sources."""
    found, names = list[tuple[str, int]](), [*map(_names, kinds)]
    for field in view.__struct_fields__:
        if field in given:
            continue
        match [number for number, of_source in enumerate(names) if field in of_source]:
            case [number]:
                found.append((field, number))
            case numbers:
                owners = [kinds[number].__name__ for number in numbers]
                raise TypeError(f"{view.__name__}.{field} is a field of {owners}")
    return tuple(found)


def _names(kind: type) -> frozenset[str]:
    """Return the names of the fields and properties of objects of this *kind*."""
    listed = ("__struct_fields__", "__dataclass_fields__", "_fields")
    fields = (name for attribute in listed for name in getattr(kind, attribute, ()))
    members = inspect.getmembers_static(kind, lambda member: isinstance(member, property))
    return frozenset((*fields, *(name for name, _ in members)))
