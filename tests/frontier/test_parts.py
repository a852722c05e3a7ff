"""Parked URLs of a site: kept, probed, and released when their part brings new texts again."""

from collections import Counter
from collections.abc import Mapping
from itertools import cycle

import pytest
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    Discovery,
    Outcome,
    PageDeduplicated,
    ReleaseRequested,
    UrlRulesAnnounced,
    Verdict,
    Visit,
    VisitEnded,
)
from gossamer.services.frontier.partition.awaited_visits import MAX_VERDICT_WAIT
from gossamer.services.frontier.partition.parts import MAX_PARKED_PARTS, PROBE_WAIT, Parts
from gossamer.services.frontier.partition.workbench import FrontierCaches
from gossamer.services.frontier.tables.sites import ParkedPartsRow
from gossamer.services.frontier.worth.worth import MIN_LEVELS, OTHERS
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.links import add_link
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import Simulation, make_verdict

HOST, SITE = HostKey("http://a.test"), Site("a.test")


class TrapSite:
    """A host with honest pages and a calendar, whose pages are new only while `has_news`."""

    def __init__(self, **settings: object) -> None:
        self.has_news = False
        self.in_links: dict[str, int] = {}
        """URL → the sketch of the sites that link to it, for its verdict."""
        self.copied = dict[str, str]()
        """URL without a new text → the URL whose text it has."""
        self.novelty: float | None = None
        """The share of new words of pages without a new text, which are near duplicates; None if
        they are duplicates."""
        self.verdicts: list[PageDeduplicated] = []
        self._depths = cycle(range(1, MIN_LEVELS + 1))
        self.sim = Simulation(self._answer, **settings)  # type: ignore[arg-type]
        self.sim.give_verdict = self._give_verdict

    def _answer(self, url: str) -> Mapping[str, object]:
        return {}

    def _give_verdict(self, ended: VisitEnded) -> PageDeduplicated:
        is_new = self.has_news or "/cal/" not in ended.visit.url
        verdict = make_verdict(
            ended,
            verdict=Verdict.FIRST if is_new else Verdict.DUPLICATE,
            duplicate_of="" if is_new else self.copied.get(ended.visit.url, f"{HOST}/cal/"),
            novelty=None if is_new else self.novelty,
            size=1000,
            in_links=self.in_links.get(ended.visit.url, 0),
        )
        if verdict.novelty is not None:
            near = verdict.duplicate_of
            verdict = replace(
                verdict, verdict=Verdict.NEAR_DUPLICATE, duplicate_of="", near_duplicate_of=near
            )
        self.verdicts.append(verdict)
        return verdict

    def discover(self, *paths: str, repeated: bool = False, depth: int = 0) -> None:
        """Admit URLs to each of which another page of the site links, at *depth*, or at several
        depths."""
        for path in paths:
            found = Discovery(f"{HOST}{path}", depth=depth or next(self._depths))
            self.sim.admit_links(found, repeated=repeated)

    def run(self, seconds: float) -> None:
        """Run for *seconds*."""
        self.sim.run(until=self.sim.now + seconds)

    def visited(self, prefix: str) -> list[str]:
        """Return the visited pages under the path *prefix*."""
        return [url for url in self.sim.pages() if url.startswith(f"{HOST}{prefix}")]

    def parked(self) -> dict[str, int]:
        """Return the parked parts and their URLs, which the totals of the crawl have, too."""
        row = self.sim.store.table(ParkedPartsRow).get((DEFAULT_CRAWL, SITE))
        counted, by_rule = self.sim.share(SITE).tally.row.parked, Counter[str]()
        for part in row.parts.values() if row else ():
            by_rule[part.rule] += part.urls
        assert counted == +by_rule
        return {name: part.urls for name, part in (row.parts if row else {}).items() if part.urls}

    def outcome(self, path: str) -> str:
        """Return the last outcome of a URL."""
        row = self.sim.url_row(f"{HOST}{path}")
        return row.outcome if row else ""


def calendar(count: int, start: int = 0) -> list[str]:
    return [f"/cal/{n}" for n in range(start, start + count)]


