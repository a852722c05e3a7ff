"""Blobs: bytes of events that are too large for a record.

A record has at most `topics.MAX_RECORD_BYTES`, so that any Kafka accepts it. The writer stores
larger bytes in a volume first (`refer`), and the record has their name, size, digest and URI. A
reader loads the bytes before it handles the event, and verifies the digest (`load`).

Each blob belongs to one record, and the log deletes both together, when all groups of the topic
have consumed the record. The name contains the digest and the visit, so that two pages with equal
bodies have two blobs. *Leftovers* are blobs without a record, which a crash left behind:
`remove_leftovers` finds them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b

import structlog
from msgspec.structs import replace

from gossamer.errors import GossamerError, Poison
from gossamer.events import Blob, Event, PageFetched
from gossamer.events.topics import PAGES_FETCHED, TOPIC_OF
from gossamer.log import Log
from gossamer.log.codec import Decoded, encoded_size
from gossamer.volumes import Missing, Volume
from gossamer.web.http import payload_digest

TOPICS_WITH_BLOBS = (PAGES_FETCHED,)
SMALL_BODY = 256 << 10
"""Bytes of a body that fits into a record beside any headers, as far as they fit."""
DAY = 86400.0
LEFTOVER_AGE = 7 * DAY
"""Seconds after which a blob without a record is a leftover. A fetcher may have stored it and wait
for Kafka to append the record."""

logger = structlog.get_logger()


def refer(event: Event, volume: Volume, inline_limit: int) -> Event:
    """Return *event* with large bytes replaced by a reference to a blob, which is stored.

    A body of more than *inline_limit* bytes is stored, and one whose record would be too large.
    Raise VolumeUnavailable if the blob cannot be stored.
    """
    if not (may_refer(event, inline_limit) and isinstance(event, PageFetched)):
        return event
    if len(event.body) <= inline_limit and encoded_size(event) <= TOPIC_OF[PageFetched].limit:
        return event
    identity = f"{event.crawl} {event.visit.id} {event.visit.url} {event.started_at!r}"
    return replace(event, body=b"", blob=_store(event.body, identity, event.at, volume))


def may_refer(event: Event, inline_limit: int) -> bool:
    """Return whether `refer` may store a blob for *event*."""
    return isinstance(event, PageFetched) and len(event.body) > min(inline_limit, SMALL_BODY)


def _store(data: bytes, identity: str, now: float, volume: Volume) -> Blob:
    digest = payload_digest(data)
    key = blake2b(identity.encode("utf-8", "replace"), digest_size=8).hexdigest()
    name = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}/{digest.removeprefix('sha1:')}-{key}"
    volume.put_bytes(name, data)
    return Blob(name=name, uri=volume.uri(name), size=len(data), digest=digest)


def load(event: Event, volume: Volume | None) -> Event:
    """Return *event* with the bytes of its blob.

    Raise Poison if the blob is missing or has other bytes, and VolumeUnavailable if the volume does
    not answer.
    """
    if not isinstance(event, PageFetched) or event.blob is None:
        return event
    return replace(event, body=_read(event.blob, volume), blob=None)


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
    return isinstance(one.event, PageFetched) and one.event.blob is not None


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
    old = {name for name in log.blobs.names() if name.partition("/")[0] <= day}
    if not old:
        return 0
    # Read after the list was made: a record that is deleted in between has no blob any more.
    leftovers = old - _referenced(log)
    log.blobs.remove_all(sorted(leftovers))
    if leftovers:
        logger.info("removed blobs without a record", count=len(leftovers))
    return len(leftovers)


def _referenced(log: Log) -> set[str]:
    tail, found = log.tail([topic.name for topic in TOPICS_WITH_BLOBS]), set[str]()
    try:
        while records := tail.poll(1.0):
            found.update(record.blob for record in records)
    finally:
        tail.close()
    return found
