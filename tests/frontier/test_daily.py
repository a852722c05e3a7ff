"""The totals of a day: bounded rows, sums over days, and examples of hazards."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    OrderId,
    Outcome,
    PageDeduplicated,
    Purpose,
    Timing,
    Verdict,
    Visit,
    VisitEnded,
)
from gossamer.services.frontier.tables.totals import merge
from gossamer.services.frontier.totals.daily import (
    DAY,
    MAX_EXAMPLES,
    MAX_STATUSES,
    MAX_TYPES,
    OTHER,
    DailyTallyRow,
    Downloads,
    FreshnessSums,
    HazardCount,
    HazardExample,
    Stage,
    is_productive,
    note_page,
)
from gossamer.services.frontier.totals.tally import Tally, TallyRow, scan_days
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site

PARTITION = "0/4"
KEYS = DEFAULT_CRAWL, PARTITION
MORNING = 20_000 * DAY + 3600.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Return an empty store."""
    database = Database(str(tmp_path / "store.db"))
    yield SqliteStore(database)
    database.close()


def open_tally(store: SqliteStore, now: float = MORNING) -> Tally:
    return Tally(DEFAULT_CRAWL, PARTITION, store, now)


def make_visit(status: int = 200, **fields: object) -> VisitEnded:
    given = {"outcome": Outcome.PAGE, "started_at": MORNING, "took": 2.0, "received": 10, **fields}
    return VisitEnded(
        at=MORNING, site=Site("a.test"),
        host=HostKey("http://a.test"), order=OrderId("1.1"), epoch=1, index=0,
        last=True, visit=Visit("1.1.0@http://a.test/", "http://a.test/"), status=status,
        **given,  # type: ignore[arg-type]
    )  # fmt: skip


def make_verdict(verdict: Verdict, purpose: Purpose = Purpose.PAGE) -> PageDeduplicated:
    visit = Visit("1.1.0@http://a.test/", "http://a.test/", purpose=purpose)
    return PageDeduplicated(
        at=MORNING, site=Site("a.test"), host=HostKey("http://a.test"), visit=visit,
        verdict=verdict, digest="",
        parse_seconds=0.5, dedup_seconds=0.25,
    )  # fmt: skip


