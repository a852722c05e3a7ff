"""The crawls of a run: their scopes, seeds and weights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gossamer.bounds import ANYWHERE
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.web.scope import parse_scope
from gossamer.web.url import site_of
from tests.simulation.web import Sites

SHARE_FOR = 600.0
"""Seconds for which crawls share captures."""
Key = tuple[str, str]
"""The id of a crawl, and a URL."""


@dataclass(frozen=True)
class Crawl:
    """One of the crawls of a run."""

    id: str
    weight: float
    scope: str
    seeds: tuple[str, ...]
    own_topic: bool = False

    def includes(self, url: str) -> bool:
        """Return whether *url* is in the scope."""
        return bool(parse_scope(self.scope).evaluate(url, 0).inside)

    @property
    def topic(self) -> str:
        """The topic of its documents."""
        return f"pages.{self.id}" if self.own_topic else "pages"

    def definition(self, now: float, revisit: str) -> CrawlDefined:
        """Return the definition of the crawl at a time, with a policy of revisits."""
        return CrawlDefined(
            crawl=self.id,
            at=now,
            scope=self.scope,
            max_depth=64,
            weight=self.weight,
            own_topic=self.own_topic,
            share_for=SHARE_FOR,
            revisit=revisit,
        )


def make_crawls(sites: Sites, weights: Sequence[float], all_added: bool) -> dict[str, Crawl]:
    """Return a crawl for each of *weights*, by id.

    A single crawl has all hosts. Several have all hosts but those of one small site each, and the
    last one has a topic of its own. With *all_added* each page is a seed.
    """
    urls = sites.all_urls() if all_added else sites.seeds()
    hosts = Counter(site_of(f"{host}/") for host in sorted(sites.sites))
    names = sorted(hosts, key=lambda name: hosts[name])
    crawls = dict[str, Crawl]()
    for number, weight in enumerate(weights):
        excluded = names[number] if 1 < len(weights) < len(names) else ""
        others = ", ".join(repr(name) for name in names if name != excluded)
        one = Crawl(
            DEFAULT_CRAWL if number == 0 else f"crawl-{number}",
            weight,
            f"domain({others})" if excluded else ANYWHERE,
            tuple(url for url in urls if site_of(url) != excluded),
            own_topic=0 < number == len(weights) - 1,
        )
        crawls[one.id] = one
    return crawls
