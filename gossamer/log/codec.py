"""Encodes events as messages and decodes records: one JSON object each, with bytes as base64."""

import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import NamedTuple, TypeVar

import msgspec

from gossamer.errors import Newer, Poison
from gossamer.events import (
    DEFAULT_CRAWL,
    FLEET,
    DeadLetter,
    Event,
    FetcherStarted,
    HostCheckedOut,
    Page,
    PageArchived,
    PageFetched,
    PageParsed,
    SeedAdded,
    Tombstone,
    topics,
)
from gossamer.events.pages import Contents
from gossamer.events.public import fit_to_limit
from gossamer.events.records import is_crawl_id
from gossamer.events.topics import MAX_RECORD_BYTES, TOPICS, Topic, topic_named
from gossamer.log import BLOB, BLOB_SIZE, Headers, Message, Record
from gossamer.web.url import BadUrl, Site, canonicalize, site_of

E = TypeVar("E", bound=Event)
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
UNKNOWN_VALUE = "Invalid enum value"
"""The start of msgspec's message about a value that its enumeration lacks."""
MAX_SEED_DEPTH = 1_000_000_000
"""Maximum depth of a seed, which fits the integers of every store."""
TOMBSTONE_HEADERS = ("crawl", "verdict", "redirects_to", "reason", "at", "status", "trace")
NO_REDIRECT = ("redirects_to", "")
UNCHANGED_HEADER = ("unchanged", "1")
"""The header of an unchanged document, which consumers may skip."""
MAX_KEY_CHARACTERS, MAX_REASON_CHARACTERS = 2_048, 2_000
"""Maximum number of characters of key and reason in a dead letter."""
MAX_LETTER_BYTES = 720_000
"""Maximum number of bytes of the value in a dead letter. In base64, they fit into a record beside
key and reason. A body in base64 has this size again if it is compressed."""


def decoder(topic: Topic) -> msgspec.json.Decoder[Event]:
    """Return the decoder for all kinds of events on *topic*, which their tags distinguish."""
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
    """Return the message with *event*, with its topic and its key.

    A document that is too large for its topic is reduced. Raise Poison for any other event that is
    too large.
    """
    if isinstance(event, Tombstone):
        fields = ((name, str(getattr(event, name))) for name in TOMBSTONE_HEADERS)
        headers = (("event", "tombstone"), *(one for one in fields if one != NO_REDIRECT))
        key = public_key(event.crawl, event.url)
        return Message(event.topic, key, b"", event.site, headers)
    topic, value = topics.TOPIC_OF[type(event)], _encoder.encode(event)
    if len(value) > topic.limit and isinstance(event, Contents):
        event = fit_to_limit(event, topic.limit)
        value = _encoder.encode(event)
    if len(value) > topic.limit:
        raise Poison(
            f"an event for {topic.name} is too large: {len(value)} bytes, at most {topic.limit}"
        )
    headers = _headers(event)
    message = Message(topic.name, key_of(event), value, partition_key_of(event), headers)
    if (size := message.size) > MAX_RECORD_BYTES:
        raise Poison(f"a record for {topic.name} is too large: {size} bytes with its key")
    match event:
        case HostCheckedOut(sent_to=number) if number >= 0:
            return replace(message, partition=number)
        case FetcherStarted(partition=number):
            return replace(message, partition=number)
    return message


def encoded_size(event: Event) -> int:
    """Return the number of bytes of *event* in a record."""
    return len(_encoder.encode(event))


def _headers(event: Event) -> Headers:
    if isinstance(event, Page):
        return _headers_of_page(event)
    if isinstance(event, PageArchived):
        headers = {"event": "page_archived", "version": str(event.version)}
        return (*headers.items(), ("crawl", event.crawl), ("trace", event.trace))
    if isinstance(event, PageFetched | PageParsed) and (blob := event.blob):
        return ((BLOB, blob.name), (BLOB_SIZE, str(blob.size)))
    return ()


def _headers_of_page(page: Page) -> Headers:
    """Return the headers that let a consumer filter pages without decoding them."""
    headers = {
        "event": "page",
        "version": str(page.version),
        "crawl": page.crawl,
        "verdict": page.verdict.value,
        "trace": page.trace,
        "content-type": page.content_type,
    }
    return (*headers.items(), *((UNCHANGED_HEADER,) if page.unchanged else ()))


