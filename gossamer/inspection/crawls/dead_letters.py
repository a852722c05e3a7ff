"""Dead letters as data: records that no service could read or process, page by page."""

import base64
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import closing
from typing import Literal, NamedTuple

from msgspec import Struct

from gossamer.errors import Poison
from gossamer.events import DeadLetter
from gossamer.events.topics import DEAD_LETTERS
from gossamer.inspection.basics.paging import Page, cursor_of, parse_cursor, parse_position
from gossamer.inspection.basics.views import view_of
from gossamer.log import Log, Record, read_topic
from gossamer.log.codec import message_of_letter, try_decode, value_of_letter

MAX_PREVIEW = 4096
"""Bytes of a record's value in a list."""
MAX_READ_LETTERS = 20_000
"""Records of the topic that one page reads."""

Service = Literal["archive", "dedup", "fetcher", "frontier", "parser"]
"""The services that write dead letters."""


class NamedLetter(NamedTuple):
    """A dead letter, its name in lists, and the key of its record."""

    name: str
    """PARTITION/OFFSET"""
    key: str
    letter: DeadLetter


class Letter(Struct, frozen=True, kw_only=True):
    """A dead letter."""

    name: str
    """PARTITION/OFFSET on the topic `dead.letters`, for replay."""
    at: float
    """When the service gave up, in epoch seconds."""
    crawl: str
    service: str
    topic: str
    """The topic of the record, and its partition and offset there."""
    partition: int
    offset: int
    key: str
    reason: str
    size: int
    """Bytes of the stored value."""
    preview: str
    """The first `MAX_PREVIEW` bytes of the value as text; bytes that are not UTF-8 are replaced."""
    value: str
    """The same bytes in base64."""
    is_whole: bool
    """Whether the preview is the whole value."""
    no_replay: str
    """Why the record cannot be replayed, for people; "" if it can."""


def iterate_letters(
    log: Log, service: str | None = None, names: Collection[str] | None = None
) -> Iterator[NamedLetter]:
    """Yield the dead letters of *service*, or of all services; skip unreadable ones.

    *names* choose some of them. The topic is read from the first to the last of these.
    """
    records = read_topic(log, DEAD_LETTERS.name) if names is None else _read_named(log, names)
    for record in records:
        if named := _find_letter(record, service):
            yield named


def _read_named(log: Log, names: Collection[str]) -> Iterator[Record]:
    """Yield the records at the positions *names*, if they are retained."""
    offsets, left = log.offsets(DEAD_LETTERS.name), defaultdict[int, set[int]](set)
    for partition, offset in filter(None, map(parse_position, names)):
        if offset in offsets.get(partition, ()):
            left[partition].add(offset)
    if not left:
        return
    starts = {partition: min(chosen) for partition, chosen in left.items()}
    with closing(log.tail([DEAD_LETTERS.name], starts)) as tail:
        while left and (records := tail.poll(0)):
            for record in records:
                chosen = left.get(record.partition, set())
                if record.offset in chosen:
                    yield record
                if chosen and record.offset >= max(chosen):
                    del left[record.partition]


def _find_letter(record: Record, service: str | None) -> NamedLetter | None:
    """Return the letter in *record* if it is one of *service*, and was not erased."""
    letter = try_decode(record)
    if not isinstance(letter, DeadLetter) or service not in (None, letter.service):
        return None
    return NamedLetter(f"{record.partition}/{record.offset}", record.key, letter)


def read_letters(
    log: Log, service: str | None = None, after: str | None = None, limit: int = 100
) -> Page[Letter]:
    """Return *limit* dead letters of *service*, or of all services, the oldest of each partition
    first.

    *after*: the cursor of the page before. A page reads at most `MAX_READ_LETTERS` records; it is
    partial if it ends there. Raise BadSettings for an invalid cursor.
    """
    reached = parse_cursor(after) if after is not None else {}
    partitions = [number for number, found in log.offsets(DEAD_LETTERS.name).items() if found]
    positions = {number: reached.get(number, 0) for number in partitions}
    if not positions:
        return Page()
    found, read = list[Letter](), 0
    with closing(log.tail([DEAD_LETTERS.name], positions)) as tail:
        while records := tail.poll(0):
            for record in records:
                if len(found) == limit or read == MAX_READ_LETTERS:
                    is_partial = len(found) < limit
                    return Page(tuple(found), cursor_of(positions), is_partial)
                read += 1
                positions[record.partition] = record.offset + 1
                if named := _find_letter(record, service):
                    found.append(describe_letter(named.name, named.letter))
    return Page(tuple(found))


def describe_letter(name: str, letter: DeadLetter) -> Letter:
    """Return the data about the *letter* called *name*."""
    try:
        value, fault = value_of_letter(letter), ""
        message_of_letter(letter)
    except Poison as error:
        value, fault = letter.value, str(error)
    shown = value[:MAX_PREVIEW]
    return view_of(
        Letter,
        letter,
        name=name,
        size=len(value),
        preview=shown.decode("utf-8", "replace"),
        value=base64.b64encode(shown).decode(),
        is_whole=len(shown) == len(value) and not letter.cut,
        no_replay=fault,
    )
