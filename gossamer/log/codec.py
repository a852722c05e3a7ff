"""Events to messages and records to events: one JSON object each, bodies as base64."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import NamedTuple, TypeVar

import msgspec

from gossamer.errors import Newer, Poison
from gossamer.events import (
    DeadLetter,
    Event,
    HostCheckedOut,
    Page,
    SeedAdded,
    Tombstone,
    topics,
)
from gossamer.events.fitting import fitted
from gossamer.events.pages import Contents
from gossamer.events.topics import TOPICS, Topic
from gossamer.log import Headers, Message, Record
from gossamer.web.url import BadUrl, canonicalize, site_of

E = TypeVar("E", bound=Event)
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
UNKNOWN_VALUE = "Invalid enum value"
"""How msgspec begins what it says of a value that is not in an enumeration."""
LARGE = 1_000_000_000
"""The largest depth of a seed: what fits the integers of every store."""
TOMBSTONE_HEADERS = ("verdict", "redirects_to", "reason", "at", "status", "trace")
NO_REDIRECT = ("redirects_to", "")
UNCHANGED_HEADER = ("unchanged", "1")
"""Of a document that says nothing new: a consumer need not read it."""
LONGEST_KEY, LONGEST_REASON = 16_384, 2_000
"""Characters of each in a dead letter, which must fit its topic whatever it holds."""


def decoder(topic: Topic) -> msgspec.json.Decoder[Event]:
    """Return what decodes every kind of event on *topic*, told apart by their tags."""
    return msgspec.json.Decoder(reduce(or_, (kind.type for kind in topic.events)))


_encoder = msgspec.json.Encoder()
_seed_decoder = msgspec.json.Decoder(SeedAdded)
_decoders = {name: decoder(topic) for name, topic in topics.TOPICS.items()}
_keys = {
    kind.type: kind.key.split("/") for topic in topics.TOPICS.values() for kind in topic.events
}
_versions = {
    event: next(f.default for f in msgspec.structs.fields(event) if f.name == "version")
    for event in topics.TOPIC_OF
}
_known_versions = {
    name: {kind.event: _versions[kind.type] for kind in topic.events}
    for name, topic in topics.TOPICS.items()
}


def encode(event: Event | Tombstone) -> Message:
    """Return the message that carries *event*, on its topic and under its key.

    Of a document that is larger than its topic takes something is left out. Raise Poison if
    anything else is.
    """
    if isinstance(event, Tombstone):
        about = ((name, str(getattr(event, name))) for name in TOMBSTONE_HEADERS)
        said = (header for header in about if header != NO_REDIRECT)
        headers = (("event", "tombstone"), *said)
        return Message(topics.PAGES.name, event.url, b"", event.site, headers)
    topic, value = topics.TOPIC_OF[type(event)], _encoder.encode(event)
    if len(value) > topic.limit and isinstance(event, Contents):
        event = fitted(event, topic.limit)
        value = _encoder.encode(event)
    if len(value) > topic.limit:
        raise Poison(
            f"the answer for {topic.name} is too large: {len(value)} bytes, at most {topic.limit}"
        )
    headers = _headers(event) if isinstance(event, Page) else ()
    message = Message(topic.name, key_of(event), value, partition_key_of(event), headers)
    if isinstance(event, HostCheckedOut) and event.sent_to >= 0:
        return replace(message, partition=event.sent_to)
    return message


def _headers(page: Page) -> Headers:
    """Return what a consumer can go by that does not read the page itself."""
    said = {
        "event": "page",
        "version": str(page.version),
        "crawl": page.crawl,
        "verdict": page.verdict.value,
        "trace": page.trace,
        "content-type": page.content_type,
    }
    return (*said.items(), *((UNCHANGED_HEADER,) if page.unchanged else ()))


def tombstone(record: Record) -> Tombstone:
    """Return the tombstone in *record*, as far as its headers tell."""
    said = {name: value for name, value in record.headers if name in TOMBSTONE_HEADERS}
    try:
        return msgspec.convert({"url": record.key, "site": "", **said}, Tombstone, strict=False)
    except msgspec.ValidationError:
        return Tombstone(record.key, "")


def key_of(event: Event) -> str:
    """Return the key of *event*: the fields that its topic's description names."""
    return "/".join(_field(event, name) for name in _keys[type(event)])