def parked_calendar(novelty: float | None = None, **settings: object) -> TrapSite:
    """Return a site that has visited ten honest pages, and has parked most of its calendar."""
    site = TrapSite(**settings)
    site.novelty = novelty
    site.discover(*(f"/page/{n}" for n in range(10)))
    site.run(300.0)
    site.discover(*calendar(8))
    site.run(300.0)
    site.discover(*calendar(40, 8))
    site.run(300.0)
    return site


def test_urls_of_a_part_without_new_texts_are_parked_with_their_reason() -> None:
    site = parked_calendar()
    assert len(site.visited("/cal/")) <= 8
    (name,) = site.parked()
    assert name == f"{HOST}/cal/"
    assert site.parked()[name] == 48 - len(site.visited("/cal/"))
    assert site.outcome("/cal/47") == "low_worth"


def test_near_duplicates_count_by_the_words_that_are_new() -> None:
    assert len(parked_calendar(novelty=0.05).visited("/cal/")) <= 8
    assert len(parked_calendar(novelty=0.3).visited("/cal/")) == 48


def test_copies_of_a_page_under_another_session_id_do_not_count() -> None:
    site, kept, other = TrapSite(url_budget=100), "9a3f6c21d5e80b47" * 2, "4be1907d2c83fa65" * 2
    for page in calendar(48):
        site.copied[f"{HOST}{page}?visitor={kept}"] = f"{HOST}{page}?visitor={other}"
    site.discover("/page/")
    rules = {"session_id ?visitor": kept}
    site.sim.handle(UrlRulesAnnounced(at=site.sim.now, site=SITE, host=HOST, rules=rules))
    site.discover(*(f"{page}?visitor={kept}" for page in calendar(8)))
    site.run(300.0)
    site.discover(*(f"{page}?visitor={kept}" for page in calendar(40, 8)))
    site.run(600.0)
    assert len(site.visited("/cal/")) == 48


def test_repeated_visits_to_a_page_do_not_count() -> None:
    site = TrapSite()
    site.discover("/docs/start")
    site.run(60.0)
    (verdict,) = site.verdicts
    for number in range(10):
        # After a crash the visit is made again, and its words are known by then.
        visit = replace(verdict.visit, id=f"{verdict.visit.id}-{number}")
        site.sim.handle(replace(verdict, visit=visit, novelty=0.0))
    site.discover("/docs/1", "/docs/2", "/docs/3")
    site.run(60.0)
    assert len(site.visited("/docs/")) == 4
    assert site.parked() == {}


def test_other_parts_are_visited_while_one_is_parked() -> None:
    site = parked_calendar()
    site.discover("/page/new", "/other/new", "/new")
    site.run(300.0)
    assert {f"{HOST}/page/new", f"{HOST}/other/new", f"{HOST}/new"} <= {*site.sim.pages()}


def test_queued_urls_are_parked_when_their_part_brings_nothing() -> None:
    site = TrapSite(batch=4)
    site.discover(*(f"/page/{n}" for n in range(5)), *calendar(3))
    site.run(30.0)
    site.discover(*calendar(97, 3))
    site.run(3000.0)
    assert len(site.visited("/cal/")) <= 12
    assert sum(site.parked().values()) == 100 - len(site.visited("/cal/"))


def test_probes_are_rare_and_rarer() -> None:
    site = parked_calendar()
    before = len(site.visited("/cal/"))
    site.run(PROBE_WAIT + 600.0)
    assert len(site.visited("/cal/")) == before + 1
    site.run(15 * PROBE_WAIT)
    assert before + 3 <= len(site.visited("/cal/")) <= before + 5
    assert sum(site.parked().values()) == 48 - len(site.visited("/cal/"))


def test_site_with_many_visits_is_probed_before_the_time() -> None:
    site = parked_calendar()
    before = len(site.visited("/cal/"))
    site.discover(*(f"/page/more-{n}" for n in range(60)))
    site.run(600.0)
    assert len(site.visited("/cal/")) == before + 1