def tombstone(record: Record) -> Tombstone:
    """Return the tombstone in *record*, from its key and the fields in its headers."""
    crawl, url = split_key(record.key)
    fields = {name: value for name, value in record.headers if name in TOMBSTONE_HEADERS}
    fields |= {"crawl": crawl, "url": url, "site": ""}
    try:
        return msgspec.convert(fields, Tombstone, strict=False)
    except msgspec.ValidationError:
        return Tombstone(crawl, url, Site(""))


def public_key(crawl: str, url: str) -> str:
    """Return the key of the records about *url* in *crawl* on `pages` and `pages.archived`."""
    return f"{crawl}/{url}"


def split_key(key: str) -> tuple[str, str]:
    """Return the crawl and the URL in a *key* of `pages` or `pages.archived`.

    No id of a crawl contains a slash.
    """
    crawl, _, url = key.partition("/")
    return crawl, url


def crawl_of(record: Record) -> str:
    """Return the crawl of *record* on `pages` or `pages.archived`, without decoding its value."""
    return split_key(record.key)[0]


def key_of(event: Event) -> str:
    """Return the key of *event*: the fields that its topic's file names, joined by slashes."""
    return "/".join(_field(event, name) for name in _keys[type(event)])


def partition_key_of(event: Event) -> str:
    """Return the partition key of *event*, usually its site."""
    return _field(event, topics.TOPIC_OF[type(event)].partitioned_by)


def _field(event: Event, name: str) -> str:
    return str(event.__struct_config__.tag if name == "event" else getattr(event, name))


class Decoded(NamedTuple):
    """A record with its event, or with the error that prevents decoding."""

    record: Record
    event: Event | Poison | Newer


def decode_all(records: Iterable[Record]) -> list[Decoded]:
    """Return *records* with their events."""
    return [Decoded(record, try_decode(record)) for record in records]


def try_decode(record: Record) -> Event | Poison | Newer:
    """Return the event in *record*, or why it cannot be decoded."""
    try:
        return decode(record)
    except (Poison, Newer) as error:
        return error


def decode(record: Record) -> Event:
    """Return the event in *record*.

    Raise Newer if only a newer version can decode it, and Poison if it does not contain an event.
    """
    if record.topic == topics.SEEDS.name:
        # Any program may produce seeds, so no seed may stop a partition.
        event: Event = _decode_seed(record)
        if event.version > _versions[SeedAdded]:
            raise Poison(f"unknown seed version {event.version}")
        return event
    event = _event(record)
    if event.version > _versions[type(event)]:
        raise Newer(why_newer(record))
    return event


def decode_valid(value: bytes, kind: msgspec.json.Decoder[E]) -> E:
    """Decode the JSON *value*. Raise msgspec.MsgspecError if it is not of *kind* or a field is
    invalid."""
    return kind.decode(value)


def _event(record: Record) -> Event:
    try:
        return decode_valid(record.value, _decoders[_file_of(record.topic)])
    except UNREADABLE as error:
        reason = why_newer(record)
        if not reason and str(error).startswith(UNKNOWN_VALUE):
            reason = f"{_tag_of(record).event or record.topic}: {error}"
        if reason:
            raise Newer(reason) from error
        raise Poison(f"not an event of {record.topic}: {error}") from error


class _Tag(msgspec.Struct):
    event: str = ""
    version: int = 1


def _tag_of(record: Record) -> _Tag:
    try:
        return msgspec.json.decode(record.value, type=_Tag)
    except UNREADABLE:
        return _Tag()


def _file_of(topic: str) -> str:
    """Return the name of the file in `schemas/topics` that defines *topic*."""
    return topic if topic in TOPICS else topics.PAGES.name


def why_newer(record: Record) -> str:
    """Return a text about the unknown kind or version of *record*, or "" if both are known."""
    kind, version = msgspec.structs.astuple(_tag_of(record))
    versions = _known_versions[_file_of(record.topic)]
    if not kind:
        return ""
    if kind not in versions:
        return f"{kind}, version {version}: unknown kind of event"
    if version <= versions[kind]:
        return ""
    return f"{kind}, version {version}: this process knows versions up to {versions[kind]}"


