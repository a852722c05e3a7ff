"""Joins records that their writer has cut into segments (WARC 1.1, 7), perhaps in several files."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import BinaryIO

from gossamer.captures import MAX_RECORD_BYTES, BadCapture, split_head, unfold
from gossamer.console.import_sources import DAMAGED, Source, read_record_at
from gossamer.services.archive.reading import MAX_HEAD_BYTES, RecordHead, record_length

CONTINUATION = "continuation"
"""The type of each segment but the first, which has the type of the whole record."""
NUMBER, TOTAL = "warc-segment-number", "warc-segment-total-length"
ORIGIN, RECORD_ID, TRUNCATED = "warc-segment-origin-id", "warc-record-id", "warc-truncated"
MAX_DIGITS = 9

_of_segment = re.compile(
    rb"(?im)^(?:warc-segment-[a-z-]+|warc-block-digest|content-length)[ \t]*:[^\n]*\n"
)
"""The fields that describe a segment and not the whole record."""

Part = tuple[Source, RecordHead]


class Segments:
    """The segments that were read, by the id of the first segment."""

    def __init__(self) -> None:
        """Memory has their heads."""
        self._records = dict[str, dict[int, Part]]()

    def add(self, source: Source, head: RecordHead) -> None:
        """Add the segment *head* of *source*. A segment that was read twice counts once."""
        name = ORIGIN if head.kind.lower() == CONTINUATION else RECORD_ID
        origin = head.fields.get(name, "").strip("<> \t").lower()
        start = split_head(head.head)[0] + b"\r\n\r\n"
        parts = self._records.setdefault(origin or f"{source.name} {head.offset}", {})
        parts.setdefault(_number(head, NUMBER), (source, replace(head, head=start)))

    def take(self) -> Iterator[list[Part]]:
        """Yield the segments of each record in their order, and forget them."""
        records, self._records = self._records, {}
        for parts in records.values():
            yield [parts[number] for number in sorted(parts)]


def is_segment(head: RecordHead) -> bool:
    """Return whether the record *head* is a segment."""
    return head.kind.lower() == CONTINUATION or NUMBER in head.fields


def join(parts: list[Part]) -> Part | None:
    """Return the whole record of *parts* as the only one of a source; None if a segment is missing
    or cannot be read."""
    numbers = [_number(head, NUMBER) for _, head in parts]
    is_begun = parts[0][1].kind.lower() != CONTINUATION
    is_ended = _number(parts[-1][1], TOTAL) > 0
    if not (is_begun and is_ended and numbers == list(range(1, len(parts) + 1))):
        return None
    try:
        record = _concatenate(parts)
    except (BadCapture, *DAMAGED):
        return None
    source = replace(parts[0][0], open=partial(_open, parts))
    return source, RecordHead(0, len(record), record[:MAX_HEAD_BYTES])


@contextmanager
def _open(parts: list[Part]) -> Iterator[BinaryIO]:
    yield BytesIO(_concatenate(parts))


def _concatenate(parts: list[Part]) -> bytes:
    blocks, size = list[bytes](), 0
    for source, head in parts:
        record = read_record_at(source, head.offset, head.length)
        end, rest = record_length(record), split_head(record)[1]
        if end is None or rest is None or end > len(record):
            raise BadCapture("a segment is truncated")
        blocks.append(record[len(record) - len(rest) : end])
        size += len(blocks[-1])
        if size > MAX_RECORD_BYTES:
            raise BadCapture(f"the record has more than {MAX_RECORD_BYTES} bytes")
    last = parts[-1][1]
    if _number(last, TOTAL) != size:
        raise BadCapture("the last segment is missing")
    fields = _of_segment.sub(b"", unfold(split_head(parts[0][1].head)[0]) + b"\r\n")
    if len(parts) > 1 and TRUNCATED in last.fields:
        fields += f"WARC-Truncated: {last.fields[TRUNCATED]}\r\n".encode()
    return b"%sContent-Length: %d\r\n\r\n%s" % (fields, size, b"".join(blocks))


def _number(head: RecordHead, name: str) -> int:
    """Return the number in the field *name*; 0 if it is missing or invalid."""
    number = head.fields.get(name, "")
    is_valid = number.isascii() and number.isdecimal() and len(number) <= MAX_DIGITS
    return int(number) if is_valid else 0
