"""Events to messages and records to events: one JSON object each, bodies as base64."""

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

UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
LARGE = 1_000_000_000
"""What a seed may count to: a store's integers have an end."""

_encoder = msgspec.json.Encoder()
_decoders = {name: msgspec.json.Decoder(topic.event) for name, topic in topics.TOPICS.items()}


def encode(event: Event | Tombstone) -> Message:
    """Return the message that carries *event*, on its topic and under its key."""
    if isinstance(event, Tombstone):
        return Message(topics.PAGES.name, event.url, b"", event.site)
    key, place = _key(event)
    return Message(topics.TOPIC_OF[type(event)].name, key, _encoder.encode(event), place)


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
    if record.topic == topics.SEEDS.name:
        return _seed(record)
    try:
        event: Event = _decoders[record.topic].decode(record.value)
    except UNREADABLE as error:
        raise Poison(f"not an event of {record.topic}: {error}") from error
    return event


def _seed(record: Record) -> SeedSown:
    place = f"seed@{record.topic}/{record.partition}/{record.offset}"
    try:
        text = record.value.decode().strip()
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
        key=record.key,
        reason=reason,
        value=record.value,
    )
