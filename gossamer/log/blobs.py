"""Blobs: bytes that are too large for a record: bodies, and long results of the parser.

A record has at most `topics.MAX_RECORD_BYTES`, so that any Kafka accepts it. The writer stores
larger bytes in a volume first (`refer`), and the record has their name, size, digest and URI. A
reader loads the bytes before it handles the event, and verifies the digest (`load`).

Each blob belongs to one record, and the log deletes both together, when all groups of the topic
have consumed the record. The name contains the digest and the visit, so that two pages with equal
bodies have two blobs. *Leftovers* are blobs without a record, which a crash left behind:
`remove_leftovers` finds them.

The same volume has the *kept captures*: whole PageFetched that other crawls may take (`keep`). They
belong to no record, and are removed by age (`remove_kept`). Nothing depends on them: a crawl that
does not find one makes a request.
"""

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from hashlib import blake2b

import msgspec
import structlog
from msgspec.structs import replace

from gossamer.errors import GossamerError, Poison
from gossamer.events import Blob, Event, PageFetched, PageParsed
from gossamer.events.public import fit_to_limit
from gossamer.events.topics import TOPIC_OF
from gossamer.log import BLOB_NAME, Log
from gossamer.log.codec import UNREADABLE, Decoded, encoded_size
from gossamer.volumes import Missing, Volume
from gossamer.web.http import payload_digest

WITH_BLOBS = (PageFetched, PageParsed)
"""The events that may refer to a blob."""
MAX_PARSED_BYTES = 8 << 20
"""Maximum number of bytes of the contents of a page. Larger contents are reduced."""
IDENTITY = ("crawl", "at", "site", "host", "visit", "fetched_at", "status", "kind")
"""The fields of a PageParsed that stay in its record."""
SMALL_BODY = 256 << 10
"""Bytes of a body that fits into a record beside all headers. A larger body is measured."""
DAY = 86400.0
LEFTOVER_AGE = 7 * DAY
"""Seconds after which a blob without a record is a leftover. A fetcher may have stored it and wait
for Kafka to append the record."""

KEPT = "shared"
"""The folder of the kept captures in the volume."""
HOUR = 3600.0

_encode = msgspec.json.Encoder().encode
_decode_parsed = msgspec.json.Decoder(PageParsed).decode
_decode_fetched = msgspec.json.Decoder(PageFetched).decode
logger = structlog.get_logger()


def refer(event: Event, volume: Volume, inline_limit: int) -> Event:
    """Return *event* with large bytes replaced by a reference to a blob, which is stored.

    A body of more than *inline_limit* bytes is stored, and one whose record would be too large. A
    PageParsed that is too large for a record is stored as a whole, in JSON. Raise VolumeUnavailable
    if the blob cannot be stored.
    """
    if not may_refer(event, inline_limit):
        return event
    if isinstance(event, PageFetched):
        if len(event.body) <= inline_limit and encoded_size(event) <= TOPIC_OF[PageFetched].limit:
            return event
        return replace(event, body=b"", blob=_store(event.body, event, event.started_at, volume))
    assert isinstance(event, PageParsed)
    data = _encode(fit_to_limit(event, MAX_PARSED_BYTES))
    if len(data) > MAX_PARSED_BYTES:
        raise Poison(f"the contents of a page are too large: {len(data)} bytes")
    blob = _store(data, event, event.fetched_at, volume)
    return PageParsed(**{name: getattr(event, name) for name in IDENTITY}, blob=blob)


def may_refer(event: Event, inline_limit: int) -> bool:
    """Return whether `refer` may store a blob for *event*."""
    if isinstance(event, PageParsed):
        return encoded_size(event) > TOPIC_OF[PageParsed].limit
    return isinstance(event, PageFetched) and len(event.body) > min(inline_limit, SMALL_BODY)


def _store(data: bytes, event: PageFetched | PageParsed, at: float, volume: Volume) -> Blob:
    visit = event.visit
    identity = f"{event.__struct_config__.tag} {event.crawl} {visit.id} {visit.url} {at!r}"
    digest = payload_digest(data)
    key = blake2b(identity.encode("utf-8", "replace"), digest_size=8).hexdigest()
    name = f"{datetime.fromtimestamp(event.at, UTC):%Y-%m-%d}/{digest.removeprefix('sha1:')}-{key}"
    volume.put_bytes(name, data)
    return Blob(name=name, uri=volume.uri(name), size=len(data), digest=digest)


