"""What the URL-seen set remembers of a URL, and the set as a mapping over the store."""

from collections.abc import Iterator, MutableMapping
from hashlib import blake2b

from gossamer.store import Row, Store


def finder_of(via: str) -> str:
    """Return 64 bits of *via*, in hexadecimal: by which the first finder of a URL is known again.

    Finders are compared URL by URL, so two must have these bits in common and find the same URL.
    Should it happen (once in 1.8e19 such pairs), the URL is admitted again, and none is lost.
    """
    return blake2b(via.encode(), digest_size=8).hexdigest()


def is_same(found: str, finder: str) -> bool:
    """Return whether *found*, of the set, is *finder*: older versions kept the whole of it."""
    return found == finder or finder_of(found) == finder


class SeenRow(Row, frozen=True):
    """A URL that was found, and who found it first."""

    table = "seen"
    partition_key = "fingerprint"

    fingerprint: str
    via: str
    """64 bits of it; the whole in rows of before 2026-11-22."""


class SeenTable(MutableMapping[str, str]):
    """Fingerprint → finder. It only grows, and cannot be listed or counted."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(SeenRow)

    def __getitem__(self, fingerprint: str) -> str:
        row = self._rows.get(fingerprint)
        if row is None:
            raise KeyError(fingerprint)
        return row.via

    def __setitem__(self, fingerprint: str, via: str) -> None:
        self._rows.put(SeenRow(fingerprint, via))

    def __delitem__(self, fingerprint: str) -> None:
        raise NotImplementedError("what was seen stays seen")

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError("the set is too large to list")

    def __len__(self) -> int:
        raise NotImplementedError("the set is too large to count")
