"""Documents on `pages` after many visits to one URL, without repetitions."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.errors import Unavailable
from gossamer.events import (
    DEFAULT_CRAWL,
    Page,
    PageDeduplicated,
    PageKind,
    PageParsed,
    Tombstone,
    Verdict,
)
from gossamer.log.codec import encode
from gossamer.services.dedup.rows import DocumentRow
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import R
from gossamer.store.sqlite import SqliteStore, SqliteTable
from gossamer.web.validators import NO_VALIDATORS, Validators
from tests.dedup.harness import only
from tests.dedup.test_documents import (
    COPY,
    DAY,
    HIDDEN,
    MOVED,
    THERE,
    URL,
    Instance,
    Seen,
    parsed_page,
)
from tests.support.kinds import with_kind

VALIDATORS = Validators('"1"', "")
REPUBLISHING = DedupSettings(republish_unchanged=True)


def not_modified(at: float, url: str = URL, conditional: bool = True) -> PageParsed:
    page = parsed_page(url, Seen(304), at, validators=VALIDATORS)
    return with_kind(
        replace(page, visit=replace(page.visit, validators=VALIDATORS, conditional=conditional))
    )


def unreadable_page(at: float, url: str = URL) -> PageParsed:
    page = parsed_page(url, THERE, at, digest="", hazards=("parser_fault",))
    return replace(page, kind=PageKind.UNREADABLE)


def text(digest: str, at: float, url: str = URL) -> PageParsed:
    return parsed_page(url, THERE, at, digest=digest)


def verdict_on(one: Instance, page: PageParsed) -> PageDeduplicated:
    return only(PageDeduplicated, one.answer(page))


def document(one: Instance, page: PageParsed) -> Page:
    found = one.published_event(page)
    assert isinstance(found, Page)
    return found


def row_of(one: Instance) -> DocumentRow:
    row = one.store.table(DocumentRow).get((DEFAULT_CRAWL, URL))
    assert row
    return row


def times(page: Page) -> tuple[float, float, float]:
    return page.first_seen, page.last_changed, page.last_visited


def test_document_has_times_of_first_visit_change_and_last_visit() -> None:
    one = Instance()
    first = document(one, text("a", 1.0))
    assert (first.verdict, first.change, times(first)) == (Verdict.FIRST, None, (1.0, 1.0, 1.0))
    assert one.published_event(text("a", 2.0)) is None, "nothing changed"
    later = document(one, text("b", 3.0))
    assert (later.verdict, times(later)) == (Verdict.CHANGED, (1.0, 3.0, 3.0))
    assert one.published_event(not_modified(4.0)) is None
    assert (row_of(one).at, row_of(one).last_changed) == (4.0, 3.0)


@pytest.mark.parametrize("ahead", [61.0, DAY, 70 * 365 * DAY])
def test_visit_by_a_clock_that_was_ahead_does_not_hold_back_later_texts(ahead: float) -> None:
    one = Instance()
    document(one, text("a", DAY + ahead))
    one.now = DAY
    for number, digest in enumerate("bcd"):
        later = document(one, text(digest, DAY + number))
        assert later.verdict is Verdict.CHANGED
        assert max(times(later)) == DAY + number


def test_document_can_go_after_a_visit_by_a_clock_that_was_ahead() -> None:
    one = Instance()
    document(one, text("a", 9 * DAY))
    one.now = 2.0
    assert isinstance(one.published_event(parsed_page(URL, MOVED, 2.0)), Tombstone)
    assert document(one, text("a", 3.0)).verdict is Verdict.FIRST


def test_page_from_the_future_is_a_page_of_now() -> None:
    one = Instance()
    found = [*one.dedup.handle(text("a", 9 * DAY), DAY)]
    page, verdict = only(Page, found), only(PageDeduplicated, found)
    assert (page.fetched_at, verdict.fetched_at) == (DAY, DAY)
    assert "wrong_date" in verdict.hazards


def test_document_that_is_back_is_first_again_with_its_first_seen_time() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    assert isinstance(one.published_event(parsed_page(URL, MOVED, 2.0)), Tombstone)
    back = document(one, text("a", 3.0))
    assert (back.verdict, times(back)) == (Verdict.FIRST, (1.0, 3.0, 3.0))


def test_document_is_published_when_it_becomes_or_ceases_to_be_a_copy() -> None:
    one = Instance()
    document(one, text("a", 1.0, COPY))
    assert document(one, text("a", 2.0)).duplicate_of == COPY
    assert one.published_event(text("a", 3.0)) is None
    document(one, text("b", 4.0, COPY))
    own = document(one, text("a", 5.0))
    assert (own.verdict, own.duplicate_of, own.last_changed) == (Verdict.UNCHANGED, "", 2.0)
    assert one.published_event(text("a", 6.0)) is None


def hidden_page(digest: str, at: float) -> PageParsed:
    return parsed_page(URL, HIDDEN, at, digest=digest)


def test_noindex_page_has_changes() -> None:
    one = Instance()
    texts = ["a", "a", "b", "b"]
    changes = [
        verdict_on(one, hidden_page(text, float(at))).change for at, text in enumerate(texts, 1)
    ]
    assert changes == [None, 0.0, 1.0, 0.0]
    assert verdict_on(one, hidden_page("b", 3.0)).change == 1.0, "redelivered"
    assert verdict_on(one, text("b", 5.0)).change is None, "now there is a document"
    assert verdict_on(one, text("b", 6.0)).change == 0.0


def test_hidden_document_gets_one_tombstone_and_is_still_compared() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    assert verdict_on(one, hidden_page("a", 2.0)).change == 0.0
    assert verdict_on(one, hidden_page("b", 3.0)).change == 1.0
    assert one.published_event(hidden_page("b", 4.0)) is None, "it is deleted already"
    assert isinstance(one.published_event(hidden_page("a", 2.0)), Tombstone), "redelivered"
    back = document(one, text("b", 5.0))
    assert (back.verdict, times(back)) == (Verdict.FIRST, (1.0, 5.0, 5.0))


def test_unchanged_document_is_republished_if_the_setting_is_on() -> None:
    one = Instance(settings=REPUBLISHING)
    pages = [document(one, text("a", float(at))) for at in range(1, 4)]
    headers = [dict(encode(page).headers).get("unchanged") for page in pages]
    assert headers == [None, "1", "1"]
    assert [page.unchanged for page in pages] == [False, True, True]
    assert times(pages[2]) == (1.0, 1.0, 3.0)
    assert one.published_event(not_modified(4.0)) is None, "there is no text to publish"


def test_304_gets_the_verdict_unchanged() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    one.answer(parsed_page(URL, Seen(404), 2.0))
    assert row_of(one).missed == 1
    found = verdict_on(one, not_modified(3.0))
    assert (found.verdict, found.change, found.digest) == (Verdict.UNCHANGED, 0.0, "a")
    assert (found.status, found.validators, found.links) == (304, VALIDATORS, 0)
    assert (row_of(one).missed, row_of(one).at) == (0, 3.0), "the document exists"
    assert one.published_event(parsed_page(URL, Seen(404), 4.0)) is None, "one miss in a row"


def test_304_for_a_deleted_document_drops_its_validators() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    one.answer(parsed_page(URL, Seen(410), 2.0))
    found = verdict_on(one, not_modified(3.0))
    assert (found.verdict, found.digest) == (Verdict.UNCHANGED, "")
    assert found.validators == NO_VALIDATORS
    assert "visited again soon without conditions" in found.reason
    assert row_of(one).gone


@pytest.mark.parametrize("gone", [False, True])
def test_304_for_a_noindex_page_keeps_its_validators(gone: bool) -> None:
    one = Instance()
    if gone:
        document(one, text("a", 1.0))
    one.answer(parsed_page(URL, Seen(noindex=True), 2.0))
    assert verdict_on(one, not_modified(3.0)).validators == VALIDATORS


def test_304_to_an_unconditional_request_is_ignored() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    assert one.answer(not_modified(2.0, conditional=False)) == []
    assert row_of(one).at == 1.0


def test_412_does_not_count_as_a_miss() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    one.answer(parsed_page(URL, Seen(412), 2.0))
    assert row_of(one).missed == 0


def test_unreadable_page_gets_a_verdict_and_keeps_its_document() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    (found,) = one.answer(unreadable_page(2.0))
    assert isinstance(found, PageDeduplicated)
    assert (found.verdict, found.change, found.links) == (Verdict.UNREADABLE, None, 0)
    assert found.hazards == ("parser_fault",)
    assert row_of(one).at == 1.0
    assert one.published_event(text("a", 3.0)) is None, "the document did not change"
    two = Instance()
    two.answer(unreadable_page(1.0))
    assert document(two, text("a", 2.0)).verdict is Verdict.FIRST


KINDS: dict[str, Any] = {
    "a": lambda at, url: text("a", at, url),
    "b": lambda at, url: text("b", at, url),
    "not modified": not_modified,
    "unreadable": unreadable_page,
    "missing": lambda at, url: parsed_page(url, Seen(404), at),
    "removed": lambda at, url: parsed_page(url, Seen(410), at),
    "failing": lambda at, url: parsed_page(url, Seen(500), at),
}


@pytest.mark.slow
@example([("a", URL), ("b", URL), ("not modified", URL)], 0)
@example([("a", COPY), ("a", URL), ("b", COPY), ("a", URL), ("a", URL)], 1)
@given(
    st.lists(st.tuples(st.sampled_from([*KINDS]), st.sampled_from([URL, COPY])), max_size=10),
    st.integers(0, 10),
)
def test_documents_lost_in_a_crash_are_published_again(
    found: list[tuple[str, str]], lost: int
) -> None:
    """The store has the rows of all visits; the documents from the visit *lost* on are lost."""
    pages = [KINDS[kind](20 * DAY * n, url) for n, (kind, url) in enumerate(found, 1)]
    one = Instance()
    before = [one.published_event(page) for page in pages]
    after = [*before[:lost], *(one.published_event(page) for page in pages[lost:])]

    def newest(events: list[Page | Tombstone | None]) -> dict[str, object]:
        return {one.url: _content(one) for one in events if one}

    assert newest(after) == newest(before)


def _content(event: Page | Tombstone) -> object:
    # Without the verdict: on redelivery, another page may have become the leader.
    if isinstance(event, Tombstone):
        return event
    return event.digest, event.first_seen, event.last_changed


def test_unchanged_page_needs_no_conditional_write() -> None:
    store = RefusingStore(Database(":memory:"))
    one = Instance(store)
    for page in (text("a", 1.0), text("a", 1.0, COPY)):
        assert one.answer(page)
    store.flush()
    store.refuses = True
    assert verdict_on(one, text("a", 2.0)).verdict is Verdict.UNCHANGED
    copied = verdict_on(one, text("a", 2.0, COPY))
    assert (copied.verdict, copied.duplicate_of) == (Verdict.DUPLICATE, URL)
    with pytest.raises(Unavailable):
        one.answer(text("b", 3.0))


class RefusingStore(SqliteStore):
    """A store with conditional writes that fail once it *refuses*."""

    refuses = False

    def table(self, row: type[R]) -> SqliteTable[R]:
        table = super().table(row)
        decide = table.put_if_absent

        def put_if_absent(row: R) -> R:
            if self.refuses:
                raise Unavailable("too few nodes decide")
            return decide(row)

        setattr(table, "put_if_absent", put_if_absent)  # noqa: B010
        return table
