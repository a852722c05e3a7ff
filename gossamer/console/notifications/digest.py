"""The daily or weekly report to operators: when it is due, and what it says."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.console.notifications.messages import Attachment, Content
from gossamer.console.notifications.rules import REPORT, channels_of, notice_id
from gossamer.console.report_html import report_page
from gossamer.console.report_text import overview, summary
from gossamer.events import FLEET, NoticeRaised
from gossamer.inspection.answers.overview import read_overview
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.crawls import REMOVED, state_of
from gossamer.inspection.progress.report import Report, read_period
from gossamer.settings import NotifySettings

MAX_CRAWLS = 20
"""Crawls of a report."""


class Period(NamedTuple):
    """The days of a report, as `2026-11-26` in UTC."""

    first_day: str
    last_day: str

    @property
    def text(self) -> str:
        """`2026-11-26`, or `2026-11-16 to 2026-11-22`."""
        if self.first_day == self.last_day:
            return self.first_day
        return f"{self.first_day} to {self.last_day}"


def due_period(
    settings: NotifySettings, last: NoticeRaised | None, started_at: float, now: float
) -> Period | None:
    """Return the period of the report that is due at *now*; None if none is.

    *last* is the last report. Without one, the first report is due at the first hour of a report
    after *started_at*. Of several missed reports, only the newest is sent.
    """
    if settings.report == "off":
        return None
    present = datetime.fromtimestamp(now, UTC)
    due = present.replace(hour=settings.report_hour, minute=0, second=0, microsecond=0)
    days = 1
    if settings.report == "weekly":
        days = 7
        due -= timedelta(due.weekday())
    if due > present:
        due -= timedelta(days)
    if due.timestamp() <= (last.at if last else started_at):
        return None
    last_day = due.date() - timedelta(1)
    return Period((last_day - timedelta(days - 1)).isoformat(), last_day.isoformat())


def report_notice(
    crawl: OpenCrawl,
    settings: NotifySettings,
    period: Period,
    last: NoticeRaised | None,
    now: float,
) -> NoticeRaised:
    """Return the notice with which the report of *period* is sent."""
    number = last.number + 1 if last else 1
    found = " ".join(summary(report) for report in read_reports(crawl, period))
    return NoticeRaised(
        at=now,
        crawl=FLEET,
        id=notice_id(REPORT, FLEET, number, now),
        rule=REPORT,
        number=number,
        text=f"Report of {period.text}. {found or 'No crawl is defined.'}",
        subjects=tuple(period),
        begun_at=now,
        channels=channels_of(settings),
    )


def report_content(crawl: OpenCrawl, notice: NoticeRaised) -> Content:
    """Return the text and the HTML of the report that *notice* announces."""
    period = Period(*notice.subjects)
    title = f"Gossamer: report of {period.text}, {crawl.name}"
    reports, state = [*read_reports(crawl, period)], [*_states(crawl)]
    lines = [*state, ""]
    for report in reports:
        if not report.first_day:
            lines.append(f"{report.crawl}: nothing was counted.")
            continue
        lines.append(summary(report))
        lines += [f"  {line.title}: {line.text}" for line in overview(report)]
        lines += [f"  advice: {one.text}" for one in report.advice]
    return Content(
        title,
        "\n".join(lines),
        Attachment(report_page(reports, title, state), f"gossamer-report-{period.last_day}.html"),
    )


def read_reports(crawl: OpenCrawl, period: Period) -> Iterator[Report]:
    """Yield the report of each crawl that is not removed, of the first `MAX_CRAWLS`."""
    for id in _crawls(crawl):
        yield replace(read_period(crawl.of(id), *period), crawl=f"Crawl {id}")


def _states(crawl: OpenCrawl) -> Iterator[str]:
    for id in _crawls(crawl):
        overview = read_overview(crawl.of(id))
        problems = " ".join(problem.text for problem in overview.problems)
        yield f"Crawl {id}: {overview.answer}{f' {problems}' if problems else ''}"


def _crawls(crawl: OpenCrawl) -> list[str]:
    defined = crawl.crawls().items()
    return [id for id, one in defined if state_of(one) != REMOVED][:MAX_CRAWLS]
