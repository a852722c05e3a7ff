"""The parser on a log: every page is parsed or becomes a dead letter, despite other pages."""

import asyncio
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.events import DeadLetter, Event, PageFetched, PageParsed, Purpose, topics
from gossamer.events.topics import DEAD_LETTERS, PAGES_FETCHED, PAGES_PARSED
from gossamer.log import Message, codec, partition_of, throttling
from gossamer.log.codec import decode, encode, value_of_letter
from gossamer.log.sqlite import PARTITIONS, SqliteLog
from gossamer.runtime import loop
from gossamer.services.parser import wiring
from gossamer.settings import Settings, load_settings
from gossamer.store.sqlite import SqliteStore
from tests.parser.pages import HOG, QUADRATIC, page_response
from tests.support.metrics import hazards

SETTINGS = load_settings(
    None, {"parser": {"workers": 2, "page_limit": 3.0, "memory_limit": 32 << 20}}
)
TIMEOUT = 60.0
SITE = "http://www.example.org"
HERE = partition_of("example.org", PARTITIONS)
ELSEWHERE = [number for number in range(PARTITIONS) if number != HERE]


def page(number: int, body: bytes = b"", purpose: Purpose = Purpose.PAGE) -> PageFetched:
    body = body or f"<title>{number}</title><a href=/{number}>".encode()
    return page_response(body, url=f"http://www.example.org/page/{number}", purpose=purpose)


