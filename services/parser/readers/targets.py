"""The links of what is no HTML: where it says that it leads, without words."""

from collections.abc import Iterable

from msgspec.structs import replace

from gossamer.events import Link, PageParsed
from gossamer.events.hazards import Hazard
from services.parser.answers import with_hazards
from services.parser.links import Resolver
from services.parser.options import Options


def linked(parsed: PageParsed, targets: Iterable[str], options: Options) -> PageParsed:
    """Return *parsed* with links to *targets*, each once, as many as are taken of a page."""
    resolver, urls, room = Resolver(parsed.visit.url, "utf-8"), dict[str, None](), 0
    for url in filter(None, map(resolver.url, dict.fromkeys(targets))):
        if len(urls) == options.links_limit or (room := room + len(url)) > options.links_bytes:
            resolver.hazards.add(Hazard.TOO_MANY_LINKS)
            break
        urls[url] = None
    return replace(
        with_hazards(parsed, sorted(resolver.hazards)), links=tuple(Link(url) for url in urls)
    )
