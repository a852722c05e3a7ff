"""Helpers for any row."""

from gossamer.store import Row, Store


def put_rows(store: Store, *rows: Row) -> None:
    """Write *rows*."""
    for row in rows:
        store.table(type(row)).put(row)
    store.flush()
