"""What is due comes in time, whatever the clock did, and a wrong clock costs nothing."""

from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore, SqliteTable
from services.frontier.calendar import Calendar
from services.frontier.rows import DueRow, PartitionRow
from tests.frontier.simulation import START

HOUR = 3600.0
MANY = 1_000_000


class Entries(SqliteTable[DueRow]):
    """Counts what is asked of it."""

    asked = 0

    def scan(self, *what, **more):  # type: ignore[no-untyped-def]
        """Count it."""
        self.asked += 1
        return super().scan(*what, **more)

    def drop(self, partition: str) -> None:
        """Count it."""
        self.asked += 1
        super().drop(partition)


class Kept:
    """A calendar that is restarted, on one store."""

    def __init__(self) -> None:
        self.store = SqliteStore(Database(":memory:"))
        self.row = PartitionRow("0")

    def open(self, now: float) -> Calendar:
        """Start on what is stored."""
        return Calendar(self.row, self.store.table(DueRow), now)

    def close(self, calendar: Calendar) -> None:
        """Store where it stands, and what was put."""
        self.row = calendar.written(self.row)
        self.store.flush()


def due(calendar: Calendar, now: float) -> list[str]:
    return [row.url for row in calendar.take(now, MANY)]


def test_after_a_clock_that_was_ahead_and_a_restart_retries_come_in_time() -> None:
    kept = Kept()
    calendar = kept.open(START + 8 * HOUR)
    calendar.take(START + 8 * HOUR, MANY)
    calendar.add(START + 600.0, "a.test", "http://a.test", "soon")
    kept.close(calendar)
    calendar = kept.open(START + 60.0)
    at = calendar.due()
    assert at is not None and at <= START + 600.0
    assert due(calendar, START + 599.0) == []
    assert due(calendar, START + 600.0) == ["soon"]


def test_a_clock_that_is_far_ahead_for_a_moment_looks_at_no_empty_buckets() -> None:
    kept = Kept()
    entries = Entries(kept.store._database, DueRow)
    calendar = Calendar(kept.row, entries, START)
    calendar.add(START + 2 * HOUR, "a.test", "http://a.test", "later")
    century = 100 * 365 * 24 * HOUR
    assert due(calendar, START + century) == ["later"]
    calendar.add(START + HOUR, "a.test", "http://a.test", "again")
    assert due(calendar, START + HOUR) == ["again"]
    Calendar(calendar.written(kept.row), entries, START + HOUR).take(START + century, MANY)
    assert entries.asked < 100


def test_after_an_outage_what_is_due_comes_in_steps_in_order_and_whole() -> None:
    kept = Kept()
    calendar = kept.open(START)
    wanted = [f"{n}" for n in range(2000)]
    for n, url in enumerate(wanted):
        calendar.add(START + n * 30.0, "a.test", "http://a.test", url)
    kept.close(calendar)
    now, came = START + 30 * 24 * HOUR, list[str]()
    while len(came) < len(wanted):
        calendar = kept.open(now)
        for _ in range(7):
            at = calendar.due()
            assert at is not None and at <= now
            taken = [row.url for row in calendar.take(now, 90)]
            assert len(taken) <= 90 and len(calendar._loaded) <= 500
            came += taken
            if len(came) >= len(wanted):
                break
        # A crash: what was taken since the row was written may come again, and nothing is lost.
        kept.close(calendar)
    assert came[:600] == wanted[:600]
    assert list(dict.fromkeys(came)) == wanted
    assert due(calendar, now) == [] and calendar.due() is None
