"""The web of some kinds of honest sites, with a page that links to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address
from urllib.parse import urlsplit

from tests.synthweb import RunningWeb
from tests.synthweb.answers import HTML, NOTHING, Answer
from tests.synthweb.server import Served, by_url

from .kinds import KINDS, ON_ONE_ADDRESS
from .page import PORT, Pages, html, links, url

FIRST = IPv4Address("127.3.0.1")
"""The first address. The portal has it."""
PORTAL = "portal.example"
"""A host that links to the home pages of all hosts, for crawls that do not name them."""


@dataclass(frozen=True)
class HonestWeb:
    """Some kinds of sites. The same numbers give the same web."""

    kinds: Sequence[str]
    size: int
    """About the pages of each kind."""

    def open(self, port: int) -> Served:
        sites = Sites(self.kinds, self.size, port)
        return Served(by_url(sites.to), sites.addresses, sites.homes())


class Sites:
    """The pages of some kinds on a given port."""

    def __init__(self, kinds: Sequence[str], size: int, port: int) -> None:
        self._port = f":{port}/"
        self._pages = {kind: self._at_port(KINDS[kind](size)) for kind in kinds}
        self._answers = {at: page for pages in self._pages.values() for at, page in pages.items()}
        self._kinds = {
            urlsplit(at).hostname or "": kind for kind in kinds for at in self._pages[kind]
        }
        groups = [kind if kind in ON_ONE_ADDRESS else host for host, kind in self._kinds.items()]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups), 1)}
        self.addresses = {PORTAL: FIRST} | {
            host: FIRST + numbers[group] for host, group in zip(self._kinds, groups, strict=True)
        }
        home = html("Portal", links((at, at) for at in self.homes()), "portal")
        self._answers |= self._at_port({url(PORTAL): home})

    def urls(self, kind: str) -> set[str]:
        return {*self._pages[kind]}

    def kind_of(self, url: str) -> str | None:
        """Return the kind to whose host a URL belongs, or None."""
        return self._kinds.get(urlsplit(url).hostname or "")

    def homes(self) -> list[str]:
        return [f"http://{host}{self._port}" for host in self._kinds]

    def portal(self) -> str:
        return f"http://{PORTAL}{self._port}"

    def to(self, name: str, path: str) -> Answer:
        """Return the answer of the host *name* to a request for *path*."""
        page = self._answers.get(f"http://{name}{self._port}{path[1:]}")
        return NOTHING if page is None else Answer(200, page, {"Content-Type": HTML})

    def _at_port(self, pages: Pages) -> Pages:
        old, new = PORT.encode(), self._port.encode()
        return {at.replace(PORT, self._port): page.replace(old, new) for at, page in pages.items()}


class RunningHonestWeb(RunningWeb[HonestWeb]):
    """Kinds of honest sites that a process of its own serves."""

    @cached_property
    def sites(self) -> Sites:
        """Return the web without its process."""
        return Sites(self.web.kinds, self.web.size, self.port)
