"""What `pages` says of a URL: the document while it is there, a tombstone once it is gone."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    Link,
    Page,
    PageJudged,
    PageParsed,
    Tombstone,
    UrlsDiscovered,
    Verdict,
    Visit,
)
from gossamer.events.gone import Gone
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import fingerprint, host_key, site_of
from services.dedup.rows import DocumentRow
from services.dedup.seen import SeenTable
from services.dedup.service import Dedup
from tests.flow.torn import Fate, TornStore
from tests.support.kinds import with_kind

URL, COPY, THIRD = "http://a.test/1", "http://b.test/1", "http://c.test/1"
DAY = 86400.0
LIMIT = 30 * DAY


class Seen(NamedTuple):
    """What a visit found."""

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
"""What visits find once the document was published: after the last of them it is gone."""
STAYS: dict[str, list[Seen]] = {
    "missing once": [Seen(404)],
    "missing, there, missing": [Seen(404), THERE, Seen(404)],
    "errors": [Seen(500), Seen(503), Seen(599), Seen(0)],
    "busy": [Seen(429)] * 5,
    "refused, not for long": [Seen(403), Seen(401), Seen(403)],
    "a redirect that leads nowhere": [Seen(301), Seen(302), Seen(304)],
}


def parsed(url: str, seen: Seen, at: float, **fields: object) -> PageParsed:
    link = (Link(seen.to, redirect=True),) if seen.to else ()
    given = {"digest": "text" if seen.status == 200 else "", "links": link, **fields}
    return with_kind(
        PageParsed(
            at=at,
            site=site_of(url),
            host=host_key(url),
            visit=Visit(id=f"{at}@{url}", url=url, trace=fingerprint(url)),
            fetched_at=at,
            status=seen.status,
            noindex=seen.noindex,
            **given,  # type: ignore[arg-type]
        )
    )


class Instance:
    """One instance of dedup: what it says on `pages`, and the verdict."""

    def __init__(self, store: Store | None = None, settings: DedupSettings | None = None) -> None:
        self.store = store or SqliteStore(Database(":memory:"))
        settings = settings or DedupSettings(refused_limit=LIMIT)
        self.dedup = Dedup(SeenTable(self.store), self.store, settings)

    def answer(self, page: PageParsed) -> list[object]:
        found: list[object] = list(self.dedup.handle(page, page.fetched_at))
        return found

    def said(self, page: PageParsed) -> Page | Tombstone | None:
        answer = [e for e in self.answer(page) if isinstance(e, Page | Tombstone)]
        assert len(answer) < 2
        return answer[0] if answer else None

    def duplicate_of(self, page: PageParsed) -> str:
        (judged,) = (e for e in self.answer(page) if isinstance(e, PageJudged))
        return judged.duplicate_of


def visits(url: str, found: Iterable[Seen], since: float = 1.0) -> Iterator[PageParsed]:
    for number, seen in enumerate(found):
        yield parsed(url, seen, since + number * DAY)


@pytest.mark.parametrize(("found", "reason"), GONE.values(), ids=GONE)
def test_what_is_gone_is_said_once_and_why(found: list[Seen], reason: Gone) -> None:
    one = Instance()
    document, *others, last = visits(URL, [THERE, *found])
    assert isinstance(one.said(document), Page)
    assert not [said for page in others if (said := one.said(page))]
    to = found[-1].to
    gone = Tombstone(
        URL,
        "a.test",
        verdict=Verdict.REDIRECT if to else Verdict.GONE,
        redirects_to=to,
        reason=reason,
        at=last.fetched_at,
        status=last.status,
        trace=fingerprint(URL),
    )
    assert one.said(last) == gone
    assert one.said(last) == gone, "its record comes again after a crash"
    (judged,) = (event for event in one.answer(last) if isinstance(event, PageJudged))
    if found[-1] is not HIDDEN:
        told = judged.verdict, judged.redirects_to, judged.reason
        assert told == (gone.verdict, to, reason), "so that its history says it too"
    for later in visits(URL, [*found, Seen(404), MOVED], last.fetched_at + DAY):
        assert one.said(later) is None, "it is known to be gone"


@pytest.mark.parametrize("found", STAYS.values(), ids=STAYS)
def test_what_may_only_be_away_stays(found: list[Seen]) -> None:
    one = Instance()
    for page in visits(URL, [THERE, *found]):
        assert not isinstance(one.said(page), Tombstone)
        assert not isinstance(one.said(page), Tombstone), "a record that comes again counts once"


def test_what_is_refused_for_long_is_gone() -> None:
    one = Instance()
    one.answer(parsed(URL, THERE, 0.0))
    days = [1, 2, 20, 30.9, 31]
    said = [one.said(parsed(URL, Seen(403), day * DAY)) for day in days]
    assert said[:-1] == [None] * 4
    gone = said[-1]
    assert isinstance(gone, Tombstone) and gone.reason == Gone.REFUSED


@pytest.mark.parametrize("found", [[THERE], *(found for found, _ in GONE.values())], ids=str)
def test_a_record_that_comes_late_puts_pages_back_by_nothing(found: list[Seen]) -> None:
    """A parser was stopped in its append, and resumes after the page's next visit."""
    one = Instance()
    late = parsed(URL, THERE, 1.0, digest="one")
    assert one.said(late) is not None
    for later in visits(URL, found, 1.0 + DAY):
        one.answer(later)
    assert one.said(late) is None


