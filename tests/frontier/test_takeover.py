"""A frontier that takes partitions over: what it reads, what it believes, what it takes up."""

from msgspec.structs import replace

from gossamer.events import Outcome
from gossamer.store.sqlite import SqliteTable
from services.frontier.conditions import Condition
from services.frontier.loading import AT_A_TIME
from services.frontier.rows import HostRow
from tests.frontier.simulation import START, Simulation


def test_hosts_are_read_many_at_a_time_and_in_steps(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sim = Simulation(loaded_limit=2000, checked_out_limit=1)
    sim.admit(*(f"http://h{n}.test/" for n in range(1200)))
    while sim.frontier.due() == 0.0 and not sim.orders:
        sim.step()
    single, steps, get = [], [], SqliteTable.get

    def counted(table, *keys):  # type: ignore[no-untyped-def]
        single.append(table._row)
        return get(table, *keys)

    read_all = SqliteTable.get_all

    def many(table, keys):  # type: ignore[no-untyped-def]
        before = len(single)
        found = read_all(table, keys)
        del single[before:]
        steps.append(len(keys))
        return found

    monkeypatch.setattr(SqliteTable, "get", counted)
    monkeypatch.setattr(SqliteTable, "get_all", many)
    sim.start()
    # The log is polled between two steps, and has work to do at once.
    assert len(sim.frontier._hosts.bench) <= AT_A_TIME
    assert sim.frontier.due() == 0.0
    for _ in range(3):
        sim.step()
    assert len(sim.frontier._hosts.bench) == 1200
    assert single.count(HostRow) == 0
    assert sum(steps) == 1200 and max(steps) <= AT_A_TIME


def test_an_outcome_of_a_host_that_is_not_in_memory_is_taken_in() -> None:
    sim = Simulation(alone=False)
    sim.admit(*(f"http://h{n}.test/{m}" for n in range(4) for m in range(2)))
    sim.step()
    reports = sim.lose()
    assert len(reports) == 4
    sim.settings = sim.settings.model_copy(update={"loaded_limit": 1})
    sim.start()
    sim.now += 1.0
    for report in reports:
        sim.handle(
            replace(report, outcome=Outcome.BUSY, status=429, retry_after=3600.0, robots=None)
        )
    rows = sim.database._db.execute("SELECT condition, count(*) FROM hosts GROUP BY condition")
    assert dict(rows.fetchall()) == {Condition.BLOCKED: 4}
    orders = len(sim.orders)
    sim.run(until=START + 3600.0)
    assert len(sim.orders) == orders
    sim.run()
    assert len(sim.pages()) == 8
