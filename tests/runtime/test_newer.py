"""Records of newer versions wait, and delay only their partition."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from gossamer.events import Event, UrlsDiscovered
from gossamer.events.topics import URLS_DISCOVERED
from gossamer.log import Message, partition_of
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Emitter, Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site
from tests.runtime.conftest import Start
from tests.runtime.manual import dead_letters, until
from tests.runtime.processors import make_discovery

TOPIC = URLS_DISCOVERED.name


class Reader(Processor):
    """Records the handled sites."""

    name = "dedup"
    reads = (URLS_DISCOVERED,)

    def __init__(self) -> None:
        self.handled: list[str] = []
        self.assigned = frozenset[int]()

    def assign(self, partitions: frozenset[int], now: float) -> None:
        self.assigned = partitions

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        assert isinstance(event, UrlsDiscovered)
        self.handled.append(event.site)
        return ()


class Worker:
    """An async processor that records the handled sites."""

    name = "parser"
    reads = (URLS_DISCOVERED,)

    def __init__(self, begins_once: bool) -> None:
        self.begins_once = begins_once
        self.handled: list[str] = []

    def control(self, event: Event) -> None:
        """Ignore it."""

    def announce(self, event: Event, offset: int) -> tuple[Event, ...]:
        return ()

    async def work(self, event: Event, emit: Emitter) -> None:
        assert isinstance(event, UrlsDiscovered)
        self.handled.append(event.site)


def newer(site: Site, **fields: Any) -> Message:
    """Return a record of *site* in a newer version."""
    message = encode(make_discovery(site, 1.0))
    value = msgspec.json.decode(message.value) | fields
    return Message(TOPIC, site, msgspec.json.encode(value), site)


RAISED = {"version": 2}
NEW_KIND = {"event": "urls_guessed"}


def sites_at(number: int, partitions: int) -> Iterable[str]:
    return (
        f"{n}.example" for n in range(1000) if partition_of(f"{n}.example", partitions) == number
    )


@pytest.fixture
def here(log: SqliteLog) -> list[str]:
    return [*sites_at(0, log.partitions)][:4]


@pytest.fixture
def there(log: SqliteLog) -> str:
    return next(iter(sites_at(1, log.partitions)))


@pytest.fixture
def reports() -> list[str]:
    return []


def loop_of(reader: Reader, log: SqliteLog, store: SqliteStore, reports: list[str]) -> Loop:
    return sequential_loop(reader, log, store, lambda: 1.0, report=reports.append)


@pytest.mark.parametrize("fields", [RAISED, NEW_KIND])
def test_newer_record_delays_only_its_partition(
    log: SqliteLog,
    store: SqliteStore,
    here: list[str],
    there: Site,
    reports: list[str],
    fields: dict[str, Any],
) -> None:
    reader = Reader()
    loop = loop_of(reader, log, store, reports)
    log.append([encode(make_discovery(Site(here[0]), 1.0))])
    loop.step()
    with capture_logs() as lines:
        log.append([newer(Site(here[1]), **fields), encode(make_discovery(Site(here[2]), 1.0))])
        log.append([encode(make_discovery(there, 1.0))])
        for _ in range(3):
            loop.step()
        log.append([encode(make_discovery(Site(here[3]), 1.0))])
        loop.step()
    assert reader.handled == [here[0], there], "other partitions continue, and no record is skipped"
    assert reader.assigned == frozenset(range(log.partitions)) - {0}, "nothing is ordered there"
    assert log.lag("dedup", TOPIC) == 3
    assert not dead_letters(log)
    (report,) = reports
    assert f"upgrade this service: it waits at {TOPIC}, partition 0, offset 1 (urls_" in report
    (line,) = [line for line in lines if "upgrade" in line["event"]]
    assert (line["log_level"], line["topic"], line["partition"], line["offset"]) == (
        "warning",
        TOPIC,
        0,
        1,
    )
    assert "unknown kind" in line["reason"] or "versions up to 1" in line["reason"]


def test_upgraded_process_handles_waiting_records(
    log: SqliteLog,
    store: SqliteStore,
    here: list[str],
    reports: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log.append([encode(make_discovery(Site(here[0]), 1.0)), newer(Site(here[1]), **RAISED)])
    log.append([encode(make_discovery(Site(here[2]), 1.0))])
    older = Reader()
    loop = loop_of(older, log, store, reports)
    loop.step()
    loop.close()
    monkeypatch.setattr("gossamer.log.codec._versions", {UrlsDiscovered: 2})
    upgraded = Reader()
    loop = loop_of(upgraded, log, store, reports)
    while loop.step():
        pass
    assert sorted([*older.handled, *upgraded.handled]) == sorted(here[:3])
    assert log.lag("dedup", TOPIC) == 0 and not dead_letters(log)


def test_broken_record_of_newer_version_becomes_dead_letter(
    log: SqliteLog, store: SqliteStore, here: list[str], reports: list[str]
) -> None:
    reader = Reader()
    loop = loop_of(reader, log, store, reports)
    log.append([newer(Site(here[0]), urls="none"), encode(make_discovery(Site(here[1]), 1.0))])
    loop.step()
    assert (reader.handled, len(dead_letters(log)), reports) == ([here[1]], 1, [])


@pytest.mark.parametrize("begins_once", [False, True])
async def test_work_in_other_partitions_continues(
    start: Start, log: SqliteLog, here: list[str], there: Site, begins_once: bool
) -> None:
    worker = Worker(begins_once)
    log.append([newer(Site(here[0]), **NEW_KIND), encode(make_discovery(Site(here[1]), 1.0))])
    async with start(worker):
        log.append([encode(make_discovery(there, 1.0))])
        await until(lambda: worker.handled == [there] and log.lag("parser", TOPIC) == 2)
    assert not dead_letters(log)
