"""Verdicts on later visits to a page, from the document that a server sends to the event that dedup
publishes."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Page, PageDeduplicated, PageParsed, Verdict
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify
from gossamer.services.parser.service import options_for
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.text.volatile import MAX_STATE_SIZE, VOLATILE_SCORE
from tests.parser.pages import OPTIONS, URL, page_response

DAY = 86400.0
UNRELATED = 0.25
"""Three standard deviations of the estimate for texts without a common word (`text/sketch.py`)."""
ARTICLE = "".join(
    f"<p>Paragraph {n} tells of what happened in the year {1800 + n}, and of what it meant.</p>"
    for n in range(30)
)
LESS = ARTICLE.replace("Paragraph 7 tells", "Paragraph 7 does not tell")


class Visited:
    """A URL that is visited once a day."""

    def __init__(self) -> None:
        self.store: Store = SqliteStore(Database(":memory:"))
        self.dedup = Dedup(SeenTable(self.store), self.store, DedupSettings())
        self.number = 0

    def parse_next(
        self, body: str, status: int = 200, url: str = URL, revisit: str = "optimal"
    ) -> PageParsed:
        self.number += 1
        page = page_response(f"<title>T</title>{body}".encode(), status=status, url=url)
        page = replace(page, started_at=self.number * DAY)
        crawl = CrawlDefined(crawl="a", at=0.0, scope="any()", max_depth=9, revisit=revisit)
        return classify(page, parse(page, options_for(crawl, OPTIONS), 0.0))

    def verdict_event(self, page: PageParsed) -> PageDeduplicated:
        answer = list(self.dedup.handle(page, page.fetched_at))
        [result] = [one for one in answer if isinstance(one, PageDeduplicated)]
        for document in (one for one in answer if isinstance(one, Page)):
            assert (document.verdict, document.change) == (result.verdict, result.change)
        return result

    def verdict(self, body: str) -> Verdict:
        return self.verdict_event(self.parse_next(body)).verdict


def date(visit: int) -> str:
    now = datetime.fromtimestamp(1.7e9 + visit * DAY, UTC)
    return f"<footer>Example Ltd, <i>{now:%A, %d %B %Y, %H:%M}</i> <a href=/imprint>Imprint</a>"


def counter(visit: int) -> str:
    return f"<div>You are visitor <b>{4711 + 13 * visit}</b> of this page.</div>"


def advert(visit: int) -> str:
    goods = ["shoes", "cars", "wine", "books", "soap"][visit % 5]
    return f"<aside><h4>Advertisement</h4><p>The best {goods} are {visit} % off</p>Close</aside>"


def session(visit: int) -> str:
    sid = f"sid={(visit + 1) * 0x9E3779B97F4A7C15 % 2**64:x}"
    return f"<a href='/basket?{sid}'>Basket</a> <p>http://www.example.org/help?{sid}</p> <p>End</p>"


def everything(visit: int) -> str:
    return "".join(part(visit) for part in (session, advert, counter, date))


KINDS = [date, counter, advert, session, everything]
Kind = Callable[[int], str]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_that_differ_at_every_visit_do_not_count_as_a_change(kind: Kind) -> None:
    page = Visited()

    def change(body: str) -> float | None:
        return page.verdict_event(page.parse_next(body)).change

    changes = [change(ARTICLE + kind(visit)) for visit in range(VOLATILE_SCORE + 4)]
    assert changes[0] is None
    assert changes[VOLATILE_SCORE + 1 :] == [0.0] * 3
    assert change(LESS + kind(50))
    assert change(LESS + kind(51)) == 0.0


def test_crawl_without_revisits_finds_each_change_of_the_text_and_no_other() -> None:
    page, updated = Visited(), f"{ARTICLE}<p>3 minutes ago"
    found = [
        page.verdict_event(page.parse_next(body, revisit="none"))
        for body in (ARTICLE, ARTICLE, LESS, updated, updated)
    ]
    changes = [one.change or 0.0 for one in found]
    assert [change > 0 for change in changes] == [False, False, True, True, False]
    assert max(changes) < 0.05


def test_revisits_that_begin_later_neither_invent_a_change_nor_lose_one() -> None:
    for body, is_changed in ((ARTICLE, False), (LESS, True)):
        page = Visited()
        page.verdict_event(page.parse_next(ARTICLE, revisit="none"))
        assert bool(page.verdict_event(page.parse_next(body)).change) == is_changed
        changes = [page.verdict_event(page.parse_next(body + date(n))).change for n in range(9)]
        assert changes[VOLATILE_SCORE + 1 :] == [0.0] * 5


def test_price_that_differs_at_every_visit_is_published_each_time() -> None:
    page, published = Visited(), list[str]()
    for visit in range(10):
        answer = page.dedup.handle(page.parse_next(f"{ARTICLE}<p>{100 + visit} EUR</p>"), 0.0)
        documents = [one for one in answer if isinstance(one, Page)]
        published += [(one.text or "").rpartition("\n")[2] for one in documents]
    assert documents[0].verdict is Verdict.CHANGED and documents[0].change == 0.0
    assert len(published) == 10


def test_different_link_target_with_the_same_text_is_no_change() -> None:
    page = Visited()
    assert page.verdict(f"{ARTICLE}<a href='/x?sid=1'>Next</a>") is Verdict.FIRST
    assert page.verdict(f"{ARTICLE}<a href='/x?sid=2'>Next</a>") is Verdict.UNCHANGED


def test_change_is_the_fraction_of_the_text_that_differs() -> None:
    page = Visited()

    def change(body: str) -> float | None:
        return page.verdict_event(page.parse_next(body)).change

    assert change(ARTICLE) is None
    assert change(ARTICLE) == 0.0
    assert 0.0 < (change(LESS) or 0.0) < 0.05
    added = 100 * 4
    assert change(LESS + "<p>Something else altogether now.</p>" * 100) == pytest.approx(
        added / (2 * len(LESS.split()) + added), abs=0.1
    )
    assert change("<p>Nothing is left.</p>") == pytest.approx(1.0, abs=UNRELATED)


@pytest.mark.parametrize("kind", KINDS)
def test_redelivered_record_has_the_same_verdict(kind: Kind) -> None:
    page = Visited()
    for visit in range(8):
        record = page.parse_next(ARTICLE + kind(visit))
        answer = list(page.dedup.handle(record, record.fetched_at))
        assert answer == list(page.dedup.handle(record, record.fetched_at))
        page.store.flush()
        assert answer == list(page.dedup.handle(record, record.fetched_at))


def test_change_of_a_duplicate_is_measured_against_its_own_last_version() -> None:
    page = Visited()
    page.verdict_event(page.parse_next(ARTICLE, url="http://www.example.org/first"))

    copies = [page.verdict_event(page.parse_next(ARTICLE)) for _ in range(2)]
    assert [(copy.verdict, copy.change) for copy in copies] == [
        (Verdict.DUPLICATE, None),
        (Verdict.DUPLICATE, 0.0),
    ]
    another = page.verdict_event(page.parse_next("<p>Another text.</p>"))
    assert another.verdict is Verdict.CHANGED
    assert another.change == pytest.approx(1.0, abs=UNRELATED)


def test_page_is_first_again_after_a_tombstone() -> None:
    page = Visited()
    assert page.verdict(ARTICLE) is Verdict.FIRST
    list(page.dedup.handle(page.parse_next("", status=410), 0.0))
    assert page.verdict(ARTICLE) is Verdict.FIRST
    assert page.verdict(ARTICLE) is Verdict.UNCHANGED


def test_visit_that_fails_does_not_affect_the_next_verdict() -> None:
    page = Visited()
    assert page.verdict(ARTICLE) is Verdict.FIRST
    list(page.dedup.handle(page.parse_next("", status=404), 0.0))
    list(page.dedup.handle(page.parse_next("", status=500), 0.0))
    assert page.verdict(LESS) is Verdict.CHANGED


@pytest.mark.slow
def test_stored_data_of_a_page_is_bounded_for_a_long_page() -> None:
    page = Visited()

    def sizes() -> Iterator[int]:
        for visit in range(6):
            page.verdict_event(page.parse_next(ARTICLE * 200 + everything(visit)))
            row = page.store.table(DocumentRow).get((DEFAULT_CRAWL, URL))
            yield len(row.volatile) + len(row.sketch) if row else 0

    assert max(sizes()) <= MAX_STATE_SIZE + 64
