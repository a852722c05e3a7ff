"""Traps of answers: soft 404s, and hosts with one answer for everything."""

from tests.synthweb.answers import Answer
from tests.synthweb.robots import ROBOTS

from . import words
from .page import Link, Page
from .site import Site

BROKEN_LINKS = 6
SUGGESTIONS = 3


class SoftNotFound(Site):
    """The site answers 200 for missing pages. Honest pages have some broken links, and the error
    page links to further missing pages."""

    echoes = False
    """Whether the error page contains the missing path."""

    def broken_paths(self) -> list[str]:
        return [f"/archive/{_slug(self, str(n))}.html" for n in range(BROKEN_LINKS)]

    def is_needed(self, host: str, target: str) -> bool:
        return target in self.broken_paths()

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        to = self.rng("broken", path).choice(self.broken_paths())
        page.aside.append(Link(to, "an older page"))

    def trap(self, host: str, target: str) -> Answer:
        text = words.paragraphs(f"{self.seed}/{self.name}/missing")[:2]
        if self.echoes:
            text.insert(0, f"We could not find {target} on this server.")
        page = self.framed(host, target, "Sorry, this page was not found", text)
        slugs = (_slug(self, f"{target}/{n}") for n in range(SUGGESTIONS))
        page.lists = [Link(f"/archive/{slug}.html", "Did you mean this page?") for slug in slugs]
        return page.answer()


class EchoingNotFound(SoftNotFound):
    """The error page contains the missing path."""

    echoes = True


class OneAnswer(Site):
    """An honest site links to a host that answers every URL in one way, with links to further
    URLs of the host."""

    status = 200
    links_of_a_page = 2

    @property
    def broken(self) -> str:
        return f"broken-{self.name}"

    def names(self) -> list[str]:
        return [self.name, self.broken]

    def robots(self, host: str) -> Answer:
        return self.trap(host, ROBOTS) if host == self.broken else super().robots(host)

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        for n in range(self.links_of_a_page):
            slug = _slug(self, f"{path}/{n}")
            page.aside.append(Link(self.url(self.broken, f"/{slug}.html"), slug))

    def trap(self, host: str, target: str) -> Answer:
        if host == self.name:
            return super().trap(host, target)
        page = Page("Service message", words.paragraphs(f"{self.seed}/{self.broken}")[:2])
        slugs = [_slug(self, f"{target}/{n}") for n in range(8)]
        page.menu = [Link(f"/{slug}.html", slug) for slug in slugs]
        return page.answer(self.status)


class AlwaysMissing(OneAnswer):
    """Every URL of the host is answered with 404."""

    status = 404


class AlwaysFailing(OneAnswer):
    """Every URL of the host but robots.txt is answered with 500."""

    status = 500

    def robots(self, host: str) -> Answer:
        return Site.robots(self, host)


def _slug(site: Site, key: str) -> str:
    return "-".join(words.name(site.rng("slug", key, str(n))).lower() for n in range(2))
