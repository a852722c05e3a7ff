"""The names of the revisit policies (`optimal`, `fixed:1d`) and of the strategies, as they are
typed, and what several services must know about them."""

import re
from functools import lru_cache

DAY = 86400.0
NEVER = "none"
DEFAULT_FLEET_POLICY = "optimal"
"""The revisit policy of a fleet whose settings name none."""
USE_HINTS = frozenset({"optimal"})
"""Policies that visit a page sooner when a sitemap, a feed or a link indicates a change."""
USE_INTERNAL_LINKS = frozenset({"selective-incremental"})
"""Policies that use how many of a page's internal pages have changed."""
POLICIES = {
    NEVER: False,
    "fixed": True,
    "selective-incremental": True,
    "adaptive": True,
    "optimal": False,
}
"""Name → whether the policy takes an interval after a colon."""
STRATEGIES = ("breadth", "best", "seeds-first", "focused", "sample")
"""The orders in which a crawl visits new URLs."""
LINK_STRATEGIES = frozenset({"best", "focused"})
"""Strategies that visit a URL sooner when good pages link to it."""
GOOD_SCORE = 0.5
"""The smallest score of a good page, and of a link that counts as one of a good page."""
MAX_GOOD_LINKS = 3
"""The number of links of good pages to a URL from which further ones change nothing."""
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY, "w": 7 * DAY}
_duration = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|hours?|d|days?|w|weeks?)")


@lru_cache(maxsize=1024)
def parse_policy(text: str) -> tuple[str, float]:
    """Return the policy's name and its interval in seconds, or 0 without an interval.

    Raise ValueError, with the valid names, for an unknown policy.
    """
    name, colon, duration = text.replace("_", "-").partition(":")
    if name not in POLICIES or (colon and not POLICIES[name]):
        names = ", ".join(POLICIES)
        raise ValueError(
            f"{text!r} is not a revisit policy: choose from {names}; fixed:12h sets an interval"
        )
    interval = duration_of(duration) if colon else 0.0
    if colon and not interval:
        raise ValueError(f"{duration!r} is not a duration above 0")
    return name, interval


def parse_strategy(text: str) -> str:
    """Return the name of a strategy; "" stays. Raise ValueError, with the valid names, for an
    unknown one."""
    name = text.replace("_", "-")
    if name and name not in STRATEGIES:
        raise ValueError(f"{text!r} is not a strategy: choose from {', '.join(STRATEGIES)}")
    return name


def revisits(policy: str) -> bool:
    """Return whether *policy* visits pages again."""
    return parse_policy(policy)[0] != NEVER


def uses_hints(policy: str) -> bool:
    """Return whether *policy* uses hints about a page's changes between two visits."""
    return parse_policy(policy)[0] in USE_HINTS


def uses_internal_links(policy: str) -> bool:
    """Return whether *policy* uses the internal pages that a page links to."""
    return parse_policy(policy)[0] in USE_INTERNAL_LINKS


def duration_of(text: str) -> float:
    """Return the seconds of a duration such as 90m, 12h, 1.5 days or 2w. Raise ValueError if it is
    invalid."""
    found = _duration.fullmatch(text.strip().lower())
    if not found:
        raise ValueError(f"{text!r} is not a duration such as 90m, 12h, 1.5d or 2w")
    return float(found[1]) * UNITS[found[2][0]]


def duration_text(seconds: float) -> str:
    """Return *seconds* as `duration_of` reads them, in the largest unit without a fraction."""
    for unit, size in reversed(UNITS.items()):
        if seconds >= size and not seconds % size:
            return f"{int(seconds // size)}{unit}"
    return f"{seconds:f}s"
