"""The harvest curve: what the visits of a crawl have brought, over time.

A crawl that goes well brings many new texts and good pages per visit, and fewer as it completes. A
sudden drop is a trap. The curve has at most `MAX_POINTS` points. Each covers about the same number
of visits. When the curve is full, neighbouring points are merged, so that each covers twice as many
visits. So a curve of a million visits is as large as one of a hundred.

The curve is a part of the totals of a partition (`gossamer.services.frontier.totals.tally`). It is
written with them in one row, so it agrees with them after any crash.

Visits, verdicts and admitted URLs arrive on different topics. Each is counted in the newest point,
so a verdict may be one point later than its visit.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

from msgspec import Struct

from gossamer.events import PageDeduplicated, Purpose, Verdict
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.policies import GOOD_SCORE
from gossamer.services.frontier.tables.totals import MAX, SUM, merge

MAX_POINTS = 64
MIN_VISITS = 100
"""Minimum number of visits for rates lately."""
MAX_LATE_SHARE = 0.125
"""The share of all visits that counts as lately."""
NEW_TEXTS = frozenset({Verdict.FIRST, Verdict.CHANGED})
"""The verdicts on pages with a text that no other page has."""


def has_new_text(event: PageDeduplicated) -> bool:
    """Return whether *event* is about a page with a text that no page had before. A text that
    changed only where it changes each time does not count, and neither does a sitemap."""
    is_page = event.visit.purpose is Purpose.PAGE
    return is_page and event.verdict in NEW_TEXTS and event.change != 0.0


class HarvestPoint(Struct, frozen=True, array_like=True):
    """A part of the harvest curve. The numbers are of this part alone."""

    until: Annotated[float, MAX] = 0.0
    """Epoch seconds of the newest visit, verdict or admission in this part."""
    visits: int = 0
    """Visits to pages that ended, with any outcome."""
    first_visits: int = 0
    """URLs of pages and requisites whose first visit ended, after retries."""
    new: int = 0
    """Pages with a new text: the verdicts first and changed."""
    good: int = 0
    """Pages with a new text and a score of at least 0.5."""
    found: int = 0
    """Admitted URLs that were found as a link on a page."""


class Harvest:
    """The harvest curve of a partition, of at most `MAX_POINTS` points."""

    def __init__(self, points: Iterable[HarvestPoint] = ()) -> None:
        self._points = list(points)

    @property
    def points(self) -> tuple[HarvestPoint, ...]:
        """The points of the curve, in the order of time."""
        return tuple(self._points)

    def count_visit(self, at: float) -> None:
        """Count a visit to a page that ended *at* a time, in a new point if the newest is full."""
        self._add(HarvestPoint(at, visits=1))

    def count_first_visit(self, at: float) -> None:
        """Count a URL whose first visit ended *at* a time, and which is not retried."""
        self._add(HarvestPoint(at, first_visits=1))

    def count_verdict(self, event: PageDeduplicated) -> None:
        """Count the text of a page."""
        if event.verdict in GONE_VERDICTS:
            return
        is_new = has_new_text(event)
        good = is_new and event.score >= GOOD_SCORE
        self._add(HarvestPoint(event.at, new=is_new, good=good))

    def count_found(self, urls: int, at: float) -> None:
        """Count admitted *urls* that were found as links on pages."""
        if urls:
            self._add(HarvestPoint(at, found=urls))

    def _add(self, counted: HarvestPoint) -> None:
        """Add *counted* to the newest point; a visit to a new point if the newest one is full."""
        # All points but the newest one are full.
        points = self._points
        if not points:
            points.append(counted)
        elif not counted.visits or points[-1].visits < max(1, points[0].visits):
            points[-1] = merge(points[-1], counted)
        else:
            if len(points) == MAX_POINTS:
                points[:] = shorten(points, MAX_POINTS // 2)
            points.append(counted)


def shorten(points: Sequence[HarvestPoint], limit: int) -> list[HarvestPoint]:
    """Return the curve *points* with at most *limit* points, each about as many visits."""
    size = -(-sum(point.visits for point in points) // limit)
    merged = list[HarvestPoint]()
    for point in points:
        if merged and (merged[-1].visits + point.visits <= size or not point.visits):
            merged[-1] = merge(merged[-1], point)
        else:
            merged.append(point)
    # Points of unequal sizes may not fit.
    while len(merged) > limit:
        pairs = [merged[at : at + 2] for at in range(0, len(merged), 2)]
        merged = [merge(*pair) for pair in pairs]
    return merged


def merge_curves(curves: Iterable[Sequence[HarvestPoint]]) -> tuple[HarvestPoint, ...]:
    """Return the curve of several partitions, from their *curves*."""
    found = [curve for curve in curves if curve]
    if len(found) == 1:
        return tuple(found[0])
    points = sorted((one for curve in found for one in curve), key=lambda point: point.until)
    return tuple(shorten(points, MAX_POINTS)) if points else ()


CURVE = SUM._replace(merge=merge_curves)


class HarvestRates(NamedTuple):
    """Pages and URLs per 100 visits."""

    new: float
    good: float
    found: float
    """New URLs."""


def rates(points: Sequence[HarvestPoint]) -> HarvestRates | None:
    """Return the mean rates of *points*; None if they have no visits."""
    visits = sum(point.visits for point in points)
    if not visits:
        return None
    new, good = sum(point.new for point in points), sum(point.good for point in points)
    found = sum(point.found for point in points)
    return HarvestRates(100 * new / visits, 100 * good / visits, 100 * found / visits)


def late_points(points: Sequence[HarvestPoint]) -> Sequence[HarvestPoint]:
    """Return the newest points, with an eighth of all visits or the least that has so many."""
    needed = MAX_LATE_SHARE * sum(point.visits for point in points)
    for at in range(len(points) - 1, 0, -1):
        if (needed := needed - points[at].visits) <= 0:
            return points[at:]
    return points
