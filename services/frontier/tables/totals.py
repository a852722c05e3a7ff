"""Totals: rows of counts, and how the counts of several partitions or days become one.

A field of a row is declared once, with its rule as `Annotated[int, MAX]`. A field without a rule is
a sum: numbers are added, dicts key by key, tuples item by item, and column groups by the rules of
their fields. The keys of a row belong to it alone. From the rules follow the sums over partitions
and days (`merge`), and the part of a partition that each new partition gets when the number of
partitions changes (`portion_of`).
"""

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct
from msgspec.structs import astuple, fields

from gossamer.log import key_group_of
from gossamer.store import Row, Table, keys_of, partition_fields
from gossamer.web.url import site_of

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S", bound=Struct)


class Portion(NamedTuple):
    """The part of an old partition that one new partition gets."""

    groups: frozenset[int]
    """The key groups that move together."""
    share: float
    """The share of the old partition's key groups."""
    is_heir: bool
    """Whether the new partition gets those totals of the old one that cannot be divided. Each old
    partition has one heir."""


class Rule(NamedTuple):
    """How the values of a field are merged and divided."""

    merge: Callable[[Sequence[Any]], Any]
    """Returns the value of several rows together. The first row may be empty."""
    divide: Callable[[Any, Any, Portion], Any]
    """Returns the portion of a value, which is given with the value of an empty row."""


def add(first: Any, second: Any) -> Any:
    """Return the sum of two numbers, or of two containers, key by key or field by field."""
    match first:
        case dict():
            result = first.copy()
            for key, value in second.items():
                count(result, key, value)
            return result
        case Struct():
            return merge(first, second)
        case tuple():
            sums = map(add, first, second)
            return type(first)(*sums) if hasattr(first, "_fields") else tuple(sums)
    return first + second


def count(counts: dict[K, V], key: K, more: V) -> None:
    """Add *more* to the count of *key*."""
    counts[key] = add(counts[key], more) if key in counts else more


def _divide_evenly(count: Any, nothing: Any, part: Portion) -> Any:
    """Return the portion of *count*. The heir gets the remainder."""
    if isinstance(count, dict):
        return {key: _divide_evenly(one, nothing, part) for key, one in count.items()}
    total = round(1 / part.share)
    return count - (total - 1) * (count // total) if part.is_heir else count // total


def _give_to_heir(value: V, nothing: V, part: Portion) -> V:
    return value if part.is_heir else nothing


def _give_to_all(value: V, nothing: V, part: Portion) -> V:
    return value


def _divide_each(value: dict[Any, Any], nothing: Any, part: Portion) -> dict[Any, Any]:
    return {key: portion_of(one, type(one)(), part) for key, one in value.items()}


def _least(values: Sequence[float | None]) -> float | None:
    return min((one for one in values if one is not None), default=None)


SUM = Rule(lambda values: reduce(add, values), _give_to_heir)
"""Nobody knows how much of the count belongs to which site, so the heir gets all of it."""
DIVIDED = SUM._replace(divide=_divide_evenly)
"""A sum over hosts or URLs, of which each new partition gets about its part."""
MAX = Rule(max, _give_to_all)
MIN = Rule(_least, _give_to_all)
"""The smallest value that is not null."""
EACH = SUM._replace(divide=_divide_each)
"""Groups of columns under keys, of which each new partition gets its portions."""
OWN = Rule(lambda values: values[0], lambda value, nothing, part: nothing)
"""A value about this partition alone."""


def entries_at(position: int, limit: int | None = None) -> Rule:
    """Return the rule of a dict or a list whose entries are about URLs or hosts, at *position* of
    each. At most the last *limit* entries count. A partition gets those of its sites, so that it
    finds them when they are erased."""

    def merge_entries(values: Sequence[Any]) -> Any:
        if isinstance(values[0], dict):
            return {key: value for one in values for key, value in one.items()}
        entries = [entry for value in values for entry in value]
        return tuple(entries[-limit if limit else 0 :])

    def divide_entries(value: Any, nothing: Any, part: Portion) -> Any:
        entries = value.items() if isinstance(value, dict) else value
        kept = [one for one in entries if key_group_of(site_of(one[position])) in part.groups]
        return type(value)(kept)

    return Rule(merge_entries, divide_entries)


@cache
def rules_of(row: type[Struct]) -> dict[str, Rule]:
    """Return field → rule of *row*, in the order of the fields."""
    keys = {*partition_fields(row), row.sort_key} if issubclass(row, Row) else set[str]()
    hints = get_type_hints(row, include_extras=True)
    return {one.name: OWN if one.name in keys else _rule_of(hints[one.name]) for one in fields(row)}


def _rule_of(hint: Any) -> Rule:
    given = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((one for one in given if isinstance(one, Rule)), SUM)


def merge(first: S, *others: S) -> S:
    """Return the totals of all rows together, with the keys and the own values of *first*."""
    if not others:
        return first
    values = zip(*map(astuple, (first, *others)), strict=True)
    rules = rules_of(type(first)).values()
    return type(first)(*(rule.merge(one) for rule, one in zip(rules, values, strict=True)))


def portion_of(row: S, empty: S, part: Portion) -> S:
    """Return the portion of *row*; *empty*: a row without counts."""
    rules = rules_of(type(row)).values()
    given = zip(rules, astuple(row), astuple(empty), strict=True)
    return type(row)(*(rule.divide(value, nothing, part) for rule, value, nothing in given))


def pick(kind: type[S], *rows: Struct, **changes: Any) -> S:
    """Return a *kind* whose fields have the values of the fields of *rows* with the same names,
    apart from *changes*. Other fields have their defaults."""
    names = [(row, name) for row in rows for name in row.__struct_fields__]
    found = {name: getattr(row, name) for row, name in names if name in kind.__struct_fields__}
    return kind(**found | changes)


class Totals(Row, frozen=False):  # type: ignore[misc]  # The rows of all other classes are frozen.
    """The base of rows that are counted in."""

    def remove_entries(self, is_removed: Callable[[str], bool]) -> None:
        """Remove the entries about the URLs, hosts and sites for which *is_removed* returns
        True."""
        left = self.without(is_removed) or self
        for name in self.about:
            setattr(self, name, getattr(left, name))


T = TypeVar("T", bound=Totals)


def copy(row: T) -> T:
    """Return *row* with containers of its own, in which others may count."""
    return type(row)(*map(_copy_value, astuple(row)))


def _copy_value(value: Any) -> Any:
    if isinstance(value, dict):
        return value.copy()
    return copy(value) if isinstance(value, Totals) else value


class Counted(Generic[T]):
    """Totals in memory, which are put into the store once per step if they changed."""

    def __init__(self, table: Table[T], empty: T) -> None:
        """*empty*: the row with its keys, before anything is counted."""
        self._table = table
        self._written = table.get(*keys_of(empty)) or empty
        self.row = copy(self._written)

    @property
    def has_changed(self) -> bool:
        """Whether anything was counted since the last write."""
        return self.row != self._written

    def write(self) -> None:
        """Put the row into the store if it has changed."""
        if self.has_changed:
            self._written = copy(self.row)
            self._table.put(self._written)

    def drop(self) -> None:
        """Erase the row from the store."""
        self._table.erase(*keys_of(self.row))
