"""What every policy does: learn, ask its rule for a plan, and come back to what is away.

A policy is a rule, and four more places where a rule may differ from the others: what it remembers
of a visit for itself, whether it makes a visit that is due, what it makes of a hint, and how it
looks for pages that are away.
"""

from abc import ABC, abstractmethod

from gossamer.events.outcomes import Absence
from services.frontier.revisit.absent import missed, probed
from services.frontier.revisit.evidence import heard, promised, says_changed
from services.frontier.revisit.internal_pages import without_links
from services.frontier.revisit.learning import belief, learned
from services.frontier.revisit.rates import Belief
from services.frontier.revisit.state import Basis, Decision, Hint, Known, Plan, Visit


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
