"""The entries of a sitemap or a feed while it is read, and what comes of them."""

from msgspec import json
from msgspec.structs import replace

from gossamer.events import Entry, Link, Listing, PageParsed
from gossamer.events.hazards import Hazard
from services.parser.answers import with_hazards
from services.parser.links import Resolver
from services.parser.options import Options
from services.parser.text import digest_of

ROOM = 6 << 20
"""Most bytes of all entries: with the rest of an event they must fit the log."""
USUAL = 0.5
"""The priority of what has none (sitemaps.org)."""


class Entries:
    """Collects entries, each canonical URL once, and the hazards met with the others."""

    def __init__(self, parsed: PageParsed, options: Options) -> None:
        self._parsed, self._options = parsed, options
        self._limit, self._room = options.entries_limit, ROOM
        self._found: dict[str, tuple[float, Entry]] = {}
        self._hazards: set[Hazard] = set()
        self._base = parsed.visit.url
        self._resolver = self._resolver_at(self._base)

    @property
    def is_full(self) -> bool:
        """Whether more were found than are taken."""
        return Hazard.TOO_MANY_LINKS in self._hazards

    def add(self, url: str, changed_at: float, every: float = 0.0, priority: float = USUAL) -> None:
        """Add an entry; of two for the same URL the newer one stays."""
        if not url:
            return
        _, before = self._found.get(url, (0.0, None))
        entry = Entry(url, changed_at, every)
        if before and before.changed_at >= changed_at:
            return
        more = 0 if before else len(json.encode(entry)) + 1
        if more > self._room or (before is None and len(self._found) == self._limit):
            self._hazards.add(Hazard.TOO_MANY_LINKS)
        else:
            self._found[url] = priority, entry
            self._room -= more

    def resolved(self, target: str, base: str | None = None) -> str:
        """Return *target* as a canonical URL; "" if it is none to visit.

        It is relative to *base*, and that to the listing itself.
        """
        url = self._parsed.visit.url
        if base:
            url = self._resolved(base, url) or url
        return self._resolved(target, url) if target else ""

    def _resolved(self, target: str, base: str) -> str:
        if base != self._base:
            self._hazards |= self._resolver.hazards
            self._base, self._resolver = base, self._resolver_at(base)
        return self._resolver.url(target)

    def _resolver_at(self, base: str) -> Resolver:
        return Resolver(base, self._parsed.charset or "utf-8")

    def listed(self, listing: Listing, *others: str) -> PageParsed:
        """Return what the listing says: its entries, and as links *others* that it leads to."""
        by_priority = sorted(self._found.values(), key=lambda one: -one[0])
        entries = tuple(entry for _, entry in by_priority)
        parsed = self._parsed
        return replace(
            with_hazards(parsed, sorted(self._hazards | self._resolver.hazards)),
            listing=listing,
            entries=entries,
            links=tuple(Link(url) for url in dict.fromkeys(others) if url),
            digest=digest_of(json.encode((entries, others))) if entries else parsed.digest,
        )
