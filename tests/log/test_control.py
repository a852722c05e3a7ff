"""The control topic: several kinds of events, and unknown kinds."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from gossamer import crawl
from gossamer.errors import Poison
from gossamer.events import CrawlDefined, Event, Page
from gossamer.events.topics import CONTROL, DEAD_LETTERS, PAGES
from gossamer.log import Message, Record
from gossamer.log.codec import dead_letter, decode, decoder, encode, message_of_letter
from gossamer.log.control import ControlTail, newest_events
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.archive.service import Archive
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.frontier.service import Frontier
from gossamer.settings import ArchiveSettings, DedupSettings, FrontierSettings
from gossamer.store.sqlite import SqliteStore
from tests.runtime.processors import Discoverer, drain

EXAMPLES = Path(__file__).resolve().parents[2] / "schemas" / "examples"


def define(scope: str, **fields: Any) -> CrawlDefined:
    return CrawlDefined(**{"at": 1.0, "scope": scope, "max_depth": 1, **fields})


def of_later(kind: str = "delay_set", **fields: Any) -> Message:
    """Return an event of a newer version's kind."""
    value = {"event": kind, "at": 1.0, **fields}
    return Message("control", f"{kind}/a.example", json.dumps(value).encode(), "default")


def scope_in_force(log: SqliteLog) -> str:
    found = crawl.last_definition(log)
    assert found
    return found.scope


@pytest.mark.parametrize("times", [1, 3])
def test_newest_definition_counts(log: SqliteLog, times: int) -> None:
    assert crawl.last_definition(log) is None
    log.append([encode(define("old()"))] * times)
    assert scope_in_force(log) == "old()"
    log.append([encode(define("new()"))] * times)
    assert scope_in_force(log) == "new()"
    retained = [record.key for record in drain(log.tail([CONTROL.name]))]
    assert retained == list(newest_events(log)) == ["crawl_defined/default"]


def test_service_applies_the_newest_definition(log: SqliteLog, store: SqliteStore) -> None:
    log.append([encode(define("old()")), encode(define("new()"))])
    sower = Discoverer(store)
    sequential_loop(sower, log, store, lambda: 1.0).step()
    assert [text for text in sower.calls if "control" in text] == ["control new()"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [({"crawl": "No id"}, "'No id'"), ({"scope": "nonsense()"}, "'nonsense()' is no")],
)
def test_service_refuses_invalid_definition(
    store: SqliteStore, wrong: dict[str, str], why: str
) -> None:
    definition = define(**{"scope": "any()", **wrong})
    dedup = Dedup(SeenTable(store), store, DedupSettings())
    frontier = Frontier(FrontierSettings(), store, 60.0, 4, alone=True)
    for service in (dedup, frontier):
        with pytest.raises(Poison, match=re.escape(why)):
            list(service.handle(definition, 1.0))


def test_definitions_of_other_crawls_are_separate(log: SqliteLog) -> None:
    log.append([encode(define("mine()")), encode(define("other()", crawl="other"))])
    assert scope_in_force(log) == "mine()"
    assert set(newest_events(log)) == {"crawl_defined/default", "crawl_defined/other"}


def test_replayed_definition_has_the_key_of_its_crawl() -> None:
    message = encode(define("any()"))
    letter = dead_letter(Record("control", 0, 5, message.key, message.value), "x", "why", 1.0)
    assert message_of_letter(letter) == message


def test_unknown_control_events_are_skipped_and_logged_once(
    log: SqliteLog, store: SqliteStore
) -> None:
    log.append([of_later(delay=5.0)] * 2 + [encode(define("any()"))] + [of_later(delay=6.0)])
    log.append([of_later("page"), of_later("speed_set", version=2)])
    sower = Discoverer(store)
    runner = sequential_loop(sower, log, store, lambda: 1.0)
    with capture_logs() as lines:
        runner.step()
        log.append([of_later(delay=7.0)])
        runner.step()
    assert "control any()" in sower.calls
    assert log.lag("nobody", DEAD_LETTERS.name) == 0
    assert [line["reason"].partition(",")[0] for line in lines] == [
        "delay_set",
        "page",
        "speed_set",
    ]
    assert scope_in_force(log) == "any()"


def test_events_after_many_skipped_ones_are_read(log: SqliteLog) -> None:
    log.append(
        Message("control", f"delay_set/{n}", b'{"event": "delay_set"}', "default")
        for n in range(1200)
    )
    log.append([encode(define("any()"))])
    tail = ControlTail(log)
    (record,) = tail.poll(0)
    assert isinstance(decode(record), CrawlDefined)
    assert not tail.poll(0)


@pytest.mark.parametrize(
    "value",
    [b"garbage", b"[]", b"{}", b'{"event": 5}', b'{"event": "crawl_defined"}', b"[" * 100_000],
)
def test_invalid_control_record_is_returned(log: SqliteLog, value: bytes) -> None:
    log.append([Message("control", "k", value, "k"), Message("control", "gone", b"", "k")])
    (record,) = ControlTail(log).poll(0)
    assert record.value == value
    with pytest.raises(Poison):
        decode(record)
    assert newest_events(log) == {}


def test_topic_carries_several_kinds_of_events() -> None:
    two = msgspec.structs.replace(CONTROL, events=(*CONTROL.events, *PAGES.events))
    page = (EXAMPLES / "pages" / "1" / "page.json").read_bytes()
    definition = encode(define("any()")).value
    assert type(decoder(two).decode(page)) is Page
    assert type(decoder(two).decode(definition)) is CrawlDefined
    with pytest.raises(msgspec.ValidationError, match="delay_set"):
        decoder(two).decode(of_later().value)


class DelaySet(Event, frozen=True, kw_only=True, tag="delay_set"):
    """A kind that no service acts on yet."""


def test_services_ignore_unneeded_control_events(store: SqliteStore, tmp_path: Path) -> None:
    services: list[Processor] = [
        Dedup(SeenTable(store), store, DedupSettings()),
        Frontier(FrontierSettings(), store, 60.0, 4, alone=True),
        Archive(tmp_path, store, ArchiveSettings(), "me@example.org", "gossamer"),
    ]
    for service in services:
        assert not list(service.handle(DelaySet(at=1.0), 1.0))
