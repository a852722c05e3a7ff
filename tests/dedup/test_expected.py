"""Pages that are expected together are told what they are told one by one."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer import relevance
from gossamer.events import CrawlDefined, Link, PageParsed
from gossamer.runtime.answers import read_ahead
from gossamer.web.url import fingerprint
from tests.support.read_ahead import ReadAheadStore

from .test_documents import DAY, Instance, Seen, parsed

URLS = tuple(f"http://{host}.test/{path}" for host in "ab" for path in "xyz")
TEXTS = {"one": "00000000000000ff", "nearly one": "00000000000000fe", "two": "ff00000000000000"}
"""With their simhashes."""


@st.composite
def visits(draw: st.DrawFn) -> list[PageParsed]:
    """Return pages as a crawl may find them, in the order of their visits."""
    found = list[PageParsed]()
    for number in range(draw(st.integers(1, 12))):
        status = draw(st.sampled_from((200, 200, 200, 304, 404, 410)))
        text = draw(st.sampled_from(sorted(TEXTS)))
        page = parsed(
            draw(st.sampled_from(URLS)),
            Seen(status, noindex=draw(st.booleans()) and draw(st.booleans())),
            1.0 + number * DAY,
            digest=fingerprint(text),
            canonical=draw(st.sampled_from(("", "", *URLS))),
            links=tuple(map(Link, draw(st.sets(st.sampled_from(URLS), max_size=3)))),
        )
        found.append(
            replace(page, simhash=TEXTS[text], language=draw(st.sampled_from(("en", "pt"))))
        )
    return found


def groups(pages: list[PageParsed], sizes: list[int]) -> Iterator[list[PageParsed]]:
    """Yield *pages* in groups of these sizes, and all that are left in one."""
    for size in sizes:
        yield pages[:size]
        pages = pages[size:]
    yield pages


@given(visits(), st.lists(st.integers(1, 5), max_size=6), st.sampled_from(("", 'language("pt")')))
def test_who_is_expected_is_told_the_same(
    pages: list[PageParsed], sizes: list[int], relevant: str
) -> None:
    expecting, other = Instance(), Instance()
    for one in (expecting, other):
        list(
            one.dedup.handle(
                CrawlDefined(at=0.0, scope="domain('test')", max_depth=9, relevant=relevant), 0.0
            )
        )
    for group in groups(pages, sizes):
        read_ahead(expecting.store, expecting.dedup.reads_of(group))
        for page in group:
            assert expecting.answer(page) == other.answer(page)
            assert expecting.answer(page) == other.answer(page), "it comes again"


def test_a_classifier_reads_a_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be slow, and a failure of it is logged: not once more because rows are read ahead."""
    read = list[str]()
    monkeypatch.setattr(relevance, "_installed", lambda name: lambda page: read.append(page.digest))
    one = Instance()
    crawl = CrawlDefined(at=0.0, scope="any()", max_depth=9, relevant='not classifier("x")')
    # Not handled as an event: the classifier is not installed, which a definition is refused for.
    one.dedup._pages.define(crawl)
    for url in URLS:
        page = parsed(url, Seen(200), 1.0, digest=url)
        read_ahead(one.store, one.dedup.reads_of([page]))
        assert one.answer(page)
    assert read == list(URLS)


def test_a_page_that_was_expected_is_judged_by_the_newest_definition() -> None:
    one, page = Instance(), parsed(URLS[0], Seen(200), 1.0)
    crawl = CrawlDefined(at=0.0, scope="any()", max_depth=9)
    list(one.dedup.handle(crawl, 0.0))
    read_ahead(one.store, one.dedup.reads_of([page]))
    list(one.dedup.handle(replace(crawl, relevant='language("pt")'), 0.0))
    assert one.said(page) is None


def found(url: str, day: int, text: str, link: str) -> PageParsed:
    page = parsed(url, Seen(200), 1.0 + day * DAY, digest=fingerprint(text), links=(Link(link),))
    return replace(page, simhash=TEXTS["nearly one" if text == "nearly one" else "one"])


@pytest.mark.parametrize("days", [1, 2], ids=["new", "known"])
def test_pages_that_are_expected_are_judged_without_a_read(days: int) -> None:
    """Copies of pages that another instance has judged, near ones, and pages of their own."""
    store = ReadAheadStore()
    earlier, later = Instance(store), Instance(store)
    for url in URLS[:3]:
        earlier.answer(found(url, 0, url, URLS[0]))
    store.flush()
    for day in range(1, days + 1):
        texts = ("nearly one", URLS[0], "their own", *URLS[:3])
        pages = [found(*each, URLS[1]) for each in zip(URLS, [day] * len(URLS), texts, strict=True)]
        read_ahead(store, later.dedup.reads_of(pages))
        store.alone.clear()
        for page in pages:
            later.answer(page)
        assert not store.alone
        store.flush()
