"""Reads `/.well-known/tdmrep.json` of the TDM Reservation Protocol (W3C community group report).

The file is an array of entries: the `location` is a pattern as in robots.txt, `tdm-reservation` is
1 (rights are reserved) or 0, and `tdm-policy` is the URL of a policy. The first matching entry
decides. Any other value of the reservation counts as unset.
"""

import json

from gossamer.web.usage.files import MAX_PATTERN_LENGTH, MAX_STATEMENTS, FileStatement, Malformed
from gossamer.web.usage.readers import MINING, POLICY, RESERVATION
from gossamer.web.usage.statements import MAX_TEXT_LENGTH, License, Source, Statement

LOCATION = "location"


def read_tdmrep(body: bytes) -> tuple[FileStatement, ...]:
    """Return the statements of a decoded file. Raise Malformed if it is not an array of objects.

    An entry without a usable location is skipped.
    """
    try:
        entries = json.loads(body.decode("utf-8-sig"), parse_int=_parse_int)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is not JSON: {error}"[:MAX_TEXT_LENGTH]) from error
    if not isinstance(entries, list):
        raise Malformed("it is not a JSON array")
    read = (_read_entry(number, entry) for number, entry in enumerate(entries, 1))
    found = tuple(one for one in read if one)[:MAX_STATEMENTS]
    if entries and not found:
        raise Malformed("no entry has a location")
    return found


def _read_entry(number: int, entry: object) -> FileStatement | None:
    if not isinstance(entry, dict):
        return None
    location, policy = entry.get(LOCATION), entry.get(POLICY)
    if not isinstance(location, str) or not 0 < len(location) <= MAX_PATTERN_LENGTH:
        return None
    # Some sites write a pattern without its first slash.
    pattern = location if location.startswith(("/", "*")) else f"/{location}"
    reserved = _reservation(entry.get(RESERVATION))
    text = {name: entry[name] for name in (LOCATION, RESERVATION, POLICY) if name in entry}
    statement = Statement(
        source=Source.TDMREP,
        place=f"entry {number}",
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
