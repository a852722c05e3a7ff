"""No record exceeds 1 MB, whatever strangers send."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.events import (
    ChangeHint,
    Discovery,
    Entry,
    Event,
    EvidenceKind,
    HostCheckedOut,
    Link,
    OrderId,
    Outcome,
    PageFetched,
    PageParsed,
    Visit,
    VisitEnded,
    topics,
)
from gossamer.events.pages import group_by_site
from gossamer.events.topics import MAX_RECORD_BYTES
from gossamer.log import Message, Record
from gossamer.log.blobs import load, refer
from gossamer.log.codec import dead_letter, decode, encode, value_of_letter
from gossamer.services.dedup.links import group_by_host
from gossamer.settings import FetcherSettings
from gossamer.volumes import Volume
from gossamer.web.robots import parse_robots
from gossamer.web.url import MAX_LENGTH, HostKey, Site

SITE, HOST = Site("example.org"), HostKey("https://example.org")
INLINE = FetcherSettings().inline_body
rng = random.Random(1)
LONG_URLS = [f"{HOST}/{n}/".ljust(MAX_LENGTH, '"') for n in range(10_000)]
VISIT = Visit(f"1.1.0@{LONG_URLS[0]}", LONG_URLS[0], via=f"1.0.0@{LONG_URLS[1]}")
ROBOTS = {
    "one byte": b"Disallow:/a\n",
    "not ASCII": b"Disallow:/" + b"\xd0\x96" * 100 + b"\n",
    "escapes": b'Disallow:/"\\"\\"\\\n',
    "controls": b"Disallow:/" + b"\x01" * 100 + b"\n",
    "one line": b"Disallow:/" + b'"' * 600_000,
}


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path.as_uri())


def fetched(**fields: Any) -> PageFetched:
    plain = PageFetched(
        at=1.0, site=SITE, host=HOST, visit=VISIT, started_at=1.0, took=0.1, status=200
    )
    return replace(plain, **fields)


def parsed(**fields: Any) -> PageParsed:
    plain = PageParsed(at=1.0, site=SITE, host=HOST, visit=VISIT, fetched_at=1.0, status=200)
    return replace(plain, **fields)


def check(message: Message) -> Record:
    """Check the sizes of *message* and of its dead letter; return its record."""
    assert message.size <= MAX_RECORD_BYTES
    record = Record(message.topic, 0, 0, message.key, message.value, message.headers)
    letter = dead_letter(record, "archive", "\0" * 10_000, 1.0)
    assert encode(letter).size <= MAX_RECORD_BYTES
    assert letter.cut or value_of_letter(letter) == message.value
    return record


@pytest.mark.parametrize("size", [0, INLINE - 1, INLINE, INLINE + 1, 20 << 20])
@pytest.mark.parametrize("character", ["a", '"', "\x01", "ÿ"])
def test_fetched_page(volume: Volume, size: int, character: str) -> None:
    event = fetched(body=rng.randbytes(size), headers=(("a", character * 30_000),) * 3)
    record = check(encode(refer(event, volume, INLINE)))
    assert load(decode(record), volume) == event


@pytest.mark.parametrize(
    "contents",
    [
        {"links": tuple(Link(url, "\x01" * 100) for url in LONG_URLS[:1000])},
        {"entries": tuple(Entry(f"{HOST}/{n}", 1.0) for n in range(50_000))},
        {"text": "\x01" * 200_000},
        {"text": "ÿ" * 3_000_000, "links": tuple(Link(url) for url in LONG_URLS[:300])},
    ],
)
def test_parsed_page(volume: Volume, contents: dict[str, Any]) -> None:
    event = parsed(**contents)
    record = check(encode(refer(event, volume, INLINE)))
    loaded = load(decode(record), volume)
    assert isinstance(loaded, PageParsed)
    assert (loaded.links, loaded.entries) == (event.links, event.entries)


def discovered() -> Iterable[Event]:
    urls = [Discovery(url, 1, trace="a" * 32, score=0.123456789) for url in LONG_URLS]
    return group_by_site(urls, VISIT.id, "default", 1.0)


def hinted() -> Iterable[Event]:
    hints = (ChangeHint(url, EvidenceKind.SITEMAP, 1.0) for url in LONG_URLS)
    return group_by_host(hints, "default", 1.0)


@pytest.mark.parametrize("make", [discovered, hinted])
def test_links(make: Callable[[], Iterable[Event]]) -> None:
    found = list(make())
    for event in found:
        check(encode(event))
    urls = [one.url for event in found for one in getattr(event, "urls", ()) or event.hints]  # type: ignore[attr-defined]
    assert sorted(urls) == sorted(LONG_URLS), "no link is lost"


@pytest.mark.parametrize("line", ROBOTS.values(), ids=ROBOTS)
@pytest.mark.parametrize("names", [b"User-agent: *\n", b"User-agent: gossamer\n" * 20])
def test_orders_and_outcomes_with_robots_rules(line: bytes, names: bytes) -> None:
    usage = b"Content-Usage: /%s train-ai=n\n" % (b"a" * 900)
    body = names + usage * 100 + line * (600_000 // len(line))
    robots = parse_robots(body, "gossamer", 1.0, 86400.0, f"{HOST}/robots.txt").rules
    visit = replace(VISIT, statistics=b"\xff" * 500)
    fields: dict[str, Any] = {"at": 1.0, "site": SITE, "host": HOST, "order": OrderId("1.1")}
    for event in (
        HostCheckedOut(
            **fields, epoch=1, expires_at=1.0, pause=1.0, robots=robots, visits=(visit,) * 10
        ),
        VisitEnded(
            **fields, epoch=1, index=0, last=True, visit=visit, outcome=Outcome.PAGE, robots=robots
        ),
    ):
        check(encode(event))


def test_limit_is_below_the_default_of_brokers() -> None:
    assert {topic.limit for topic in topics.TOPICS.values()} == {991_808}
