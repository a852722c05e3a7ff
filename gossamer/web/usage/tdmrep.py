"""Reads `/.well-known/tdmrep.json` of the TDM Reservation Protocol (W3C community group report).

The file is an array of entries: the `location` is a pattern as in robots.txt, `tdm-reservation` is
1 (rights are reserved) or 0, and `tdm-policy` is the URL of a policy. The first matching entry
decides. Any other value of the reservation counts as unset. An object in place of the array is read
as its only entry.

If an entry cannot be read, all pages that no earlier entry matches are reserved. If only its
location cannot be read, all pages that it may match are reserved, unless it reserves nothing.
"""

import json
import re
from collections.abc import Iterator

from gossamer.web.usage.files import (
    MAX_STATEMENTS,
    FileStatement,
    Malformed,
    ReadFile,
    shorten_pattern,
)
from gossamer.web.usage.readers import MINING, POLICY, RESERVATION
from gossamer.web.usage.statements import MAX_TEXT_LENGTH, License, Source, Statement, reserve

LOCATION = "location"
EVERYTHING = "/"
_key = re.compile(r"""["']tdm-[a-z]*(?:\Z|["']\s*(?:\Z|:))""")
"""A key of the protocol, or the beginning of one at the end of a file that was cut."""
_space = re.compile(r"[ \t\r\n]*")


def read_tdmrep(body: bytes) -> ReadFile:
    """Return the statements of a decoded file. Raise Malformed if it has no key of the protocol and
    is not an array."""
    text = body.decode(json.detect_encoding(body), "replace").removeprefix("\ufeff")
    found, number = list[FileStatement](), 0
    try:
        for number, entry in enumerate(_entries(text), 1):
            if len(found) == MAX_STATEMENTS:
                return _without_rest(found, number, f"more than {MAX_STATEMENTS} entries")
            if statement := _read_entry(number, entry):
                found.append(statement)
    except (ValueError, RecursionError) as error:
        if not _key.search(text):
            raise Malformed(f"it is not JSON: {error}"[:MAX_TEXT_LENGTH]) from error
        return _without_rest(found, number + 1, f"not JSON: {error}")
    return ReadFile(tuple(found))


def _entries(text: str) -> Iterator[object]:
    """Yield the entries of *text*; raise ValueError or RecursionError at one that is not JSON."""
    at = _skip_space(text, 0)
    if text[at : at + 1] == "{":
        entry, _ = _decoder.raw_decode(text, at)
        if RESERVATION not in entry:
            raise ValueError("an object without an entry")
        yield entry
        return
    if text[at : at + 1] != "[":
        raise ValueError("no array")
    at = _skip_space(text, at + 1)
    while text[at : at + 1] != "]":
        entry, at = _decoder.raw_decode(text, at)
        yield entry
        at = _skip_space(text, at)
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
        elif text[at : at + 1] != "]":
            raise ValueError(f"no comma at character {at}")


def _skip_space(text: str, at: int) -> int:
    space = _space.match(text, at)
    return space.end() if space else at


def _without_rest(found: list[FileStatement], number: int, reason: str) -> ReadFile:
    """Return *found*, and a statement that reserves all pages in place of the unread entries from
    *number* on."""
    place = f"entry {number} and further"
    rest = reserve(Source.TDMREP, place, f"not read ({reason})", MINING)
    return ReadFile(
        (*found, FileStatement(EVERYTHING, rest)),
        f"{place} were not read ({reason}): they count as reserved",
    )


def _read_entry(number: int, entry: object) -> FileStatement | None:
    """Return the statement of *entry*; None if it says nothing."""
    if not isinstance(entry, dict):
        return None
    reserved = _reservation(entry.get(RESERVATION))
    given = entry.get(LOCATION)
    location = given if isinstance(given, str) else ""
    read = shorten_pattern(location)
    # Some sites write a pattern without its first slash.
    pattern = read if read.startswith(("/", "*")) else f"/{read}"
    place = f"entry {number}"
    if not location or read != location:
        if reserved is False or not (location or RESERVATION in entry):
            return None
        unread = reserve(Source.TDMREP, place, "its location was not read", MINING)
        return FileStatement(pattern, unread)
    policy = entry.get(POLICY)
    text = {name: entry[name] for name in (LOCATION, RESERVATION, POLICY) if name in entry}
    statement = Statement(
        source=Source.TDMREP,
        place=place,
        text=json.dumps(text, ensure_ascii=False)[:MAX_TEXT_LENGTH],
        says={} if reserved is None else {one.value: not reserved for one in MINING},
        license=License(policy[:MAX_TEXT_LENGTH]) if isinstance(policy, str) and policy else None,
    )
    return FileStatement(pattern, statement)


def _reservation(value: object) -> bool | None:
    if value in ("0", "1"):
        return value == "1"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return bool(value) if is_number and value in (0, 1) else None


def _parse_int(digits: str) -> int:
    return int(digits) if len(digits) <= 20 else -1


_decoder = json.JSONDecoder(parse_int=_parse_int)
