"""Traps of many hosts: wildcard names, copies of a whole site, and doorways."""

from functools import cached_property

from tests.synthweb.answers import Answer

from . import words
from .page import Link, Page
from .site import Plan, Site

LINKED_NAMES = 3
"""Links to further names of a wildcard on each page."""
DOORWAYS = 60
PARKED_PATHS = ("/", "/offers.html", "/contact.html", "/prices.html", "/help.html")


class Copied(Site):
    """A site whose honest pages are also on other hosts, under the same paths."""

    def is_ours(self, host: str) -> bool:
        return host in self.names()

    def page_of(self, host: str, target: str) -> str | None:
        return target if self.is_ours(host) and target in self.honest else None


class Wildcard(Copied):
    """Every name in the zone of the site shows the site. Pages link to further names."""

    def zone(self) -> str:
        return self.name

    def is_ours(self, host: str) -> bool:
        return host == self.name or host.endswith(f".{self.name}")

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        rng = self.rng("names", host, target)
        for _ in range(LINKED_NAMES):
            label = words.name(rng).lower()
            to = rng.choice(("/", path, rng.choice(self.paths)))
            page.aside.append(Link(self.url(f"{label}.{self.name}", to), label))


class WildcardWords(Wildcard):
    """Each name of the zone shows the site with one word of its own."""

    def text(self, host: str, path: str) -> list[str]:
        return _with_word(super().text(host, path), host.partition(".")[0].capitalize())


class Mirror(Copied):
    """Another site has copies of all pages. Only the home pages differ."""

    def names(self) -> list[str]:
        return [self.name, f"mirror-of-{self.name}"]

    def text(self, host: str, path: str) -> list[str]:
        greeting = [f"You are reading {host}."] if path == "/" else []
        return greeting + super().text(host, path)

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        other = next(name for name in self.names() if name != host)
        if self.paths.index(path) % 8 == 0:
            page.aside.append(Link(self.url(other, path), f"this page at {other}"))


class WwwAlias(Mirror):
    """The site has two names, with and without `www.`. Its home page counts its visitors."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._visitors = 0

    def names(self) -> list[str]:
        return [self.name, f"www.{self.name}"]

    def text(self, host: str, path: str) -> list[str]:
        if path != "/":
            return Site.text(self, host, path)
        self._visitors += 1
        return [f"You are visitor number {self._visitors}.", *Site.text(self, host, path)]


class WildcardSuffix(Site):
    """An honest site links to names directly under a public suffix. All of them exist, and each is
    a registrable domain of its own with one parking page for all paths."""

    suffix = "github.io"
    named = False
    """Whether each page contains its name."""

    def zone(self) -> str:
        return self.suffix

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        page.aside += self._onward(host, target)

    def trap(self, host: str, target: str) -> Answer:
        if host == self.name:
            return super().trap(host, target)
        paragraphs = words.paragraphs(f"{self.seed}/parked{target.partition('?')[0]}")
        if self.named:
            paragraphs = _with_word(paragraphs, host.partition(".")[0].capitalize())
        page = Page("Welcome", paragraphs)
        page.menu = [Link(to, "more") for to in PARKED_PATHS]
        page.aside = self._onward(host, target)
        return page.answer()

    def _onward(self, host: str, target: str) -> list[Link]:
        rng = self.rng("suffix", host, target)
        labels = [words.name(rng).lower() for _ in range(LINKED_NAMES)]
        return [Link(self.url(f"{label}.{self.suffix}", "/"), label) for label in labels]


class WildcardCountry(WildcardSuffix):
    """The suffix is a country's, and each parking page contains its name."""

    suffix = "ws"
    named = True


class Doorways(Site):
    """An honest site links to a farm of sites on one address, which link to each other and differ
    in one word."""

    @cached_property
    def doorways(self) -> list[str]:
        rng = self.rng("doorways")
        key = self.name.partition(".")[0]
        labels = dict.fromkeys(words.name(rng).lower() for _ in range(2 * DOORWAYS))
        return [f"cheap-{label}-{key}.test" for label in labels][:DOORWAYS]

    def names(self) -> list[str]:
        return [self.name, *self.doorways]

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        if path in ("/", "/about.html"):
            page.aside += self._others(path, 3)

    def trap(self, host: str, target: str) -> Answer:
        if host == self.name or target not in PARKED_PATHS:
            return super().trap(host, target)
        word = host.removeprefix("cheap-").partition("-")[0].capitalize()
        page = Page(
            f"Cheap offers in {word}", _with_word(words.paragraphs(f"{self.seed}{target}"), word)
        )
        page.menu = [Link(to, "more") for to in PARKED_PATHS]
        page.footer = self._others(f"{host}{target}", 8)
        return page.answer()

    def _others(self, key: str, count: int) -> list[Link]:
        chosen = self.rng("others", key).sample(self.doorways, count)
        return [Link(self.url(name, "/"), f"offers at {name}") for name in chosen]


def _with_word(paragraphs: list[str], word: str) -> list[str]:
    """Return the paragraphs with *word* in the place of the first proper name."""
    first, *rest = paragraphs
    return [f"{first.partition(',')[0]} for {word},{first.partition(',')[2]}", *rest]
