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
from services.frontier.revisit.evidence import heard, promised, says_changed, without_links
from services.frontier.revisit.learning import belief, forgotten, learned
from services.frontier.revisit.planning import (
    jittered,
    outside_quiet_hours,
    placed,
    spelled,
    uncounted,
)
from services.frontier.revisit.state import (
    DAY,
    Basis,
    Decision,
    Hint,
    Known,
    PageState,
    Plan,
    Visit,
)

CONFIRMED: dict[Absence, tuple[float, ...]] = {
    Absence.GONE: (DAY / 4, DAY),
    Absence.MOVED: (DAY / 4, DAY),
    Absence.REFUSED: (30 * DAY,),
}
"""How long after each visit in a row that did not find it a document is looked at again, before it
is forgotten."""
NOT_SEEN = {Absence.DOWN: (DAY, 3.0, 60 * DAY), Absence.LEFT_OUT: (DAY, 2.0, 7 * DAY)}
PROBED = (30 * DAY, 2.0, 180 * DAY)
"""The first wait, by how much the next is longer, and the longest."""
SAID = {
    Absence.GONE: "not found (404, 410)",
    Absence.MOVED: "redirects",
    Absence.DOWN: "its server is down",
    Absence.REFUSED: "refused, or of no wanted kind",
    Absence.LEFT_OUT: "left out, by the crawl or the blocklist",
}
LOST = frozenset({Absence.GONE, Absence.MOVED})


def missed(known: Known, url: str, at: float, kind: Absence) -> Decision:
    """Take in that a visit *at* found no document; plan when to look again.

    Of a document, what ends its visits must be the same each time: a server that is down between
    two 404s says nothing, and confirms nothing.
    """
    page = known.page
    times = page.missed + 1 if not page.visits or _same(page.absent, kind) else 1
    if page.visits and kind in CONFIRMED and times > len(CONFIRMED[kind]):
        known, times = forgotten(known), 1
    page = replace(known.page, missed=times, missed_at=float(round(at)), absent=kind)
    return probed(known._replace(page=page), url)


def probed(known: Known, url: str) -> Decision:
    """Plan the next look at a page that is away."""
    page, known = known.page, uncounted(known)
    wait, why = _wait(page), SAID[page.absent or Absence.GONE]
    if page.missed > 1:
        why += f", {page.missed} times in a row"
    why += f": looked for again after {spelled(wait)}"
    at = page.missed_at + jittered(wait, url, page.visits + page.missed)
    return placed(known, outside_quiet_hours(known.site, at), wait, (Basis.RECHECK, why))


def _same(before: Absence | None, now: Absence) -> bool:
    return before is now or (before in LOST and now in LOST)


def _wait(page: PageState) -> float:
    times = max(page.missed, 1)
    if page.absent in NOT_SEEN:
        return _longer(NOT_SEEN[page.absent], times)
    confirmed = CONFIRMED.get(page.absent or Absence.GONE, ()) if page.visits else ()
    if times <= len(confirmed):
        return confirmed[times - 1]
    return _longer(PROBED, times)


def _longer(waits: tuple[float, float, float], times: int) -> float:
    first, factor, most = waits
    return min(first * factor ** min(times - 1, 9), most)


class Policy(ABC):
    """A rule for when to come back."""

    name = ""

    def visited(self, known: Known, visit: Visit) -> Decision:
        """Return what is known after *visit*, and when the next one is."""
        since = known.page.at
        known, rate = learned(known, visit)
        return self.plan(self.judged(known, visit, since), visit.url, rate)

    def turn(self, known: Known, url: str, now: float) -> Decision | None:
        """Return another plan for a visit that is due *now*; None: it is made."""
        return None

    def hinted(self, known: Known, hint: Hint) -> Decision:
        """Return what is known after *hint*, and when the next visit is now."""
        page = promised(known.page, hint.evidence.every)
        known = known._replace(page=page)
        if page.absent or not page.visits or not says_changed(hint.evidence, page, hint.at):
            return unmoved(known, "nothing new was said")
        again = heard(page, hint.evidence)
        if page == again:
            return unmoved(known, "the same was said again")
        return self.told(known._replace(page=again), hint)

    def planned(self, known: Known, url: str) -> Decision:
        """Return the plan by what is known: without a visit, where the crawl's policy is new."""
        if known.page.absent:
            return probed(known, url)
        if not known.page.visits:
            return Decision(known, Plan(known.page.at, "never visited", Basis.NEW))
        return self.plan(known, url, belief(known))

    def missed(self, known: Known, url: str, at: float, kind: Absence) -> Decision:
        """Return what is known after a visit *at* without a document, and when the next is."""
        return missed(known, url, at, kind)

    @abstractmethod
    def plan(self, known: Known, url: str, rate: Belief) -> Decision:
        """Return the plan for a page that was visited, and is believed to change at *rate*."""

    def judged(self, known: Known, visit: Visit, since: float) -> Known:
        """Return what is known with what only this rule remembers of *visit*.

        *since*: when the visit before was made.
        """
        return without_links(known)

    def told(self, known: Known, hint: Hint) -> Decision:
        """Return the plan where something new was said of a page that has a plan."""
        return unmoved(known, f"hints are not used by `{self.name}`")


def unmoved(known: Known, why: str) -> Decision:
    """Leave the plan as it is."""
    return Decision(known, Plan(known.page.due_at or None, why))
