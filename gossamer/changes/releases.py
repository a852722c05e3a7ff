"""Requests to visit parked URLs."""

from collections.abc import Sequence

from gossamer.changes.plan import Effect, Plan
from gossamer.errors import BadSettings
from gossamer.events import ReleaseRequested
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.hosts.parts import read_parts
from gossamer.web.url import Site


def plan_release(crawl: OpenCrawl, site: Site, parts: Sequence[str], now: float) -> Plan:
    """Return the plan that visits the parked URLs of *parts* of *site*, or of all its parts.

    Raise BadSettings if no URL of a part is parked.
    """
    found = read_parts(crawl, site)
    parked = {name: urls for name, urls in found.parked_urls.items() if urls}
    if missing := [name for name in parts if name not in parked]:
        names = ", ".join(repr(name) for name in parked) or "none"
        raise BadSettings(f"{site} has no parked part {missing[0]!r}; parked parts: {names}")
    urls = sum(parked[name] for name in parts or parked)
    event = ReleaseRequested(crawl=crawl.id, at=now, site=site, parts=tuple(parts))
    return Plan(
        action="release",
        subject=site,
        crawl=crawl.id,
        requests=(event,) if parked else (),
        effect=Effect(
            text=f"{plural(urls, 'parked URL')} of {site} to be visited.",
            refused=() if parked else (f"No URL of {site} is parked.",),
            count=urls,
        ),
    )
