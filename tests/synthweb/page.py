"""A page before it has bytes: its place, its links, and the way it is answered."""

from dataclasses import dataclass

Spot = tuple[int, str]
"""A host's number, and a path with its query: a URL without its port."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link as a page shows it: one spot may be written in many forms."""

    to: Spot
    tag: str = "a"
    spelling: str = "absolute"
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Traits:
    """The differences of an answer to a sound HTML page that is sent whole."""

    status: int = 200
    type: str = "text/html"
    charset: str = "utf-8"
    declared: str = "header"
    manner: str = "whole"
    robots: str = ""
    based: bool = False
    relative: bool = False
    # The status of the first answer, if it differs from later ones: Retry-After.
    first: int | None = None

    @property
    def parsed(self) -> bool:
        """Whether links in the body count for a crawler."""
        return (
            self.status in ANSWERED
            and self.manner in SOUND
            and self.type in LINKING
            and not self.robots
        )


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of the world. Equal `text` has equal words."""

    spot: Spot
    text: str
    links: tuple[Link, ...] = ()
    traits: Traits = Traits()
    target: Spot | None = None


ANSWERED = frozenset({200})
REDIRECTED = frozenset({301, 302, 303, 307, 308})
SOUND = frozenset({"whole", "chunked", "gzip", "slow"})
HTML = frozenset({"text/html", "application/xhtml+xml"})
SITEMAP = "application/xml"
LINKING = HTML | {SITEMAP}
