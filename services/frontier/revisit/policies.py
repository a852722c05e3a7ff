"""The simple policies `none`, `fixed` and `adaptive`, and the names of all policies.

`fixed`: Cho and Garcia-Molina, *Effective page refresh policies for Web crawlers* (2003), section
4, show that it is never worse than visits in proportion to change rates. So it is the least that
another policy has to beat.

`adaptive` is the rule of Nutch's AdaptiveFetchSchedule (the interval times 0.8 or 1.2, with its
synchronisation to the time of the change) with the bounds of StormCrawler's AdaptiveScheduler (an
hour, two weeks). It exists for comparison: it has no budget, it visits most often the pages that
change too fast to follow, and its interval is not an estimate of the change rate.
"""

from msgspec.structs import replace

from gossamer.events.outcomes import Absence
from gossamer.policies import parse_policy
from gossamer.services.frontier.revisit.beliefs import Belief
from gossamer.services.frontier.revisit.optimal import Optimal
from gossamer.services.frontier.revisit.planning import format_duration, plan_after
from gossamer.services.frontier.revisit.policy import Policy, plan_none, record_absence
from gossamer.services.frontier.revisit.selective_incremental import SelectiveIncremental
from gossamer.services.frontier.revisit.state import DAY, Basis, Decision, States, Visit, to_single


class Fixed(Policy):
    """Visit every page each *interval* seconds, with jitter."""

    name = "fixed"

    def __init__(self, interval: float) -> None:
        self._interval = interval

    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Plan the next visit after the interval."""
        reason = Basis.INTERVAL, f"every {format_duration(self._interval)}"
        return plan_after(states, url, self._interval, reason, rate)


VISITED_ONCE = "each page is visited once"


class Never(Policy):
    """Visit every page once."""

    name = "none"

    def replan(self, states: States, url: str) -> Decision:
        """Plan no visit."""
        return _plan_none(states)

    def record_absence(self, states: States, url: str, at: float, kind: Absence) -> Decision:
        """Record the absence; plan no visit."""
        return _plan_none(record_absence(states, url, at, kind).states)

    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Plan no visit."""
        return _plan_none(states)


def _plan_none(states: States) -> Decision:
    return plan_none(states, VISITED_ONCE)


CHANGED_FACTOR, UNCHANGED_FACTOR = 0.8, 1.2
"""The factors of the interval after a visit."""
SYNC_SHARE = 0.2
"""The next visit is earlier by this fraction of the time since the last change (Nutch's
sync_delta_rate)."""
MIN_INTERVAL, MAX_INTERVAL = 3600.0, 14 * DAY
"""Bounds of the interval, in seconds."""


class Adaptive(Policy):
    """Shorten the interval after a change, lengthen it otherwise; *first* is in seconds."""

    name = "adaptive"

    def __init__(self, first: float = DAY) -> None:
        self._first = first

    def remember(self, states: States, visit: Visit, since: float) -> States:
        """Update the interval."""
        states = super().remember(states, visit, since)
        page = states.page
        interval = page.interval or self._first
        if page.visits > 1:
            factor = CHANGED_FACTOR if visit.changed else UNCHANGED_FACTOR
            interval = max(interval * factor, visit.at - page.changed_at)
        interval = to_single(min(max(interval, MIN_INTERVAL), MAX_INTERVAL))
        return states._replace(page=replace(page, interval=interval))

    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Plan the next visit after the interval."""
        page = states.page
        interval = page.interval or self._first
        wait = max(interval - SYNC_SHARE * (page.at - page.changed_at), MIN_INTERVAL)
        seen = "changed" if page.changed_at == page.at else "unchanged"
        reason = Basis.INTERVAL, f"{seen}: its interval is now {format_duration(interval)}"
        return plan_after(states, url, wait, reason, rate)


def make_policy(text: str) -> Policy:
    """Return the policy that *text* names, in the syntax of `gossamer.policies`.

    Raise ValueError if the policy is unknown or does not accept an interval.
    """
    name, interval = parse_policy(text)
    match name:
        case "fixed":
            return Fixed(interval or DAY)
        case "selective-incremental":
            return SelectiveIncremental(round_time=interval or DAY)
        case "adaptive":
            return Adaptive(first=interval or DAY)
        case "optimal":
            return Optimal()
    return Never()
