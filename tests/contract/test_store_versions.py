"""Processes of two versions use one table: a newer one knows a column and a word more."""

from enum import StrEnum

import pytest

from gossamer.errors import Newer, Poison
from gossamer.store import Row
from tests.contract.conftest import Data


class OldWord(StrEnum):
    """What the older version knows."""

    ONE = "one"


class NewWord(StrEnum):
    """What the newer version knows."""

    ONE = "one"
    TWO = "two"


class OldRow(Row, frozen=True):
    """As the older version has it."""

    table = "words"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    text: str = ""
    word: OldWord = OldWord.ONE


class NewRow(Row, frozen=True):
    """As the newer version has it."""

    table = "words"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    text: str = ""
    word: NewWord = NewWord.ONE
    added: str | None = None


class OldKey(Row, frozen=True):
    """Nothing but its key, as the older version has it."""

    table = "keys"
    partition_key = "part"
    part: str


class NewKey(Row, frozen=True):
    """The same in the newer version."""

    table = "keys"
    partition_key = "part"
    part: str
    added: int | None = None


def put(data: Data, *rows: Row) -> None:
    store = data.open().store
    for row in rows:
        store.table(type(row)).put(row)
    store.flush()


def test_unknown_column_survives_write_of_older_version(data: Data) -> None:
    put(data, NewRow("p", 1, "a", added="x"), NewRow("p", 2, "a", added="y"))
    older = data.open().store.table(OldRow)
    assert older.get("p", 1) == OldRow("p", 1, "a")
    put(data, OldRow("p", 1, "b"), OldRow("p", 3, "c"))
    put(data, OldRow("p", 1, "d"))
    assert data.open().store.table(NewRow).scan("p") == [
        NewRow("p", 1, "d", added="x"),
        NewRow("p", 2, "a", added="y"),
        NewRow("p", 3, "c"),
    ]


def test_unknown_column_survives_write_of_keys_only(data: Data) -> None:
    put(data, NewKey("p", 5))
    put(data, OldKey("p"))
    assert data.open().store.table(NewKey).get("p") == NewKey("p", 5)


def test_row_of_newer_version_raises_newer_and_is_kept(data: Data) -> None:
    rows = NewRow("p", 1), NewRow("p", 2, word=NewWord.TWO)
    put(data, *rows)
    older = data.open().store.table(OldRow)
    assert older.get("p", 1) == OldRow("p", 1)
    for read in (lambda: older.get("p", 2), lambda: older.scan("p")):
        with pytest.raises(Newer, match="a row of words cannot be read: upgrade") as caught:
            read()
        assert not isinstance(caught.value, Poison), "the record that needs it is not to blame"
    assert data.open().store.table(NewRow).scan("p") == [*rows]
