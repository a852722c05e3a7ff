"""Generated webs are the ones that were measured: figures of the documentation depend on them.

A digest stands for the answers of a web to a breadth-first walk, each URL requested twice, and for
its truth. A web whose digest changed needs its figures measured again.
"""

import gzip
from collections.abc import Callable
from dataclasses import astuple
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from tests.consent import ConsentWeb
from tests.consent.web import SOURCES
from tests.support.transcripts import Transcript
from tests.synthweb import Truth, World
from tests.synthweb.answers import Answer
from tests.synthweb.atlas import Atlas
from tests.synthweb.client import Web
from tests.synthweb.robots import ROBOTS
from tests.synthweb.truth import truth_of
from tests.traps import KINDS, Sites, TrapWeb

from .walking import links_of, request

PORT = 8080
ZIPPED_IMAGE = b"\x89PNG"
"""The start of a body whose bytes depend on the library that compresses it."""
CONSENT = ConsentWeb(combinations=1 + sum(len(forms) - 1 for forms in SOURCES.values()))
"""Each statement stands alone on one host. The page of the documentation has their truth."""
WORLDS = {
    "mixed": World(seed=7, hosts=60, pages=2, crowd=2),
    "tree": World(seed=3, hosts=20, pages=8, shape="tree"),
    "plain": World.plain(seed=5, hosts=12),
    "sitemaps": World.plain(seed=9, hosts=5, listed=40),
}


class Generated(NamedTuple):
    """A generated web."""

    web: Web
    walk: int
    """The maximum number of URLs of the walk, beside seeds and robots.txt."""
    truth: Callable[[list[str]], object]
    """Returns what the web knows about some of its URLs."""


def trap_web(kind: str) -> Generated:
    web = TrapWeb(seed=3, traps=(kind,), pages=5, sites=1)
    sites = Sites(web, PORT)
    return Generated(
        web, 60, lambda urls: [(sites.page_of(url), sites.is_trap(url)) for url in urls]
    )


def world(numbers: World) -> Generated:
    atlas = Atlas(numbers, PORT)
    return Generated(numbers, 2000, lambda urls: sorted_sets(truth_of(atlas, atlas.seeds)))


def sorted_sets(truth: Truth) -> list[object]:
    return [sorted(it) if isinstance(it, set) else it for it in astuple(truth)]


def test_generated_webs_are_the_ones_that_were_measured(transcript: Transcript) -> None:
    for group, webs in {
        "traps, and honest sites that look like traps": {kind: trap_web(kind) for kind in KINDS},
        "worlds": {name: world(numbers) for name, numbers in WORLDS.items()},
        "statements and walls": {"consent": Generated(CONSENT, 0, lambda urls: "")},
    }.items():
        transcript.add(group, [f"{name}: {describe(web)}" for name, web in webs.items()])


def describe(generated: Generated) -> str:
    """Return the number of URLs of a walk over a web, and its digest."""
    served = generated.web.open(PORT)
    digest = sha256(repr((sorted(served.addresses.items()), served.wildcards)).encode())
    urls = [*served.seeds, *(f"http://{host}:{PORT}{ROBOTS}" for host in served.addresses)]
    found, end = {*urls}, len(urls) + generated.walk
    for url in islice(urls, end):
        for answer in (request(served, url) for _ in range(2)):
            digest.update(repr((url, *described(answer))).encode())
            new = dict.fromkeys(it for it in links_of(url, answer) if it not in found)
            urls += new
            found.update(new)
    digest.update(repr(generated.truth(urls)).encode())
    return f"{len(urls)} URLs, {digest.hexdigest()[:12]}"


def described(answer: Answer) -> tuple[object, ...]:
    body = answer.body
    if "Content-Encoding" in answer.headers:
        body = gzip.decompress(body)
    return answer.status, answer.headers, answer.manner, not body.startswith(ZIPPED_IMAGE) and body
