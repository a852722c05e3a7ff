"""The policy `fixed`: every page after the same time.

Cho and Garcia-Molina, *Effective page refresh policies for Web crawlers* (2003), section 4, show
that it is never worse than visits in proportion to how often pages change: the least that a policy
has to beat.
"""

from services.frontier.revisit.policy import Policy
from services.frontier.revisit.rates import Belief
from services.frontier.revisit.sharing import after
from services.frontier.revisit.state import Basis, Decision, Known
from services.frontier.revisit.times import spelled


class Fixed(Policy):
    """Every *interval* seconds, with jitter."""

    name = "fixed"

    def __init__(self, interval: float) -> None:
        self._interval = interval

    def plan(self, known: Known, url: str, rate: Belief) -> Decision:
        """Plan the next visit after the interval."""
        why = Basis.INTERVAL, f"every {spelled(self._interval)}"
        return after(known, url, self._interval, why, rate)
