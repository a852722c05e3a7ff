"""The robots.txt of a host, and the paths that it forbids, which are known without parsing."""

from dataclasses import dataclass

ROBOTS = "/robots.txt"
MOVED = "/robots-moved.txt"
BOM = "\ufeff"
DELAY = 0.4

_PRIVATE = "User-agent: *\nDisallow: /private/\nAllow: /private/open/\n"
_GROUPS = "User-agent: *\nDisallow: /\n\nUser-agent: gossamer\nDisallow: /private/\n"
_ODD_LINES = "USER-AGENT : *\r\r# notes\r\n Disallow:/private/ # not here\rNonsense\r\n"


@dataclass(frozen=True, slots=True)
class Robots:
    """One host's rules. Its home page links to the `forbidden` and `welcome` paths.

    `text` has no line about the `sitemaps`: their URLs depend on host and port.
    """

    status: int = 200
    text: str = ""
    forbidden: tuple[str, ...] = ()
    welcome: tuple[str, ...] = ()
    closed: bool = False
    moved: bool = False
    delay: float | None = None
    sitemaps: tuple[str, ...] = ()

    def forbids(self, path: str) -> bool:
        return self.closed or path in self.forbidden


ABSENT = Robots(404)
SITEMAPS = tuple(f"/sitemap-{number}.xml" for number in range(1, 6))
NAMES_SITEMAPS = Robots(sitemaps=SITEMAPS)
_KINDS = {
    "robots-prefix": Robots(
        text=_PRIVATE, forbidden=("/private/a", "/private/b?c=1"), welcome=("/private/open/c",)
    ),
    "robots-pattern": Robots(
        text="User-agent: *\nDisallow: /*.tmp$\nDisallow: /*secret=\n",
        forbidden=("/docs/old.tmp", "/docs/view?secret=1"),
        welcome=("/docs/old.tmp.html", "/docs/view?public=1"),
    ),
    "robots-group": Robots(text=_GROUPS, forbidden=("/private/a",), welcome=("/public/a",)),
    "robots-moved": Robots(text=_PRIVATE, forbidden=("/private/a",), moved=True),
    "robots-bom": Robots(text=BOM + _ODD_LINES, forbidden=("/private/a",), welcome=("/public/a",)),
    "robots-closed": Robots(text="User-agent: *\nDisallow: /\n", closed=True),
    "robots-failing": Robots(500, closed=True),
    "robots-denied": Robots(403, welcome=("/private/a",)),
    "robots-empty": Robots(welcome=("/private/a",)),
    "robots-delay": Robots(
        text=f"User-agent: *\nCrawl-delay: {DELAY}\nDisallow: /private/\n",
        forbidden=("/private/a",),
        delay=DELAY,
    ),
    # An unreachable robots.txt forbids everything (RFC 9309, 2.3.1.4).
    "silent": Robots(closed=True),
}


def robots_of(condition: str) -> Robots:
    """Return the rules of a host in this condition; most hosts have none."""
    return _KINDS.get(condition, ABSENT)
