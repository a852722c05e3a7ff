"""What `pages` has of a URL that is visited again and again, and what it is not told twice."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.errors import Unavailable
from gossamer.events import (
    DEFAULT_CRAWL,
    Page,
    PageJudged,
    PageKind,
    PageParsed,
    Tombstone,
    Verdict,
)
from gossamer.log.codec import encode
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import R
from gossamer.store.sqlite import SqliteStore, SqliteTable
from gossamer.web.validators import NO_VALIDATORS, Validators
from services.dedup.rows import DocumentRow
from tests.dedup.test_documents import (
    COPY,
    DAY,
    HIDDEN,
    MOVED,
    THERE,
    URL,
    Instance,
    Seen,
    parsed,
)
from tests.support.kinds import with_kind

KNOWN = Validators('"1"', "")
REPUBLISHING = DedupSettings(republish_unchanged=True)


def not_modified(at: float, url: str = URL, asked: bool = True) -> PageParsed:
    page = parsed(url, Seen(304), at, validators=KNOWN)
    return with_kind(replace(page, visit=replace(page.visit, validators=KNOWN, conditional=asked)))


def unread(at: float, url: str = URL) -> PageParsed:
    page = parsed(url, THERE, at, digest="", hazards=("parser_fault",))
    return replace(page, kind=PageKind.UNREADABLE)


def text(digest: str, at: float, url: str = URL) -> PageParsed:
    return parsed(url, THERE, at, digest=digest)


def judged(one: Instance, page: PageParsed) -> PageJudged:
    (found,) = (event for event in one.answer(page) if isinstance(event, PageJudged))
    return found


def document(one: Instance, page: PageParsed) -> Page:
    found = one.said(page)
    assert isinstance(found, Page)
    return found


def row_of(one: Instance) -> DocumentRow:
    row = one.store.table(DocumentRow).get((DEFAULT_CRAWL, URL))
    assert row
    return row


def times(page: Page) -> tuple[float, float, float]:
    return page.first_seen, page.last_changed, page.last_visited


def test_a_document_says_since_when_it_is_and_when_it_changed() -> None:
    one = Instance()
    first = document(one, text("a", 1.0))
    assert (first.verdict, first.change, times(first)) == (Verdict.FIRST, None, (1.0, 1.0, 1.0))
    assert one.said(text("a", 2.0)) is None, "nothing is new"
    later = document(one, text("b", 3.0))
    assert (later.verdict, times(later)) == (Verdict.CHANGED, (1.0, 3.0, 3.0))
    assert one.said(not_modified(4.0)) is None
    assert (row_of(one).at, row_of(one).last_changed) == (4.0, 3.0)


def test_a_document_that_is_back_is_first_again_and_known_for_as_long() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    assert isinstance(one.said(parsed(URL, MOVED, 2.0)), Tombstone)
    back = document(one, text("a", 3.0))
    assert (back.verdict, times(back)) == (Verdict.FIRST, (1.0, 3.0, 3.0))


def test_that_it_is_a_copy_or_none_any_more_is_news() -> None:
    one = Instance()
    document(one, text("a", 1.0, COPY))
    assert document(one, text("a", 2.0)).duplicate_of == COPY
    assert one.said(text("a", 3.0)) is None
    document(one, text("b", 4.0, COPY))
    own = document(one, text("a", 5.0))
    assert (own.verdict, own.duplicate_of, own.last_changed) == (Verdict.UNCHANGED, "", 2.0)
    assert one.said(text("a", 6.0)) is None


def hidden(digest: str, at: float) -> PageParsed:
    return parsed(URL, HIDDEN, at, digest=digest)


def test_a_page_that_asks_not_to_be_indexed_has_a_history_all_the_same() -> None:
    one = Instance()
    texts = ["a", "a", "b", "b"]
    changes = [judged(one, hidden(text, float(at))).change for at, text in enumerate(texts, 1)]
    assert changes == [None, 0.0, 1.0, 0.0]
    assert judged(one, hidden("b", 3.0)).change == 1.0, "its record comes again"
    assert judged(one, text("b", 5.0)).change is None, "now there is a document"
    assert judged(one, text("b", 6.0)).change == 0.0


def test_a_document_that_is_hidden_is_gone_once_and_compared_with_what_it_was() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    assert judged(one, hidden("a", 2.0)).change == 0.0
    assert judged(one, hidden("b", 3.0)).change == 1.0
    assert one.said(hidden("b", 4.0)) is None, "it is known to be gone"
    assert isinstance(one.said(hidden("a", 2.0)), Tombstone), "its record comes again"
    back = document(one, text("b", 5.0))
    assert (back.verdict, times(back)) == (Verdict.FIRST, (1.0, 5.0, 5.0))


def test_an_unchanged_document_is_published_again_where_that_is_wanted() -> None:
    one = Instance(settings=REPUBLISHING)
    said = [document(one, text("a", float(at))) for at in range(1, 4)]
    told = [dict(encode(page).headers).get("unchanged") for page in said]
    assert told == [None, "1", "1"]
    assert [page.unchanged for page in said] == [False, True, True]
    assert times(said[2]) == (1.0, 1.0, 3.0)
    assert one.said(not_modified(4.0)) is None, "there is no text to publish"


def test_a_page_that_is_as_it_was_is_judged_unchanged() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    one.answer(parsed(URL, Seen(404), 2.0))
    assert row_of(one).missed == 1
    found = judged(one, not_modified(3.0))
    assert (found.verdict, found.change, found.digest) == (Verdict.UNCHANGED, 0.0, "a")
    assert (found.status, found.validators, found.links) == (304, KNOWN, 0)
    assert (row_of(one).missed, row_of(one).at) == (0, 3.0), "it is there"
    assert one.said(parsed(URL, Seen(404), 4.0)) is None, "only once in a row"


def test_a_document_that_is_gone_is_wanted_whole_before_it_is_back() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    one.answer(parsed(URL, Seen(410), 2.0))
    found = judged(one, not_modified(3.0))
    assert (found.verdict, found.digest) == (Verdict.UNCHANGED, "")
    assert found.validators == NO_VALIDATORS
    assert "the next visit is unconditional" in found.reason
    assert row_of(one).gone


@pytest.mark.parametrize("gone", [False, True])
def test_a_page_that_is_not_to_be_indexed_may_be_as_it_was(gone: bool) -> None:
    one = Instance()
    if gone:
        document(one, text("a", 1.0))
    one.answer(parsed(URL, Seen(noindex=True), 2.0))
    assert judged(one, not_modified(3.0)).validators == KNOWN


def test_an_answer_to_a_condition_that_was_not_sent_says_nothing() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    assert one.answer(not_modified(2.0, asked=False)) == []
    assert row_of(one).at == 1.0


def test_a_refusal_of_our_conditions_says_nothing_against_the_document() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    one.answer(parsed(URL, Seen(412), 2.0))
    assert row_of(one).missed == 0


def test_a_page_that_cannot_be_read_is_judged_and_its_document_stays() -> None:
    one = Instance()
    document(one, text("a", 1.0))
    (found,) = one.answer(unread(2.0))
    assert isinstance(found, PageJudged)
    assert (found.verdict, found.change, found.links) == (Verdict.UNREADABLE, None, 0)
    assert found.hazards == ("parser_fault",)
    assert row_of(one).at == 1.0
    assert one.said(text("a", 3.0)) is None, "it was unchanged all the time"
    two = Instance()
    two.answer(unread(1.0))
    assert document(two, text("a", 2.0)).verdict is Verdict.FIRST


KINDS: dict[str, Any] = {
    "a": lambda at, url: text("a", at, url),
    "b": lambda at, url: text("b", at, url),
    "not modified": not_modified,
    "unread": unread,
    "missing": lambda at, url: parsed(url, Seen(404), at),
    "removed": lambda at, url: parsed(url, Seen(410), at),
    "failing": lambda at, url: parsed(url, Seen(500), at),
}


@pytest.mark.slow
@example([("a", URL), ("b", URL), ("not modified", URL)], 0)
@example([("a", COPY), ("a", URL), ("b", COPY), ("a", URL), ("a", URL)], 1)
@given(
    st.lists(st.tuples(st.sampled_from([*KINDS]), st.sampled_from([URL, COPY])), max_size=10),
    st.integers(0, 10),
)
def test_nothing_that_a_crash_takes_from_pages_is_missing_in_the_end(
    found: list[tuple[str, str]], lost: int
) -> None:
    """The store has what the visits changed there; from one on, what they published is lost."""
    pages = [KINDS[kind](20 * DAY * n, url) for n, (kind, url) in enumerate(found, 1)]
    one = Instance()
    before = [one.said(page) for page in pages]
    after = [*before[:lost], *(one.said(page) for page in pages[lost:])]

    def newest(said: list[Page | Tombstone | None]) -> dict[str, object]:
        return {one.url: _content(one) for one in said if one}

    assert newest(after) == newest(before)


def _content(said: Page | Tombstone) -> object:
    # Not the verdict: when its record comes again, another page may have become the leader.
    if isinstance(said, Tombstone):
        return said
    return said.digest, said.first_seen, said.last_changed


def test_a_page_that_stays_as_it_is_needs_no_decision_of_the_nodes() -> None:
    store = Undecided(Database(":memory:"))
    one = Instance(store)
    for page in (text("a", 1.0), text("a", 1.0, COPY)):
        assert one.answer(page)
    store.flush()
    store.refuses = True
    assert judged(one, text("a", 2.0)).verdict is Verdict.UNCHANGED
    copied = judged(one, text("a", 2.0, COPY))
    assert (copied.verdict, copied.duplicate_of) == (Verdict.DUPLICATE, URL)
    with pytest.raises(Unavailable):
        one.answer(text("b", 3.0))


class Undecided(SqliteStore):
    """Keeps rows, and decides who was first until it *refuses*."""

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
