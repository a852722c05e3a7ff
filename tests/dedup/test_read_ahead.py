"""Pages that are read ahead together get the same answers as pages that are handled alone."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import CrawlDefined, Link, PageParsed
from gossamer.runtime.handling import read_ahead
from gossamer.web.url import fingerprint
from tests.support.read_ahead import ReadAheadStore

from .test_documents import DAY, Instance, Seen, parsed_page

URLS = tuple(f"http://{host}.test/{path}" for host in "ab" for path in "xyz")
TEXTS = {"one": "00000000000000ff", "nearly one": "00000000000000fe", "two": "ff00000000000000"}
"""Text → its simhash."""


@st.composite
def visits(draw: st.DrawFn) -> list[PageParsed]:
    """Return random pages in the order of their visits."""
    found = list[PageParsed]()
    for number in range(draw(st.integers(1, 12))):
        status = draw(st.sampled_from((200, 200, 200, 304, 404, 410)))
        text = draw(st.sampled_from(sorted(TEXTS)))
        page = parsed_page(
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
    """Yield *pages* in groups of *sizes*, and the rest in one group."""
    for size in sizes:
        yield pages[:size]
        pages = pages[size:]
    yield pages


@given(visits(), st.lists(st.integers(1, 5), max_size=6), st.sampled_from(("", 'language("pt")')))
def test_pages_read_ahead_get_the_same_answers(
    pages: list[PageParsed], sizes: list[int], relevant: str
) -> None:
    ahead, alone = Instance(), Instance()
    for one in (ahead, alone):
        list(
            one.dedup.handle(
                CrawlDefined(at=0.0, scope="domain('test')", max_depth=9, relevant=relevant), 0.0
            )
        )
    for group in groups(pages, sizes):
        read_ahead(ahead.store, ahead.dedup.reads_of(group))
        for page in group:
            assert ahead.answer(page) == alone.answer(page)
            assert ahead.answer(page) == alone.answer(page), "redelivered"


def test_page_read_ahead_is_handled_by_the_newest_definition() -> None:
    one, page = Instance(), parsed_page(URLS[0], Seen(200), 1.0)
    crawl = CrawlDefined(at=0.0, scope="any()", max_depth=9)
    list(one.dedup.handle(crawl, 0.0))
    read_ahead(one.store, one.dedup.reads_of([page]))
    list(one.dedup.handle(replace(crawl, relevant='language("pt")'), 0.0))
    assert one.published_event(page) is None


def page_with(url: str, day: int, text: str, link: str) -> PageParsed:
    page = parsed_page(
        url, Seen(200), 1.0 + day * DAY, digest=fingerprint(text), links=(Link(link),)
    )
    return replace(page, simhash=TEXTS["nearly one" if text == "nearly one" else "one"])


@pytest.mark.parametrize("days", [1, 2], ids=["new", "seen"])
def test_pages_read_ahead_need_no_single_reads(days: int) -> None:
    """Copies and near duplicates of pages of another instance, and new pages."""
    store = ReadAheadStore()
    earlier, later = Instance(store), Instance(store)
    for url in URLS[:3]:
        earlier.answer(page_with(url, 0, url, URLS[0]))
    store.flush()
    for day in range(1, days + 1):
        texts = ("nearly one", URLS[0], "their own", *URLS[:3])
        pages = [
            page_with(*each, URLS[1]) for each in zip(URLS, [day] * len(URLS), texts, strict=True)
        ]
        read_ahead(store, later.dedup.reads_of(pages))
        store.alone.clear()
        for page in pages:
            later.answer(page)
        assert not store.alone
        store.flush()
