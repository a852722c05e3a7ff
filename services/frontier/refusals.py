"""The rules by which an admitted URL is refused, as a table."""

from collections.abc import Callable
from typing import NamedTuple

from gossamer.events import CrawlDefined, Discovery
from gossamer.events.outcomes import Hazard
from gossamer.settings import FrontierSettings
from services.frontier.hosts import Hosts
from services.frontier.workbench import Host


class Candidate(NamedTuple):
    """A URL that was admitted, and what its refusal may depend on."""

    found: Discovery
    host: Host
    crawl: CrawlDefined | None
    settings: FrontierSettings
    hosts: Hosts
    now: float


class Refusal(NamedTuple):
    """Why a URL is not queued: the hazard it is counted as, and a sentence for a person."""

    rule: Hazard
    reason: str


def refusal(candidate: Candidate) -> Refusal | None:
    """Return the first of the `RULES` that refuses *candidate*; None to queue it."""
    for name, rule in RULES.items():
        if reason := rule(candidate):
            return Refusal(name, reason)
    return None


def _too_deep(one: Candidate) -> str:
    depth, crawl = one.found.depth, one.crawl
    if crawl is None or depth <= crawl.max_depth:
        return ""
    return f"depth {depth} is beyond the limit of {crawl.max_depth}"


def _too_many_redirects(one: Candidate) -> str:
    limit = one.settings.hops_limit
    return f"more than {limit} redirects in a row" if one.found.hops > limit else ""


def _too_many_hosts(one: Candidate) -> str:
    budget, asked_for = one.settings.host_budget, one.found.depth == 0 and one.found.hops == 0
    if one.host.stored or asked_for or one.hosts.sites.hosts(one.host.row.site) < budget:
        return ""
    return f"the site's budget of {budget} hosts is used up"


def _over_budget(one: Candidate) -> str:
    budget = one.settings.url_budget
    used_up = one.host.row.admitted >= budget
    return f"the host's budget of {budget} URLs is used up" if used_up else ""


def _excluded(one: Candidate) -> str:
    robots = one.hosts.robots(one.host) if one.host.row.visits else None
    if robots is None or robots.rules.expires_at <= one.now or robots.rules.forbidden:
        return ""  # Nothing lasting is known: it is looked at again when the URL is visited.
    url = one.found.url
    return "" if robots.rules.allows(url) else robots.rules.explain(url)


RULES: dict[Hazard, Callable[[Candidate], str]] = {
    Hazard.TRAP_DEPTH: _too_deep,
    Hazard.REDIRECT: _too_many_redirects,
    Hazard.TRAP_HOSTS: _too_many_hosts,
    Hazard.TRAP_URLS: _over_budget,
    Hazard.ROBOTS_EXCLUDED: _excluded,
}
"""The hazard that a refusal is counted as → why it refuses a URL; empty if it does not."""
