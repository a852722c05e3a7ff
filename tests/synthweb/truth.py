"""The URLs that a correct crawler requests, computed by walking the world without a crawler.

The first discovered copy of a duplicate does not matter: copies have the same absolute links. Depth
counts links from the nearest seed; a redirect adds none. A crawl discovers pages in an order of its
own, so a depth limit has one right answer only if the path to each page is unique: in a world of
shape "tree" without redirects and duplicates. Elsewhere the result is the upper limit.
"""

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal
from urllib.parse import urlsplit

from .atlas import Atlas
from .oddities import UNREACHABLE
from .page import ANSWERED, HTML, REDIRECTED, SOUND, Page, Spot
from .robots import MOVED, ROBOTS
from .roles import site_of

READ = HTML | {"text/plain"}


@dataclass(frozen=True)
class Scope:
    """The URLs in scope: all, those on the seeds' sites, or those on the seeds' hosts."""

    kind: Literal["any", "site", "host"] = "any"
    depth: int | None = None


@dataclass
class Truth:
    """All URLs that a crawl discovers, in canonical form.

    `pages` answer 200 with text; `others` 200 with another type (URL to type); `redirects` lead to
    a URL or nowhere; `errors` fail in a way that is named: a status, a fault, or for an unreachable
    host "silent", "refused", "unresolved". `retried` are pages that are refused at first, and pages
    at which the server closes the connection, which may also mean that a kept connection has timed
    out. `forbidden` URLs are discovered, but excluded by robots.txt; `rules` has the URLs of
    robots.txt.
    """

    pages: set[str] = field(default_factory=set)
    others: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str | None] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    retried: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    rules: set[str] = field(default_factory=set)
    delays: dict[str, float] = field(default_factory=dict)
    duplicates: list[list[str]] = field(default_factory=list)
    depths: dict[str, int] = field(default_factory=dict)

    @cached_property
    def required(self) -> set[str]:
        """Return the URLs that must be requested: all reachable ones, sound or not."""
        reached = {url for url, kind in self.errors.items() if kind not in UNREACHABLE}
        return self.pages | set(self.others) | set(self.redirects) | reached

    @cached_property
    def allowed(self) -> set[str]:
        """Return the URLs that may be requested."""
        return self.required | self.rules


def truth_of(atlas: Atlas, seeds: list[str], scope: Scope | None = None) -> Truth:
    return _Walk(atlas, seeds, scope or Scope()).run()


class _Walk:
    """A breadth-first walk. Redirects are followed at once, as they add no depth."""

    def __init__(self, atlas: Atlas, seeds: list[str], scope: Scope) -> None:
        self._atlas = atlas
        self._scope = scope
        starts = [spot_of(atlas, seed) for seed in seeds]
        self._homes = {self._home(spot[0]) for spot in starts}
        self._queue = deque((spot, 0) for spot in starts)
        self._found = Truth()

    def run(self) -> Truth:
        while self._queue:
            spot, depth = self._queue.popleft()
            url = self._atlas.url(spot)
            if url not in self._found.depths and self._home(spot[0]) in self._homes:
                self._found.depths[url] = depth
                self._visit(spot, url, depth)
        self._found.duplicates = self._duplicates()
        return self._found

    def _visit(self, spot: Spot, url: str, depth: int) -> None:
        self._meet(spot[0])
        condition = self._atlas.condition(spot[0])
        if condition in UNREACHABLE:
            self._found.errors[url] = condition
        elif self._atlas.robots(spot[0]).forbids(spot[1]):
            self._found.forbidden.add(url)
        elif (page := self._atlas.page(spot)) is None:
            self._found.errors[url] = "404"
        else:
            self._sort(page, url)
            self._follow(page, depth)

    def _meet(self, host: int) -> None:
        robots = self._atlas.robots(host)
        rules = self._atlas.url((host, ROBOTS))
        if rules not in self._found.rules:
            self._queue.extend(((host, path), 1) for path in robots.sitemaps)
        self._found.rules.add(rules)
        if robots.moved:
            self._found.rules.add(self._atlas.url((host, MOVED)))
        if robots.delay is not None:
            self._found.delays[self._atlas.roles.names[host]] = robots.delay

    def _sort(self, page: Page, url: str) -> None:
        traits, found = page.traits, self._found
        if traits.status in REDIRECTED:
            found.redirects[url] = self._atlas.url(page.target) if page.target else None
        elif traits.status not in ANSWERED:
            found.errors[url] = str(traits.status)
        elif traits.manner not in SOUND:
            found.errors[url] = traits.manner
        elif traits.type not in READ:
            found.others[url] = traits.type
        else:
            found.pages.add(url)
        if traits.first is not None or traits.manner == "empty":
            found.retried.add(url)

    def _follow(self, page: Page, depth: int) -> None:
        if page.target is not None:
            self._queue.appendleft((page.target, depth))
        if page.traits.parsed and (self._scope.depth is None or depth < self._scope.depth):
            self._queue.extend((link.to, depth + 1) for link in page.links if not link.nofollow)

    def _home(self, host: int) -> str:
        """Return the part of a URL that the scope compares."""
        name = self._atlas.roles.names[host]
        return {"any": "", "site": site_of(name), "host": name}[self._scope.kind]

    def _duplicates(self) -> list[list[str]]:
        groups = ([self._atlas.url(spot) for spot in group] for group in self._atlas.roles.groups)
        met = ([url for url in group if url in self._found.pages] for group in groups)
        return [group for group in met if len(group) > 1]


def spot_of(atlas: Atlas, url: str) -> Spot:
    """Return the spot of a canonical URL of the world; KeyError for an unknown host."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return atlas.numbers[parts.hostname or ""], (parts.path or "/") + query