def load(event: Event, volume: Volume | None) -> Event:
    """Return *event* with the bytes of its blob.

    Raise Poison if the blob is missing or has other bytes, and VolumeUnavailable if the volume does
    not answer.
    """
    if not isinstance(event, WITH_BLOBS) or event.blob is None:
        return event
    data = _read(event.blob, volume)
    if isinstance(event, PageFetched):
        return replace(event, body=data, blob=None)
    try:
        return _decode_parsed(data)
    except UNREADABLE as error:
        raise Poison(f"the blob {event.blob.uri} is not a page_parsed: {error}") from error


def _read(blob: Blob, volume: Volume | None) -> bytes:
    if volume is None:
        raise Poison(f"the body is in {blob.uri}, and this process has no volume for blobs")
    try:
        data = volume.read(blob.name)
    except Missing as error:
        raise Poison(f"the blob of the record is missing: {error}") from error
    if len(data) != blob.size or payload_digest(data) != blob.digest:
        raise Poison(f"the blob {blob.uri} has {len(data)} bytes that do not match its digest")
    return data


def has_blob(one: Decoded) -> bool:
    """Return whether the event of *one* must be loaded."""
    return isinstance(one.event, WITH_BLOBS) and one.event.blob is not None


def load_all(decoded: Sequence[Decoded], volume: Volume | None) -> list[Decoded]:
    """Return *decoded* with all blobs loaded. An event without its blob becomes the error."""
    return [_load_one(one, volume) if has_blob(one) else one for one in decoded]


def _load_one(one: Decoded, volume: Volume | None) -> Decoded:
    assert not isinstance(one.event, GossamerError)
    try:
        return one._replace(event=load(one.event, volume))
    except Poison as error:
        return one._replace(event=error)


def remove_leftovers(log: Log, before: float) -> int:
    """Remove the blobs of days that ended before *before* that no record refers to.

    Return their number. *before* is in epoch seconds. No blob is removed whose record may still be
    appended, if writers append within that time.
    """
    if log.blobs is None:
        return 0
    day = f"{datetime.fromtimestamp(before - DAY, UTC):%Y-%m-%d}"
    names = filter(BLOB_NAME.match, log.blobs.names())
    old = {name for name in names if name.partition("/")[0] <= day}
    if not old:
        return 0
    # Read after the list was made: a record that is deleted in between has no blob any more.
    leftovers = old - _find_referenced(log)
    log.blobs.remove_all(sorted(leftovers))
    if leftovers:
        logger.info("removed blobs without a record", count=len(leftovers))
    return len(leftovers)


def _find_referenced(log: Log) -> set[str]:
    found = set[str]()
    with closing(log.tail([TOPIC_OF[kind].name for kind in WITH_BLOBS])) as tail:
        while records := tail.poll(1.0):
            found.update(record.blob for record in records)
    return found


def keep(page: PageFetched, volume: Volume) -> str:
    """Store *page* as a whole, for other crawls; return the name of its blob.

    Raise VolumeUnavailable if it cannot be stored.
    """
    identity = f"{page.crawl} {page.visit.id} {page.started_at!r}".encode("utf-8", "replace")
    key = blake2b(identity, digest_size=16).hexdigest()
    # In 256 folders, since a write to a local folder lists its files.
    name = f"{KEPT}/{key[:2]}/{_hour(page.started_at)}-{key[2:]}"
    volume.put_bytes(name, _encode(page))
    return name


def read_kept(name: str, url: str, volume: Volume) -> PageFetched | None:
    """Return the kept capture of *url*; None if it is missing or unreadable.

    Raise VolumeUnavailable if the volume does not answer.
    """
    try:
        page = _decode_fetched(volume.read(name))
    except (Missing, *UNREADABLE):
        return None
    return page if page.visit.url == url else None


def remove_kept(volume: Volume, before: float) -> int:
    """Remove the kept captures of hours that ended before *before*, in epoch seconds.

    Return their number.
    """
    last = _hour(before - HOUR)
    old = [
        name for name in volume.names(KEPT) if name.rpartition("/")[2].rpartition("-")[0] <= last
    ]
    volume.remove_all(old)
    if old:
        logger.info("removed captures that no crawl may take any more", count=len(old))
    return len(old)


def _hour(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H}"