def test_probe_that_brings_a_new_text_releases_the_part() -> None:
    site = parked_calendar()
    site.has_news = True
    site.run(PROBE_WAIT + 3600.0)
    assert len(site.visited("/cal/")) == 48
    assert not site.parked()


def test_operator_releases_a_part() -> None:
    site = parked_calendar()
    event = ReleaseRequested(at=site.sim.now, site=SITE, parts=(f"{HOST}/cal/",))
    site.sim.handle(event)
    site.run(600.0)
    assert len(site.visited("/cal/")) == 48
    assert not site.parked()


def test_counters_and_parked_urls_survive_a_restart() -> None:
    site = parked_calendar()
    parked = site.parked()
    site.sim.start()
    site.discover("/cal/99")
    site.run(300.0)
    assert site.parked()[f"{HOST}/cal/"] == parked[f"{HOST}/cal/"] + 1
    assert site.outcome("/cal/99") == "low_worth"


def test_budget_of_urls_grows_with_new_texts() -> None:
    site = TrapSite(url_budget=10, budget_growth=1.0)
    site.discover(*(f"/page/{n}" for n in range(200)), depth=1)
    assert site.parked() == {"trap_urls": 190}
    site.run(3600.0)
    assert len(site.visited("/page/")) == 200
    assert not site.parked()


def test_urls_behind_worthless_ones_are_released_when_the_budget_grows() -> None:
    site = TrapSite(url_budget=20, budget_growth=4.0)
    site.discover(*(f"/page/{n}" for n in range(10)), *calendar(10))
    site.run(60.0)
    site.discover(*calendar(1500, 10), *(f"/page/late-{n}" for n in range(10)))
    site.run(PROBE_WAIT / 2)
    assert len(site.visited("/page/late-")) == 10
    assert len(site.visited("/cal/")) <= 12


def test_urls_over_the_budget_of_a_site_without_new_texts_wait() -> None:
    site = TrapSite(url_budget=10, worth_parking=False)
    site.discover(*calendar(50), depth=1)
    site.run(PROBE_WAIT - 60.0)
    assert len(site.visited("/cal/")) == 10
    assert site.parked() == {"trap_urls": 40}
    site.run(PROBE_WAIT)
    assert site.parked() == {"trap_urls": 30}, "a probe of the budget"
    assert site.outcome("/cal/49") == "trap_urls"


def test_links_of_other_sites_raise_the_budgets() -> None:
    site = TrapSite(url_budget=10, worth_parking=False, budget_growth=0.0)
    for n in range(40):
        site.sim.admit_links(f"{HOST}/cal/{n}", via=f"1.1.0@http://site-{n % 8}.test/")
    site.run(600.0)
    assert len(site.visited("/cal/")) > 20


def test_links_of_other_sites_to_a_known_page_raise_the_budgets() -> None:
    site, in_links = TrapSite(url_budget=10, worth_parking=False, budget_growth=0.0), 0
    for n in range(40):
        in_links = add_link(in_links, Site(f"site-{n}.test"), f"{HOST}/")
    site.in_links[f"{HOST}/"] = in_links
    site.discover("/", *calendar(100))
    site.run(1200.0)
    assert len(site.visited("/cal/")) == 100


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.UNWANTED_TYPE, Outcome.CLIENT_ERROR])
def test_visits_without_a_document_bring_nothing(outcome: Outcome) -> None:
    site = TrapSite()
    site.sim.answer = lambda url: {"outcome": outcome} if "/cal/" in url else {}
    for n in range(30):
        site.discover(f"/cal/{n}")
        site.run(10.0)
    assert len(site.sim.pages()) <= 8


def test_seeds_are_visited_whatever_their_part_is_worth() -> None:
    site = parked_calendar()
    site.sim.admit(f"{HOST}/cal/seed")
    site.run(60.0)
    assert f"{HOST}/cal/seed" in site.sim.pages()


