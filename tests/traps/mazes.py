"""Tarpits for crawlers that collect texts: endless pages that link only to each other."""

from tests.synthweb.answers import Answer

from . import words
from .page import Link, Page
from .site import Site

LINKS_OF_A_PAGE = 10


class Tarpit(Site):
    """A slow maze: ordinary words in random order."""

    manner = "drip"

    def add_entries(self, page: Page, host: str, target: str, path: str) -> None:
        page.footer.append(Link("/maze/", "More"))

    def trap(self, host: str, target: str) -> Answer:
        if not target.startswith("/maze/"):
            return super().trap(host, target)
        page = Page(words.headline(f"{self.seed}{target}"), self.maze_text(target))
        rng = self.rng("maze", target)
        folder = "/".join(target.split("/")[:3][:-1])
        for _ in range(LINKS_OF_A_PAGE):
            slug = "-".join(words.name(rng).lower() for _ in range(3))
            page.lists.append(Link(f"{folder}/{slug}", slug))
        return page.answer(manner=self.manner)

    def maze_text(self, target: str) -> list[str]:
        return words.jumble(f"{self.seed}{target}")


class Babble(Tarpit):
    """A fast maze: each page has words that no other page has."""

    manner = "whole"

    def maze_text(self, target: str) -> list[str]:
        return words.babble(f"{self.seed}{target}")
