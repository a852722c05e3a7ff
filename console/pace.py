"""The pace of a host in words: the seconds between two requests, and the rule that decided them."""

from console.figures import times
from gossamer.events import SiteOverridden
from services.frontier.rows import HostRow, RobotsRow

EQUAL = 1e-6
"""Delays are equal if they differ by at most this many seconds."""


def delay_text(host: HostRow, robots: RobotsRow | None, override: SiteOverridden | None) -> str:
    """Return `one request each 5 s (Crawl-delay in robots.txt)`; "" if nothing was measured yet.

    *override* are the settings of `gossamer site` that hold for the host.
    """
    delay = host.politeness.delay
    if delay < EQUAL:
        return ""
    reason = _reason(host, robots, override)
    return f"one request each {delay:.3g} s" + (f" ({reason})" if reason else "")


def _reason(host: HostRow, robots: RobotsRow | None, override: SiteOverridden | None) -> str:
    politeness = host.politeness
    if politeness.strain:
        return f"doubled {times(politeness.strain)}: the server seems overloaded"
    if override and override.delay is not None and abs(politeness.delay - override.delay) < EQUAL:
        return "set with gossamer site"
    if robots and abs(politeness.delay - robots.rules.crawl_delay) < EQUAL:
        return "Crawl-delay in robots.txt"
    return ""
