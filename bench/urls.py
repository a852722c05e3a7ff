"""URLs a second and core from a link to the key of the URL-seen test.

    .venv/bin/python -m bench.urls [FILE]

FILE has a URL a line; without FILE, URLs of 70 characters are generated, the mean length in real
crawls. A link is resolved, canonicalized and rewritten by all steps of a crawl and of its host;
then its site and its fingerprint are computed. The fastest of five runs counts, in CPU time of this
process.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from gossamer.web.url import canonicalize, fingerprint, site_of
from gossamer.web.url_steps import ALL_STEPS, merge_url, rewrite_by_rules

COUNT = 20_000
SHAPES = (
    "https://www.example{n}.org/news/2024/05/some-title-of-an-article-{n}.html",
    "https://www.example{n}.org/category/some-of-its-articles/",
    "http://example{n}.org/~someone/papers/{n}.pdf",
    "https://shop{n}.example.co.uk/products/{n}?category=shoes&colour=black&page=2",
    "http://blog.example{n}.com/?p={n}",
    "https://example{n}.net/a/{n}/index.html?utm_source=letter",
    "https://www.example{n}.pt/F%C3%B3rum/ver_topico.php?sid=0123456789abcdef&t={n}",
)


def link(number: int) -> str:
    """Return a generated link."""
    return SHAPES[number % len(SHAPES)].format(n=number)


def process_link(url: str) -> str:
    """Process a link from its text to its fingerprint."""
    found = merge_url(canonicalize(url), ALL_STEPS).url
    any(rewrite_by_rules(found, ALL_STEPS))
    site_of(found)
    return fingerprint(found)


def shortest_time(what: Callable[[str], object], urls: list[str]) -> float:
    """Return the shortest seconds of *what* for one of *urls*."""
    took = []
    for _ in range(5):
        began = time.process_time()
        for url in urls:
            what(url)
        took.append(time.process_time() - began)
    return min(took) / len(urls)


def main(urls: list[str]) -> None:
    """Print the cost of each part."""
    canonical = [canonicalize(url) for url in urls]
    parts: dict[str, tuple[Callable[[str], object], list[str]]] = {
        "canonicalize": (canonicalize, urls),
        "steps of the crawl": (lambda url: merge_url(url, ALL_STEPS), canonical),
        "steps of the host": (lambda url: any(rewrite_by_rules(url, ALL_STEPS)), canonical),
        "site": (site_of, canonical),
        "fingerprint": (fingerprint, canonical),
        "all": (process_link, urls),
    }
    for name, (what, given) in parts.items():
        took = shortest_time(what, given)
        print(f"{name:20} {1e6 * took:6.2f} µs {1 / took:10,.0f} URLs/s")


if __name__ == "__main__":
    file = Path(sys.argv[1]) if sys.argv[1:] else None
    main(file.read_text().split() if file else [link(number) for number in range(COUNT)])
