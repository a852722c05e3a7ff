"""Crawls of honest sites in virtual time and one thread: the services' own logic, no sockets.

No name server and no addresses are there, so nothing is known about public suffixes with wildcards.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gossamer.services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import START, VirtualCrawl

from .web import Sites

HTTP_PORT = 80
SECONDS = 0.01
"""Seconds until each answer."""
DELAY = 0.02
MAX_DEPTH = 64
"""More than the depth of any kind: the depth is a limit that a crawl names."""
MAX_SECONDS = 3000.0
"""The end of a crawl, if only probes of parked URLs are left: the first one is due after an hour,
and in virtual time probes would visit all."""


def lost_pages(
    kinds: Collection[str], size: int, folder: Path, linked: bool = False, **settings: Any
) -> dict[str, set[str]]:
    """Return the honest pages that one crawl of all *kinds* with default settings does not request,
    by kind.

    The home page of each host is a seed; if the sites are only *linked*, the seed is a page with
    links to them.
    """
    web = Sites((*kinds,), size, HTTP_PORT)

    def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
        parts = urlsplit(url)
        query = f"?{parts.query}" if parts.query else ""
        given = web.to(parts.hostname or "", f"{parts.path}{query}")
        headers = tuple(given.headers.items())
        body = given.body if isinstance(given.body, bytes) else b""
        return SECONDS, Reply(
            status=given.status, headers=headers, body=body, started_at=now, took=SECONDS
        )

    crawl = VirtualCrawl(folder, answer, text="main", delay=DELAY, **settings)
    seeds = _canonical([web.portal()] if linked else web.homes())
    crawl.define(*seeds, max_depth=MAX_DEPTH)
    crawl.run(until=START + MAX_SECONDS)
    assert not crawl.lag()
    requested = {url for _, _, url in crawl.requests}
    return {kind: lost for kind in kinds if (lost := _canonical(web.urls(kind)) - requested)}


def _canonical(urls: set[str] | list[str]) -> set[str]:
    return {url.replace(f":{HTTP_PORT}/", "/", 1) for url in urls}
