"""Caches of the values that were used last, for data that strangers control: with a limit in bytes,
or with a number of values."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

ENTRY_BYTES = 200
"""Bytes of a value besides its texts."""
KEY_BYTES, OWNER_BYTES = 450, 450
"""Bytes that the cache itself uses for a value, with its key, and for an owner."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentlyUsed(OrderedDict[K, V]):
    """The *limit* values that were used last: written, or read by `[]` or `setdefault`. `get` and
    `in` are not uses."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __getitem__(self, key: K) -> V:
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._limit:
            del self[next(iter(self))]


class ByteCache(Generic[K, V]):
    """The most recently used values: at most *limit* bytes by *size*, and *owner_limit* for one
    owner.

    An owner is somebody who can fill the cache with values, such as a site. Once an owner has used
    up *owner_limit*, each new value evicts only values of this owner. A value that is larger than a
    limit is not cached.
    """

    def __init__(
        self, limit: int, size: Callable[[V], int], owner_limit: int | None = None
    ) -> None:
        self._limit, self._size = limit, size
        self._owner_limit = limit if owner_limit is None else owner_limit
        self._values = OrderedDict[K, tuple[V, int, str]]()
        self._keys = defaultdict[str, OrderedDict[K, None]](OrderedDict)
        """Owner → its keys, the one used last at the end."""
        self._owned = defaultdict[str, int](int)
        """Owner → bytes of its values, with what the cache itself uses."""
        self.bytes = 0
        """The bytes of all values, with what the cache itself uses."""

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def get(self, key: K) -> V | None:
        """Return the value of *key* and mark it as used. Return None if it is not cached."""
        if (found := self._values.get(key)) is None:
            return None
        self._values.move_to_end(key)
        self._keys[found[2]].move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, owner: str = "") -> None:
        """Cache *value* under *key*, and evict the least recently used values if space is
        needed."""
        self.remove(key)
        size = self._size(value) + KEY_BYTES
        if size + OWNER_BYTES > min(self._limit, self._owner_limit):
            return
        if owner not in self._keys:
            self._owned[owner] = OWNER_BYTES
            self.bytes += OWNER_BYTES
        self._values[key] = value, size, owner
        self._keys[owner][key] = None
        self._owned[owner] += size
        self.bytes += size
        while self._owned[owner] > self._owner_limit:
            self.remove(next(iter(self._keys[owner])))
        while self.bytes > self._limit:
            self.remove(next(iter(self._values)))

    def remove(self, key: K) -> None:
        """Remove *key*, if it is cached."""
        if (found := self._values.pop(key, None)) is None:
            return
        _, size, owner = found
        del self._keys[owner][key]
        self._owned[owner] -= size
        self.bytes -= size
        if not self._keys[owner]:
            del self._keys[owner], self._owned[owner]
            self.bytes -= OWNER_BYTES

    def clear(self) -> None:
        """Remove everything."""
        self._values.clear()
        self._keys.clear()
        self._owned.clear()
        self.bytes = 0
