"""How fresh a page's copy will be, by what is believed: what a crawl knows without looking."""

from services.frontier.revisit.clock import is_regular, overdue
from services.frontier.revisit.rates import Belief
from services.frontier.revisit.state import DAY, PageState

TOLD = 0.5
"""Days from a change that a site tells of to the visit that it brings: half of those between two
readings of a sitemap."""


def expected(
    page: PageState, belief: Belief, until: float, told: float = 0.0
) -> tuple[float, float]:
    """Return for which share of the time from its last visit *until* the next the page's copy is
    expected to be fresh, and for how many days it has been out of date, on the average over it.

    *told* are changes a day besides those of *belief*, of which is heard, and which bring a visit.
    """
    t = max(until - page.at, 1.0) / DAY
    if is_regular(page.clock):
        stale, squared = overdue(page.clock, until)
        return 1 - min(stale / t, 1.0), min(squared / 2 / t, t)
    aware = 1 / (1 + told * TOLD)
    return aware * belief.fresh(t) / t, aware * belief.age(t) + (1 - aware) * TOLD / 2
