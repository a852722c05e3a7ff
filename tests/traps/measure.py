"""Evaluation of a crawler's recorded requests: honest pages, and requests in excess."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from tests.synthweb import RunningWeb
from tests.synthweb.measure import PROBE
from tests.synthweb.record import Request
from tests.synthweb.robots import ROBOTS

from .web import Sites, TrapWeb

EXAMPLES = 6


@dataclass
class Harvest:
    """What a crawl requested of a web.

    A request is in excess unless it is the first one for an honest page, for a URL that is needed
    to find honest pages, for the robots.txt of a host, or for a random path at the host.
    """

    honest: int
    fetched: int = 0
    requests: int = 0
    hosts: int = 0
    excess: Counter[str] = field(default_factory=Counter)
    """Reason → requests. `copy` is an honest page under another URL, `again` the same URL."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """Reason → first URLs in excess."""
    lost: list[str] = field(default_factory=list)
    """The first honest pages that were not fetched."""

    @property
    def excess_requests(self) -> int:
        return self.excess.total()

    @property
    def recall(self) -> float:
        """Return the share of honest pages that were fetched."""
        return self.fetched / self.honest if self.honest else 1.0

    @property
    def excess_share(self) -> float:
        """Return requests in excess for each honest page."""
        return self.excess_requests / max(1, self.honest)

    @property
    def cost(self) -> float:
        """Return requests for each fetched honest page."""
        return self.requests / max(1, self.fetched)

    def as_json(self) -> dict[str, Any]:
        fields = asdict(replace(self, excess=Counter())) | {"excess": dict(self.excess)}
        shares = {"recall": self.recall, "excess_share": self.excess_share, "cost": self.cost}
        return fields | {name: round(share, 4) for name, share in shares.items()}


def harvest_of(requests: Iterable[Request], sites: Sites) -> Harvest:
    """Evaluate requests in the order in which they started."""
    return _harvest(requests, sites, sites.honest_pages())


def harvests_of(requests: Iterable[Request], sites: Sites) -> dict[str, Harvest]:
    """Evaluate the requests to each site with a trap, by the name of the trap."""
    of_trap: dict[str, list[Request]] = {name: [] for name in sites.web.traps}
    for request in requests:
        number = sites.number(request.host)
        if number is not None and number < len(sites.web.traps):
            of_trap[sites.web.traps[number]].append(request)
    return {
        name: _harvest(of_trap[name], sites, sites.honest_pages(number))
        for number, name in enumerate(sites.web.traps)
    }


def _harvest(requests: Iterable[Request], sites: Sites, pages: set[str]) -> Harvest:
    harvest = Harvest(len(pages))
    urls, fetched, hosts = set[str](), set[str](), set[str]()
    probed = set[str]()
    for request in requests:
        harvest.requests += 1
        hosts.add(request.host)
        page = sites.page_of(request.url)
        reason = "trap"
        if request.url in urls:
            reason = "again"
        elif request.path == ROBOTS or sites.is_needed(request.url):
            reason = ""
        elif page is not None:
            reason = "copy" if page in fetched else ""
            fetched.add(page)
        elif PROBE.fullmatch(request.path):
            reason = "probe" if request.host in probed else ""
            probed.add(request.host)
        urls.add(request.url)
        if reason:
            harvest.excess[reason] += 1
            examples = harvest.examples.setdefault(reason, [])
            examples += [request.url] * (len(examples) < EXAMPLES)
    harvest.fetched, harvest.hosts = len(fetched), len(hosts)
    harvest.lost = sorted(pages - fetched)[:EXAMPLES]
    return harvest


class RunningTraps(RunningWeb[TrapWeb]):
    """A running web of traps."""

    @cached_property
    def sites(self) -> Sites:
        """Return the web without its process: pages and truth."""
        return Sites(self.web, self.port)

    def harvest(self) -> Harvest:
        """Evaluate all finished requests."""
        return harvest_of(self.requests(), self.sites)

    def harvests(self) -> dict[str, Harvest]:
        """Evaluate all finished requests to each site with a trap."""
        return harvests_of(self.requests(), self.sites)
