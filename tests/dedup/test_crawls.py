"""Several crawls in one dedup: definitions, URL-seen sets, documents and verdicts are separate."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.errors import Poison
from gossamer.events import (
    DEFAULT_CRAWL,
    ChangesHinted,
    CrawlDefined,
    Discovery,
    Erasure,
    ErasureBegun,
    Event,
    HostsCompared,
    Link,
    LinksParked,
    MissingPageRead,
    OriginalAnnounced,
    Page,
    PageDeduplicated,
    PageKind,
    PageParsed,
    SeedAdded,
    Tombstone,
    UrlsAdmitted,
    UrlsDiscovered,
    UrlsErased,
    Verdict,
)
from gossamer.runtime.handling import read_ahead
from gossamer.services.dedup.content import DigestRow, NearRow
from gossamer.services.dedup.guesses import INITIAL_GUESSES
from gossamer.services.dedup.listings import ListingRow
from gossamer.services.dedup.rows import DocumentRow, HostStepsRow
from gossamer.services.dedup.seen import SeenRow
from gossamer.sqlite import Database
from gossamer.store import Row
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site
from gossamer.web.url_steps import ALL_STEPS
from tests.dedup.harness import make_dedup, of_kind, only, parsed_page

HOST = HostKey("http://a.test")
URL = f"{HOST}/x"
WORDS = " ".join(f"word{n}" for n in range(200))
CRAWLS = ("news", "shops")


def definition(crawl: str, **fields: object) -> CrawlDefined:
    given: dict[str, Any] = {"scope": "any()", "max_depth": 9, **fields}
    return CrawlDefined(at=0.0, crawl=crawl, **given)


class Instance:
    """A dedup with the crawls `news` and `shops`, by default without differences."""

    def __init__(self, news: CrawlDefined | None = None, shops: CrawlDefined | None = None) -> None:
        self.store = SqliteStore(Database(":memory:"))
        self.dedup = make_dedup(store=self.store)
        for one in (news or definition("news"), shops or definition("shops")):
            self.handle(one)

    def handle(self, event: Event) -> list[object]:
        read_ahead(self.store, self.dedup.reads_of([event]))
        outputs: list[object] = list(self.dedup.handle(event, event.at))
        self.dedup.settle()
        return outputs

    def discover(self, crawl: str, url: str = URL, **fields: object) -> list[object]:
        found = Discovery(url, 1, **fields)  # type: ignore[arg-type]
        via = f"1.1.0@{HOST}/of-{crawl}"
        event = UrlsDiscovered(crawl=crawl, at=1.0, site=Site("a.test"), via=via, urls=(found,))
        return self.handle(event)

    def visit(self, crawl: str, *links: Link, url: str = URL, **fields: Any) -> list[object]:
        page = parsed_page(url, "text", *links, **fields)
        # Orders have numbers of their own in each partition, for all crawls.
        visit = replace(page.visit, id=f"1.{crawl}.0@{url}")
        return self.handle(replace(page, crawl=crawl, visit=visit))


def admitted(outputs: list[object]) -> list[tuple[str, str]]:
    """Return the crawl and URL of each admission in *outputs*."""
    events = of_kind(UrlsAdmitted, outputs)
    return [(event.crawl, found.url) for event in events for found in event.urls]


def verdicts(outputs: list[object]) -> list[tuple[str, Verdict]]:
    return [(one.crawl, one.verdict) for one in of_kind(PageDeduplicated, outputs)]


def test_each_crawl_has_its_own_url_seen_set() -> None:
    one = Instance()
    assert admitted(one.discover("news")) == [("news", URL)]
    assert admitted(one.discover("shops")) == [("shops", URL)]
    assert admitted(one.discover("news", score=0.1)) == [("news", URL)], "the first finder"


def test_text_known_to_one_crawl_is_new_to_the_other() -> None:
    one = Instance()
    assert verdicts(one.visit("news", text=WORDS)) == [("news", Verdict.FIRST)]
    assert verdicts(one.visit("news", url=f"{HOST}/y", text=WORDS)) == [("news", Verdict.DUPLICATE)]
    outputs = one.visit("shops", url=f"{HOST}/y", text=WORDS)
    assert verdicts(outputs) == [("shops", Verdict.FIRST)]
    verdict = only(PageDeduplicated, outputs)
    assert verdict.novelty == 1.0


def test_page_of_two_crawls_is_published_and_stored_for_both() -> None:
    one = Instance()
    pages = [page for crawl in ("news", "shops") for page in of_kind(Page, one.visit(crawl))]
    assert [(page.crawl, page.url) for page in pages] == [("news", URL), ("shops", URL)]
    rows = [one.store.table(DocumentRow).get((crawl, URL)) for crawl in ("news", "shops")]
    assert [row.crawl for row in rows if row] == ["news", "shops"]


def test_deleted_document_of_one_crawl_stays_in_the_other() -> None:
    one = Instance()
    one.visit("news")
    one.visit("shops")
    assert verdicts(one.visit("news", status=410, fetched_at=9.0)) == [("news", Verdict.GONE)]
    gone = {
        crawl: row.gone
        for crawl in ("news", "shops")
        if (row := one.store.table(DocumentRow).get((crawl, URL)))
    }
    assert gone == {"news": "removed", "shops": ""}


def test_each_crawl_has_its_own_rule_of_relevance() -> None:
    one = Instance(definition("news", relevant='language("pt")'), definition("shops"))
    assert not of_kind(Page, one.visit("news", language="en"))
    assert of_kind(Page, one.visit("shops", language="en"))


def test_each_crawl_has_its_own_scope_and_depth() -> None:
    one = Instance(definition("news", scope="domain('a.test')"), definition("shops", max_depth=0))
    links = Link(f"{HOST}/1"), Link("http://b.test/")
    released = {
        crawl: sorted(
            found.url for event in of_kind(UrlsDiscovered, outputs) for found in event.urls
        )
        for crawl in ("news", "shops")
        if (outputs := one.visit(crawl, *links))
    }
    assert released == {"news": [f"{HOST}/1"], "shops": []}


def test_link_parked_by_one_crawl_is_parked_by_the_other() -> None:
    narrow = {"scope": "domain('a.test')"}
    one = Instance(definition("news", **narrow), definition("shops", **narrow))
    for crawl in ("news", "shops"):
        parked = only(LinksParked, one.visit(crawl, Link("http://b.test/")))
        assert (parked.crawl, [found.url for found in parked.urls]) == (crawl, ["http://b.test/"])


def test_each_crawl_has_its_own_url_steps() -> None:
    one = Instance(definition("news"), definition("shops", url_steps=ALL_STEPS))
    link = Link(f"{HOST}/?utm_source=x")
    found = [
        discovery.url
        for crawl in ("news", "shops")
        for event in of_kind(UrlsDiscovered, one.visit(crawl, link))
        for discovery in event.urls
    ]
    assert found == [f"{HOST}/?utm_source=x", f"{HOST}/"]


def test_only_the_crawl_with_a_policy_of_hints_gets_hints() -> None:
    one = Instance(definition("news", revisit="optimal"), definition("shops"))
    for crawl in ("news", "shops"):
        one.discover(crawl)
    found = Discovery(URL, 1, linked_at=5.0)
    events = [
        UrlsDiscovered(
            crawl=crawl, at=1.0, site=Site("a.test"), via="2.2.0@http://a.test/", urls=(found,)
        )
        for crawl in ("news", "shops")
    ]
    hinted = [hint for event in events for hint in of_kind(ChangesHinted, one.handle(event))]
    assert [hint.crawl for hint in hinted] == ["news"]


def test_good_links_of_one_crawl_promote_nothing_in_the_other() -> None:
    one = Instance(definition("news", strategy="best"), definition("shops", strategy="best"))
    for crawl in ("news", "shops"):
        one.discover(crawl, score=0.9)
    found = Discovery(URL, 1, score=0.9)
    event = UrlsDiscovered(crawl="news", at=1.0, site=Site("a.test"), via="2.2.0@b", urls=(found,))
    promoted = [one for one in of_kind(UrlsAdmitted, one.handle(event)) if one.promoted]
    assert [(event.crawl, event.urls[0].good_links) for event in promoted] == [("news", 2)]


def test_guess_in_flight_of_one_crawl_passes_for_the_other() -> None:
    one = Instance()
    guesses = [f"{HOST}/guess/{n}" for n in range(INITIAL_GUESSES + 1)]
    first = [url for url in guesses if admitted(one.discover("news", url, guess=True))]
    assert first == guesses[:INITIAL_GUESSES]
    assert not admitted(one.discover("shops", guesses[0], guess=True)), "the limit is of the host"
    one.visit("shops", url=guesses[0])
    assert not admitted(one.discover("shops", guesses[0], guess=True)), "still in flight"
    one.visit("news", url=guesses[0])
    assert admitted(one.discover("shops", guesses[0], guess=True))


def test_definition_of_one_crawl_resets_nothing_of_the_other() -> None:
    one = Instance(definition("news", relevant='language("pt")'))
    one.visit("news", language="pt")
    one.discover("news")
    one.handle(definition("shops", scope="domain('nowhere.test')", revisit="adaptive"))
    assert verdicts(one.visit("news", language="pt", fetched_at=9.0)) == [
        ("news", Verdict.UNCHANGED)
    ]
    assert not of_kind(Page, one.visit("news", url=f"{HOST}/en", language="en"))
    other = UrlsDiscovered(
        crawl="news", at=1.0, site=Site("a.test"), via="another", urls=(Discovery(URL, 1),)
    )
    assert not admitted(one.handle(other))


def test_pages_read_ahead_survive_the_definition_of_another_crawl() -> None:
    one = Instance(definition("news", relevant='language("pt")'))
    page = replace(parsed_page(URL, "text", language="pt"), crawl="news")
    read_ahead(one.store, one.dedup.reads_of([page]))
    list(one.dedup.handle(definition("shops", relevant='language("en")'), 0.0))
    assert of_kind(Page, one.dedup.handle(page, 1.0))


def test_seed_is_evaluated_by_its_crawl() -> None:
    one = Instance(definition("news", scope="domain('a.test')"), definition("shops"))
    found = only(UrlsDiscovered, one.handle(SeedAdded(url="http://b.test/", crawl="shops")))
    assert found.crawl == "shops"
    with pytest.raises(Poison, match="out of scope"):
        one.handle(SeedAdded(url="http://b.test/", crawl="news"))


@pytest.mark.parametrize("crawl", ["unknown", DEFAULT_CRAWL])
def test_seed_of_an_unknown_crawl_says_what_to_do(crawl: str) -> None:
    with pytest.raises(Poison, match=rf"crawl '{crawl}' is not defined.*gossamer crawls apply"):
        Instance().handle(SeedAdded(url=URL, crawl=crawl))


def test_seeds_of_the_default_crawl_may_precede_the_first_definition() -> None:
    assert of_kind(UrlsDiscovered, make_dedup().handle(SeedAdded(url=URL), 0.0))


def test_events_of_a_removed_crawl_are_dropped() -> None:
    one = Instance()
    one.handle(definition("news", removed=True))
    assert not one.discover("news")
    assert not one.visit("news")
    assert not one.handle(SeedAdded(url=URL, crawl="news"))
    assert one.store.table(DocumentRow).get(("news", URL)) is None
    assert admitted(one.discover("shops")) == [("shops", URL)]


def test_comparison_of_hosts_by_a_removed_crawl_still_counts() -> None:
    one = Instance()
    one.handle(definition("news", removed=True))
    event = HostsCompared(
        crawl="news",
        at=1.0,
        site=Site("a.test"),
        host=HOST,
        counterpart="http://b.test",
        original="http://b.test",
        rule="duphost",
        until=99.0,
    )
    announced = only(OriginalAnnounced, one.handle(event))
    assert announced.original == "http://b.test"


def test_guesses_of_a_removed_crawl_free_the_limit_of_their_host() -> None:
    one = Instance()
    for number in range(INITIAL_GUESSES):
        one.discover("news", f"{HOST}/guess/{number}", guess=True)
    assert not admitted(one.discover("shops", URL, guess=True))
    one.handle(definition("news", removed=True))
    assert admitted(one.discover("shops", URL, guess=True))


def probe(crawl: str, digest: str) -> PageParsed:
    page = parsed_page(f"{HOST}/missing", digest, fetched_at=5.0)
    return replace(page, crawl=crawl, kind=PageKind.PROBE)


def test_probe_of_one_crawl_withdraws_documents_of_all_crawls() -> None:
    one = Instance()
    for crawl in ("news", "shops"):
        for path in "abc":
            one.visit(crawl, url=f"{HOST}/{path}")
    outputs = one.handle(probe("news", "text"))
    assert [event.host for event in of_kind(MissingPageRead, outputs)] == [HOST]
    withdrawn = [
        (crawl, path)
        for crawl in ("news", "shops")
        for path in "abc"
        if (row := one.store.table(DocumentRow).get((crawl, f"{HOST}/{path}"))) and row.gone
    ]
    assert withdrawn == [(crawl, path) for crawl in ("news", "shops") for path in "abc"]
    assert len([one for one in outputs if isinstance(one, Tombstone)]) == 6


def test_probe_of_a_removed_crawl_counts_for_the_others() -> None:
    one = Instance()
    for crawl in ("news", "shops"):
        one.visit(crawl)
    one.handle(definition("news", removed=True))
    outputs = one.handle(probe("news", "text"))
    assert of_kind(MissingPageRead, outputs)
    assert len([one for one in outputs if isinstance(one, Tombstone)]) == 1


def removal(crawl: str, *urls: str) -> ErasureBegun:
    erasure = Erasure("a.test", 7.0, "me", 0, 0)
    return ErasureBegun(
        crawl=crawl, at=7.0, site=Site("a.test"), erasure=erasure, urls=urls, removal=True
    )


def rows_of(one: Instance, crawl: str) -> list[Row]:
    tables: list[type[Row]] = [DocumentRow, DigestRow, NearRow, ListingRow, SeenRow]
    one.store.flush()
    return [
        row
        for table in tables
        for row in one.store.table(table).everything()
        if getattr(row, "crawl", "") == crawl
    ]


def crawl_site(one: Instance, crawl: str) -> None:
    """Let *crawl* discover and visit a page, a near duplicate of it, and a sitemap."""
    urls = [URL, f"{HOST}/y", f"{HOST}/map"]
    for url in urls:
        one.discover(crawl, url)
    one.visit(crawl, Link(f"{HOST}/1"), url=urls[0], simhash="00000000000000ff")
    page = parsed_page(urls[1], "nearly", simhash="00000000000000fe")
    one.handle(replace(page, crawl=crawl))
    listing = replace(parsed_page(urls[2], "entries"), crawl=crawl, kind=PageKind.LISTING)
    one.handle(listing)


def test_removed_crawl_leaves_no_rows_and_the_others_keep_theirs() -> None:
    one, alone = Instance(), Instance()
    for crawl in CRAWLS:
        crawl_site(one, crawl)
    crawl_site(alone, "shops")
    assert len({type(row) for row in rows_of(one, "news")}) == 5
    one.handle(definition("news", removed=True))
    outputs = one.handle(removal("news", URL, f"{HOST}/y", f"{HOST}/map"))
    assert not rows_of(one, "news")
    assert rows_of(one, "shops") == rows_of(alone, "shops")
    tombstones = [each for each in outputs if isinstance(each, Tombstone)]
    assert {each.crawl for each in tombstones} == {"news"}
    reply = only(UrlsErased, outputs)
    assert (reply.crawl, reply.site, reply.removal, reply.last) == ("news", "a.test", True, True)
    assert verdicts(one.visit("shops", fetched_at=9.0)) == [("shops", Verdict.UNCHANGED)]


def test_removal_of_a_crawl_with_its_own_topic_writes_no_tombstones() -> None:
    one = Instance(definition("news", own_topic=True))
    crawl_site(one, "news")
    outputs = one.handle(removal("news", URL, f"{HOST}/y", f"{HOST}/map"))
    assert [type(output) for output in outputs] == [UrlsErased]


def test_urls_without_a_row_leave_the_url_seen_set_of_a_removed_crawl() -> None:
    one = Instance()
    for crawl in CRAWLS:
        one.discover(crawl, f"{HOST}/refused")
    one.handle(removal("news"))
    found = [type(row) for crawl in CRAWLS for row in rows_of(one, crawl)]
    assert found == [SeenRow], "that of the other crawl"


def test_results_that_precede_the_removed_definition_are_not_stored() -> None:
    one = Instance()
    crawl_site(one, "news")
    one.handle(removal("news", URL, f"{HOST}/y", f"{HOST}/map"))
    assert not one.visit("news", url=f"{HOST}/late")
    assert not one.discover("news", f"{HOST}/late")
    assert not rows_of(one, "news")


@pytest.mark.parametrize("learns_by", ["definition", "erasure"])
def test_page_that_a_crash_interrupted_leaves_no_text_of_a_removed_crawl(learns_by: str) -> None:
    one = Instance()
    for crawl in CRAWLS:
        page = replace(parsed_page(URL, "text", Link(f"{HOST}/1")), crawl=crawl)
        read_ahead(one.store, one.dedup.reads_of([page]))  # It writes the leader at once.
    one.dedup.restart(frozenset(), 2.0)
    one.handle(definition("news", removed=True) if learns_by == "definition" else removal("news"))
    assert not one.visit("news", Link(f"{HOST}/1"))
    assert not rows_of(one, "news")
    assert [type(row) for row in rows_of(one, "shops")] == [DigestRow]


def test_redelivered_removal_gets_the_same_reply() -> None:
    one = Instance()
    crawl_site(one, "news")
    event = removal("news", URL)
    assert one.handle(event) == one.handle(event)


def test_evidence_about_hosts_survives_the_removal_of_a_crawl() -> None:
    one = Instance()
    one.visit("news")
    one.visit("news", url=f"{HOST}/y")
    before = one.store.table(HostStepsRow).get(HOST)
    assert before and before.copies == (f"{HOST}/y",)
    one.handle(removal("news", URL, f"{HOST}/y"))
    assert one.store.table(HostStepsRow).get(HOST) == before


links_of_pages = st.lists(st.sampled_from([f"{HOST}/{path}" for path in "xyz"]), max_size=3)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Return discoveries and pages of two crawls with overlapping URLs and texts."""
    found = list[Event]()
    for number in range(draw(st.integers(1, 15))):
        crawl, url = draw(st.sampled_from(CRAWLS)), draw(st.sampled_from((URL, f"{HOST}/y")))
        via = draw(st.sampled_from(("1.1.0@http://a.test/", "1.2.0@http://b.test/")))
        if draw(st.booleans()):
            urls = (Discovery(url, 1, score=draw(st.sampled_from((0.2, 0.9)))),)
            found.append(
                UrlsDiscovered(
                    crawl=crawl, at=1.0 + number, site=Site("a.test"), via=via, urls=urls
                )
            )
            continue
        page: PageParsed = parsed_page(
            url,
            draw(st.sampled_from(("text", "other"))),
            *map(Link, draw(links_of_pages)),
            text=draw(st.sampled_from((WORDS, "few words"))),
            fetched_at=1.0 + number,
        )
        visit = replace(page.visit, id=f"1.{number}.0@{url}")
        found.append(replace(page, crawl=crawl, visit=visit))
    return found


@given(histories())
def test_crawl_gets_the_same_answers_beside_another_one_as_alone(events: list[Event]) -> None:
    both = Instance()
    alone = {crawl: Instance() for crawl in CRAWLS}
    for event in events:
        assert both.handle(event) == alone[event.crawl].handle(event)
