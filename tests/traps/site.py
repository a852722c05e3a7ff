"""A small honest site, which is also the base of all traps.

A request target is a path with its query. Each honest page has one path; a trap may show it under
further URLs.
"""

import random
from functools import cached_property
from typing import NamedTuple

from tests.synthweb.answers import Answer
from tests.synthweb.robots import ROBOTS

from . import words
from .page import Link, Page

ARTICLES_OF_A_SECTION = 8
_NAMES = "guide news people places works notes letters maps reports crafts"
SECTIONS = _NAMES.split()


class Plan(NamedTuple):
    """The numbers of a site: its name and port, the seed of its texts, and its honest pages."""

    name: str
    port: int
    seed: int
    pages: int


class Site:
    """An honest site: a home page, sections, articles, and pages in the footer."""

    def __init__(self, plan: Plan) -> None:
        self.name, self.port, self.seed = plan.name, plan.port, plan.seed
        self.friends: list[str] = []
        """URLs of home pages of other sites, to which the home page links."""
        self.groups = _groups(plan)

    def names(self) -> list[str]:
        """Return the names of all hosts, without those of a wildcard."""
        return [self.name]

    def zone(self) -> str:
        """Return the domain of which all names exist; empty for none."""
        return ""

    def seeds(self) -> list[str]:
        return [self.url(self.name, "/")]

    def url(self, host: str, target: str) -> str:
        return f"http://{host}:{self.port}{target}"

    @cached_property
    def paths(self) -> list[str]:
        """Return the paths of all honest pages."""
        grouped = [path for group in self.groups.values() for path in group]
        return list(dict.fromkeys(["/", *grouped, *self.listed_paths()]))

    @cached_property
    def honest(self) -> frozenset[str]:
        return frozenset(self.paths)

    def listed_paths(self) -> list[str]:
        """Return honest pages to which only the first pages of the trap link."""
        return []

    # Truth

    def page_of(self, host: str, target: str) -> str | None:
        """Return the path of the honest page that a URL shows, or None."""
        return target if host == self.name and target in self.honest else None

    def canonical_url(self, host: str, path: str) -> str:
        """Return the URL that stands for the honest page *path* of *host*."""
        return self.url(self.name, path)

    def honest_urls(self) -> set[str]:
        """Return the canonical URLs of all honest pages."""
        return {self.canonical_url(self.name, path) for path in self.paths}

    def is_needed(self, host: str, target: str) -> bool:
        """Return whether a URL without an honest page is worth a request: honest pages can only be
        found through it, or nothing shows beforehand that it is missing."""
        return False

    # Answers

    def answer(self, host: str, target: str) -> Answer:
        if target == ROBOTS:
            return self.robots(host)
        path = self.page_of(host, target)
        if path is not None:
            return self.page(host, target, path).answer()
        return self.trap(host, target)

    def robots(self, host: str) -> Answer:
        rules = b"User-agent: *\nDisallow:\n"
        return Answer(200, rules, {"Content-Type": "text/plain"})

    def trap(self, host: str, target: str) -> Answer:
        """Return the answer for a URL without an honest page."""
        return Page("Not found", ["There is no such page."]).answer(404)

    def page(self, host: str, target: str, path: str) -> Page:
        """Return the honest page *path* as the URL of *host* and *target* shows it."""
        page = self.framed(host, target, self.headline(path), self.text(host, path))
        page.lists = [self.link(host, target, to) for to in self._neighbours(path)]
        page.aside = [self.link(host, target, to) for to in self._related(path)]
        if path == "/":
            page.aside += [Link(url, f"friends at {url}") for url in self.friends]
        self.add_entries(page, host, target, path)
        return page

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        """Add links to the trap to an honest page."""

    def framed(self, host: str, target: str, title: str, paragraphs: list[str]) -> Page:
        """Return a page with the menu and the footer of the site."""
        menu = [self.link(host, target, to) for to in ("/", *list(self.groups)[1:])]
        footer = [self.link(host, target, to) for to in self.groups[""]]
        return Page(title, paragraphs, menu, footer=footer)

    def headline(self, path: str) -> str:
        return words.headline(f"{self.seed}/{self.name}{path}")

    def text(self, host: str, path: str) -> list[str]:
        return words.paragraphs(f"{self.seed}/{self.name}{path}")

    def link(self, host: str, here: str, to: str) -> Link:
        return Link(self.href(host, here, to), self.headline(to))

    def href(self, host: str, here: str, to: str) -> str:
        """Return the link to the honest page *to* as the page *here* writes it."""
        return to

    def rng(self, *key: str) -> random.Random:
        return random.Random("/".join((str(self.seed), self.name, *key)))

    def _neighbours(self, path: str) -> list[str]:
        """Return the links in the main content: the latest articles, the articles of a section, or
        the previous and the next article."""
        if path == "/":
            return [group[-1] for group in list(self.groups.values())[1:]]
        if path in self.groups:
            return self.groups[path][1:]
        for group in list(self.groups.values())[1:]:
            if path in group:
                at = group.index(path)
                return group[max(1, at - 1) : at] + group[at + 1 : at + 2]
        return []

    def _related(self, path: str) -> list[str]:
        articles = [to for group in list(self.groups.values())[1:] for to in group[1:]]
        return self.rng("related", path).sample(articles, min(2, len(articles)))


def _groups(plan: Plan) -> dict[str, list[str]]:
    """Return the paths of an honest site with its home page: by section the section and its
    articles, and under "" the pages in the footer."""
    pages = plan.pages
    footer = ["/about.html", "/contact.html"][: max(0, pages - 3)]
    left = pages - 1 - len(footer)
    count = max(1, -(-left // (ARTICLES_OF_A_SECTION + 1)))
    groups: dict[str, list[str]] = {"": footer}
    for number in range(count):
        section = f"/{SECTIONS[number % len(SECTIONS)]}{number // len(SECTIONS) or ''}/"
        share = left // count + (number < left % count)
        articles = [f"{section}{_slug(plan, section, n)}.html" for n in range(1, share)]
        groups[section] = [section, *articles]
    return groups


def _slug(plan: Plan, section: str, number: int) -> str:
    adjective_noun = words.headline(f"{plan.seed}/{plan.name}{section}{number}").split()[1:3]
    return "-".join((*adjective_noun, str(number)))
