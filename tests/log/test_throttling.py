"""Throttling: the table of waits between services, and lag on a log."""

import logging
from collections.abc import Iterator
from graphlib import TopologicalSorter

import pytest
import structlog
from structlog.testing import capture_logs

from gossamer.events.topics import SEEDS, TOPICS, URLS_DISCOVERED, VISITS_ORDERED, Retention
from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.log.throttling import LIMITS, WAITS_FOR, Throttle
from gossamer.store.sqlite import SqliteStore

UNBOUNDED = {
    SEEDS.name: "operators write it",
    VISITS_ORDERED.name: "the frontier limits its orders by frontier.checked_out_limit",
}
"""Topics without a lag limit, with the reason."""
DRAINS = {"frontier": "it must always read, or all others would wait for each other"}


def test_every_trimmed_topic_has_a_lag_limit() -> None:
    until_read = {
        name for name, topic in TOPICS.items() if topic.retention is Retention.UNTIL_CONSUMED
    }
    assert {*LIMITS} | {*UNBOUNDED} == until_read
    assert not {*LIMITS} & {*UNBOUNDED}


def test_every_lag_limit_throttles_a_service() -> None:
    assert {topic.name for topics in WAITS_FOR.values() for topic in topics} == {*LIMITS}


def test_every_producer_waits_for_the_consumers_of_its_topics() -> None:
    for name in LIMITS:
        for writer in {*TOPICS[name].producers} - {"operators", *DRAINS}:
            # Dedup continues to read its own discoveries: the parser waits in its place.
            itself = writer in TOPICS[name].consumers
            assert itself or TOPICS[name] in WAITS_FOR[writer], f"{writer} by {name}"
    assert URLS_DISCOVERED in WAITS_FOR["parser"]


def test_waits_between_services_have_no_cycle() -> None:
    waits = {
        service: {reader for topic in topics for reader in topic.consumers}
        for service, topics in WAITS_FOR.items()
    }
    *_, last = TopologicalSorter(waits).static_order()  # It raises CycleError.
    assert last == "fetcher"
    assert not {*DRAINS} & {*waits}


@pytest.fixture
def info_level() -> Iterator[None]:
    """Enable log lines at the level of a fleet."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("info_level")
@pytest.mark.parametrize(
    ("service", "topic"), [(s, t.name) for s in WAITS_FOR for t in WAITS_FOR[s]]
)
def test_throttle_returns_partition_with_lagging_consumer(
    service: str, topic: str, log: SqliteLog, store: SqliteStore
) -> None:
    throttle = Throttle(log, service, {topic: 3})
    log.append([Message(topic, "k", b"v", "s", partition=1)] * 4)
    log.append([Message(topic, "k", b"v", "s", partition=2)] * 3)
    with capture_logs() as lines:
        assert throttle.partitions() == throttle.partitions() == {1}
        for group in TOPICS[topic].consumers:
            reader = log.reader(group, [topic], store)
            reader.advance(reader.poll(0.0), ())
        assert throttle.partitions() == set()
    groups = sorted(TOPICS[topic].consumers)
    assert [(line["event"], line["group"]) for line in lines] == [
        *(("reading throttled: a consumer group lags", group) for group in groups),
        *(
            ("reading not throttled any more: the consumer group has caught up", group)
            for group in groups
        ),
    ]
