"""A second implementation: reads pages with the standard library's parser and returns their links.

It follows the rules of the Web and knows nothing of the world.
"""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from tests.synthweb.answers import Answer

_LINKING = {"a": "href", "area": "href", "link": "href", "iframe": "src"}


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.links: set[str] = set()
        self.nofollow = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "base":
            self.base = urljoin(self.base, named["href"] or "")
        if tag == "meta" and named.get("name") == "robots":
            self.nofollow = "nofollow" in (named["content"] or "")
        target = named.get(_LINKING.get(tag, ""))
        if target and named.get("rel") != "nofollow":
            self.links.add(canonical(urljoin(self.base, target)))


def canonical(url: str) -> str:
    """Return the URL with its host in lower case, without fragment and dots (`urljoin` leaves dots
    in absolute URLs)."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    path = parts.path or "/"
    while (shorter := re.sub(r"/\./|/(?!\.\./)[^/]+/\.\./|^/\.\./", "/", path, count=1)) != path:
        path = shorter
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{path}{query}"


def sitemaps_of(answer: Answer) -> list[str]:
    """Return the URLs of sitemaps in a robots.txt."""
    return re.findall(r"^Sitemap: (\S+)$", answer.body.decode("latin-1"), re.MULTILINE)


def links_of(url: str, answer: Answer, body: bytes) -> set[str]:
    """Return the links of a sound HTML answer or a sitemap, and none of any other answer."""
    if answer.headers.get("Content-Type") == "application/xml":
        return set(re.findall("<loc>(.*?)</loc>", body.decode()))
    if answer.status != 200 or "html" not in answer.headers["Content-Type"]:
        return set()
    if "nofollow" in answer.headers.get("X-Robots-Tag", ""):
        return set()
    reader = _Reader(url)
    reader.feed(body.decode("latin-1"))
    found = {link for link in reader.links if link.startswith("http://")}
    return set() if reader.nofollow else found


def target_of(url: str, answer: Answer) -> str | None:
    there = answer.headers.get("Location")
    return None if there is None else canonical(urljoin(url, there))
