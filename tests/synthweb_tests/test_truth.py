"""The truth compared with a walk over the served bytes, and properties of any world."""

import gzip

import pytest

from tests.synthweb import World
from tests.synthweb.answers import Answer, Answers
from tests.synthweb.atlas import Atlas
from tests.synthweb.oddities import FAULTS, UNREACHABLE
from tests.synthweb.robots import ROBOTS
from tests.synthweb.truth import Truth, spot_of, truth_of
from tests.synthweb_tests.reader import links_of, sitemaps_of, target_of

PORT = 8080
WORLDS = [
    World(seed=1),
    World(seed=7, hosts=150, pages=4),
    World(seed=3, hosts=60, pages=8, shape="tree"),
    World.plain(seed=5, hosts=40),
    World.plain(seed=9, hosts=5, listed=40),
]


def walk(atlas: Atlas) -> set[str]:
    """Return all URLs that can be requested, by reading the answers of the server."""
    answers = Answers(atlas)
    met: set[str] = set()
    waiting = list(atlas.seeds)
    while waiting:
        url = waiting.pop()
        host, path = spot_of(atlas, url)
        shut = atlas.condition(host) in UNREACHABLE or atlas.robots(host).forbids(path)
        if url in met or shut:
            continue
        met.add(url)
        if path == "/":
            waiting += sitemaps_of(answers.to(atlas.roles.names[host], ROBOTS))
        waiting += _onward(url, _patient(answers, atlas.roles.names[host], path))
    return met


def _patient(answers: Answers, name: str, path: str) -> Answer:
    first = answers.to(name, path)
    return answers.to(name, path) if "Retry-After" in first.headers else first


def _onward(url: str, answer: Answer) -> set[str]:
    if answer.manner in FAULTS:
        return set()
    packed = answer.headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(answer.body) if packed else answer.body
    target = target_of(url, answer)
    return links_of(url, answer, body) | ({target} if target else set())


def truth_at(world: World) -> tuple[Atlas, Truth]:
    atlas = Atlas(world, PORT)
    return atlas, truth_of(atlas, atlas.seeds)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_required_urls_are_those_that_the_served_pages_lead_to(world: World) -> None:
    atlas, truth = truth_at(world)
    assert truth.required == walk(atlas)
    assert not any("/lure/" in url for url in truth.depths)


def test_mixed_world_has_each_kind() -> None:
    _, truth = truth_at(World(seed=7, hosts=150))
    kinds = {"404", "410", "500", "403", "silent", "refused", "unresolved", *FAULTS}
    assert set(truth.errors.values()) == kinds
    assert set(truth.others.values()) == {"image/png", "application/pdf"}
    assert None in truth.redirects.values()
    assert truth.retried and truth.forbidden and truth.delays and truth.duplicates


def test_plain_world_has_only_pages() -> None:
    _, truth = truth_at(World.plain(hosts=40, pages=6))
    assert len(truth.pages) == 240
    assert truth.required == truth.pages
    assert not truth.forbidden


def test_only_copies_are_equal() -> None:
    atlas, truth = truth_at(World(seed=7, hosts=150))
    answers = Answers(atlas)
    copies = {url: number for number, group in enumerate(truth.duplicates) for url in group}
    bodies: dict[bytes, set[str | int]] = {}
    for url in truth.pages - truth.retried:
        host, path = spot_of(atlas, url)
        body = answers.to(atlas.roles.names[host], path).body
        bodies.setdefault(body, set()).add(copies.get(url, url))
    assert all(len(owners) == 1 for owners in bodies.values())
    assert len(bodies) < len(truth.pages - truth.retried)
