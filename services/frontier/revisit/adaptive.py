"""The policy `adaptive`: sooner by a factor when a page had changed, later by a factor when not.

The rule of Nutch's AdaptiveFetchSchedule (the interval times 0.8 or 1.2, its synchronisation with
the time of the change included) with the bounds of StormCrawler's AdaptiveScheduler (an hour, two
weeks). It is here to be compared with: it knows no budget, a page that changes faster than can be
followed gets the most visits of all, and an interval that follows how often a page *was seen*
changed is no estimate of how often it changes.
"""

from msgspec.structs import replace

from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.policy import Policy
from services.frontier.revisit.rates import Belief
from services.frontier.revisit.sharing import after
from services.frontier.revisit.state import DAY, Basis, Decision, Known, Visit
from services.frontier.revisit.times import spelled

SOONER, LATER = 0.8, 1.2
SYNCHRONISED = 0.2
"""Of the time since the last change: so much sooner is the next visit (Nutch's sync_delta_rate)."""
SHORTEST, LONGEST = 3600.0, 14 * DAY


class Adaptive(Policy):
    """*first* is the interval of a page that was visited once, in seconds."""

    name = "adaptive"

    def __init__(self, first: float = DAY) -> None:
        self._first = first

    def judged(self, known: Known, visit: Visit, since: float) -> Known:
        """Multiply the interval."""
        known = super().judged(known, visit, since)
        page = known.page
        interval = page.interval or self._first
        if page.visits > 1:
            factor = SOONER if visit.changed else LATER
            interval = max(interval * factor, visit.at - page.changed_at)
        interval = rounded(min(max(interval, SHORTEST), LONGEST))
        return known._replace(page=replace(page, interval=interval))

    def plan(self, known: Known, url: str, rate: Belief) -> Decision:
        """Plan the next visit after the interval."""
        page = known.page
        interval = page.interval or self._first
        wait = max(interval - SYNCHRONISED * (page.at - page.changed_at), SHORTEST)
        seen = "changed" if page.changed_at == page.at else "unchanged"
        why = Basis.INTERVAL, f"{seen}: its interval is {spelled(interval)} now"
        return after(known, url, wait, why, rate)
