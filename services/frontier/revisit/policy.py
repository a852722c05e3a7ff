"""The base of all policies, and the rechecks of missing pages.

A policy is a rule that plans the next visit. It may also store data of its own (`remember`), skip a
due visit (`at_due`), use hints (`plan_hint`), and plan rechecks differently (`record_absence`).

**Missing pages.** Servers are down for days or weeks and come back, with their pages: such pages
are comatose rather than dead (*Practical issues of crawling the Web*, 3.1), and a name that does
not resolve is worth another try after a week (4.2). So no page is given up for ever; it is
rechecked less and less often.

| a visit ends with | recheck of a document | recheck of any other URL |
|---|---|---|
| 404, 410, a redirect | after 6 h, after a day, then it is forgotten | after 30 d, 60 d … 180 d |
| a server that is down | after a day, 3 d, 9 d … 60 d | after a day, 3 d, 9 d … 60 d |
| a refusal | after 30 d, then it is forgotten | after 30 d, 60 d … 180 d |
| the blocklist, or a narrower crawl | after a day, 2 d, 4 d, 7 d | after a day, 2 d, 4 d, 7 d |

A page is forgotten after its tombstone was published (`gossamer.events.public`): a later visit that
finds it is its first visit. A server that is down and a visit that was not made give no information
about pages, so the states keep what visits have taught.
"""

from abc import ABC, abstractmethod

from msgspec.structs import replace

from gossamer.events.outcomes import Absence
from gossamer.services.frontier.revisit.beliefs import Belief
from gossamer.services.frontier.revisit.evidence import (
    drop_internal_links,
    note_hint,
    note_interval,
    says_changed,
)
from gossamer.services.frontier.revisit.learning import belief, forget, learn
from gossamer.services.frontier.revisit.planning import (
    add_jitter,
    format_duration,
    outside_quiet_hours,
    plan_at,
    remove_demand,
)
from gossamer.services.frontier.revisit.state import (
    DAY,
    Basis,
    Decision,
    Hint,
    PageState,
    Plan,
    States,
    Visit,
)

CONFIRM_WAITS: dict[Absence, tuple[float, ...]] = {
    Absence.GONE: (DAY / 4, DAY),
    Absence.MOVED: (DAY / 4, DAY),
    Absence.REFUSED: (30 * DAY,),
    Absence.WALLED: (30 * DAY,),
}
"""The waits in seconds before the rechecks of a missing document. After the last one it is
forgotten."""
OUTAGE_WAITS = {Absence.DOWN: (DAY, 3.0, 60 * DAY), Absence.EXCLUDED: (DAY, 2.0, 7 * DAY)}
RECHECK_WAITS = (30 * DAY, 2.0, 180 * DAY)
"""The first wait in seconds, the factor of each further wait, and the longest wait."""
ABSENCE_TEXTS = {
    Absence.GONE: "not found (404, 410)",
    Absence.MOVED: "redirects",
    Absence.DOWN: "its server is down",
    Absence.REFUSED: "refused, or of a type that is not crawled",
    Absence.WALLED: "a challenge, a payment or a license is demanded",
    Absence.EXCLUDED: "excluded by the crawl or the blocklist",
}
GONE_OR_MOVED = frozenset({Absence.GONE, Absence.MOVED})


def record_absence(states: States, url: str, at: float, kind: Absence) -> Decision:
    """Record that a visit at *at* found no document, and plan a recheck.

    A document is forgotten only after consecutive visits with the same kind of absence: a server
    that is down between two 404s confirms nothing.
    """
    page = states.page
    times = page.missed + 1 if not page.visits or _is_same(page.absent, kind) else 1
    if page.visits and kind in CONFIRM_WAITS and times > len(CONFIRM_WAITS[kind]):
        states, times = forget(states), 1
    page = replace(states.page, missed=times, missed_at=float(round(at)), absent=kind)
    return plan_recheck(states._replace(page=page), url)


