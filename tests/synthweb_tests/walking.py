"""Requests to a web without a server, and the links of the answers."""

import re
from urllib.parse import urljoin, urlsplit

from tests.synthweb.answers import Answer
from tests.synthweb.server import Head, Served

LINK = re.compile(rb'(?:href|src)="([^"]+)"|<loc>([^<]+)')


def request(served: Served, url: str) -> Answer:
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return served.respond(Head("GET", (parts.path or "/") + query, {"host": parts.netloc}))


def links_of(url: str, answer: Answer) -> list[str]:
    """Return all links and entries of sitemaps, some of which no crawler should follow."""
    found = [(link or entry).decode("latin-1") for link, entry in LINK.findall(answer.body)]
    found += [answer.headers.get("Location", "")]
    links = (urljoin(url, it.replace("&amp;", "&")).partition("#")[0] for it in found if it)
    return [link for link in links if link.startswith("http://")]