@pytest.fixture
def large_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow records with bodies that would be blobs."""
    large = replace(topics.PAGES_FETCHED, limit=8 << 20)
    topic_by_event: dict[Any, Any] = {**topics.TOPIC_OF, PageFetched: large}
    monkeypatch.setattr(topics, "TOPIC_OF", topic_by_event)
    monkeypatch.setattr(codec, "MAX_RECORD_BYTES", 9 << 20)


async def run_parser(
    log: SqliteLog, store: SqliteStore, max_lag: int, settings: Settings = SETTINGS
) -> list[Event]:
    """Run the parser until the lag is *max_lag* records; return all events on its topics."""
    stop = asyncio.Event()
    serving = asyncio.create_task(wiring.serve(settings, log, store, stop))
    async with asyncio.timeout(TIMEOUT):
        while log.lag("parser", PAGES_FETCHED.name) > max_lag and not serving.done():
            await asyncio.sleep(0.02)
    stop.set()
    await serving
    return [decode(r) for r in log.tail([PAGES_PARSED.name, DEAD_LETTERS.name]).poll(0)]


@pytest.mark.slow
async def test_every_page_is_parsed_and_unreadable_pages_are_dead_letters(
    log: SqliteLog, store: SqliteStore, large_records: None
) -> None:
    faults, other_links = hazards("parser_fault"), hazards("non_web_link")
    bad = {5: QUADRATIC, 9: HOG}
    pages = [page(number, bad.get(number, b"")) for number in range(20)]
    robots = page(99, b"User-agent: *", Purpose.ROBOTS)
    mail = page(20, b"<a href=mailto:x>")
    log.append(map(encode, [*pages, robots, mail]))
    log.append([Message(PAGES_FETCHED.name, "x", b"no event", "x")])

    emitted = await run_parser(log, store, max_lag=0)

    parsed = {event.visit.url: event for event in emitted if isinstance(event, PageParsed)}
    dead_letters = [event for event in emitted if isinstance(event, DeadLetter)]
    assert len(parsed) + len(dead_letters) == len(emitted)
    assert parsed.keys() == {p.visit.url for p in [*pages, mail]}
    assert parsed[pages[7].visit.url].title == "7"
    unreadable = [event for event in parsed.values() if "parser_fault" in event.hazards]
    assert {event.visit.url for event in unreadable} == {pages[5].visit.url, pages[9].visit.url}
    assert {(event.status, event.digest, event.links) for event in unreadable} == {(200, "", ())}
    values = {value_of_letter(dead_letter) for dead_letter in dead_letters}
    # Without a comparison of the sets, whose difference takes minutes to print.
    assert all(encode(pages[number]).value in values for number in bad)
    assert len(values) == 3 and b"no event" in values
    assert {dead_letter.service for dead_letter in dead_letters} == {"parser"}
    assert (faults(), other_links()) == (2, 1)


@pytest.mark.slow
async def test_page_with_too_large_result_is_reported_unreadable(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(topics.PAGES_PARSED, limit=20_000)
    topic_by_event: dict[Any, Any] = {**topics.TOPIC_OF, PageParsed: small}
    monkeypatch.setattr(topics, "TOPIC_OF", topic_by_event)
    faults = hazards("parser_fault")
    log.append([encode(page(1, b"".join(b"<a href=/%d>x</a>" % n for n in range(2000))))])
    emitted = await run_parser(log, store, max_lag=0)
    (unreadable,) = (event for event in emitted if isinstance(event, PageParsed))
    (dead_letter,) = (event for event in emitted if isinstance(event, DeadLetter))
    assert unreadable.hazards == ("parser_fault",)
    assert "an event for pages.parsed is too large" in dead_letter.reason
    assert faults() == 1


@pytest.mark.slow
async def test_dead_letters_are_limited_per_host(
    log: SqliteLog, store: SqliteStore, large_records: None
) -> None:
    faults = hazards("parser_fault")
    other = replace(page_response(b"<title>Another"), host="http://other.example.org")
    log.append(map(encode, [*(page(number, HOG) for number in range(4)), other]))
    given = {"workers": 1, "memory_limit": 32 << 20, "dead_letters_limit": 1}
    emitted = await run_parser(
        log, store, max_lag=0, settings=load_settings(None, {"parser": given})
    )
    parsed = [event for event in emitted if isinstance(event, PageParsed)]
    read = [event.host for event in parsed if not event.reason]
    assert (len(parsed), read) == (5, ["http://other.example.org"])
    assert len([event for event in emitted if isinstance(event, DeadLetter)]) == 1
    assert faults() == 4


@pytest.mark.slow
async def test_pages_in_flight_are_parsed_by_next_run(log: SqliteLog, store: SqliteStore) -> None:
    log.append(encode(page(number)) for number in range(60))
    await run_parser(log, store, max_lag=40)
    emitted = await run_parser(log, store, max_lag=0)
    parsed = [event for event in emitted if isinstance(event, PageParsed)]
    assert {event.title for event in parsed} == {str(number) for number in range(60)}


@pytest.mark.slow
async def test_directives_are_read_for_product_in_settings(
    log: SqliteLog, store: SqliteStore
) -> None:
    html = ("Content-Type", "text/html")
    pages = {
        "meta": page_response(b"<meta name=OtherBot content=noindex>", html, url=f"{SITE}/meta"),
        "header": page_response(
            b"", html, ("X-Robots-Tag", "otherbot: none"), url=f"{SITE}/header"
        ),
        "others": page_response(
            b"<meta name=gossamer content=none>",
            html,
            ("X-Robots-Tag", "gossamer: none"),
            url=f"{SITE}/others",
        ),
    }
    log.append(map(encode, pages.values()))
    settings = load_settings(None, {"parser": {"workers": 1}, "fetcher": {"product": "otherbot"}})
    emitted = await run_parser(log, store, max_lag=0, settings=settings)
    found = {
        event.visit.url.removeprefix(f"{SITE}/"): (event.noindex, event.nofollow)
        for event in emitted
        if isinstance(event, PageParsed)
    }
    assert found == {"meta": (True, False), "header": (True, True), "others": (False, False)}


@pytest.mark.slow
async def test_parser_pauses_while_dedup_lags(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttling, "LIMITS", {**throttling.LIMITS, PAGES_PARSED.name: 10})
    monkeypatch.setattr(loop, "HOLD_INTERVAL", 0.02)
    log.append(encode(page(number)) for number in range(1000))
    stop = asyncio.Event()
    serving = asyncio.create_task(wiring.serve(SETTINGS, log, store, stop))
    before, parsed = 0, 0
    async with asyncio.timeout(TIMEOUT):
        for number in range(1000):
            await wait_for_page_elsewhere(log, number)
            before, parsed = parsed, log.lag_by_partition("dedup", PAGES_PARSED.name).get(HERE, 0)
            if before == parsed > 10:
                break
    stop.set()
    await serving
    assert parsed < 700, "the parser did not pause"


async def wait_for_page_elsewhere(log: SqliteLog, number: int) -> None:
    """Wait until a page of another partition is read: only held partitions are paused."""
    at = ELSEWHERE[number % len(ELSEWHERE)]
    site = next(f"{n}.test" for n in count() if partition_of(f"{n}.test", PARTITIONS) == at)
    parsed = log.lag_by_partition("dedup", PAGES_PARSED.name).get(at, 0)
    log.append([encode(replace(page(number), site=site))])
    while log.lag_by_partition("dedup", PAGES_PARSED.name).get(at, 0) == parsed:
        await asyncio.sleep(0.02)