def plan_none(states: States, reason: str) -> Decision:
    """Plan no visit to the page, because of *reason*."""
    states = remove_demand(states)
    return Decision(states._replace(page=replace(states.page, due_at=0.0)), Plan(None, reason))


def plan_recheck(states: States, url: str) -> Decision:
    """Plan the next recheck of a missing page. A page behind a wall that never had a document is
    not visited again: its server has refused it."""
    page, states = states.page, remove_demand(states)
    wait, reason = _wait(page), ABSENCE_TEXTS[page.absent or Absence.GONE]
    if page.absent is Absence.WALLED and not page.visits:
        return plan_none(states, reason)
    if page.missed > 1:
        reason += f", {page.missed} times in a row"
    reason += f"; recheck after {format_duration(wait)}"
    at = page.missed_at + add_jitter(wait, url, page.visits + page.missed)
    return plan_at(states, outside_quiet_hours(states.site, at), wait, (Basis.RECHECK, reason))


def _is_same(before: Absence | None, now: Absence) -> bool:
    return before is now or (before in GONE_OR_MOVED and now in GONE_OR_MOVED)


def _wait(page: PageState) -> float:
    times = max(page.missed, 1)
    if page.absent in OUTAGE_WAITS:
        return _backoff(OUTAGE_WAITS[page.absent], times)
    confirmed = CONFIRM_WAITS.get(page.absent or Absence.GONE, ()) if page.visits else ()
    if times <= len(confirmed):
        return confirmed[times - 1]
    return _backoff(RECHECK_WAITS, times)


def _backoff(waits: tuple[float, float, float], times: int) -> float:
    first, factor, most = waits
    return min(first * factor ** min(times - 1, 9), most)


class Policy(ABC):
    """A rule that plans revisits."""

    name = ""

    def record_visit(self, states: States, visit: Visit) -> Decision:
        """Learn from *visit*, and plan the next one."""
        since = states.page.at
        states, rate = learn(states, visit)
        return self.plan(self.remember(states, visit, since), visit.url, rate)

    def at_due(self, states: States, url: str, now: float) -> Decision | None:
        """Return another plan for a visit that is due at *now*; None to make the visit."""
        return None

    def record_hint(self, states: States, hint: Hint) -> Decision:
        """Record *hint*, and plan the next visit."""
        page = note_interval(states.page, hint.evidence.every)
        states = states._replace(page=page)
        if page.absent or not page.visits or not says_changed(hint.evidence, page, hint.at):
            return keep_plan(states, "the hint is not new")
        again = note_hint(page, hint.evidence)
        if page == again:
            return keep_plan(states, "the hint was received before")
        return self.plan_hint(states._replace(page=again), hint)

    def replan(self, states: States, url: str) -> Decision:
        """Plan the next visit without a new visit: the crawl's policy has changed."""
        if states.page.absent:
            return plan_recheck(states, url)
        if not states.page.visits:
            return Decision(states, Plan(states.page.at, "never visited", Basis.NEW))
        return self.plan(states, url, belief(states))

    def record_absence(self, states: States, url: str, at: float, kind: Absence) -> Decision:
        """Record that a visit at *at* found no document, and plan a recheck."""
        return record_absence(states, url, at, kind)

    @abstractmethod
    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Plan the next visit to a page with the belief *rate* about its change rate."""

    def remember(self, states: States, visit: Visit, since: float) -> States:
        """Store the data of this policy about *visit*; *since* is the time of the visit before."""
        return drop_internal_links(states)

    def plan_hint(self, states: States, hint: Hint) -> Decision:
        """Plan the next visit after a new hint about a page that has a plan."""
        return keep_plan(states, f"hints are not used by `{self.name}`")


def keep_plan(states: States, reason: str) -> Decision:
    """Return the plan unchanged."""
    return Decision(states, Plan(states.page.due_at or None, reason))
