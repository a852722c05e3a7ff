"""The policy `none`: a page is visited once. What `gossamer crawl` does unless it is told."""

from msgspec.structs import replace

from gossamer.events.outcomes import Absence
from services.frontier.revisit.absent import missed
from services.frontier.revisit.policy import Policy
from services.frontier.revisit.rates import Belief
from services.frontier.revisit.sharing import uncounted
from services.frontier.revisit.state import Decision, Known, Plan

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
