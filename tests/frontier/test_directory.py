"""The reads of the directory: none for a priority or a clock change, few for stale entries."""

import pytest

from gossamer.services.frontier.tables.hosts import ListedHost
from gossamer.web.url import host_key
from tests.frontier.simulation import START, Simulation

YEAR = 365 * 86400.0


def count_entries(sim: Simulation) -> int:
    """Count the entries in the store."""
    (count,) = sim.database._db.execute("SELECT count(*) FROM directory").fetchone()
    return int(count)


class Scans:
    """Counts the reads of the directory's table."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from gossamer.store.sqlite import SqliteTable

        self.count, stored = 0, SqliteTable._read_partition

        def count_reads(table: SqliteTable[ListedHost], *asked: object) -> object:
            self.count += table.row is ListedHost
            return stored(table, *asked)  # type: ignore[arg-type]

        monkeypatch.setattr(SqliteTable, "_read_partition", count_reads)


@pytest.mark.parametrize("priority", [-100, -1, 1, 100])
def test_empty_priority_costs_no_reads(monkeypatch: pytest.MonkeyPatch, priority: int) -> None:
    sim, scans = Simulation(), Scans(monkeypatch)
    sim.admit("http://a.test/")
    sim.admit("http://b.test/", priority=priority)
    sim.run()
    sim.admit("http://c.test/")
    sim.run()
    sim.start()
    assert len(sim.pages()) == 3
    assert scans.count < 30


def test_lower_priority_number_is_ordered_first() -> None:
    sim = Simulation(checked_out_limit=1)
    for number, priority in enumerate([0, 100, -100, 1, -1, 0]):
        sim.admit(f"http://h{number}.a.test/", priority=priority)
        sim.now += 3600.0
    sim.run()
    sooner = ["h2", "h4", "h0", "h5", "h3", "h1"]
    assert [host_key(url) for url in sim.pages()] == [f"http://{host}.a.test" for host in sooner]


@pytest.mark.parametrize("ahead", [8 * 3600.0, 1000 * YEAR])
def test_clock_that_was_ahead_costs_no_reads(monkeypatch: pytest.MonkeyPatch, ahead: float) -> None:
    sim, scans = Simulation(), Scans(monkeypatch)
    sim.admit("http://a.test/")
    sim.now += ahead
    sim.admit("http://b.test/")
    sim.now -= ahead
    for hour in range(50):
        sim.admit(f"http://h{hour}.test/")
        sim.run(until=START + 3600.0 * (hour + 1))
    sim.start()
    sim.run()
    assert scans.count < 500
    # Request numbers pass hours too, and entries become stale.
    assert count_entries(sim) < 10


@pytest.mark.long
def test_stale_entries_are_dropped_beside_a_host_with_long_queue() -> None:
    sim = Simulation(delay=100.0, batch=1)
    sim.admit(*(f"http://slow.test/{n}" for n in range(500)))
    sim.admit(*(f"http://h{n}.test/" for n in range(2000)))
    sim.run(until=START + 4000.0)
    sim.admit("http://later.test/")
    sim.run(until=START + 8000.0)
    assert count_entries(sim) < 500
    sim.start()
    sim.run()
    assert len(sim.pages()) == 2501
