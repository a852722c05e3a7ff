"""All that a document leads to: its links, and what is kept beside them."""

from functools import partial
from typing import Any, NamedTuple

from gossamer.events import Link
from gossamer.events.hazards import Hazard
from gossamer.events.pages import Form, LinkKind
from gossamer.web.url import site_of
from services.parser.elements import Elements
from services.parser.guesses import GUESSES, guesses
from services.parser.links import Links, Resolver
from services.parser.options import Options
from services.parser.requisites import forms, requisites
from services.parser.targets import LEADING, target_of, text_of


class Collected(NamedTuple):
    """What a document leads to."""

    canonical: str
    links: tuple[Link, ...]
    forms: tuple[Form, ...]
    requisites: tuple[str, ...]
    hazards: frozenset[Hazard]
    resolver: Resolver
    """For what else it names. It notes no hazard any more."""

    def fields(self) -> dict[str, Any]:
        """Return what of it are fields of `PageParsed`."""
        names = ("canonical", "links", "forms", "requisites")
        return {name: getattr(self, name) for name in names}


def collect(elements: Elements, url: str, charset: str, options: Options) -> Collected:
    """Return what the document of *elements*, found at *url* in *charset*, leads to."""
    resolver, links = Resolver(_base(elements, url, charset), charset), Links(options)
    canonical = _collect(elements, resolver, links, url)
    shown_with = requisites(elements, resolver, options.requisites_limit)
    asking = forms(elements, resolver, url)
    hazards = frozenset((*resolver.hazards, *links.hazards))
    if options.script_links and _guess(elements, resolver, links, url):
        hazards |= {Hazard.SCRIPT_LINKS}
    return Collected(canonical, links.all(), asking, shown_with, hazards, resolver)


def _base(elements: Elements, url: str, charset: str) -> str:
    given = next((element for element in elements.of("base") if "href" in element.attributes), None)
    # HTML standard, 4.2.3: a base that does not parse is as if it were not there.
    return (Resolver(url, charset).url(given.get("href")) if given else "") or url


def _collect(elements: Elements, resolver: Resolver, links: Links, own: str) -> str:
    """Add to *links* where *elements* lead; return the canonical URL that the page names."""
    canonical = ""
    for element in elements.every:
        target = target_of(element) if element.tag in LEADING else None
        if target is None or not (url := resolver.url(target.url)):
            continue
        if target.kind is LinkKind.CANONICAL:
            canonical = canonical or url
        # What a page says of itself is no link: its own name, itself among its languages.
        if element.tag != "link" or url != own:
            position = elements.position_of(element)
            links.add(url, target.kind, element.tokens("rel"), partial(text_of, element), position)
    return canonical


def _guess(elements: Elements, resolver: Resolver, links: Links, own: str) -> bool:
    """Add to *links*, as the last ones, what scripts may lead to; say if there is any.

    To other sites scripts lead for services rather than for pages.
    """
    site, found = site_of(own), dict[str, None]()
    for target in guesses(elements):
        url = resolver.url(target)
        if url and url != own and url not in links and site_of(url) == site:
            found[url] = None
        if len(found) == GUESSES:
            break
    for url in found:
        links.add(url, LinkKind.SCRIPT, [], str)
    return bool(found)
