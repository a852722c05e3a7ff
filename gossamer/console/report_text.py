"""Sentences and lines about the report of a crawl: for the terminal, the HTML file and the mail."""

from collections.abc import Iterator

from gossamer.console.output import Line
from gossamer.inspection.basics.figures import duration, number, plural, share_text, size
from gossamer.inspection.progress.report import Report

MAX_DOWNLOADS = 12
"""Rows in the tables of statuses and of media types."""
MAX_DAYS = 14
"""Rows in the table of days."""


def summary(report: Report) -> str:
    """Return the first sentence: pages, sites, and what each new text cost."""
    totals = report.totals
    parts = [plural(totals.pages, "page"), plural(totals.sites, "new site")]
    if totals.pages_per_new_text is not None:
        parts.append(f"{number(totals.pages_per_new_text)} downloads for each new text")
    if totals.duplicate_share is not None:
        parts.append(f"{share_text(totals.duplicate_share)} copies")
    return f"{report.crawl}: {', '.join(parts)}."


def overview(report: Report) -> Iterator[Line]:
    """Yield the lines about all visits."""
    totals = report.totals
    yield Line("period", period_text(report))
    yield Line("urls", f"{totals.admitted:,} admitted, {totals.refused:,} refused or parked")
    yield Line("requests", f"{totals.visits:,}, {size(totals.received)} received")
    if totals.shared:
        taken = f"{plural(totals.shared, 'page')} of other crawls, without a request (share_for)"
        yield Line("taken", taken)
    if totals.requisites:
        received = size(totals.requisites_received)
        yield Line("requisites", f"{totals.requisites:,} further requests, {received} received")
    new_texts = f"{totals.new_texts:,}"
    if (visits := totals.visits_per_new_text or 0.0) >= 1:
        new_texts += f", one in {number(visits)} requests"
    yield Line("new texts", new_texts)
    copies = f"{totals.duplicates:,} exact, {totals.near_duplicates:,} near"
    if totals.unchanged:
        copies += f"; {plural(totals.unchanged, 'page')} unchanged at a later visit"
    yield Line("copies", copies)
    waited, visited = totals.delay_seconds, totals.visit_seconds
    if waited + visited > 0:
        share = share_text(waited / (waited + visited))
        yield Line(
            "politeness",
            f"{duration(waited)} waiting for delays ({share}), {duration(visited)} visiting",
        )


def period_text(report: Report) -> str:
    """Return the days of *report* as `2026-11-26` or `2026-11-16 to 2026-11-22`."""
    if report.first_day == report.last_day:
        return report.first_day
    return f"{report.first_day} to {report.last_day}"
