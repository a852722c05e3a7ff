"""Pages that a visit did not find: when to look again, and when they are given up.

Servers are down for days or weeks and come back, and so do their pages: they are comatose rather
than dead (*Practical issues of crawling the Web*, 3.1), and a name that does not resolve is worth
another try after a week (4.2). So nothing is given up for ever; it is only looked for more rarely.

| a visit ends with | a page that was a document | any other URL |
|---|---|---|
| 404, 410, a redirect | after 6 h, after a day, then it is forgotten | after 30 d, 60 d … 180 d |
| a server that is down | after a day, 3 d, 9 d … 60 d | the same |
| a refusal | after 30 d, then it is forgotten | after 30 d, 60 d … 180 d |
| the blocklist, or a narrower crawl | after a day, 2 d, 4 d, 7 d | the same |

It is forgotten after `pages` has its tombstone (`gossamer.events.gone`): a visit that then finds it
is its first. A server that is down says nothing of its pages, nor does a visit that was not made:
what was learnt of them stays.

[policy] What every policy does: learn, ask its rule for a plan, and come back to what is away.

A policy is a rule, and four more places where a rule may differ from the others: what it remembers
of a visit for itself, whether it makes a visit that is due, what it makes of a hint, and how it
looks for pages that are away.
"""

from abc import ABC, abstractmethod

from msgspec.structs import replace

from gossamer.events.outcomes import Absence
from services.frontier.revisit.beliefs import Belief
from services.frontier.revisit.evidence import (
    drop_internal_links,
    note_hint,
    note_interval,
    says_changed,
)
from services.frontier.revisit.learning import belief, forget, learn
from services.frontier.revisit.planning import (
    add_jitter,
    format_duration,
    outside_quiet_hours,
    plan_at,
    remove_demand,
)
from services.frontier.revisit.state import (
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
}
"""How long after each visit in a row that did not find it a document is looked at again, before it
is forgotten."""
OUTAGE_WAITS = {Absence.DOWN: (DAY, 3.0, 60 * DAY), Absence.LEFT_OUT: (DAY, 2.0, 7 * DAY)}
RECHECK_WAITS = (30 * DAY, 2.0, 180 * DAY)
"""The first wait, by how much the next is longer, and the longest."""
ABSENCE_TEXTS = {
    Absence.GONE: "not found (404, 410)",
    Absence.MOVED: "redirects",
    Absence.DOWN: "its server is down",
    Absence.REFUSED: "refused, or of no wanted kind",
    Absence.LEFT_OUT: "left out, by the crawl or the blocklist",
}
GONE_OR_MOVED = frozenset({Absence.GONE, Absence.MOVED})


def record_absence(states: States, url: str, at: float, kind: Absence) -> Decision:
    """Take in that a visit *at* found no document; plan when to look again.

    Of a document, what ends its visits must be the same each time: a server that is down between
    two 404s says nothing, and confirms nothing.
    """
    page = states.page
    times = page.missed + 1 if not page.visits or _same(page.absent, kind) else 1
    if page.visits and kind in CONFIRM_WAITS and times > len(CONFIRM_WAITS[kind]):
        states, times = forget(states), 1
    page = replace(states.page, missed=times, missed_at=float(round(at)), absent=kind)
    return plan_recheck(states._replace(page=page), url)


def plan_recheck(states: States, url: str) -> Decision:
    """Plan the next look at a page that is away."""
    page, states = states.page, remove_demand(states)
    wait, why = _wait(page), ABSENCE_TEXTS[page.absent or Absence.GONE]
    if page.missed > 1:
        why += f", {page.missed} times in a row"
    why += f": looked for again after {format_duration(wait)}"
    at = page.missed_at + add_jitter(wait, url, page.visits + page.missed)
    return plan_at(states, outside_quiet_hours(states.site, at), wait, (Basis.RECHECK, why))


def _same(before: Absence | None, now: Absence) -> bool:
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
    """A rule for when to come back."""

    name = ""

    def record_visit(self, states: States, visit: Visit) -> Decision:
        """Return what is known after *visit*, and when the next one is."""
        since = states.page.at
        states, rate = learn(states, visit)
        return self.plan(self.remember(states, visit, since), visit.url, rate)

    def at_due(self, states: States, url: str, now: float) -> Decision | None:
        """Return another plan for a visit that is due *now*; None: it is made."""
        return None

    def record_hint(self, states: States, hint: Hint) -> Decision:
        """Return what is known after *hint*, and when the next visit is now."""
        page = note_interval(states.page, hint.evidence.every)
        states = states._replace(page=page)
        if page.absent or not page.visits or not says_changed(hint.evidence, page, hint.at):
            return keep_plan(states, "nothing new was said")
        again = note_hint(page, hint.evidence)
        if page == again:
            return keep_plan(states, "the same was said again")
        return self.plan_hint(states._replace(page=again), hint)

    def replan(self, states: States, url: str) -> Decision:
        """Return the plan by what is known: without a visit, where the crawl's policy is new."""
        if states.page.absent:
            return plan_recheck(states, url)
        if not states.page.visits:
            return Decision(states, Plan(states.page.at, "never visited", Basis.NEW))
        return self.plan(states, url, belief(states))

    def record_absence(self, states: States, url: str, at: float, kind: Absence) -> Decision:
        """Return what is known after a visit *at* without a document, and when the next is."""
        return record_absence(states, url, at, kind)

    @abstractmethod
    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Return the plan for a page that was visited, and is believed to change at *rate*."""

    def remember(self, states: States, visit: Visit, since: float) -> States:
        """Return what is known with what only this rule remembers of *visit*.

        *since*: when the visit before was made.
        """
        return drop_internal_links(states)

    def plan_hint(self, states: States, hint: Hint) -> Decision:
        """Return the plan where something new was said of a page that has a plan."""
        return keep_plan(states, f"hints are not used by `{self.name}`")


def keep_plan(states: States, why: str) -> Decision:
    """Leave the plan as it is."""
    return Decision(states, Plan(states.page.due_at or None, why))
