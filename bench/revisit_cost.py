"""The frontier's CPU for a revisit and for a first visit, on SQLite and on Cassandra.

    .venv/bin/python -m bench.revisit_cost [--pages 4000] [--policy optimal] [--cassandra]

The frontier runs alone in virtual time. The events of fetcher and dedup are simulated and not
counted. Each step of the log handles the outcomes of some hundred visits and flushes once. CPU
seconds are those of this process, without the node's.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gossamer.events import (
    CrawlDefined,
    Discovery,
    HostCheckedOut,
    Outcome,
    PageDeduplicated,
    Purpose,
    UrlsAdmitted,
    Verdict,
    Visit,
    VisitEnded,
)
from gossamer.procedures.tables import tables
from gossamer.services.frontier.service import Frontier
from gossamer.settings import FrontierSettings, Settings
from gossamer.settings.servers import CassandraSettings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.store import CassandraStore
from gossamer.store.cassandra.tables import create_tables
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import RobotsRules
from gossamer.web.url import site_of
from tests.servers import Server

START, DAY, STEP = 1_700_000_000.0, 86400.0, 600.0
PARTITIONS, A_HOST = 4, 20
RULES = RobotsRules(fetched_at=START, expires_at=START + 10_000 * DAY)


class Bench:
    """A frontier whose visits take no time."""

    def __init__(self, store: Store, policy: str) -> None:
        self.store, self.now, self.visits, self.spent = store, START, 0, 0.0
        settings = FrontierSettings(delay=0.0, lease_slack=3600.0, probe_after=0)
        self.frontier = Frontier(settings, store, 60.0, PARTITIONS, alone=True)
        self.frontier.assign(frozenset(range(PARTITIONS)), self.now)
        self.frontier.finish_catching_up(frozenset(range(PARTITIONS)), self.now)
        defined = CrawlDefined(at=self.now, scope="any()", max_depth=16, revisit=policy)
        self.frontier.handle(defined, self.now)

    def admit(self, pages: int) -> None:
        """Admit *count* URLs."""
        for number in range(pages):
            url = f"http://www.site{number // A_HOST}.example/a/path/page-{number}.html"
            found = (Discovery(url, depth=2),)
            event = UrlsAdmitted(at=self.now, site=site_of(url), via="bench", urls=found)
            self._time(lambda event=event: self.frontier.handle(event, self.now))
            if number % 500 == 499:
                self._time(self._settle)

    def run(self, until: float) -> None:
        """Advance virtual time."""
        while self.now < until:
            orders: list[HostCheckedOut] = []
            self._time(lambda: orders.extend(self._orders()))  # noqa: B023
            self._time(self._settle)
            for order in orders:
                self._answer(order)
            if not orders:
                due = self.frontier.due()
                self.now = min(until, max(self.now + STEP, until if due is None else due))

    def _orders(self) -> Iterator[HostCheckedOut]:
        for event in self.frontier.wake(self.now):
            if isinstance(event, HostCheckedOut):
                yield event

    def _answer(self, order: HostCheckedOut) -> None:
        for index, visit in enumerate(order.visits):
            events = self._outcomes_of(order, index, visit)
            self._time(lambda events=events: [self.frontier.handle(e, self.now) for e in events])
        self.visits += sum(visit.purpose is Purpose.PAGE for visit in order.visits)

    def _outcomes_of(
        self, order: HostCheckedOut, index: int, visit: Visit
    ) -> list[VisitEnded | PageDeduplicated]:
        ended = VisitEnded(
            at=self.now,
            site=order.site,
            host=order.host,
            order=order.order,
            epoch=order.epoch,
            index=index,
            last=index == len(order.visits) - 1,
            visit=visit,
            outcome=Outcome.PAGE,
            started_at=self.now,
            robots=RULES if visit.purpose is Purpose.ROBOTS else None,
        )
        if visit.purpose is Purpose.ROBOTS:
            return [ended]
        change = None if not visit.earlier else float((hash(visit.url) + visit.earlier) % 3 == 0)
        result = PageDeduplicated(
            at=self.now,
            site=order.site,
            host=order.host,
            visit=visit,
            verdict=Verdict.FIRST if change is None else Verdict.CHANGED,
            digest="d" * 32,
            change=change,
            fetched_at=self.now,
            status=200,
        )
        return [ended, result]

    def _settle(self) -> None:
        self.frontier.settle()
        self.store.flush()

    def _time(self, work: object) -> None:
        began = time.process_time()
        work()  # type: ignore[operator]
        self.spent += time.process_time() - began

    def take_measurement(self) -> tuple[int, float]:
        """Return the visits since the last call, and the microseconds of CPU for each."""
        visits, spent, self.visits, self.spent = self.visits, self.spent, 0, 0.0
        return visits, 1e6 * spent / max(1, visits)


@contextmanager
def cassandra_store(folder: Path) -> Iterator[Store]:
    """Yield a store on a node of its own."""
    server = Server("cassandra", folder)
    server.start()
    try:
        settings = CassandraSettings(
            hosts=("127.0.0.1",), port=server.port, keyspace="bench", timeout=60.0
        )
        with closing(Cassandra(settings)) as nodes:
            list(create_tables(nodes, settings, tables(Settings())))
        with closing(CassandraStore(settings)) as store:
            yield store
    finally:
        server.kill()


def measure(store: Store, name: str, given: argparse.Namespace) -> None:
    """Print the cost of first visits and revisits on *store*."""
    bench = Bench(store, given.policy)
    bench.admit(given.pages)
    bench.run(START + STEP)
    visits, first = bench.take_measurement()
    bench.run(START + given.days * DAY)
    again, each = bench.take_measurement()
    print(
        f"{name:10} {visits:6} first visits {first:7.0f} us each   {again:6} revisits {each:7.0f} "
        f"us each: {each / first:.2f} of a first visit",
        flush=True,
    )


def main() -> None:
    """Measure both stores, one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--policy", default="fixed:3d")
    parser.add_argument("--days", type=float, default=12.0, help="of virtual time")
    parser.add_argument("--cassandra", action="store_true", help="on a node of its own, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        measure(SqliteStore(Database(folder / "gossamer.db")), "SQLite", given)
        if given.cassandra:
            with cassandra_store(folder / "cassandra") as store:
                measure(store, "Cassandra", given)


if __name__ == "__main__":
    main()
