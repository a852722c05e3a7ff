"""The names of the revisit policies, as a person types them: `optimal`, `fixed:1d`."""

import re

DAY = 86400.0
NEVER = "none"
USE_HINTS = frozenset({"optimal"})
"""Those that visit a page sooner when a sitemap, a feed or a link says that it has changed."""
USE_INTERNAL_LINKS = frozenset({"selective-incremental"})
"""Those that ask how many of the pages that a page links to have changed."""
POLICIES = {
    NEVER: False,
    "fixed": True,
    "selective-incremental": True,
    "adaptive": True,
    "optimal": False,
}
"""Name → whether it takes an interval, behind a colon."""
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY, "w": 7 * DAY}
_duration = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def parse_policy(text: str) -> tuple[str, float]:
    """Return the name of the policy that *text* names, and its interval in seconds; 0 for none.

    Raise ValueError, with what may be written, if there is no such policy.
    """
    name, colon, duration = text.replace("_", "-").partition(":")
    if name not in POLICIES or (colon and not POLICIES[name]):
        known = ", ".join(POLICIES)
        raise ValueError(f"{text!r} is no revisit policy: {known}; fixed:12h for an interval")
    return name, duration_of(duration) if colon else 0.0


def uses_hints(policy: str) -> bool:
    """Return whether *policy* goes by what is said of a page's changes between two visits."""
    return parse_policy(policy)[0] in USE_HINTS


def uses_internal_links(policy: str) -> bool:
    """Return whether *policy* must know to which pages of its own site a page links."""
    return parse_policy(policy)[0] in USE_INTERNAL_LINKS


def duration_of(text: str) -> float:
    """Return the seconds of a duration such as 90m, 12h, 1.5d or 2w; raise ValueError if none."""
    found = _duration.fullmatch(text)
    if not found or not float(found[1]):
        raise ValueError(f"{text!r} is no duration: 90m, 12h, 1.5d, 2w")
    return float(found[1]) * UNITS[found[2]]
