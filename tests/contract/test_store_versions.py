"""Processes of two versions use one table. The newer one has an additional column and an additional
enumeration value."""

from enum import StrEnum

import pytest

from gossamer.errors import Newer, Poison
from gossamer.store import Row
from tests.contract.conftest import Data
from tests.support.rows import put_rows


class OldWord(StrEnum):
    """An enumeration in the older version."""

    ONE = "one"


class NewWord(StrEnum):
    """The enumeration of `OldWord` in the newer version."""

    ONE = "one"
    TWO = "two"


class OldRow(Row, frozen=True):
    """A row in the older version."""

    table = "words"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    text: str = ""
    word: OldWord = OldWord.ONE


class NewRow(Row, frozen=True):
    """The row of `OldRow` in the newer version."""

    table = "words"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    text: str = ""
    word: NewWord = NewWord.ONE
    added: str | None = None


class OldKey(Row, frozen=True):
    """A row without other columns than its key, in the older version."""

    table = "keys"
    partition_key = "part"
    part: str


class NewKey(Row, frozen=True):
    """The row of `OldKey` in the newer version."""

    table = "keys"
    partition_key = "part"
    part: str
    added: int | None = None


def put(data: Data, *rows: Row) -> None:
    put_rows(data.open().store, *rows)


def test_column_of_a_newer_version_survives_writes_of_an_older_one(data: Data) -> None:
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


def test_column_added_to_a_key_survives_writes_of_an_older_version(data: Data) -> None:
    put(data, NewKey("p", 5))
    put(data, OldKey("p"))
    assert data.open().store.table(NewKey).get("p") == NewKey("p", 5)


def test_row_of_a_newer_version_is_an_error_and_stays_unchanged(data: Data) -> None:
    rows = NewRow("p", 1), NewRow("p", 2, word=NewWord.TWO)
    put(data, *rows)
    older = data.open().store.table(OldRow)
    assert older.get("p", 1) == OldRow("p", 1)
    for read in (lambda: older.get("p", 2), lambda: older.scan("p")):
        with pytest.raises(Newer, match="a row of words cannot be read: upgrade") as caught:
            read()
        assert not isinstance(caught.value, Poison), (
            "the record that needs the row is not a dead letter"
        )
    assert data.open().store.table(NewRow).scan("p") == [*rows]