def test_unknown_sites_of_a_wildcard_suffix_are_parked_once_others_bring_nothing() -> None:
    sim = Simulation(
        lambda url: {
            "outcome": Outcome.PAGE if "robots" in url or "seed" in url else Outcome.GONE,
            "hazards": ("dns_wildcard_suffix",) if "wild.test" not in url else (),
        }
    )
    sim.admit("http://seed.wild/", depth=0)
    for n in range(60):
        sim.admit(f"http://site{n}.wild/", f"http://site{n}.plain.test/", depth=1, duplicates=2)
        sim.run(until=sim.now + 10.0)
    visited = [url for url in sim.pages() if url.endswith(".wild/")]
    assert len(visited) < 40
    sim.admit("http://seed2.wild/")
    sim.run(until=sim.now + 10.0)
    assert "http://seed2.wild/" in sim.pages()


def test_probe_is_made_after_a_visit_to_an_expired_robots_txt() -> None:
    site = parked_calendar()
    before = len(site.visited("/cal/"))
    site.run(40 * PROBE_WAIT)
    assert len(site.visited("/cal/")) >= before + 4


@pytest.mark.slow
def test_memory_of_counters_is_bounded_whatever_the_number_of_sites() -> None:
    caches, store = FrontierCaches(), SqliteStore(Database(":memory:"))
    parts = Parts(DEFAULT_CRAWL, store, caches.open_partition(), lambda *_: None, lambda *_: None)
    for n in range(40_000):
        url = f"http://www.site{n}.test/a/b/list?page={n}"
        parts.record_visit(Site(f"site{n}.test"), Visit("1.1.0", url, depth=1), 1.0, 100, 0.0)
        if n % 1000 == 0:
            store.flush()
    assert 90 << 20 < caches._worth.bytes <= 96 << 20
    assert parts.worth(Site("site0.test")).totals.visits == 1, "it is read from the store again"


@pytest.mark.parametrize("has_own_text", [True, False], ids=["own", "equal"])
def test_bare_texts_are_trusted_up_to_their_limit_and_equal_ones_never(has_own_text: bool) -> None:
    caches, store = FrontierCaches(), SqliteStore(Database(":memory:"))
    parts = Parts(DEFAULT_CRAWL, store, caches.open_partition(), lambda *_: None, lambda *_: None)
    limit, low_from = 40, None
    for n in range(4 * limit):
        url = f"{HOST}/list/{n}"
        parts.record_links(SITE, f"1.1.0@{HOST}/list/{n - 1}", [Discovery(url=url, depth=1)])
        if parts.estimate(SITE, url, 0).low_part is not None:
            low_from = n
            break
        visit = Visit("1.1.0", url, depth=n)
        parts.record_visit(SITE, visit, 0.0, 100, 0.0, has_own_text, thin_limit=limit)
    assert low_from is not None, "an endless part is thinned out"
    assert (low_from > limit) == has_own_text
    assert parts.worth(SITE).totals.thin == (limit if has_own_text else 0)


def orders_of(site: TrapSite, prefix: str) -> list[int]:
    """Return how many URLs under *prefix* each order has, without those that have none."""
    counts = [
        sum(f"{HOST}{prefix}" in visit.url for visit in order.visits if "robots" not in visit.url)
        for _, order in site.sim.orders
    ]
    return [count for count in counts if count]


def test_orders_of_a_part_grow_with_its_new_texts() -> None:
    site = TrapSite(batch=10)
    site.discover(*(f"/page/{n}" for n in range(30)), depth=1)
    site.run(300.0)
    assert orders_of(site, "/page/")[:4] == [1, 2, 4, 8]
    assert len(site.visited("/page/")) == 30
    site = TrapSite(batch=10, worth_parking=False)
    site.discover(*(f"/page/{n}" for n in range(30)), depth=1)
    site.run(300.0)
    assert orders_of(site, "/page/") == [10, 10, 10]


def test_part_without_new_texts_is_visited_singly_until_it_is_parked() -> None:
    site = TrapSite(batch=10)
    site.discover(*calendar(3))
    site.run(30.0)
    site.discover(*calendar(27, 3))
    site.run(300.0)
    assert orders_of(site, "/cal/") == [1] * len(site.visited("/cal/"))
    assert len(site.visited("/cal/")) <= 8


