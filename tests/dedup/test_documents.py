"""Documents and tombstones on `pages`, and the leaders of texts."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    Link,
    Page,
    PageDeduplicated,
    PageParsed,
    Tombstone,
    UrlsDiscovered,
    Verdict,
    Visit,
)
from gossamer.events.public import Gone
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site, fingerprint
from gossamer.web.usage import Source, Statement, judge
from tests.dedup import harness
from tests.dedup.harness import of_kind, only
from tests.flow.torn import Fate, TornStore

URL, COPY, THIRD = "http://a.test/1", "http://b.test/1", "http://c.test/1"
DAY = 86400.0
LIMIT = 30 * DAY


class Seen(NamedTuple):
    """The response to a visit."""

    status: int = 200
    noindex: bool = False
    to: str = ""


THERE, HIDDEN = Seen(), Seen(noindex=True)
MOVED = Seen(301, to="http://a.test/2")
FOR_NOW = Seen(302, to="http://a.test/2")

GONE: dict[str, tuple[list[Seen], Gone]] = {
    "moved for good": ([MOVED], Gone.MOVED),
    "moved for good, method kept": ([Seen(308, to=THIRD)], Gone.MOVED),
    "removed": ([Seen(410)], Gone.REMOVED),
    "noindex": ([HIDDEN], Gone.NOINDEX),
    "missing twice": ([Seen(404), Seen(404)], Gone.MISSING),
    "redirected twice": ([FOR_NOW, FOR_NOW], Gone.REDIRECTED),
    "missing, then redirected": ([Seen(404), FOR_NOW], Gone.REDIRECTED),
    "missing around an error": ([Seen(404), Seen(503), Seen(404)], Gone.MISSING),
}
"""Responses after the document was published, of which the last one deletes it; and the reason."""
STAYS: dict[str, list[Seen]] = {
    "missing once": [Seen(404)],
    "missing, there, missing": [Seen(404), THERE, Seen(404)],
    "errors": [Seen(500), Seen(503), Seen(599), Seen(0)],
    "busy": [Seen(429)] * 5,
    "refused, not for long": [Seen(403), Seen(401), Seen(403)],
    "a redirect that leads nowhere": [Seen(301), Seen(302), Seen(304)],
}


def parsed_page(url: str, seen: Seen, at: float, **fields: object) -> PageParsed:
    given: dict[str, Any] = {
        "at": at,
        "visit": Visit(f"{at}@{url}", url, trace=fingerprint(url)),
        "fetched_at": at,
        "status": seen.status,
        "noindex": seen.noindex,
        "digest": "text" if seen.status == 200 else "",
        "links": (Link(seen.to, redirect=True),) if seen.to else (),
        **fields,
    }
    return harness.parsed_page(url, **given)


class Instance:
    """One instance of dedup, with its events on `pages` and its verdicts."""

    def __init__(self, store: Store | None = None, settings: DedupSettings | None = None) -> None:
        self.store = store or SqliteStore(Database(":memory:"))
        settings = settings or DedupSettings(refused_limit=LIMIT)
        self.dedup = Dedup(SeenTable(self.store), self.store, settings)
        self.now = 0.0
        """The time of the newest page so far."""

    def answer(self, page: PageParsed) -> list[object]:
        self.now = max(self.now, page.fetched_at)
        found: list[object] = list(self.dedup.handle(page, self.now))
        return found

    def published_event(self, page: PageParsed) -> Page | Tombstone | None:
        answer = [e for e in self.answer(page) if isinstance(e, Page | Tombstone)]
        assert len(answer) < 2
        return answer[0] if answer else None

    def duplicate_of(self, page: PageParsed) -> str:
        return only(PageDeduplicated, self.answer(page)).duplicate_of


def visits(url: str, found: Iterable[Seen], since: float = 1.0) -> Iterator[PageParsed]:
    for number, seen in enumerate(found):
        yield parsed_page(url, seen, since + number * DAY)


@pytest.mark.parametrize(("found", "reason"), GONE.values(), ids=GONE)
def test_deleted_document_gets_one_tombstone_with_its_reason(
    found: list[Seen], reason: Gone
) -> None:
    one = Instance()
    document, *earlier, last = visits(URL, [THERE, *found])
    assert isinstance(one.published_event(document), Page)
    assert not [event for page in earlier if (event := one.published_event(page))]
    to = found[-1].to
    gone = Tombstone(
        "default",
        URL,
        Site("a.test"),
        verdict=Verdict.REDIRECT if to else Verdict.GONE,
        redirects_to=to,
        reason=reason,
        at=last.fetched_at,
        status=last.status,
        trace=fingerprint(URL),
    )
    assert one.published_event(last) == gone
    assert one.published_event(last) == gone, "a redelivered record gets the tombstone again"
    result = only(PageDeduplicated, one.answer(last))
    if found[-1] is not HIDDEN:
        reported = result.verdict, result.redirects_to, result.reason
        assert reported == (gone.verdict, to, reason), "the verdict has the same reason"
    for later in visits(URL, [*found, Seen(404), MOVED], last.fetched_at + DAY):
        assert one.published_event(later) is None, "it is deleted already"


@pytest.mark.parametrize("found", STAYS.values(), ids=STAYS)
def test_document_that_may_be_back_is_not_deleted(found: list[Seen]) -> None:
    one = Instance()
    for page in visits(URL, [THERE, *found]):
        assert not isinstance(one.published_event(page), Tombstone)
        assert not isinstance(one.published_event(page), Tombstone), (
            "a redelivered record counts once"
        )


def test_document_refused_for_a_long_time_is_deleted() -> None:
    one = Instance()
    one.answer(parsed_page(URL, THERE, 0.0))
    days = [1, 2, 20, 30.9, 31]
    events = [one.published_event(parsed_page(URL, Seen(403), day * DAY)) for day in days]
    assert events[:-1] == [None] * 4
    gone = events[-1]
    assert isinstance(gone, Tombstone) and gone.reason == Gone.REFUSED


@pytest.mark.parametrize("found", [[THERE], *(found for found, _ in GONE.values())], ids=str)
def test_late_record_publishes_nothing(found: list[Seen]) -> None:
    """A parser was suspended while appending, and resumes after the next visit to the page."""
    one = Instance()
    late = parsed_page(URL, THERE, 1.0, digest="one")
    assert one.published_event(late) is not None
    for later in visits(URL, found, 1.0 + DAY):
        one.answer(later)
    assert one.published_event(late) is None


@given(st.permutations(range(4)), st.lists(st.sampled_from([THERE, Seen(404), HIDDEN, MOVED])))
def test_published_versions_never_go_back_in_time(order: list[int], found: list[Seen]) -> None:
    pages = [
        parsed_page(URL, seen, 1.0 + number * DAY, digest=str(number))
        for number, seen in enumerate([THERE, *found][:4])
    ]
    one, newest = Instance(), 0.0
    for number in [n for n in order if n < len(pages)] * 2:
        if event := one.published_event(pages[number]):
            at = event.at if isinstance(event, Tombstone) else event.fetched_at
            assert at >= newest
            newest = at


@pytest.mark.parametrize(("found", "reason"), GONE.values(), ids=GONE)
def test_url_without_document_gets_no_tombstone(found: list[Seen], reason: Gone) -> None:
    one = Instance()
    assert [one.published_event(page) for page in visits(URL, found * 3)] == [None] * len(found) * 3


def test_deleted_document_that_is_back_is_published_and_may_be_deleted_again() -> None:
    one = Instance()
    kinds = [
        type(one.published_event(page))
        for page in visits(URL, [THERE, Seen(410), THERE, MOVED, THERE])
    ]
    assert kinds == [Page, Tombstone, Page, Tombstone, Page]


def test_noindex_page_gets_a_verdict_and_its_links_are_released() -> None:
    link = (Link("http://a.test/2"),)
    released, result = Instance().answer(parsed_page(URL, HIDDEN, 1.0, links=link))
    assert isinstance(released, UrlsDiscovered) and isinstance(result, PageDeduplicated)
    assert result.reason == "the page asks not to be indexed: it is not published"


def test_noindex_page_is_unpublished_by_the_statement_about_search() -> None:
    said = Statement(Source.META, "robots", "noindex", {"search": False})
    page = parsed_page(URL, HIDDEN, 1.0, usage=judge([said]))
    *_, result = Instance().answer(page)
    assert isinstance(result, PageDeduplicated)
    assert result.reason == (
        "the page asks not to be indexed, by meta robots: noindex: it is not published"
    )


responses = st.sampled_from(
    (THERE, THERE, HIDDEN, MOVED, FOR_NOW, Seen(404), Seen(404), Seen(410), Seen(403), Seen(500))
)


@pytest.mark.slow
@given(
    found=st.lists(st.tuples(st.sampled_from((URL, COPY)), responses), max_size=12), again=st.data()
)
def test_redelivered_records_leave_pages_unchanged(
    found: list[tuple[str, Seen]], again: st.DataObject
) -> None:
    pages = [parsed_page(url, seen, 20 * DAY * n) for n, (url, seen) in enumerate(found, 1)]
    start = again.draw(st.integers(0, len(pages)))
    one, newest = Instance(), dict[str, type]()

    def note(page: PageParsed) -> None:
        if event := one.published_event(page):
            newest[page.visit.url] = type(event)

    for page in pages:
        note(page)
    for url in newest:
        assert (url, THERE) in found
    before = dict(newest)
    for page in pages[start:]:
        note(page)
    assert newest == before


# Leaders: the first URL with a text, as long as it has the text.


@pytest.mark.parametrize("found", [[Seen(410)], [MOVED], [HIDDEN], [Seen(404), Seen(404)]])
def test_leader_that_is_gone_is_replaced(found: list[Seen]) -> None:
    one = Instance()
    for page in visits(URL, [THERE, *found]):
        one.answer(page)
    later = 9 * DAY
    assert one.duplicate_of(parsed_page(COPY, THERE, later)) == ""
    assert one.duplicate_of(parsed_page(THIRD, THERE, later)) == COPY
    assert one.duplicate_of(parsed_page(URL, THERE, later + 1)) == COPY, (
        "it is back, as a duplicate"
    )
    assert one.duplicate_of(parsed_page(COPY, THERE, later + 2)) == ""


def test_leader_with_another_text_is_replaced() -> None:
    one = Instance()
    one.answer(parsed_page(URL, THERE, 1.0))
    assert one.duplicate_of(parsed_page(COPY, THERE, 2.0)) == URL
    one.answer(parsed_page(URL, THERE, 3.0, digest="other text"))
    assert one.duplicate_of(parsed_page(COPY, THERE, 4.0)) == ""


@pytest.mark.parametrize("found", [[Seen(404)], [Seen(403)], [FOR_NOW], [Seen(500), Seen(500)]])
def test_leader_that_may_be_back_still_leads(found: list[Seen]) -> None:
    one = Instance()
    for page in visits(URL, [THERE, *found]):
        one.answer(page)
    assert one.duplicate_of(parsed_page(COPY, THERE, 9 * DAY)) == URL


def test_noindex_page_does_not_lead() -> None:
    one = Instance()
    assert one.duplicate_of(parsed_page(URL, HIDDEN, 1.0)) == ""
    assert one.duplicate_of(parsed_page(COPY, THERE, 2.0)) == ""
    assert one.duplicate_of(parsed_page(URL, HIDDEN, 3.0)) == COPY


def test_canonical_page_replaces_its_variant_as_leader() -> None:
    one, variant = Instance(), f"{URL}?utm=1"
    assert one.duplicate_of(parsed_page(variant, THERE, 1.0, canonical=URL)) == ""
    assert one.duplicate_of(parsed_page(f"{URL}?utm=2", THERE, 2.0, canonical=URL)) == variant
    assert one.duplicate_of(parsed_page(URL, THERE, 3.0, canonical=URL)) == ""
    assert one.duplicate_of(parsed_page(variant, THERE, 4.0, canonical=URL)) == URL


def test_canonical_page_of_another_site_leads_only_if_it_names_itself() -> None:
    one, other = Instance(), "http://other.test/"
    for at, canonical, leads in ((1.0, "", False), (2.0, URL, False), (3.0, other, True)):
        assert one.duplicate_of(parsed_page(URL, THERE, at, canonical=other)) == ""
        found = one.duplicate_of(parsed_page(other, THERE, at, canonical=canonical))
        assert found == ("" if leads else URL)


def test_canonical_urls_are_ignored_if_the_setting_is_off() -> None:
    link = (Link(URL, kind="canonical"), Link(THIRD))
    for enabled in (True, False):
        one, variant = Instance(None, DedupSettings(canonical=enabled)), f"{URL}?utm=1"
        answer = one.answer(parsed_page(variant, THERE, 1.0, canonical=URL, links=link))
        followed = [one.url for event in of_kind(UrlsDiscovered, answer) for one in event.urls]
        assert (URL in followed) == enabled
        assert one.duplicate_of(parsed_page(URL, THERE, 2.0)) == ("" if enabled else variant)


def test_pages_that_name_each_other_as_canonical_keep_one_leader() -> None:
    one = Instance()
    for at in (1.0, 2.0, 3.0):
        assert one.duplicate_of(parsed_page(URL, THERE, at, canonical=COPY)) == ""
        assert one.duplicate_of(parsed_page(COPY, THERE, at, canonical=URL)) == URL


def test_links_of_a_copy_are_released_once_the_leader_is_gone() -> None:
    def links(one: Instance, url: str, at: float) -> int:
        link = (Link("http://linked.test/2"),)
        answer = one.answer(parsed_page(url, THERE, at, links=link))
        return sum(len(event.urls) for event in of_kind(UrlsDiscovered, answer))

    one = Instance()
    assert (links(one, URL, 1.0), links(one, COPY, 2.0)) == (1, 0)
    one.answer(parsed_page(URL, Seen(410), 3.0))
    assert (links(one, COPY, 4.0), links(one, COPY, 4.0)) == (1, 1)
    assert (links(one, THIRD, 5.0), links(one, URL, 6.0)) == (0, 0)


def test_leader_with_an_unflushed_row_leads() -> None:
    """A conditional write is in the store at once, the leader's document with the next flush."""
    disk, fate = {}, Fate(0)  # type: ignore[var-annotated]
    ours, theirs = Instance(TornStore(disk, fate)), Instance(TornStore(disk, fate))
    ours.answer(parsed_page(URL, THERE, 1.0, digest="old text"))
    ours.store.flush()
    ours.answer(parsed_page(URL, THERE, 2.0))
    assert theirs.duplicate_of(parsed_page(COPY, THERE, 3.0)) == URL
    ours.store.flush()
    assert theirs.duplicate_of(parsed_page(COPY, THERE, 4.0)) == URL


def test_row_stores_misses_and_the_reason_of_deletion() -> None:
    one = Instance()
    rows = one.store.table(DocumentRow)
    for page in visits(URL, [THERE, Seen(404)]):
        one.answer(page)
    row = rows.get((DEFAULT_CRAWL, URL))
    assert row and (row.gone, row.missed, row.missed_since) == ("", 1, 1.0 + DAY)
    one.answer(parsed_page(URL, Seen(410), 5 * DAY))
    row = rows.get((DEFAULT_CRAWL, URL))
    assert row and (row.gone, row.at, row.digest) == (Gone.REMOVED, 5 * DAY, "")


def test_two_pages_of_one_visit_in_one_step_are_handled_separately() -> None:
    url, instance = "http://a.test/x", Instance()
    first, again = parsed_page(url, THERE, 1.0), parsed_page(url, Seen(410), 2.0)
    again = replace(again, visit=first.visit)
    for _ in instance.dedup.reads_of([first, again]):
        pass
    assert isinstance(instance.published_event(first), Page)
    assert isinstance(instance.published_event(again), Tombstone)
