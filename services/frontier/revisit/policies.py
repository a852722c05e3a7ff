"""Which policies there are: each by the name that a person gives it."""

from gossamer.policies import parse_policy
from services.frontier.revisit.adaptive import Adaptive
from services.frontier.revisit.fixed import Fixed
from services.frontier.revisit.none import Never
from services.frontier.revisit.optimal import Optimal
from services.frontier.revisit.policy import Policy
from services.frontier.revisit.selective_incremental import SelectiveIncremental
from services.frontier.revisit.state import DAY


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