def test_verdict_that_never_comes_is_awaited_for_a_minute() -> None:
    site = TrapSite(batch=10)
    site.sim.give_verdict = None
    site.discover(*(f"/page/{n}" for n in range(4)))
    site.run(MAX_VERDICT_WAIT - 5.0)
    assert len(site.visited("/page/")) == 1
    site.run(4 * MAX_VERDICT_WAIT)
    assert len(site.visited("/page/")) == 4


def test_hosts_of_a_site_wait_for_the_verdicts_on_its_first_hosts() -> None:
    site = TrapSite(host_budget=0, url_budget=0)
    hosts = [f"http://cal{n}.a.test" for n in range(60)]
    site.sim.give_verdict = lambda ended: replace(
        site._give_verdict(ended), verdict=Verdict.DUPLICATE
    )
    for number, host in enumerate(hosts):
        site.sim.admit_links(Discovery(f"{host}/", depth=1 + number % MIN_LEVELS))
        site.run(2.0)
    site.run(300.0)
    assert len(site.sim.pages()) <= 8
    robots = [url for _, _, url in site.sim.visits if url.endswith("/robots.txt")]
    assert len(robots) <= len(site.sim.pages()) + 1
    assert site.parked() == {OTHERS: 60 - len(site.sim.pages())}


def test_hosts_of_a_site_with_new_texts_are_all_visited_soon() -> None:
    site = TrapSite()
    site.sim.admit_links(*(f"http://blog{n}.a.test/" for n in range(60)))
    site.run(60.0)
    assert len(site.sim.pages()) == 60


def test_parts_beyond_the_limit_are_parked_and_released_together() -> None:
    site = TrapSite(url_budget=0)
    for n in range(MAX_PARKED_PARTS + 5):
        site.discover(*(f"/{n}/cal/{m}" for m in range(12)))
        site.run(120.0)
    parked = site.parked()
    assert len(parked) <= MAX_PARKED_PARTS + 1
    site.sim.handle(ReleaseRequested(at=site.sim.now, site=SITE))
    site.run(7200.0)
    assert not site.parked()
    assert len({*site.visited("/")}) == len(site.visited("/")) == 12 * (MAX_PARKED_PARTS + 5)


@pytest.mark.parametrize(("honest", "visited"), [(0, False), (1, True)])
def test_unknown_site_of_an_address_is_parked_if_hardly_any_other_site_there_is_new(
    honest: int, visited: bool
) -> None:
    """*honest*: one of so many sites of the address has a new text; 0 for none."""

    def answer(url: str) -> Mapping[str, object]:
        is_new = "unknown" in url or any(f"//honest{n}." in url for n in range(200))
        outcome = Outcome.PAGE if is_new or "robots" in url else Outcome.GONE
        return {"outcome": outcome, "address": "192.0.2.1"}

    sim = Simulation(answer)
    sim.give_verdict = make_verdict
    for n in range(200):
        name = "honest" if honest and n % honest == 0 else "farm"
        sim.admit(f"http://{name}{n}.test/", depth=1, duplicates=2)
        sim.run(until=sim.now + 10.0)
    unknown = [f"http://unknown{n}.test/" for n in range(4)]
    sim.admit(*unknown, depth=1, duplicates=2)
    sim.run(until=sim.now + 30.0)
    assert ({*unknown} <= {*sim.pages()}) is visited
    linked = "http://linked-unknown.test/"
    sim.admit(linked, depth=1)
    sim.run(until=sim.now + 30.0)
    assert linked in sim.pages(), "a page with a text of its own links to it"


def test_depth_of_a_site_counts_from_its_first_page() -> None:
    sim = Simulation(depth_budget=4)
    for depth in range(10, 16):
        sim.admit(f"{HOST}/{depth}", depth=depth)
        sim.run(until=sim.now + 60.0)
    assert sim.pages() == [f"{HOST}/{depth}" for depth in range(10, 15)]
