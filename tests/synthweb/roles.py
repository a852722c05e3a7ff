"""The names and roles of hosts, drawn once from the seed, in exact numbers."""

import random
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from .oddities import CONDITIONS, FEATURES
from .page import Spot

if TYPE_CHECKING:
    from .world import World

GROUP = 3
"""Hosts that share the copies of one page."""


@dataclass(frozen=True)
class Roles:
    """The roles in a world. `conditions` has unsound hosts only, `features` sound hosts only."""

    names: list[str]
    conditions: dict[int, str]
    features: dict[int, tuple[str, ...]]
    groups: list[tuple[Spot, ...]]


def cast(world: "World") -> Roles:
    conditions = _conditions(world)
    sound = [host for host in range(world.hosts) if host not in conditions]
    hosts_of = {name: _sample(world, name, share, sound) for name, share in _shares(world)}
    features: dict[int, tuple[str, ...]] = {}
    for name, hosts in hosts_of.items():
        for host in hosts:
            features[host] = (*features.get(host, ()), name)
    return Roles(host_names(world.hosts), conditions, features, _groups(hosts_of["copy"]))


def host_names(count: int) -> list[str]:
    """Return sites of one to five hosts: the bare domain, www, and numbered names."""
    names: list[str] = []
    site = 0
    while len(names) < count:
        domain = f"site{site}.{('example', 'test')[site % 2]}"
        prefixes = [("", "www.")[site % 3 % 2]] + [f"w{n}." for n in range(site * 7 % 5)]
        names += [prefix + domain for prefix in prefixes]
        site += 1
    return names[:count]


def site_of(name: str) -> str:
    """Return the registrable domain; all names are directly under a reserved top level."""
    return ".".join(name.split(".")[-2:])


def _conditions(world: "World") -> dict[int, str]:
    """Host 0 stays sound, and at least half of the world."""
    hosts = list(range(1, world.hosts))
    random.Random(f"{world.seed}/conditions").shuffle(hosts)
    kinds = [
        kind
        for option, names in CONDITIONS.items()
        for kind in names
        for _ in range(ceil(getattr(world, option) * world.hosts))
    ]
    return dict(zip(hosts[: world.hosts // 2], kinds, strict=False))


def _shares(world: "World") -> list[tuple[str, float]]:
    return [(name, getattr(world, option)) for option, names in FEATURES.items() for name in names]


def _sample(world: "World", name: str, share: float, sound: list[int]) -> list[int]:
    wanted = min(len(sound), ceil(share * world.hosts))
    return random.Random(f"{world.seed}/{name}").sample(sound, wanted)


def _groups(hosts: list[int]) -> list[tuple[Spot, ...]]:
    """Copies of one page are spread over up to three hosts; the first host has two of them."""
    chunks = [hosts[at : at + GROUP] for at in range(0, len(hosts), GROUP)]
    return [
        tuple((host, f"/copy/{number}-{n}") for n, host in enumerate([chunk[0], *chunk]))
        for number, chunk in enumerate(chunks)
    ]
