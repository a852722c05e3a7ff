"""The additional pages that a host has because of its role."""

from collections.abc import Iterator

from .oddities import FAR_SPELLINGS, FAULTS, OWN_SPELLINGS, REDIRECTS, TAGS, TRAITS
from .page import HTML, Link, Page, Spot, Traits
from .robots import ABSENT, robots_of
from .roles import Roles

_SEQUELS = {"chain": ("chain", "chain-2", "chain-3"), "loop": ("loop", "loop-2")}


def extra_pages(roles: Roles, host: int) -> dict[str, Page]:
    """Return all additional pages of a host by path; the home page links to them."""
    pages = [
        *_fault(roles.conditions.get(host, ""), host),
        *_robots_pages(roles.conditions.get(host, ""), host),
        *(page for name in roles.features.get(host, ()) for page in _feature(roles, host, name)),
    ]
    return {page.spot[1]: page for page in pages}


def filler(spot: Spot) -> Page:
    """Return a page that exists wherever it is requested: beyond an oddity, or as a lure."""
    host, path = spot
    onward = "/" if path.startswith("/beyond/") else "/lure/further"
    return Page(spot, f"{host}{path}", (Link((host, onward)),))


def _fault(condition: str, host: int) -> Iterator[Page]:
    if condition in FAULTS:
        spot = (host, f"/odd/{condition}")
        yield Page(spot, f"{host}/{condition}", (), Traits(manner=condition))


def _robots_pages(condition: str, host: int) -> Iterator[Page]:
    """Return the pages of the rules in robots.txt: forbidden pages lure, welcome ones link to the
    home page."""
    rules = robots_of(condition)
    if rules is ABSENT:
        return
    for path in rules.forbidden:
        yield Page((host, path), f"{host}{path}", (Link((host, "/lure/forbidden")),))
    for path in rules.welcome:
        yield Page((host, path), f"{host}{path}", (Link((host, "/beyond/welcome")),))
    if rules.forbidden:
        moved = (host, rules.forbidden[0])
        yield Page((host, "/odd/to-forbidden"), "moved", (), Traits(302), moved)


def _feature(roles: Roles, host: int, name: str) -> Iterator[Page]:
    if name == "copy":
        yield from _copies(roles, host)
    elif name in REDIRECTS:
        yield from (_redirect(roles, host, part) for part in _SEQUELS.get(name, (name,)))
    else:
        spot = (host, f"/odd/{name}")
        traits = TRAITS.get(name, Traits())
        yield Page(spot, f"{host}/{name}", tuple(_links(host, name, traits)), traits)


def _copies(roles: Roles, host: int) -> Iterator[Page]:
    """Copies are equal byte for byte, so their links are absolute and do not depend on the copy."""
    for number, group in enumerate(roles.groups):
        first = group[0][0]
        links = (Link((first, f"/beyond/copy-{number}")), Link((group[-1][0], "/")))
        for spot in group:
            if spot[0] == host:
                yield Page(spot, f"copy-{number}", links)


def _redirect(roles: Roles, host: int, name: str) -> Page:
    traits, path = REDIRECTS[name]
    there = _neighbour(roles, host) if name == "away" else host
    target = None if path is None else (there, path)
    return Page((host, f"/odd/{name}"), f"{host}/{name}", (), traits, target)


def _neighbour(roles: Roles, host: int) -> int:
    """Return the next sound host; the same host if there is no other."""
    count = len(roles.names)
    others = ((host + step) % count for step in range(1, count + 1))
    return next(other for other in others if other not in roles.conditions)


def _links(host: int, name: str, traits: Traits) -> Iterator[Link]:
    if traits.type not in HTML:
        return
    beyond = (host, f"/beyond/{name}")
    if name == "tags":
        yield from (Link((host, f"/beyond/{tag}"), tag) for tag in TAGS)
    elif name == "spellings":
        spellings = dict.fromkeys((*OWN_SPELLINGS, *FAR_SPELLINGS))
        yield from (Link((host, f"/beyond/{way}"), spelling=way) for way in spellings)
    elif traits.based:
        yield Link(beyond, spelling="based")
    elif traits.parsed:
        yield Link(beyond)
    else:
        yield Link((host, f"/lure/{name}"))
    if name == "rel-nofollow":
        yield Link((host, "/lure/rel-nofollow"), nofollow=True)
    if name == "schemes":
        yield from (Link(beyond, spelling=way) for way in ("mailto", "telephone", "self"))
