"""A site on loopback, and crawls of it as a program makes them."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import gossamer
from tests.support.serving import NOTHING, Sent, serving
from tests.system.crawl import USUAL_SITEMAPS

LAST = 11
WORDS = "a lamp of brass that was made by hand and is sold with a shade of linen"


class Site:
    """Twelve pages: a page links to two others. Requests are counted."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: Counter[str] = Counter()
        self.text = WORDS
        self._lock = threading.Lock()

    def answer(self, target: str) -> Sent:
        number = target.removeprefix("/p") if target != "/" else "0"
        if not number.isdecimal() or int(number) > LAST:
            return NOTHING
        with self._lock:
            self.requests[target] += 1
        links = "".join(f"<a href=/p{2 * int(number) + more}>next</a>" for more in (1, 2))
        body = f"<title>Page {number}</title><h1>Page {number}</h1>{links}<p>{number} {self.text}"
        return Sent(body.encode())

    @property
    def urls(self) -> set[str]:
        """The URLs of all pages."""
        return {f"{self.url}/", *(f"{self.url}/p{number}" for number in range(1, LAST + 1))}

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the arguments of a crawl of the site."""
        usual = {"contact": "test@example.org", "seeds": self.url, "delay": 0.02, "quiet": True}
        return {**usual, "allow_network": "127.0.0.0/8", **more}

    def crawl(self, folder: Any, **more: Any) -> gossamer.Crawl:
        return gossamer.Crawl(folder, **self.options(**more))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv(USUAL_SITEMAPS, "never")
    site = Site()
    with serving(site.answer) as site.url:
        yield site