def _decode_seed(record: Record) -> SeedAdded:
    origin = f"seed@{record.topic}/{record.partition}/{record.offset}"
    try:
        text = record.value.decode().strip()
        if not text:
            raise Poison("neither a URL nor a seed in JSON: the value is empty")
        if not text.startswith("{"):
            return SeedAdded(url=text, via=origin)
        seed = decode_valid(_add_tag(record.value), _seed_decoder)
    except UNREADABLE as error:
        raise Poison(f"neither a URL nor a seed in JSON: {error}") from error
    if not 0 <= seed.depth <= MAX_SEED_DEPTH:
        raise Poison(f"the depth of a seed must be from 0 to {MAX_SEED_DEPTH}")
    return seed if seed.via else msgspec.structs.replace(seed, via=origin)


def _add_tag(value: bytes) -> bytes:
    # Any program may produce a seed: {"url": …} suffices, without our tag.
    fields = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({"event": "seed_added", **fields})


class _CrawlField(msgspec.Struct):
    crawl: str = ""


def _find_crawl(record: Record) -> str:
    """Return the id of the crawl that *record* names, or else that of the fleet.

    A seed that names none is of the crawl `default`.
    """
    try:
        named = msgspec.json.decode(record.value, type=_CrawlField).crawl
    except UNREADABLE:
        named = ""
    if not named and record.topic == topics.SEEDS.name:
        return DEFAULT_CRAWL
    return named if is_crawl_id(named) else FLEET


def dead_letter(record: Record, service: str, reason: str, now: float) -> DeadLetter:
    """Return the dead letter of *record*, with its whole value if that fits in any form."""
    value, is_large = record.value, len(record.value) > MAX_LETTER_BYTES
    packed = zlib.compress(value) if is_large else value
    is_cut = len(packed) > MAX_LETTER_BYTES
    return DeadLetter(
        crawl=_find_crawl(record),
        at=now,
        service=service,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key[:MAX_KEY_CHARACTERS],
        reason=reason[:MAX_REASON_CHARACTERS].encode("utf-8", "replace").decode(),
        value=value[:MAX_LETTER_BYTES] if is_cut else packed,
        compressed=is_large and not is_cut,
        cut=is_cut,
    )


def value_of_letter(letter: DeadLetter) -> bytes:
    """Return the value of the record in *letter*, or its beginning if it is cut.

    Raise Poison if it cannot be decompressed.
    """
    if not letter.compressed:
        return letter.value
    try:
        # No record is larger, so a larger value is not ours.
        return zlib.decompressobj().decompress(letter.value, 2 * MAX_RECORD_BYTES)
    except zlib.error as error:
        raise Poison(f"the value of a dead letter cannot be decompressed: {error}") from error


def message_of_letter(letter: DeadLetter) -> Message:
    """Return the record in *letter* as a message, with its original key.

    Raise Poison if its topic is unknown, its value is cut or damaged, or its body was in a blob.
    """
    try:
        topic_named(letter.topic)
    except LookupError as error:
        raise Poison(str(error)) from error
    if letter.cut:
        raise Poison("the value of the record is cut, because it was too large")
    at = letter.topic, letter.partition, letter.offset
    record = Record(*at, letter.key, value_of_letter(letter))
    if uri := _blob_uri(record):
        raise Poison(
            f"its body was in {uri}, which is removed together with the record: gossamer refetch "
            "gets the page again"
        )
    return copy_message(record)


def _blob_uri(record: Record) -> str:
    """Return the URI of the blob that *record* refers to, or ""."""
    with suppress(Poison, Newer):
        event = decode(record)
        if isinstance(event, PageFetched | PageParsed) and event.blob:
            return event.blob.uri
    return ""


def copy_message(record: Record) -> Message:
    """Return *record* as a message for its own log or another one."""
    return Message(record.topic, record.key, record.value, _partition_key(record), record.headers)


def _partition_key(record: Record) -> str:
    """Return the partition key that the producer of *record* should have used."""
    with suppress(Poison, Newer):
        return partition_key_of(decode(record))
    name = _file_of(record.topic)
    if TOPICS[name].partitioned_by == "site":
        is_public = name in (topics.PAGES.name, topics.PAGES_ARCHIVED.name)
        with suppress(BadUrl):
            return site_of(canonicalize(split_key(record.key)[1] if is_public else record.key))
    return record.key