@given(st.permutations(range(4)), st.lists(st.sampled_from([THERE, Seen(404), HIDDEN, MOVED])))
def test_pages_never_goes_back(order: list[int], found: list[Seen]) -> None:
    pages = [
        parsed(URL, seen, 1.0 + number * DAY, digest=str(number))
        for number, seen in enumerate([THERE, *found][:4])
    ]
    one, newest = Instance(), 0.0
    for number in [n for n in order if n < len(pages)] * 2:
        if said := one.said(pages[number]):
            at = said.at if isinstance(said, Tombstone) else said.fetched_at
            assert at >= newest
            newest = at


@pytest.mark.parametrize(("found", "reason"), GONE.values(), ids=GONE)
def test_what_was_never_published_has_no_tombstone(found: list[Seen], reason: Gone) -> None:
    one = Instance()
    assert [one.said(page) for page in visits(URL, found * 3)] == [None] * len(found) * 3


def test_what_comes_back_is_published_and_may_go_again() -> None:
    one = Instance()
    kinds = [type(one.said(page)) for page in visits(URL, [THERE, Seen(410), THERE, MOVED, THERE])]
    assert kinds == [Page, Tombstone, Page, Tombstone, Page]


def test_a_page_that_asks_not_to_be_indexed_is_judged_and_followed_all_the_same() -> None:
    link = (Link("http://a.test/2"),)
    released, judged = Instance().answer(parsed(URL, HIDDEN, 1.0, links=link))
    assert isinstance(released, UrlsDiscovered) and isinstance(judged, PageJudged)
    assert judged.reason == "the page asks not to be indexed: it is not published"


anything = st.sampled_from(
    (THERE, THERE, HIDDEN, MOVED, FOR_NOW, Seen(404), Seen(404), Seen(410), Seen(403), Seen(500))
)


@pytest.mark.slow
@given(
    found=st.lists(st.tuples(st.sampled_from((URL, COPY)), anything), max_size=12), again=st.data()
)
def test_records_that_come_again_leave_pages_as_it_was(
    found: list[tuple[str, Seen]], again: st.DataObject
) -> None:
    pages = [parsed(url, seen, 20 * DAY * n) for n, (url, seen) in enumerate(found, 1)]
    start = again.draw(st.integers(0, len(pages)))
    one, newest = Instance(), dict[str, type]()

    def note(page: PageParsed) -> None:
        if said := one.said(page):
            newest[page.visit.url] = type(said)

    for page in pages:
        note(page)
    for url in newest:
        assert (url, THERE) in found
    before = dict(newest)
    for page in pages[start:]:
        note(page)
    assert newest == before


# Who leads: a URL that had the text first, and still has it.


@pytest.mark.parametrize("found", [[Seen(410)], [MOVED], [HIDDEN], [Seen(404), Seen(404)]])
def test_a_leader_that_is_gone_is_replaced(found: list[Seen]) -> None:
    one = Instance()
    for page in visits(URL, [THERE, *found]):
        one.answer(page)
    later = 9 * DAY
    assert one.duplicate_of(parsed(COPY, THERE, later)) == ""
    assert one.duplicate_of(parsed(THIRD, THERE, later)) == COPY
    assert one.duplicate_of(parsed(URL, THERE, later + 1)) == COPY, "it is back, and second"
    assert one.duplicate_of(parsed(COPY, THERE, later + 2)) == ""


def test_a_leader_that_reads_otherwise_now_is_replaced() -> None:
    one = Instance()
    one.answer(parsed(URL, THERE, 1.0))
    assert one.duplicate_of(parsed(COPY, THERE, 2.0)) == URL
    one.answer(parsed(URL, THERE, 3.0, digest="other text"))
    assert one.duplicate_of(parsed(COPY, THERE, 4.0)) == ""


@pytest.mark.parametrize("found", [[Seen(404)], [Seen(403)], [FOR_NOW], [Seen(500), Seen(500)]])
def test_a_leader_that_may_only_be_away_leads(found: list[Seen]) -> None:
    one = Instance()
    for page in visits(URL, [THERE, *found]):
        one.answer(page)
    assert one.duplicate_of(parsed(COPY, THERE, 9 * DAY)) == URL


def test_a_page_that_asks_not_to_be_indexed_does_not_lead() -> None:
    one = Instance()
    assert one.duplicate_of(parsed(URL, HIDDEN, 1.0)) == ""
    assert one.duplicate_of(parsed(COPY, THERE, 2.0)) == ""
    assert one.duplicate_of(parsed(URL, HIDDEN, 3.0)) == COPY


