"""The promises of a crawl of a synthetic world: requests as they should be, every page, whole
archives.

Each check compares the server's record, or a reader of the folder, with the world.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.synthweb import SynthWeb, Truth, measure
from tests.synthweb.atlas import Atlas
from tests.synthweb.page import HTML
from tests.synthweb.record import Request
from tests.synthweb.robots import MOVED, ROBOTS
from tests.synthweb.truth import spot_of
from tests.synthweb.words import paragraphs, title

from .crawl import BIN, CONTACT, Crawl, Fields, run

CLOCKS = 0.002
"""Seconds by which two clocks may disagree about a delay. The server's clock never steps."""
AGENT = re.compile(r"gossamer/\d+\.\d+\S* \(" + re.escape(CONTACT) + r"\)")
ROBOTS_PATHS = (ROBOTS, MOVED)


def assert_polite(requests: list[Request], truth: Truth, delay: float) -> None:
    """Assert that no request was forbidden, concurrent or sooner than the delay."""
    assert measure.forbidden_requests(requests, truth) == set()
    assert measure.unlinked_requests(requests, truth) == set()
    assert measure.overlaps(requests) == []
    for host, gaps in measure.shortest_gaps(requests).items():
        expected = max(delay, truth.delays.get(host, 0.0))
        assert gaps.start_to_start >= expected - CLOCKS, (host, gaps, expected)
    assert {r.sender for r in requests} <= {CONTACT}
    assert [r.agent for r in requests if not AGENT.fullmatch(r.agent)] == []


def assert_thorough(requests: list[Request], truth: Truth) -> None:
    """Assert that all required URLs were requested."""
    assert truth.required - measure.requested_urls(requests) == set()


def assert_once(requests: list[Request], truth: Truth) -> None:
    """Assert one request a URL, and at most two for a URL with a Retry-After."""
    repeated = measure.repeated_requests(requests)
    assert set(repeated) <= truth.retried, repeated
    assert all(times == 2 for times in repeated.values()), repeated


def readable(truth: Truth) -> set[str]:
    """Return the URLs of documents: requested, and published."""
    return truth.pages | {url for url, kind in truth.others.items() if kind == "application/pdf"}


def half_readable(truth: Truth) -> set[str]:
    """Return the URLs with a part of a document: the rest is missing, or longer than announced."""
    return {url for url, kind in truth.errors.items() if kind in ("cut", "short", "overlong")}


class Pages(Protocol):
    """A crawl of a world, embedded or as a fleet."""

    web: SynthWeb

    def pages(self) -> list[Fields]: ...


def assert_pages(crawl: Pages, truth: Truth) -> None:
    """Assert that every page was published once, with the world's content."""
    pages = {page["url"]: page for page in no_url_twice(crawl.pages())}
    odd = set(pages) ^ (readable(truth) | half_readable(truth))
    assert not odd, odd
    for url in truth.pages:
        assert_page(crawl.web.atlas, pages[url], truth)
    assert_duplicates(pages, truth)


def no_url_twice(pages: list[Fields]) -> list[Fields]:
    counts = Counter(page["url"] for page in pages)
    assert [url for url, count in counts.items() if count > 1] == []
    return pages


def assert_page(atlas: Atlas, shown: Fields, truth: Truth) -> None:
    """Assert the fields of one page."""
    url = shown["url"]
    page = atlas.page(spot_of(atlas, url))
    assert page is not None
    for paragraph in paragraphs(page.text):
        assert paragraph in shown["text"], url
    if page.traits.type in HTML:
        assert shown["title"] == title(page.text), url
    assert shown["status"] == 200
    assert shown["content_type"] == page.traits.type
    assert shown["depth"] >= truth.depths[url]
    assert not shown["truncated"]
    expected = {atlas.url(link.to) for link in page.links if link.spelling not in UNFOLLOWABLE}
    assert set(shown["links"]) - {url} == expected - {url}, url


UNFOLLOWABLE = {"mailto", "telephone", "self"}


def assert_duplicates(pages: dict[str, Fields], truth: Truth) -> None:
    """Assert that each group of copies has one original, which its copies name."""
    copies = {url for group in truth.duplicates for url in group}
    for group in truth.duplicates:
        (original,) = [url for url in group if pages[url]["verdict"] != "duplicate"]
        for url in set(group) - {original}:
            assert pages[url]["duplicate_of"] == original
    for url, page in pages.items():
        if url not in copies:
            assert page["verdict"] != "duplicate", page


def captures(data: Path) -> Iterator[tuple[str, int]]:
    """Return URL and status of each response in a crawl's folder."""
    return captures_in(data / "warc")


def captures_in(folder: Path) -> Iterator[tuple[str, int]]:
    """Return URL and status of each response in the archive, with every digest verified."""
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(
                file, record_types=WarcRecordType.any_type, parse_http=False, strict_mode=True
            ):
                assert record.headers.get("WARC-Block-Digest"), path
                assert record.verify_block_digest(consume=False), (path, record.record_id)
                if record.record_type in (WarcRecordType.response, WarcRecordType.revisit):
                    record.parse_http()
                    uri = str(record.headers["WARC-Target-URI"]).strip("<>")
                    yield uri, record.http_headers.status_code or 0


def warcs(data: Path) -> list[Path]:
    return sorted((data / "warc").glob("*.warc.gz"))


def assert_archived(
    crawl: Crawl,
    requests: Iterable[Request],
    truth: Truth,
    twice: Collection[tuple[str, int]] = (),
) -> None:
    """Assert that every file is whole, every page is in one, and no response is archived more often
    than it was sent. A response with a URL and a status in *twice* may be archived once more."""
    assert warcs(crawl.data) and not list((crawl.data / "warc").glob("*.open"))
    checked = run([str(BIN / "warcio"), "check", *map(str, warcs(crawl.data))])
    assert (checked.code, checked.out, checked.err) == (0, "", "")
    found = Counter(captures(crawl.data))
    answered = Counter((request.url, request.status) for request in requests)
    assert {url for url, status in found if status == 200} >= readable(truth)
    limits = {at: answered[at] + (at in twice) for at in found}
    too_many = {at: count for at, count in found.items() if count > limits[at]}
    assert not too_many


def dot_robots(requests: Iterable[Request]) -> list[Request]:
    return [request for request in requests if request.path in ROBOTS_PATHS]


def page_answers(web: SynthWeb) -> list[Request]:
    """Return the requests that were answered with a page."""
    return [r for r in web.requests() if r.status == 200 and r.path not in ROBOTS_PATHS]