def partition_key_of(event: Event) -> str:
    """Return what decides the partition of *event*, mostly its site."""
    return _field(event, topics.TOPIC_OF[type(event)].partitioned_by)


def _field(event: Event, name: str) -> str:
    return str(event.__struct_config__.tag if name == "event" else getattr(event, name))


class Decoded(NamedTuple):
    """A record and its event, or why it has none."""

    record: Record
    event: Event | Poison | Newer


def decode_all(records: Iterable[Record]) -> list[Decoded]:
    """Return *records* with their events."""
    return [Decoded(record, _decoded(record)) for record in records]


def _decoded(record: Record) -> Event | Poison | Newer:
    try:
        return decode(record)
    except (Poison, Newer) as error:
        return error


def decode(record: Record) -> Event:
    """Return the event in *record*.

    Raise Newer if only a newer version can read it, Poison if it holds no event.
    """
    if record.topic == topics.SEEDS.name:
        # Anybody writes there, so nothing that stands there may stop a partition.
        event: Event = _seed(record)
        if event.version > _versions[SeedAdded]:
            raise Poison(f"a seed of version {event.version}, which is not known here")
        return event
    event = _event(record)
    if event.version > _versions[type(event)]:
        raise Newer(why_newer(record))
    return event


def validated(value: bytes, kind: msgspec.json.Decoder[E]) -> E:
    """Return the event in the JSON *value*; raise msgspec.MsgspecError if it is not of that *kind*
    or a field is out of bounds."""
    return kind.decode(value)


def _event(record: Record) -> Event:
    try:
        return validated(record.value, _decoders[record.topic])
    except UNREADABLE as error:
        why = why_newer(record)
        if not why and str(error).startswith(UNKNOWN_VALUE):
            why = f"{_tag_of(record).event}: {error}"
        if why:
            raise Newer(why) from error
        raise Poison(f"not an event of {record.topic}: {error}") from error


class _Tag(msgspec.Struct):
    event: str = ""
    version: int = 1


def _tag_of(record: Record) -> _Tag:
    try:
        return msgspec.json.decode(record.value, type=_Tag)
    except UNREADABLE:
        return _Tag()


def why_newer(record: Record) -> str:
    """Return which kind or version of *record* is not known here; "" if both are."""
    (kind, version), known = msgspec.structs.astuple(_tag_of(record)), _known_versions[record.topic]
    if not kind:
        return ""
    if kind not in known:
        return f"{kind}, version {version}: the kind is not known here"
    if version <= known[kind]:
        return ""
    return f"{kind}, version {version}: only versions up to {known[kind]} are known here"


def _seed(record: Record) -> SeedAdded:
    origin = f"seed@{record.topic}/{record.partition}/{record.offset}"
    try:
        text = record.value.decode().strip()
        if not text:
            raise Poison("neither a URL nor a seed in JSON: it is empty")
        if not text.startswith("{"):
            return SeedAdded(url=text, via=origin)
        seed = validated(_tagged(record.value), _seed_decoder)
    except UNREADABLE as error:
        raise Poison(f"neither a URL nor a seed in JSON: {error}") from error
    if not 0 <= seed.depth <= LARGE:
        raise Poison(f"the depth of a seed is 0 to {LARGE}")
    return seed if seed.via else msgspec.structs.replace(seed, via=origin)


def _tagged(value: bytes) -> bytes:
    # Anybody may sow a seed: {"url": …} is enough, without our tag.
    fields = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({"event": "seed_added", **fields})


def dead_letter(record: Record, service: str, reason: str, now: float) -> DeadLetter:
    """Return the dead letter that holds *record*, its value whole."""
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


def replayed(letter: DeadLetter) -> Message:
    """Return the record in *letter* as it may be appended again, under its key."""
    at = letter.topic, letter.partition, letter.offset
    return copied(Record(*at, letter.key, letter.value))


def copied(record: Record) -> Message:
    """Return *record* as it may be appended once more, to its log or to another one."""
    return Message(record.topic, record.key, record.value, _partition_key(record), record.headers)


def _partition_key(record: Record) -> str:
    """Return the partition key that the writer of *record* should have given it."""
    with suppress(Poison, Newer):
        return partition_key_of(decode(record))
    if (topic := TOPICS.get(record.topic)) and topic.partitioned_by == "site":
        with suppress(BadUrl):
            return site_of(canonicalize(record.key))
    return record.key
