"""The policy `fixed`: every page after the same time.

Cho and Garcia-Molina, *Effective page refresh policies for Web crawlers* (2003), section 4, show
that it is never worse than visits in proportion to how often pages change: the least that a policy
has to beat.

[none] The policy `none`: a page is visited once. What `gossamer crawl` does unless it is told.

[adaptive] The policy `adaptive`: sooner by a factor when a page had changed, later by a factor when not.

The rule of Nutch's AdaptiveFetchSchedule (the interval times 0.8 or 1.2, its synchronisation with
the time of the change included) with the bounds of StormCrawler's AdaptiveScheduler (an hour, two
weeks). It is here to be compared with: it knows no budget, a page that changes faster than can be
followed gets the most visits of all, and an interval that follows how often a page *was seen*
changed is no estimate of how often it changes.

[policies] Which policies there are: each by the name that a person gives it.
"""

from msgspec.structs import replace

from gossamer.events.outcomes import Absence
from gossamer.policies import parse_policy
from services.frontier.revisit.beliefs import Belief
from services.frontier.revisit.optimal import Optimal
from services.frontier.revisit.planning import after, spelled, uncounted
from services.frontier.revisit.policy import Policy, missed
from services.frontier.revisit.selective_incremental import SelectiveIncremental
from services.frontier.revisit.state import DAY, Basis, Decision, Known, Plan, Visit, rounded


class Fixed(Policy):
    """Every *interval* seconds, with jitter."""

    name = "fixed"

    def __init__(self, interval: float) -> None:
        self._interval = interval

    def plan(self, known: Known, url: str, rate: Belief) -> Decision:
        """Plan the next visit after the interval."""
        why = Basis.INTERVAL, f"every {spelled(self._interval)}"
        return after(known, url, self._interval, why, rate)


ONCE = Plan(None, "each page is visited once")


class Never(Policy):
    """Never again."""

    name = "none"

    def planned(self, known: Known, url: str) -> Decision:
        """Plan none, whatever is known."""
        return _never(known)

    def missed(self, known: Known, url: str, at: float, kind: Absence) -> Decision:
        """Remember it; plan none."""
        return _never(missed(known, url, at, kind).known)

    def plan(self, known: Known, url: str, rate: Belief) -> Decision:
        """Plan none."""
        return _never(known)


def _never(known: Known) -> Decision:
    known = uncounted(known)
    return Decision(known._replace(page=replace(known.page, due_at=0.0)), ONCE)


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


def make(text: str) -> Policy:
    """Return the policy that *text* names, as `gossamer.policies` reads it.

    Raise ValueError if there is no such policy, or it takes no interval.
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
