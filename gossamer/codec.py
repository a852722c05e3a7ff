"""Events to messages and records to events: one JSON object each, bodies as base64."""

from contextlib import suppress

import msgspec

from gossamer import topics
from gossamer.errors import Poison
from gossamer.events import (
    CrawlDefined,
    DeadLetter,
    Event,
    Page,
    PageArchived,
    SeedSown,
    Tombstone,
)
from gossamer.log import Message, Record
from gossamer.url import BadUrl, site_of

UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
LARGE = 1_000_000_000
"""What a seed may count to: a store's integers have an end."""
LONGEST_KEY, LONGEST_REASON = 16_384, 2_000
"""Characters in a dead letter: nothing takes one that is too large."""

_encoder = msgspec.json.Encoder()
_decoders = {name: msgspec.json.Decoder(topic.event) for name, topic in topics.TOPICS.items()}
_versions = {
    event: next(f.default for f in msgspec.structs.fields(event) if f.name == "version")
    for event in topics.TOPIC_OF
}


def encode(event: Event | Tombstone) -> Message:
    """Return the message that carries *event*, on its topic and under its key.

    Raise Poison if it is larger than its topic takes: what it answers cannot be answered.
    """
    if isinstance(event, Tombstone):
        return Message(topics.PAGES.name, event.url, b"", event.site)
    key, place = _key(event)
    topic, value = topics.TOPIC_OF[type(event)], _encoder.encode(event)
    if len(value) > topic.limit:
        raise Poison(
            f"the answer for {topic.name} is too large: {len(value)} bytes, at most {topic.limit}"
        )
    return Message(topic.name, key, value, place)


def _key(event: Event) -> tuple[str, str]:
    match event:
        case Page(url=url, site=site) | PageArchived(url=url, site=site):
            return url, site
        case SeedSown(url=key) | DeadLetter(key=key) | CrawlDefined(crawl=key):
            return key, key
    site = event.site  # type: ignore[attr-defined]
    return site, site


def decode(record: Record) -> Event:
    """Return the event in *record*; raise Poison if it holds none."""
    event = _seed(record) if record.topic == topics.SEEDS.name else _event(record)
    known = _versions[type(event)]
    if event.version > known:
        raise Poison(
            f"version {event.version} of {record.topic} is not known here, only up to {known}"
        )
    return event


def _event(record: Record) -> Event:
    try:
        event: Event = _decoders[record.topic].decode(record.value)
    except UNREADABLE as error:
        raise Poison(f"not an event of {record.topic}: {error}") from error
    return event


def _seed(record: Record) -> SeedSown:
    place = f"seed@{record.topic}/{record.partition}/{record.offset}"
    try:
        text = record.value.decode().strip()
        if not text:
            raise Poison("neither a URL nor a seed in JSON: it is empty")
        if not text.startswith("{"):
            return SeedSown(url=text, via=place)
        seed = msgspec.json.decode(_tagged(record.value), type=SeedSown)
    except UNREADABLE as error:
        raise Poison(f"neither a URL nor a seed in JSON: {error}") from error
    if seed.depth < 0 or max(seed.depth, abs(seed.priority)) > LARGE:
        raise Poison(f"a depth of 0 to {LARGE}, a priority of at most {LARGE} either way")
    return seed if seed.via else msgspec.structs.replace(seed, via=place)


def _tagged(value: bytes) -> bytes:
    # Anybody may sow a seed: {"url": …} is enough, without our tag.
    fields = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({"event": "seed_sown", **fields})


def dead_letter(record: Record, service: str, reason: str, now: float) -> DeadLetter:
    """Return *record* as a dead letter, whole."""
    return DeadLetter(
        at=now,
        service=service,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key[:LONGEST_KEY],
        reason=reason[:LONGEST_REASON].encode("utf-8", "replace").decode(),
        value=record.value,
    )


def revived(letter: DeadLetter) -> Message:
    """Return the record in *letter* as it may be appended again, under its key."""
    place = letter.key
    if letter.topic in (topics.PAGES.name, topics.PAGES_ARCHIVED.name):
        with suppress(BadUrl):
            place = site_of(letter.key)
    return Message(letter.topic, letter.key, letter.value, place)
