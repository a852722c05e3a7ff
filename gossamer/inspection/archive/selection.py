"""The captures of an export: those that match an expression, and what they refer to.

A revisit record needs the record that has its body, which may be in another file. So the files are
read twice: first to choose captures, then to copy them. The choice is in a temporary database on
disk, because an archive has more captures than memory.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gossamer.captures import parse_time
from gossamer.relevance import RULES, Facts
from gossamer.services.archive.index import INDEXED_TYPES
from gossamer.services.archive.reading import RecordHead, parse_fields
from gossamer.web.scope import Found, parse_expression

WHERE_RULES = {name: rule for name, rule in RULES.items() if name != "language"}
"""The rules of relevance that captures without their text can be tested by."""
TABLES = """
CREATE TABLE places (id TEXT, file TEXT, target TEXT, is_new INT, matches INT);
CREATE INDEX place_of ON places (id);
CREATE TABLE chosen (file TEXT, id TEXT, PRIMARY KEY (file, id)) WITHOUT ROWID;
"""
CHOOSE_MATCHES = """
INSERT OR IGNORE INTO chosen SELECT file, id FROM places WHERE is_new AND (matches OR (
    matches IS NULL
    AND EXISTS (SELECT 1 FROM places AS bodies WHERE bodies.id = places.target AND bodies.matches)
))
"""
"""A revisit record that omits the facts matches if the record with its body does."""
CHOOSE_TARGETS = """
INSERT OR IGNORE INTO chosen SELECT bodies.file, bodies.id FROM chosen
    JOIN places AS revisits ON revisits.file = chosen.file AND revisits.id = chosen.id
    JOIN places AS bodies ON bodies.id = revisits.target
"""


@dataclass(frozen=True)
class Captured:
    """The record of a capture, and what its metadata record says."""

    id: str
    date: str
    """WARC-Date."""
    target: str
    """The record that a revisit record refers to; "" if none."""
    facts: Facts


@dataclass(frozen=True)
class Filter:
    """Which captures are chosen."""

    where: str = ""
    """An expression of `WHERE_RULES`; "" means all."""
    since: float = 0.0
    """Epoch seconds."""

    def check(self) -> None:
        """Raise BadSettings if the expression is invalid."""
        if self.where:
            parse_expression(self.where, WHERE_RULES, "--where")

    @property
    def is_empty(self) -> bool:
        """Whether all captures are chosen."""
        return not self.where and not self.since

    def is_new(self, capture: Captured) -> bool:
        """Return whether *capture* is not too old. With an invalid date it counts as oldest."""
        return (parse_time(capture.date) or 0.0) >= self.since

    def matches(self, capture: Captured) -> bool | None:
        """Return whether *capture* matches; None if its revisit record omits the facts."""
        if not self.where:
            return True
        return parse_expression(self.where, WHERE_RULES, "--where").evaluate(capture.facts).inside


class Selection:
    """The chosen records of each file, by their ids."""

    def __init__(self, chosen: Filter) -> None:
        self._filter = chosen
        self._database = sqlite3.connect("")
        self._database.executescript(TABLES)

    def add(self, file: str, records: Iterable[RecordHead]) -> None:
        """Choose from the *records* of *file*. `complete` must follow the last file."""
        for capture in iterate_captures(records):
            is_new, matches = self._filter.is_new(capture), self._filter.matches(capture)
            place = (capture.id, file, capture.target, is_new, matches)
            self._database.execute("INSERT INTO places VALUES (?, ?, ?, ?, ?)", place)

    def complete(self) -> None:
        """Choose what matches, and the targets of chosen revisit records."""
        self._database.execute(CHOOSE_MATCHES)
        self._database.execute(CHOOSE_TARGETS)

    def ids(self, file: str) -> frozenset[str]:
        """Return the ids of the chosen records of *file*."""
        rows = self._database.execute("SELECT id FROM chosen WHERE file = ?", [file])
        return frozenset(record_id for (record_id,) in rows)

    def has_all(self, file: str) -> bool:
        """Return whether all captures of *file* are chosen."""
        count = "SELECT count(*) FROM (SELECT DISTINCT id FROM {} WHERE file = ?)"
        numbers = [
            self._database.execute(count.format(table), [file]).fetchone()[0]
            for table in ("places", "chosen")
        ]
        return bool(numbers[0] == numbers[1])

    def ranges(self, file: str, records: Iterable[RecordHead]) -> Iterator[tuple[int, int]]:
        """Yield the ranges of bytes of the chosen records of *file*, and of records about them."""
        ids = self.ids(file)
        start = end = 0
        for record in records:
            fields = record.fields
            own, about = fields.get("warc-record-id"), fields.get("warc-concurrent-to")
            if own in ids or about in ids or fields.get("warc-type") == "warcinfo":
                if record.offset > end:
                    if end > start:
                        yield start, end
                    start = record.offset
                end = record.offset + record.length
        if end > start:
            yield start, end


def iterate_captures(records: Iterable[RecordHead]) -> Iterator[Captured]:
    """Yield the captures among the *records* of a file."""
    pending: tuple[dict[str, str], str | None] | None = None
    depth = 0
    for record in records:
        fields = record.fields
        kind, own = fields.get("warc-type"), fields.get("content-type")
        if kind == "metadata" and pending:
            if fields.get("warc-concurrent-to") == pending[0].get("warc-record-id"):
                stated = parse_fields(b"\r\n" + record.block)[1].get("depth", "")
                depth = int(stated) if stated.isdecimal() else 0
        elif kind in INDEXED_TYPES and "warc-target-uri" in fields:
            if pending:
                yield _make_captured(*pending, depth)
            pending, depth = (fields, _media_type(record, kind, own)), 0
    if pending:
        yield _make_captured(*pending, depth)


def _media_type(record: RecordHead, kind: str | None, own: str | None) -> str | None:
    found = own
    if own and own.startswith("application/http"):
        found = parse_fields(record.block.partition(b"\r\n\r\n")[0])[1].get("content-type")
    if not found:
        return None if kind == "revisit" else ""
    return found.partition(";")[0].strip().lower()


def _make_captured(fields: dict[str, str], media_type: str | None, depth: int) -> Captured:
    return Captured(
        id=fields.get("warc-record-id", ""),
        date=fields.get("warc-date", ""),
        target=fields.get("warc-refers-to", ""),
        facts=Facts(Found(fields["warc-target-uri"].strip("<>"), depth), media_type),
    )
