"""Instants of planned visits: jitter that differs each time, and a site's quiet hours."""

from gossamer.log import murmur2
from services.frontier.revisit.state import DAY, SiteState

YEAR = 365 * DAY
LONG = 100 * YEAR
"""Longer, nobody wants to know."""
JITTER = 0.05
"""Of an interval: so far a visit may lie before or after its time."""


def jittered(interval: float, url: str, visits: int) -> float:
    """Return *interval* seconds, up to a twentieth more or less, by *url* and its visit's number.

    So the times of visits to a page drift over the day (selective-incremental, 3.1), and pages that
    were found together part.
    """
    drawn = murmur2(f"{visits} {url}".encode()) / 2**32
    return interval * (1 + JITTER * (2 * drawn - 1))


def outside_quiet_hours(site: SiteState, at: float) -> float:
    """Return *at*, or the end of the quiet hours that it lies in."""
    long = quiet_time(site)
    into = (at - site.quiet_from) % DAY
    return at - into + long if into < long else at


def quiet_time(site: SiteState) -> float:
    """Return how many seconds of a day are quiet."""
    return (site.quiet_until - site.quiet_from) % DAY


def spelled(seconds: float) -> str:
    """Return a duration as a person would say it: 20 s, 40 min, 3.5 h, 12 d, 4 y."""
    if seconds > LONG:
        return f"over {LONG / YEAR:g} y"
    for unit, length in (("y", YEAR), ("d", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.95 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 or not seconds else "under 1 s"
