"""The hosts of a web of consent: combinations of statements, and walls."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from tests.synthweb.answers import Answer
from tests.synthweb.robots import ROBOTS as ROBOTS_PATH
from tests.synthweb.server import Head, Served
from tests.traps import words
from tests.traps.page import Link, Page

from .signatures import SIGNED, Message, SignatureCheck
from .statements import ABSENT, HEADERS, LICENSES, META, OPEN, PATHS, ROBOTS, TDMREP, Form
from .truth import verdicts_of
from .walls import LICENSE_PATH, WALLS, Wall

TDMREP_PATH = "/.well-known/tdmrep.json"
USAGE_PATHS = (TDMREP_PATH, LICENSE_PATH)
POLICY_PATH = "/policy.json"
WALLED_PATHS = ("/", "/first.html", "/second.html", "/third.html")
FIRST = IPv4Address("127.3.0.1")
"""The address of the first host; the other hosts have the following ones."""
ABSENT_SHARE = 0.35
"""The probability that a source of a random combination states nothing."""
SOURCES: Mapping[str, Mapping[str, Form]] = {
    "robots": ROBOTS,
    "header": HEADERS,
    "meta": META,
    "tdmrep": TDMREP,
    "license": LICENSES,
}


class Combination(NamedTuple):
    """The names of the forms of one host, by source."""

    robots: str = ABSENT
    header: str = ABSENT
    meta: str = ABSENT
    tdmrep: str = ABSENT
    license: str = ABSENT

    def form(self, source: str) -> Form:
        name: str = getattr(self, source)
        return SOURCES[source][name]

    def verdicts(self, path: str) -> dict[str, str]:
        """Return category → verdict for the page at *path*."""
        return verdicts_of(self.form(source).says(path) for source in SOURCES)

    def verdicts_before(self, path: str) -> dict[str, str]:
        """Return the verdicts by the files of the host, which are known before the page is."""
        files = ("robots", "tdmrep", "license")
        return verdicts_of(self.form(source).says(path) for source in files)


@dataclass(frozen=True)
class ConsentWeb:
    """A web of consent. The same numbers give the same web."""

    seed: int = 1
    combinations: int = 208
    """Hosts with usage statements. Each form is alone on one of the first hosts."""
    key: str = ""
    """The PEM file with the public key of the crawler; empty if no signature is admitted."""

    def open(self, port: int) -> Served:
        hosts = Hosts(self, port)
        addresses = {name: FIRST + number for number, name in enumerate(hosts.names)}
        return Served(hosts.respond, addresses, hosts.seeds)

    @cached_property
    def combined(self) -> list[Combination]:
        """Return the combinations: each form alone, and then random ones."""
        alone = [
            Combination(**{source: name})
            for source, forms in SOURCES.items()
            for name in forms
            if name != ABSENT
        ]
        found = dict.fromkeys([Combination(), *alone])
        rng = random.Random(f"consent/{self.seed}")
        while len(found) < self.combinations:
            found[Combination(*(_choose(rng, forms) for forms in SOURCES.values()))] = None
        return list(found)[: self.combinations]


def _choose(rng: random.Random, forms: Mapping[str, Form]) -> str:
    named = [name for name in forms if name != ABSENT]
    return ABSENT if rng.random() < ABSENT_SHARE else rng.choice(named)


class Walled(NamedTuple):
    """A host with a wall: in front of its pages, or in place of its robots.txt."""

    wall: Wall
    at_robots: bool


class Hosts:
    """All hosts of a web on a given port."""

    def __init__(self, web: ConsentWeb, port: int) -> None:
        self.web, self.port = web, port
        self.combinations = {f"use{at:03}.test": one for at, one in enumerate(web.combined)}
        self.walled = {
            f"{name}{part}.test": Walled(wall, bool(part))
            for name, wall in WALLS.items()
            for part in ("", "-robots")
        }
        self.names = [*self.combinations, *self.walled]
        self._check = SignatureCheck(_read_key(web.key)) if web.key else None

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def seeds(self) -> list[str]:
        """Return the URLs of all pages, so that no refusal hides another page."""
        return [*self.pages, *self.walled_urls]

    @cached_property
    def pages(self) -> dict[str, dict[str, str]]:
        """Return the URL of each page with statements → its verdicts."""
        return {
            self.url(host, path): one.verdicts(path)
            for host, one in self.combinations.items()
            for path in PATHS
        }

    @cached_property
    def walled_urls(self) -> dict[str, Walled]:
        return {
            self.url(host, path): walled
            for host, walled in self.walled.items()
            for path in WALLED_PATHS
        }

    def combination(self, url: str) -> tuple[Combination, str]:
        """Return the combination of a page's host, and the path of the page."""
        parts = urlsplit(url)
        return self.combinations[parts.hostname or ""], parts.path

    # Answers

    def respond(self, head: Head) -> Answer:
        """Return the answer, with a note on the signature of the request."""
        note = self._note(head)
        return replace(self._answer(head.host, head.target, note == SIGNED), note=note)

    def _note(self, head: Head) -> str:
        if self._check is None:
            return ""
        url = f"http://{head.authority}{head.target}"
        return self._check.note(Message(head.method, url, head.headers))

    def _answer(self, host: str, target: str, is_signed: bool) -> Answer:
        if host in self.combinations:
            return self._stated(host, target, self.combinations[host])
        if host not in self.walled:
            return Answer(404)
        wall, at_robots = self.walled[host]
        is_admitted = wall.admits_signed and is_signed
        if (target == ROBOTS_PATH) == at_robots and not is_admitted:
            return wall.answer()
        if target == ROBOTS_PATH:
            return _text(OPEN, "text/plain")
        return self._page(host, target) if target in WALLED_PATHS else _missing()

    def _stated(self, host: str, target: str, combination: Combination) -> Answer:
        if target == ROBOTS_PATH:
            text = self._robots(host, combination)
            return _text(text, "text/plain") if text else _missing()
        if target == TDMREP_PATH and combination.tdmrep:
            return _text(self._filled(combination.form("tdmrep").text, host), "application/json")
        if target == LICENSE_PATH and combination.license:
            return _text(combination.form("license").text, "application/rsl+xml")
        if target == POLICY_PATH:
            return _text('{"@type": "Offer"}', "application/ld+json")
        if target not in PATHS:
            return _missing()
        page = self._page(host, target, combination.form("meta").text)
        headers = combination.form("header").headers
        named = {name: self._filled(value, host) for name, value in headers.items()}
        return Answer(page.status, page.body, {**page.headers, **named})

    def _robots(self, host: str, combination: Combination) -> str:
        text = combination.form("robots").text
        if combination.license:
            return f"License: {self.url(host, LICENSE_PATH)}\n\n{text or OPEN}"
        return text

    def _page(self, host: str, path: str, head: str = "") -> Answer:
        key = f"{self.web.seed}/{host}{path}"
        page = Page(words.headline(key), words.paragraphs(key), head=head)
        page.menu = [Link(to, f"page {to}") for to in self._paths(host)]
        return page.answer()

    def _paths(self, host: str) -> tuple[str, ...]:
        return PATHS if host in self.combinations else WALLED_PATHS

    def _filled(self, text: str, host: str) -> str:
        return text.replace("{host}", host).replace("{port}", str(self.port))


def _text(text: str, content_type: str) -> Answer:
    return Answer(200, text.encode(), {"Content-Type": content_type})


def _missing() -> Answer:
    return Page("Not found", ["There is no such page."]).answer(404)


def _read_key(path: str) -> Ed25519PublicKey:
    key = load_pem_public_key(Path(path).read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    return key
