"""The URL-seen set as a mapping over the store."""

from collections.abc import Iterator, MutableMapping

from gossamer.store import Row, Store


class SeenRow(Row, frozen=True):
    """A URL that was found, and who found it first."""

    table = "seen"
    partition_key = "fingerprint"

    fingerprint: str
    via: str


class SeenTable(MutableMapping[str, str]):
    """Fingerprint → via. It only grows, and cannot be listed or counted."""

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
