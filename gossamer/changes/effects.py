"""Effects of a change of a setting, read from the store for a dry run.

A change itself needs the log alone: an urgent block does not wait for the store.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_network

from gossamer.blocklist import Blocklist
from gossamer.events import BlocklistChanged, HostOverridden, SiteOverridden
from gossamer.inspection.basics.figures import duration, plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.hosts.hosts import Host, HostQuery, read_hosts
from gossamer.overrides import Overridden, overridden_site
from gossamer.web.url import Site, host_name, site_of

MAX_RULES, MAX_HOSTS, MAX_LISTED_HOSTS = 20, 1000, 5
"""Rules of a change that are examined, hosts of a site that are read, and hosts that are listed."""


def estimate_block(crawl: OpenCrawl, rules: Sequence[str]) -> Iterator[str]:
    """Yield the hosts and queued URLs that *rules* would concern, a sentence for each rule."""
    for rule in rules[:MAX_RULES]:
        yield f"{rule}: {_block_text(crawl, rule)}"
    if (more := len(rules) - MAX_RULES) > 0:
        yield f"{plural(more, 'more rule')} not examined"


def _block_text(crawl: OpenCrawl, rule: str) -> str:
    if _is_network(rule):
        return "hosts are recognised by their addresses when they are visited next"
    authority, _, path = rule.removeprefix("*.").partition("/")
    site = site_of(f"http://{authority}/")
    of_hosts = Blocklist([BlocklistChanged(at=0.0, rule=authority if path else rule)])
    hosts = [one for one in _hosts(crawl, site) if of_hosts.of_url(f"{one.host}/")]
    if not hosts:
        return f"no known host of the site {site}"
    queued = plural(sum(host.queued for host in hosts), "queued URL")
    return f"{'some URLs of ' if path else ''}{plural(len(hosts), 'host')} with {queued}"


def _is_network(rule: str) -> bool:
    try:
        ip_network(rule)
    except ValueError:
        return False
    return True


def estimate_override(crawl: OpenCrawl, before: Overridden, after: Overridden) -> Iterator[str]:
    """Yield what *after* instead of *before* means for the longest queues of the site or host."""
    hosts = [
        host
        for host in _hosts(crawl, overridden_site(after))
        if isinstance(after, SiteOverridden) or host_name(host.host) == after.host
    ]
    queued = plural(sum(host.queued for host in hosts), "queued URL")
    if not hosts:
        yield "No URL of it was admitted so far."
    elif after.off:
        yield f"{queued} of {plural(len(hosts), 'host')} wait."
    elif after.delay != before.delay or after.ours != before.ours:
        yield from filter(None, (_pace_text(host, after) for host in hosts[:MAX_LISTED_HOSTS]))


def _pace_text(host: Host, after: SiteOverridden | HostOverridden) -> str:
    if after.delay is None or not host.delay:
        return ""
    delay = after.delay if after.ours else max(after.delay, host.delay)
    text = f"{host.host}: one request each {delay:.3g} s instead of {host.delay:.3g} s"
    if not (host.queued and host.pace):
        return text
    seconds = duration(host.queued * (delay + host.pace - host.delay))
    queued = plural(host.queued, "queued URL")
    return f"{text}; {queued} in {seconds} instead of {duration(host.queued * host.pace)}"


def _hosts(crawl: OpenCrawl, site: Site) -> list[Host]:
    return read_hosts(crawl, HostQuery(site=site), MAX_HOSTS)