def test_the_canonical_page_leads_its_variants_once_it_is_met() -> None:
    one, variant = Instance(), f"{URL}?utm=1"
    assert one.duplicate_of(parsed(variant, THERE, 1.0, canonical=URL)) == ""
    assert one.duplicate_of(parsed(f"{URL}?utm=2", THERE, 2.0, canonical=URL)) == variant
    assert one.duplicate_of(parsed(URL, THERE, 3.0, canonical=URL)) == ""
    assert one.duplicate_of(parsed(variant, THERE, 4.0, canonical=URL)) == URL


def test_a_page_of_another_site_leads_only_if_it_says_so_itself() -> None:
    one, other = Instance(), "http://other.test/"
    for at, canonical, leads in ((1.0, "", False), (2.0, URL, False), (3.0, other, True)):
        assert one.duplicate_of(parsed(URL, THERE, at, canonical=other)) == ""
        found = one.duplicate_of(parsed(other, THERE, at, canonical=canonical))
        assert found == ("" if leads else URL)


def test_a_canonical_url_is_followed_and_leads_only_where_that_is_wanted() -> None:
    link = (Link(URL, kind="canonical"), Link(THIRD))
    for wanted in (True, False):
        one, variant = Instance(None, DedupSettings(canonical=wanted)), f"{URL}?utm=1"
        answer = one.answer(parsed(variant, THERE, 1.0, canonical=URL, links=link))
        released = [e for e in answer if isinstance(e, UrlsDiscovered)]
        followed = [found.url for event in released for found in event.urls]
        assert (URL in followed) == wanted
        assert one.duplicate_of(parsed(URL, THERE, 2.0)) == ("" if wanted else variant)


def test_two_pages_that_name_each_other_do_not_take_turns() -> None:
    one = Instance()
    for at in (1.0, 2.0, 3.0):
        assert one.duplicate_of(parsed(URL, THERE, at, canonical=COPY)) == ""
        assert one.duplicate_of(parsed(COPY, THERE, at, canonical=URL)) == URL


def test_the_links_of_a_mirror_are_followed_once_the_first_is_gone() -> None:
    def links(one: Instance, url: str, at: float) -> int:
        own = (Link(f"{host_key(url)}/2"),)
        answer = one.answer(parsed(url, THERE, at, links=own))
        return sum(len(event.urls) for event in answer if isinstance(event, UrlsDiscovered))

    one = Instance()
    assert (links(one, URL, 1.0), links(one, COPY, 2.0)) == (1, 0)
    one.answer(parsed(URL, Seen(410), 3.0))
    assert (links(one, COPY, 4.0), links(one, COPY, 4.0)) == (1, 1)
    assert (links(one, THIRD, 5.0), links(one, URL, 6.0)) == (0, 0)


def test_a_leader_whose_row_is_not_written_yet_leads() -> None:
    """Its claim is in the store at once; what it says of itself, with its instance's next flush."""
    disk, fate = {}, Fate(0)  # type: ignore[var-annotated]
    mine, theirs = Instance(TornStore(disk, fate)), Instance(TornStore(disk, fate))
    mine.answer(parsed(URL, THERE, 1.0, digest="old text"))
    mine.store.flush()
    mine.answer(parsed(URL, THERE, 2.0))
    assert theirs.duplicate_of(parsed(COPY, THERE, 3.0)) == URL
    mine.store.flush()
    assert theirs.duplicate_of(parsed(COPY, THERE, 4.0)) == URL


def test_the_row_of_a_document_says_how_it_is() -> None:
    one = Instance()
    rows = one.store.table(DocumentRow)
    for page in visits(URL, [THERE, Seen(404)]):
        one.answer(page)
    row = rows.get((DEFAULT_CRAWL, URL))
    assert row and (row.gone, row.missed, row.missed_since) == ("", 1, 1.0 + DAY)
    one.answer(parsed(URL, Seen(410), 5 * DAY))
    row = rows.get((DEFAULT_CRAWL, URL))
    assert row and (row.gone, row.at, row.digest) == (Gone.REMOVED, 5 * DAY, "")


def test_each_crawl_has_documents_of_its_own() -> None:
    one = Instance()
    assert one.said(parsed(URL, THERE, 1.0))
    assert one.duplicate_of(parsed(COPY, THERE, 2.0)) == URL
    for url in (COPY, URL):
        (judged,) = (
            event
            for event in one.answer(parsed(url, THERE, 3.0, crawl="second"))
            if isinstance(event, PageJudged)
        )
        original = "" if url == COPY else COPY
        assert (judged.change, judged.duplicate_of) == (None, original)
    one.store.flush()
    kept = {(row.crawl, row.url) for row in one.store.table(DocumentRow).everything()}
    assert kept == {(crawl, url) for crawl in (DEFAULT_CRAWL, "second") for url in (URL, COPY)}


def test_two_pages_of_one_visit_in_one_step_are_judged_each_as_it_is() -> None:
    url, instance = "http://a.test/x", Instance()
    first, again = parsed(url, THERE, 1.0), parsed(url, Seen(410), 2.0)
    again = replace(again, visit=first.visit)
    for _ in instance.dedup.reads_of([first, again]):
        pass
    assert isinstance(instance.said(first), Page)
    assert isinstance(instance.said(again), Tombstone)