def read_day(store: SqliteStore, at: float) -> DailyTallyRow:
    store.flush()
    (row,) = scan_days(store, *KEYS, since=at // DAY * DAY)
    return row


def test_visit_counts_its_response_and_its_seconds(store: SqliteStore) -> None:
    tally = open_tally(store)
    timing = Timing(dns=0.1, limited=0.2, connect=0.3, first_byte=0.4, body=0.5)
    tally.daily.count_visit(make_visit(content_type="text/html", timing=timing))
    tally.daily.count_visit(make_visit(404, outcome=Outcome.GONE, received=5))
    tally.daily.count_visit(make_visit(0, outcome=Outcome.HOST_DOWN, received=0))
    tally.daily.count_visit(make_visit(0, outcome=Outcome.DNS_FAILURE, received=0, started_at=0.0))
    tally.daily.count_visit(
        make_visit(0, outcome=Outcome.ROBOTS_EXCLUDED, received=0, started_at=0.0)
    )
    tally.write()
    row = read_day(store, MORNING)
    assert (row.visits, row.pages) == (3, 1)
    assert row.statuses == {
        "200": Downloads(1, 10),
        "404": Downloads(1, 5),
        "host_down": Downloads(1, 0),
        "dns_failure": Downloads(1, 0),
    }
    assert row.types == {"text/html": Downloads(1, 10)}
    assert row.seconds == {
        Stage.VISIT: 6.0,
        Stage.DNS: 0.1,
        Stage.LIMITED: 0.2,
        Stage.CONNECT: 0.3,
        Stage.FIRST_BYTE: 0.4,
        Stage.BODY: 0.5,
    }


def test_rare_statuses_and_types_share_one_entry(store: SqliteStore) -> None:
    tally = open_tally(store)
    for n in range(100):
        tally.daily.count_visit(make_visit(200 + n, content_type=f"text/x-{n}"))
    tally.daily.count_visit(make_visit(200, content_type="x/" + "y" * 5000))
    tally.write()
    row = read_day(store, MORNING)
    assert len(row.statuses) == MAX_STATUSES + 1 and len(row.types) == MAX_TYPES + 1
    assert row.statuses[OTHER].responses == 100 - MAX_STATUSES
    assert row.types[OTHER].responses == 101 - MAX_TYPES


def test_each_day_has_a_row_and_the_sum_has_all(store: SqliteStore) -> None:
    tally = open_tally(store)
    for day in range(3):
        tally.daily.open_day(MORNING + day * DAY)
        tally.daily.count_admitted(2)
        tally.daily.count_verdict(make_verdict(Verdict.FIRST))
        tally.daily.count_verdict(make_verdict(Verdict.DUPLICATE))
        tally.daily.count_verdict(make_verdict(Verdict.FIRST, Purpose.SITEMAP))
        tally.daily.count_hazards(
            "http://a.test/", Site("a.test"), ["redirect"], ["redirect"][day:], day > 0
        )
        tally.daily.count_delay(1.5)
    tally.write()
    store.flush()
    rows = scan_days(store, *KEYS)
    assert [row.at for row in rows] == [MORNING // DAY * DAY + day * DAY for day in range(3)]
    assert all((row.admitted, row.new_texts) == (2, 1) for row in rows)
    assert [row.hazards["redirect"] for row in rows] == [
        HazardCount(1, 1, 0),
        HazardCount(1, 0, 1),
        HazardCount(1, 0, 1),
    ]
    total = merge(*rows)
    assert (total.admitted, total.new_texts) == (6, 3)
    assert total.hazards == {"redirect": HazardCount(3, 1, 2)}
    assert total.seconds == {Stage.PARSE: 4.5, Stage.DEDUP: 2.25, Stage.DELAY: 4.5}
    assert scan_days(store, *KEYS, since=rows[1].at) == rows[1:]


def test_day_that_ended_while_the_frontier_was_down_gets_its_row(store: SqliteStore) -> None:
    tally = open_tally(store)
    tally.daily.count_admitted(1)
    tally.daily.freshness = FreshnessSums(planned=3)
    tally.write()
    store.flush()
    again = open_tally(store, MORNING + 2 * DAY)
    again.daily.count_admitted(5)
    again.write()
    store.flush()
    (ended,) = store.table(DailyTallyRow).everything()
    assert (ended.at, ended.admitted, ended.freshness.planned) == (MORNING // DAY * DAY, 1, 3)
    assert [row.admitted for row in scan_days(store, *KEYS)] == [1, 5]


def test_day_is_counted_on_after_the_clock_was_set_back(store: SqliteStore) -> None:
    tally = open_tally(store)
    for at in (MORNING, MORNING + DAY, MORNING, MORNING + DAY):
        tally.daily.open_day(at)
        tally.daily.count_admitted(1)
        tally.write()
        store.flush()
    assert [row.admitted for row in scan_days(store, *KEYS)] == [2, 2]


def test_crash_before_the_totals_are_stored_repeats_the_end_of_a_day(store: SqliteStore) -> None:
    """The row of the day is stored first. The events after the last flush come again."""
    tally = open_tally(store)
    tally.daily.count_admitted(1)
    tally.write()
    store.flush()
    store.write([replace(tally.daily.row, admitted=2)], 0)
    again = open_tally(store)
    assert [row.admitted for row in scan_days(store, *KEYS)] == [1]
    again.daily.count_admitted(1)
    again.daily.open_day(MORNING + DAY)
    again.write()
    assert [row.admitted for row in scan_days(store, *KEYS)] == [2]


def test_unchanged_day_is_not_written(store: SqliteStore) -> None:
    tally = open_tally(store)
    tally.write()
    store.flush()
    assert not [*store.table(TallyRow).everything()] and scan_days(store, *KEYS) == []


def add_examples(tally: Tally, *urls: str) -> tuple[str, ...]:
    """Add examples, whose site is their first letter; return all examples."""
    for url in urls:
        tally.daily.add_example("redirect", HazardExample(url, Site(url[0])))
    row = tally.daily._example_rows.get(KEYS, "redirect")
    assert row and len(row.urls) <= MAX_EXAMPLES
    return tuple(one.url for one in row.urls)


def test_examples_are_of_different_sites_if_possible(store: SqliteStore) -> None:
    tally = open_tally(store)
    assert add_examples(tally, "a1", "a2", "a2", "a3", "a4") == ("a3", "a2", "a1")
    assert add_examples(tally, "b1", "b2") == ("b1", "a3", "a2")
    assert add_examples(tally, "c1", "d1", "c2") == ("c1", "b1", "a3")


def test_newest_example_replaces_the_oldest_once_a_day(store: SqliteStore) -> None:
    tally = open_tally(store)
    add_examples(tally, "a1", "b1", "c1")
    tally.daily.open_day(MORNING + DAY)
    assert add_examples(tally, "d1", "e1") == ("d1", "c1", "b1")


@pytest.mark.parametrize(
    ("verdicts", "productive"),
    [
        ([Verdict.FIRST] * 3, False),  # Too few pages.
        ([Verdict.FIRST] * 4, True),
        ([Verdict.FIRST] * 2 + [Verdict.DUPLICATE] * 2, False),
        ([Verdict.DUPLICATE] * 8 + [Verdict.FIRST] * 5, True),  # The last eight count.
        ([Verdict.FIRST] * 8 + [Verdict.NEAR_DUPLICATE] * 5, False),
        ([Verdict.FIRST] * 4 + [Verdict.UNCHANGED, Verdict.GONE] * 9, True),  # They tell nothing.
    ],
)
def test_site_is_productive_while_most_of_its_last_pages_are_new(
    verdicts: list[Verdict], productive: bool
) -> None:
    latest: tuple[bool, ...] = ()
    for verdict in verdicts:
        latest = note_page(latest, make_verdict(verdict))
    assert is_productive(latest) is productive
    event = make_verdict(Verdict.FIRST)
    sitemap = replace(event, visit=replace(event.visit, purpose=Purpose.SITEMAP))
    assert note_page(latest, sitemap) == latest
