"""Serves kinds of honest sites until its parent ends: `--kinds forum,shops --size 60`."""

import argparse
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

from tests.synthweb import RunningWeb
from tests.synthweb.answers import NOTHING, Answer
from tests.synthweb.dns import Zone
from tests.synthweb.listening import Place, Served, serve_until_orphaned
from tests.synthweb.server import ByPath

from .kinds import KINDS, ON_ONE_ADDRESS
from .page import PORT, Pages, html, links, url

FIRST = IPv4Address("127.3.0.1")
"""The first address. The portal has it."""
PORTAL = "portal.example"
"""A host that links to the home pages of all hosts, for crawls that do not name them."""
HTML = {"Content-Type": "text/html; charset=utf-8"}


class HonestWeb:
    """The pages of some kinds on a given port."""

    def __init__(self, kinds: tuple[str, ...], size: int, port: int) -> None:
        self.kinds, self._port = kinds, f":{port}/"
        self._pages = {kind: self._at_port(KINDS[kind](size)) for kind in kinds}
        self._answers = {at: page for pages in self._pages.values() for at, page in pages.items()}
        self._kinds = {
            urlsplit(at).hostname or "": kind for kind in kinds for at in self._pages[kind]
        }
        groups = [kind if kind in ON_ONE_ADDRESS else host for host, kind in self._kinds.items()]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups), 1)}
        self._addresses = {PORTAL: FIRST} | {
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
        return NOTHING if page is None else Answer(200, page, HTML)

    def zone(self) -> Zone:
        packed = {host: address.packed for host, address in self._addresses.items()}
        parents = {host[at + 1 :] for host in packed for at, it in enumerate(host) if it == "."}
        return Zone(packed.get, parents.__contains__)

    def addresses(self) -> list[str]:
        return [str(address) for address in dict.fromkeys(self._addresses.values())]

    def _at_port(self, pages: Pages) -> Pages:
        old, new = PORT.encode(), self._port.encode()
        return {at.replace(PORT, self._port): page.replace(old, new) for at, page in pages.items()}


class RunningHonestWeb(RunningWeb):
    """Kinds of honest sites that a process of its own serves."""

    def __init__(self, kinds: tuple[str, ...], size: int, record: Path | None = None) -> None:
        super().__init__([__name__, f"--kinds={','.join(kinds)}", f"--size={size}"], record)
        self.kinds, self.size = kinds, size

    @cached_property
    def sites(self) -> HonestWeb:
        """Return the web without its process."""
        return HonestWeb(self.kinds, self.size, self.port)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--kinds", required=True)
    parser.add_argument("--size", type=int, required=True)
    given = parser.parse_args()
    kinds = tuple(given.kinds.split(","))

    def open_web(port: int) -> Served:
        web = HonestWeb(kinds, given.size, port)
        return Served(ByPath(web), web.zone(), web.homes())

    addresses = HonestWeb(kinds, given.size, 0).addresses()
    serve_until_orphaned(Place(given.record), addresses, open_web)


if __name__ == "__main__":
    main()
