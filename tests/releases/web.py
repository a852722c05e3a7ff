"""A small web with queues, plans, parked URLs, backoff and duplicates."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address

from tests.synthweb.answers import NOTHING, Answer
from tests.synthweb.server import Served, by_url

FIRST = IPv4Address("127.9.0.1")
"""The address of the first host; the other hosts have the following ones."""
PLAIN = ("one.example", "shop.one.example", "two.example", "three.example")
"""Hosts whose pages link to each other."""
NEWS, ERASED, BLOCKED = "news.example", "erased.example", "blocked.example"
"""The host of the second crawl, and the hosts that operators erase and block."""
BUSY, SLOW, TRAP, UNKNOWN = "busy.example", "slow.example", "trap.example", "unknown.example"
HOSTS = (*PLAIN, NEWS, ERASED, BLOCKED, BUSY, SLOW, TRAP)
SEEDS = (PLAIN[0], ERASED, BUSY, SLOW, TRAP)
PAGES, TRAP_LINKS = 5, 20
"""Pages of a host, and links of a page of the trap."""
RETRY_AFTER, CRAWL_DELAY = 900.0, 30.0
"""The delays that the answers of BUSY and SLOW demand, in all kept data."""
STYLE = Answer(200, b"p { margin: 0 }", {"Content-Type": "text/css"})


@dataclass(frozen=True)
class ReleaseWeb:
    """The answers of all hosts."""

    def open(self, port: int) -> Served:
        answers = answers_at(port)
        addresses = {host: FIRST + number for number, host in enumerate(HOSTS)}
        return Served(
            by_url(lambda host, target: answers.get(f"http://{host}:{port}{target}", NOTHING)),
            addresses,
            [f"http://{host}:{port}/" for host in SEEDS],
        )


def answers_at(port: int) -> dict[str, Answer]:
    """Return the answers by URL; other URLs are not found."""
    found = dict[str, Answer]()
    for host in HOSTS:
        at = f"http://{host}:{port}"
        robots = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY:.0f}\n" if host == SLOW else ""
        found[f"{at}/robots.txt"] = Answer(
            200, f"{robots}Sitemap: {at}/sitemap.xml\n".encode(), {"Content-Type": "text/plain"}
        )
        if host == BUSY:
            busy = {"Retry-After": f"{RETRY_AFTER:.0f}"}
            found |= {f"{at}/": Answer(503, headers=busy)}
            continue
        for number in range(PAGES):
            path = f"/{number}" if number else "/"
            found[at + path] = _page(f"{host} {number}", [*_links(host, number, port)])
        found[f"{at}/style.css"] = STYLE
        listed = f"<urlset><url><loc>{at}/listed</loc></url></urlset>"
        found[f"{at}/sitemap.xml"] = Answer(
            200, listed.encode(), {"Content-Type": "application/xml"}
        )
        found[f"{at}/listed"] = _page(f"{host} listed", [])
        found[f"{at}/copy"] = _page("a copy", [])
        found[f"{at}/moved"] = Answer(301, headers={"Location": "/1"})
    return found


def _links(host: str, number: int, port: int) -> Iterator[str]:
    if host == TRAP:
        yield from (f"/calendar/{number}/{day}" for day in range(TRAP_LINKS))
    if number + 1 < PAGES:
        yield f"/{number + 1}"
    if host in PLAIN and number == 0:
        others = (*PLAIN, BLOCKED, UNKNOWN)
        yield from (f"http://{other}:{port}/" for other in others)
        yield from ("/copy", "/moved", "/missing")


def _page(name: str, links: list[str]) -> Answer:
    words = " ".join(f"{name.replace(' ', '-')}-{number * number % 97}" for number in range(60))
    anchors = "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    body = (
        f"<!DOCTYPE html><title>{name}</title><link rel=stylesheet href=/style.css>"
        f"<h1>{name}</h1><p>{words}.</p>{anchors}"
    )
    return Answer(200, body.encode(), {"Content-Type": "text/html; charset=utf-8"})


def wanted_at(port: int) -> list[str]:
    """Return the URLs that a crawl with this block and without the erased host must request.

    The trap's URLs are left out: parts of them wait for its budget.
    """
    hosts = [*PLAIN, NEWS, SLOW]
    pages = [f"http://{host}:{port}/{number or ''}" for host in hosts for number in range(PAGES)]
    more = [f"http://{host}:{port}/{name}" for host in PLAIN for name in ("copy", "moved")]
    listed = [f"http://{host}:{port}/listed" for host in hosts]
    return sorted([*pages, *more, *listed, f"http://{BUSY}:{port}/"])
