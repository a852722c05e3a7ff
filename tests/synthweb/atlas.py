"""Every page of a world, computed on demand and not stored.

Ordinary pages have the same paths on every host, so a link can name a page without knowing its
host. A host's other pages follow from its role.
"""

import random
from functools import cached_property
from typing import TYPE_CHECKING

from .extras import extra_pages, filler
from .oddities import FAR_SPELLINGS, FAULTS, OWN_SPELLINGS, USUAL_TAGS
from .page import SITEMAP, Link, Page, Spot, Traits
from .robots import NAMES_SITEMAPS, Robots, robots_of
from .roles import Roles, cast

if TYPE_CHECKING:
    from .world import World

BRANCHES = 3
FAR_LINKS = 3
FREE_PREFIXES = ("/beyond/", "/lure/")


class Atlas:
    """The world as a function from spots to pages, on a given port."""

    def __init__(self, world: "World", port: int) -> None:
        self.world = world
        self.port = port
        self._paths = [ordinary_path(number) for number in range(world.pages)]
        self._numbers = {path: number for number, path in enumerate(self._paths)}

    @cached_property
    def roles(self) -> Roles:
        return cast(self.world)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Return the host numbers by name."""
        return {name: number for number, name in enumerate(self.roles.names)}

    @cached_property
    def seeds(self) -> list[str]:
        """Return the home pages of the first sound hosts; only of the first one in a tree."""
        wanted = 1 if self.world.shape == "tree" else self.world.seeds
        sound = [n for n in range(self.world.hosts) if n not in self.roles.conditions]
        return [self.url((host, "/")) for host in sound[:wanted]]

    def url(self, spot: Spot) -> str:
        return f"http://{self.roles.names[spot[0]]}:{self.port}{spot[1]}"

    def condition(self, host: int) -> str:
        return self.roles.conditions.get(host, "")

    def robots(self, host: int) -> Robots:
        names_sitemaps = self.world.listed and host == 0
        return NAMES_SITEMAPS if names_sitemaps else robots_of(self.condition(host))

    def page(self, spot: Spot) -> Page | None:
        """Return the page at a spot; None for a missing page (a 404 without links)."""
        host, path = spot
        if path == "/":
            return self._home(host)
        if path in self._numbers and self.condition(host) not in FAULTS:
            return self._ordinary(host, self._numbers[path])
        if path in self.robots(host).sitemaps:
            return self._sitemap(spot)
        extra = self.extras(host).get(path)
        if extra is None and path.startswith(FREE_PREFIXES):
            return filler(spot)
        return extra

    def extras(self, host: int) -> dict[str, Page]:
        return extra_pages(self.roles, host)

    def _sitemap(self, spot: Spot) -> Page:
        """A sitemap lists pages without other links to them."""
        host, path = spot
        entries = (f"/beyond{path}/{number}" for number in range(self.world.listed))
        links = tuple(Link((host, entry)) for entry in entries)
        return Page(spot, path, links, Traits(type=SITEMAP))

    def _home(self, host: int) -> Page:
        base = self._ordinary(host, 0)
        rng = self._rng(host, "home")
        rules = self.robots(host)
        paths = [page.spot[1] for page in self.extras(host).values() if not _second(page)]
        paths += [*rules.forbidden, *rules.welcome]
        more = [Link((host, path), spelling=rng.choice(OWN_SPELLINGS)) for path in paths]
        return Page(base.spot, base.text, (*base.links, *more))

    def _ordinary(self, host: int, number: int) -> Page:
        rng = self._rng(host, str(number))
        spot = (host, self._paths[number])
        far = self._far(host, number, rng)
        links = [_make_link(spot, to, rng) for to in (*self._own(host, number), *far)]
        rng.shuffle(links)
        return Page(spot, f"{self.world.seed}/{host}{spot[1]}", tuple(links))

    def _own(self, host: int, number: int) -> list[Spot]:
        if self.condition(host) in FAULTS:
            return []
        children = (n for n in (2 * number + 1, 2 * number + 2) if n < self.world.pages)
        return [(host, self._paths[n]) for n in children] + [(host, "/")]

    def _far(self, host: int, number: int, rng: random.Random) -> list[Spot]:
        if self.world.shape == "tree":
            return self._branches(host) if number == 0 else []
        hosts = [rng.randrange(self.world.hosts) for _ in range(FAR_LINKS)]
        following = [((host + 1) % self.world.hosts, "/")] if number == 0 else []
        return following + [self._somewhere(far, rng) for far in hosts]

    def _branches(self, host: int) -> list[Spot]:
        parent = [((host - 1) // BRANCHES, "/")] if host else []
        first = BRANCHES * host + 1
        return parent + [(n, "/") for n in range(first, first + BRANCHES) if n < self.world.hosts]

    def _somewhere(self, host: int, rng: random.Random) -> Spot:
        number = 0 if self.condition(host) in FAULTS else rng.randrange(self.world.pages)
        return host, self._paths[rng.choice((0, number))]

    def _rng(self, host: int, key: str) -> random.Random:
        return random.Random(f"{self.world.seed}/{host}/{key}")


def ordinary_path(number: int) -> str:
    """Return a path among files, folders and queries, so that relative links have levels to
    climb."""
    if number == 0:
        return "/"
    shapes = ("/p{}.html", "/docs/p{}", "/docs/more/p{}/", "/list?item={}")
    return shapes[number % len(shapes)].format(number)


def _make_link(here: Spot, to: Spot, rng: random.Random) -> Link:
    spellings = OWN_SPELLINGS if here[0] == to[0] else FAR_SPELLINGS
    return Link(to, rng.choice(USUAL_TAGS), rng.choice(spellings))


def _second(page: Page) -> bool:
    """Return the pages to which only another extra page links."""
    return page.spot[1].endswith(("chain-2", "chain-3", "loop-2"))
