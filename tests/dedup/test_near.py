"""Near duplicates, their leaders and their links."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import Link, Page, PageDeduplicated, PageParsed, UrlsDiscovered, Verdict
from gossamer.events.hazards import Hazard
from gossamer.services.dedup.content import MAX_PAGES_PER_BAND, NearRow, bands, distance
from gossamer.services.dedup.novelty import MIN_NOVELTY
from gossamer.services.dedup.rows import DocumentRow
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.text.sketch import make_sketch
from gossamer.web.url import Site
from tests.dedup.harness import make_dedup, only, parsed_page

SIMHASH = 0x0123456789ABCDEF
BIT = st.integers(0, 63)


class WebSite:
    """Dedup, and the verdicts on a sequence of pages."""

    def __init__(self, **options: Any) -> None:
        self.store: Store = SqliteStore(Database(":memory:"))
        self.dedup = make_dedup(store=self.store, **options)
        self._clock = 0.0

    def page(self, url: str, simhash: int | None, digest: str = "", **fields: object) -> PageParsed:
        self._clock += 1.0
        found = "" if simhash is None else f"{simhash:016x}"
        given: dict[str, Any] = {"at": 0.0, "fetched_at": self._clock, "simhash": found, **fields}
        return parsed_page(url, digest or f"digest of {url}", **given)

    def verdict(self, page: PageParsed) -> PageDeduplicated:
        return only(PageDeduplicated, self.dedup.handle(page, 0.0))

    def visit(self, url: str, simhash: int | None, **fields: Any) -> str:
        """Return the leader that *url* is a near duplicate of."""
        result = self.verdict(self.page(url, simhash, **fields))
        assert (result.verdict is Verdict.NEAR_DUPLICATE) == bool(result.near_duplicate_of)
        return result.near_duplicate_of


@given(st.integers(0, (1 << 64) - 1), st.sets(BIT, max_size=8))
@settings(max_examples=60, deadline=None)
def test_texts_are_near_if_any_three_bits_differ(simhash: int, flipped: set[int]) -> None:
    site, other = WebSite(), simhash
    for bit in flipped:
        other ^= 1 << bit
    site.visit("http://a.test/1", simhash)
    near = site.visit("http://a.test/2", other)
    assert near == ("http://a.test/1" if len(flipped) <= 3 else "")


@given(st.integers(0, 3))
@settings(deadline=None)
def test_near_distance_is_a_setting(limit: int) -> None:
    site = WebSite(near_distance=limit)
    site.visit("http://a.test/1", SIMHASH)
    for number, bits in enumerate((0b1111, 0b111, 0b11, 0b1, 0)):
        near = site.visit(f"http://a.test/other{number}", SIMHASH ^ bits)
        if bits.bit_count() > limit + 3:
            assert not near
        if bits.bit_count() <= limit:
            assert near


def test_copy_at_another_site_is_found_by_its_digest_only() -> None:
    site = WebSite()
    site.visit("http://a.test/1", SIMHASH)
    assert not site.visit("http://b.test/1", SIMHASH)
    equal = site.verdict(site.page("http://b.test/2", SIMHASH, digest="digest of http://a.test/1"))
    assert (equal.verdict, equal.duplicate_of) == (Verdict.DUPLICATE, "http://a.test/1")
    assert not equal.near_duplicate_of


def test_nearest_candidate_leads_and_the_earliest_of_equals() -> None:
    site = WebSite()
    site.visit("http://a.test/far", SIMHASH ^ 0b111)
    site.visit("http://a.test/other", SIMHASH ^ (0b1111 << 20))
    assert site.visit("http://a.test/2", SIMHASH ^ 0b11) == "http://a.test/far"
    assert site.visit("http://a.test/3", SIMHASH ^ 0b11 ^ (1 << 40)) == "http://a.test/far"


def test_page_is_not_a_near_duplicate_of_itself() -> None:
    site = WebSite()
    assert not site.visit("http://a.test/1", SIMHASH)
    assert not site.visit("http://a.test/1", SIMHASH ^ 1)


@pytest.mark.slow
@given(st.lists(st.sets(BIT, max_size=4), max_size=12))
@settings(max_examples=50, deadline=None)
def test_redelivered_record_gets_the_same_verdict(pages: list[set[int]]) -> None:
    site, seen = WebSite(), []
    for number, flipped in enumerate(pages):
        page = site.page(f"http://a.test/{number}", SIMHASH ^ sum(1 << bit for bit in flipped))
        seen.append((page, site.verdict(page)))
    for page, result in seen:
        assert site.verdict(page) == result


def test_links_of_a_near_duplicate_are_released_and_its_document_names_the_leader() -> None:
    site = WebSite()
    site.visit("http://a.test/1", SIMHASH)
    page = site.page("http://a.test/2", SIMHASH ^ 1, links=(Link("http://a.test/3"),))
    events = list(site.dedup.handle(page, 0.0))
    released = only(UrlsDiscovered, events)
    assert [(found.url, found.duplicates) for found in released.urls] == [("http://a.test/3", 1)]
    document = only(Page, events)
    assert document.verdict is Verdict.NEAR_DUPLICATE
    assert (document.near_duplicate_of, document.duplicate_of) == ("http://a.test/1", "")


TEXT = " ".join(f"word{n}" for n in range(200))
REPLY = " ".join(f"reply{n}" for n in range(40))
REORDERED = " ".join(sorted(TEXT.split(), reverse=True))


@pytest.mark.parametrize(
    ("text", "duplicates", "is_new"),
    [(f"{TEXT} {REPLY}", 0, True), (REORDERED, 3, False), (f"{TEXT} again", 3, False)],
)
def test_near_duplicate_has_a_new_text_if_a_passage_of_it_is_new(
    text: str, duplicates: int, is_new: bool
) -> None:
    site, link = WebSite(), (Link("http://a.test/next"),)
    site.visit("http://a.test/1", SIMHASH, text=TEXT, sketch=make_sketch([TEXT]))
    page = site.page(
        "http://a.test/2", SIMHASH ^ 1, text=text, sketch=make_sketch([text]), links=link
    )
    page = replace(page, visit=replace(page.visit, duplicates=2))
    events = list(site.dedup.handle(page, 0.0))
    (found,) = only(UrlsDiscovered, events).urls
    assert found.duplicates == duplicates
    verdict = only(PageDeduplicated, events)
    assert verdict.verdict is Verdict.NEAR_DUPLICATE
    assert ((verdict.novelty or 0.0) > MIN_NOVELTY) == is_new


def test_too_many_near_duplicates_in_a_row_are_a_trap() -> None:
    site, link = WebSite(duplicates_limit=2), (Link("http://a.test/next"),)
    site.visit("http://a.test/1", SIMHASH)

    def verdict_after(duplicates: int) -> PageDeduplicated:
        page = site.page(f"http://a.test/after{duplicates}", SIMHASH ^ 1, links=link)
        return site.verdict(replace(page, visit=replace(page.visit, duplicates=duplicates)))

    assert verdict_after(1).links == 1
    trapped = verdict_after(2)
    assert trapped.links == 0 and Hazard.TRAP_DUPLICATES in trapped.hazards
    assert trapped.verdict is Verdict.NEAR_DUPLICATE


def test_page_without_simhash_has_no_near_duplicates() -> None:
    site = WebSite()
    assert not site.visit("http://a.test/1", None)
    assert not site.visit("http://a.test/2", None)
    assert not list(site.store.table(NearRow).everything())


def test_deleted_page_does_not_lead() -> None:
    site = WebSite()
    site.visit("http://a.test/1", SIMHASH)
    list(site.dedup.handle(site.page("http://a.test/1", None, status=410), 0.0))
    assert not site.visit("http://a.test/2", SIMHASH)
    assert site.visit("http://a.test/3", SIMHASH) == "http://a.test/2"


def test_page_with_another_text_no_longer_leads() -> None:
    site = WebSite()
    site.visit("http://a.test/1", SIMHASH)
    assert site.visit("http://a.test/2", SIMHASH ^ 1) == "http://a.test/1"
    site.visit("http://a.test/1", SIMHASH ^ (1 << 64) - 1, digest="of another text")
    assert not site.visit("http://a.test/2", SIMHASH ^ 1)
    assert site.visit("http://a.test/3", SIMHASH) == "http://a.test/2"


TEXTS = st.sampled_from([None, 0, 1, 2, 1 << 20, 3 << 20, 0xFFFF, (1 << 64) - 1])
VISITS = st.lists(st.tuples(st.integers(0, 3), TEXTS, st.booleans(), st.integers(-2, 0)))


@given(VISITS)
@settings(max_examples=100, deadline=None)
def test_rows_have_a_page_with_its_present_text_only(
    visits: list[tuple[int, int | None, bool, int]],
) -> None:
    site = WebSite()
    for number, flipped, noindex, late in visits:
        simhash = None if flipped is None else SIMHASH ^ flipped
        page = site.page(f"http://a.test/{number}", simhash, noindex=noindex, digest=f"{flipped}")
        page = replace(page, fetched_at=page.fetched_at + late)
        for _ in range(1 + (late == -1)):  # Some records are redelivered.
            site.verdict(page)
    site.store.flush()
    present = {row.url: row.simhash for row in site.store.table(DocumentRow).everything()}
    for row in site.store.table(NearRow).everything():
        assert row.pages
        assert {(page.url, present[page.url]) for page in row.pages} == {
            (page.url, page.simhash) for page in row.pages
        }


def test_unpublished_page_does_not_lead() -> None:
    site = WebSite()
    site.visit("http://a.test/1", SIMHASH, noindex=True)
    assert not site.visit("http://a.test/2", SIMHASH)


def boilerplate() -> Iterator[int]:
    """Yield simhashes that share one band and are far from each other."""
    chance = Random(1)
    while True:
        yield chance.getrandbits(48) << 16 | 0xABCD


def test_bands_are_bounded_and_boilerplate_hides_no_near_duplicate() -> None:
    site, simhashes = WebSite(), boilerplate()
    for number in range(3 * MAX_PAGES_PER_BAND):
        assert not site.visit(f"http://a.test/{number}", next(simhashes))
    last = next(simhashes)
    site.visit("http://a.test/last", last)
    assert site.visit("http://a.test/copy", last) == "http://a.test/last"
    site.store.flush()
    assert (
        max(len(row.pages) for row in site.store.table(NearRow).everything()) == MAX_PAGES_PER_BAND
    )


def test_family_of_near_duplicates_has_four_rows() -> None:
    site = WebSite()
    for number in range(50):
        site.visit(f"http://a.test/{number}", SIMHASH ^ 1 << number)
    site.store.flush()
    rows = list(site.store.table(NearRow).everything())
    assert sorted(row.band for row in rows) == bands(Site("a.test"), f"{SIMHASH ^ 1:016x}")


@pytest.mark.parametrize("bits", [0, 1, 3, 64])
def test_distance_is_the_number_of_different_bits(bits: int) -> None:
    assert distance("0" * 16, f"{(1 << bits) - 1:016x}") == bits
