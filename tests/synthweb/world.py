"""The numbers that determine a world; the rest of the package is a function of them.

Fractions are the fractions of hosts with an oddity. A fraction above zero gives at least one host
to every kind under it, so that a small world shows all of them (as long as there are hosts).
"""

from dataclasses import dataclass, fields, replace
from ipaddress import IPv4Address
from typing import Any

from .answers import Answers
from .atlas import Atlas
from .dns import REFUSING
from .server import Served, by_url

FIRST = IPv4Address("127.1.0.0")
"""The address of the first hosts of a world; the other hosts have the following ones."""


@dataclass(frozen=True)
class World:
    """A world. The same numbers give the same world, byte for byte (absolute links contain the
    port)."""

    seed: int = 1
    hosts: int = 30
    pages: int = 6
    seeds: int = 3
    # "web": links to anywhere. "tree": one path to each page, and links back to ancestors only, so
    # that the depth of a page does not depend on the order of the crawl.
    shape: str = "web"
    ttl: int = 60
    # the number of hosts that share an address
    crowd: int = 1
    jitter: float = 0.0
    slowness: float = 0.3
    # the number of entries of each sitemap in the first host's robots.txt; 0: none
    listed: int = 0

    # additional pages on hosts that are otherwise sound
    redirects: float = 0.1
    errors: float = 0.1
    retries: float = 0.05
    transfers: float = 0.1
    types: float = 0.1
    charsets: float = 0.1
    nofollows: float = 0.1
    markup: float = 0.1
    duplicates: float = 0.1
    # whole hosts: a host has one of these conditions, or none
    robots: float = 0.02
    delays: float = 0.02
    broken: float = 0.01
    stuck: float = 0.003
    silent: float = 0.003
    refused: float = 0.01
    unresolved: float = 0.01

    @classmethod
    def plain(cls, **numbers: Any) -> "World":
        """Return a world without oddities, with these numbers."""
        none: dict[str, Any] = dict.fromkeys(ODDITY_OPTIONS, 0.0)
        return replace(cls(**none), **numbers)

    def open(self, port: int) -> Served:
        atlas = Atlas(self, port)
        addresses = {}
        for name, host in atlas.numbers.items():
            refuses = atlas.condition(host) == "refused"
            if atlas.condition(host) != "unresolved":
                addresses[name] = REFUSING if refuses else FIRST + host // self.crowd
        answers = by_url(Answers(atlas).to)
        return Served(answers, addresses, atlas.seeds, {}, self.ttl, self.jitter, self.slowness)


_SETTINGS = (
    *("seed", "hosts", "pages", "seeds", "shape", "ttl", "crowd", "jitter", "slowness"),
    "listed",
)
ODDITY_OPTIONS = tuple(field.name for field in fields(World) if field.name not in _SETTINGS)
