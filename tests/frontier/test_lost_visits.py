"""A store that was restored: the log still has the outcomes of visits that the store lacks."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from zlib import crc32

import pytest
from msgspec.structs import replace

from gossamer.events import Event, Outcome
from gossamer.events.topics import TOPIC_OF
from gossamer.services.frontier.service import Frontier
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.sqlite import Database
from tests.frontier.simulation import START, Simulation, make_verdict

HOSTS = [f"http://h{number}.test" for number in range(5)]
LATER = [f"http://later{number}.test" for number in range(2)]
HOUR = 3600.0


def answer(url: str) -> Mapping[str, object]:
    """Return a page, or now and then another outcome."""
    match crc32(url.encode()) % 12:
        case 0:
            return {"outcome": Outcome.CLIENT_ERROR, "status": 404}
        case 1:
            return {"outcome": Outcome.CUT_BODY}
        case _:
            return {"received": 100}


class Restored(Simulation):
    """A frontier whose store is replaced by an earlier copy, while the log keeps its records."""

    def __init__(self, path: Path, revisit: str) -> None:
        self.records: list[Event] = []
        self.path, self.since = path, 0
        self.in_flight = Counter[str]()
        super().__init__(answer, delay=1.0, batch=3)
        self.give_verdict = make_verdict
        self.definition = replace(self.definition, revisit=revisit)
        self.handle(self.definition)

    def start(self) -> None:
        """Start a frontier, and keep the records that it handles."""
        super().start()
        handle = self.frontier.handle

        def record(event: Event, now: float) -> object:
            if TOPIC_OF[type(event)] in Frontier.reads:
                self.records.append(event)
            return handle(event, now)

        self.frontier.handle = record  # type: ignore[method-assign,assignment]

    def copy(self) -> None:
        """Copy the store."""
        with self.database.reading() as database, closing(sqlite3.connect(self.path)) as copy:
            database.backup(copy)
        self.since = len(self.records)

    def restore(self, random: Random) -> None:
        """Put the copy back, and handle all later records again: the order between topics is
        random. Visits in flight are lost."""
        self.database, self.unread, self.alone = Database(self.path), True, False
        by_topic = defaultdict[str, list[Event]](list)
        for event in self.records[self.since :]:
            by_topic[TOPIC_OF[type(event)].name].append(event)
        self.start()
        while names := sorted(name for name, events in by_topic.items() if events):
            self.handle(by_topic[random.choice(names)].pop(0))
            if random.random() < 0.1:
                self.step()
        self.catch_up()

    def crawl(self, copied_after: float, random: Random | None) -> None:
        """Crawl until each page was visited a second time, if pages are. The store is copied
        *copied_after* seconds, and restored 15 s later if there is a *random* order of records."""
        self.admit(*(f"{host}/{number}" for number in range(20) for host in HOSTS))
        self.run(START + copied_after)
        self.copy()
        self.admit(*(f"{host}/{number}" for number in range(6) for host in LATER))
        self.run(START + copied_after + 15.0)
        if random:
            self.in_flight = Counter(event.visit.url for event in self.lose())
            self.now += 100.0
            self.restore(random)
        self.run(START + 1.8 * HOUR)

    def totals(self) -> tuple[object, ...]:
        """Return the totals that operators see."""
        rows = [*self.store.table(TallyRow).everything()]
        plans = [*self.store.table(PartitionPlansRow).everything()]
        return (
            sum(row.admitted for row in rows),
            sum(row.queued for row in rows),
            sum(row.pages for row in rows),
            sum(row.received for row in rows),
            sum((Counter(row.outcomes) for row in rows), Counter[str]()),
            sum((Counter(row.verdicts) for row in rows), Counter[str]()),
            sum(row.planned for row in plans),
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("revisit", "copied_after"),
    [("none", 10.0), ("fixed:1h", 10.0), ("fixed:1h", HOUR + 10.0)],
    ids=["no revisits", "before revisits", "during revisits"],
)
def test_restored_store_repeats_only_visits_in_flight_and_counts_each_visit_once(
    tmp_path: Path, revisit: str, copied_after: float, seed: int
) -> None:
    expected, restored = Restored(tmp_path / "1", revisit), Restored(tmp_path / "2", revisit)
    expected.crawl(copied_after, None)
    restored.crawl(copied_after, Random(seed))
    once = Counter(url for *_, url in expected.visits)
    again = Counter(url for *_, url in restored.visits)
    assert again - once <= restored.in_flight
    assert once <= again
    assert restored.totals() == expected.totals()
