"""The expected freshness of a crawl's copies, day by day."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from gossamer import clock
from gossamer.events import Verdict
from gossamer.inspection.basics.figures import date_of
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.totals import merge
from gossamer.services.frontier.totals.daily import (
    DAY,
    DailyTallyRow,
    FreshnessSums,
)
from gossamer.services.frontier.totals.tally import RevisitTotals, TallyRow, scan_days

WEEK = 7 * DAY
DEFAULT_WEEKS = 12


class DayFreshness(Struct, frozen=True, kw_only=True):
    """The state of the copies at the end of a day, and the pages of that day."""

    day: str
    """The date in UTC, as `2026-11-26`."""
    expected_freshness: float | None
    """The expected share of copies that equal their pages, by weight, from 0 to 1; null if no visit
    is planned, or most change rates are not known yet."""
    expected_age: float | None
    """The expected mean age of copies, in seconds; null as `expected_freshness`."""
    planned: int
    """URLs with a planned visit."""
    pages: int
    """Visits of the day that ended with a page."""
    new_texts: int
    """Pages of the day with a text that no other page had, or with a changed one."""
    unchanged: int
    """Pages of the day that were visited again, and had not changed."""


def read_freshness(
    crawl: OpenCrawl, weeks: int = DEFAULT_WEEKS, now: float | None = None
) -> tuple[DayFreshness, ...]:
    """Return the days of *crawl* in the last *weeks* until *now*, the oldest first. None: the
    present time. Days on which nothing was visited are missing."""
    since = (clock.now() if now is None else now) - weeks * WEEK
    with crawl.view(TallyRow, DailyTallyRow) as store:
        rows = [
            scan_days(store, crawl.id, key, since) for key in partition_keys(crawl.log.partitions)
        ]
    return make_days(rows)


def make_days(partitions: Sequence[Sequence[DailyTallyRow]]) -> tuple[DayFreshness, ...]:
    """Return the days of all *partitions*, whose rows are in the order of days.

    A partition without visits on a day has no row. Its copies are as they were on the day before.
    """
    by_day: list[Mapping[float, DailyTallyRow]] = [
        {row.at: row for row in rows} for rows in partitions
    ]
    latest = [FreshnessSums()] * len(by_day)
    found = list[DayFreshness]()
    for at in sorted({at for rows in by_day for at in rows}):
        rows = [days[at] for days in by_day if at in days]
        latest = [
            days[at].freshness if at in days else before
            for days, before in zip(by_day, latest, strict=True)
        ]
        found.append(_day(merge(*rows), merge(*latest)))
    return tuple(found)


def _day(row: DailyTallyRow, sums: FreshnessSums) -> DayFreshness:
    return view_of(
        DayFreshness,
        RevisitTotals(**asdict(sums)),
        row,
        day=date_of(row.at),
        pages=row.pages,
        unchanged=row.verdicts.get(Verdict.UNCHANGED, 0),
    )
