"""The server's answers to requests: decided here, sent elsewhere."""

import gzip
from dataclasses import dataclass, field
from http import HTTPStatus

from .atlas import Atlas
from .page import REDIRECTED, Page, Spot
from .render import body_of, content_type, location
from .robots import MOVED, ROBOTS

HTML = "text/html; charset=utf-8"
WAIT = 1
"""Seconds in Retry-After."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    manner: str = "whole"
    note: str = ""
    """Recorded with the request, and not sent."""


NOTHING = Answer(404, b"<!DOCTYPE html><title>Nothing here</title>", {"Content-Type": "text/html"})
MUTE = Answer(200, manner="mute")


class Answers:
    """Remembers which spots were requested, since some answers improve."""

    def __init__(self, atlas: Atlas) -> None:
        self._atlas = atlas
        self._met: set[Spot] = set()

    def to(self, name: str, path: str) -> Answer:
        host = self._atlas.numbers.get(name)
        if host is None:
            return NOTHING
        if self._atlas.condition(host) == "silent":
            return MUTE
        if path in (ROBOTS, MOVED):
            return self._robots(host, path)
        page = self._atlas.page((host, path))
        return NOTHING if page is None else self._page(page)

    def _robots(self, host: int, path: str) -> Answer:
        robots = self._atlas.robots(host)
        if robots.moved and path == ROBOTS:
            return Answer(301, headers={"Location": MOVED})
        if path == MOVED and not robots.moved:
            return NOTHING
        named = (f"Sitemap: {self._atlas.url((host, at))}\n" for at in robots.sitemaps)
        text = robots.text + "".join(named)
        return Answer(robots.status, text.encode(), {"Content-Type": "text/plain"})

    def _page(self, page: Page) -> Answer:
        first = page.traits.first
        if first is not None and page.spot not in self._met:
            self._met.add(page.spot)
            return Answer(first, headers={"Retry-After": str(WAIT)})
        if page.traits.status in REDIRECTED:
            return self._redirect(page)
        return self._content(page)

    def _redirect(self, page: Page) -> Answer:
        there = location(self._atlas, page)
        return Answer(page.traits.status, headers={} if there is None else {"Location": there})

    def _content(self, page: Page) -> Answer:
        headers = {"Content-Type": content_type(page)}
        if page.traits.robots == "header":
            headers["X-Robots-Tag"] = "nofollow"
        body = body_of(self._atlas, page)
        if page.traits.manner == "gzip":
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, mtime=0)
        return Answer(page.traits.status, body, headers, page.traits.manner)


def reason(status: int) -> str:
    return HTTPStatus(status).phrase
