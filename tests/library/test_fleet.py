"""A fleet's pages from a program, with a named cursor, on a real Kafka."""

from collections.abc import Iterator
from contextlib import closing

import pytest

import gossamer
from gossamer.events import Page, Tombstone, Verdict
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.settings.servers import KafkaSettings
from gossamer.web.url import fingerprint, site_of
from tests.adapters.kafka_broker import own_topics


def page(number: int, title: str) -> Page:
    url = f"https://site{number}.example/"
    return Page(
        at=1.0,
        url=url,
        site=site_of(url),
        status=200,
        fetched_at=1.0,
        title=title,
        links=(),
        verdict=Verdict.FIRST,
        duplicate_of="",
        depth=0,
        via="",
        trace=fingerprint(url),
    )


def gone(number: int) -> Tombstone:
    one = page(number, "")
    return Tombstone("default", one.url, one.site, reason="removed", at=5.0, trace=one.trace)


@pytest.fixture
def settings(kafka: str) -> KafkaSettings:
    return own_topics(kafka, partitions=3)


@pytest.fixture
def log(settings: KafkaSettings) -> Iterator[KafkaLog]:
    with closing(KafkaLog(settings)) as log:
        yield log


def told(changes: Iterator[gossamer.Page | gossamer.Gone]) -> list[tuple[str, str]]:
    """Return URL and title, or the reason of a page that is gone, in the order of URLs."""
    return sorted(
        (one.url, one.reason if isinstance(one, gossamer.Gone) else one.title) for one in changes
    )


@pytest.mark.slow
def test_cursor_yields_each_change_once(settings: KafkaSettings, log: KafkaLog) -> None:
    names = [f"https://site{number}.example/" for number in range(4)]
    log.append([encode(page(number, "old")) for number in range(4)])
    more = {"kafka.prefix": settings.prefix}
    with gossamer.connect(settings.servers, settings=more) as fleet:
        assert told(fleet.changes("index")) == [(name, "old") for name in names]
        assert told(fleet.changes("index")) == []
        log.append([encode(page(1, "new")), encode(gone(2)), encode(page(3, "new"))])
        left = fleet.changes("index")
        seen = next(left)
        left.close()
        rest = told(fleet.changes("index"))
        assert rest == [(names[1], "new"), (names[2], "removed"), (names[3], "new")], seen
        assert told(fleet.changes("other"))[0] == (names[0], "old"), "a new cursor begins at first"
        assert {one.title for one in fleet.pages()} == {"old", "new"}
        assert {one.url for one in fleet.pages()} == {names[0], names[1], names[3]}


def test_fleet_needs_valid_settings() -> None:
    with pytest.raises(ValueError, match=r"kafka\.prefixes: unknown setting"):
        gossamer.connect("kafka:9092", settings={"kafka.prefixes": "mine."})
