"""Each rule of admission refuses URLs beyond its limit, with a reason, and no others."""

from collections.abc import Callable

import pytest

from gossamer.events import (
    DEFAULT_CRAWL,
    BlocklistChanged,
    Discovery,
    FetchRequested,
    Outcome,
    Purpose,
    RobotsRequested,
)
from gossamer.events.hazards import Hazard
from gossamer.services.frontier.partition.sites import MAX_REFUSED_ROWS, PERMANENT_RULES
from gossamer.services.frontier.steps.refusals import RULES
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import RequisiteRow
from gossamer.services.frontier.worth.worth import MIN_LEVELS
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site, host_key
from tests.frontier.simulation import START, Simulation, crawl

HOST = HostKey("http://a.test")
PRIVATE = RobotsRules(lines="3 - /private/", fetched_at=START, expires_at=START + 1e6)


def admit(
    sim: Simulation,
    path: str,
    depth: int = 0,
    hops: int = 0,
    host: str = HOST,
    purpose: Purpose = Purpose.PAGE,
) -> str:
    """Admit the URL, and run the simulation for ten minutes: no parked part is probed yet."""
    found = Discovery(f"{host}{path}", depth=depth, hops=hops, purpose=purpose)
    sim.admit_links(found)
    sim.run(until=sim.now + 600.0)
    return found.url


def too_deep(sim: Simulation) -> tuple[str, str]:
    sim.handle(crawl(max_depth=3))
    return admit(sim, "/", depth=3), admit(sim, "/deep", depth=4)


def block_host(sim: Simulation) -> tuple[str, str]:
    sim.handle(BlocklistChanged(at=sim.now, rule="a.test/x*"))
    return admit(sim, "/"), admit(sim, "/xyz")


def out_of_scope(sim: Simulation) -> tuple[str, str]:
    sim.handle(crawl(scope="not prefix('http://a.test/out')"))
    return admit(sim, "/"), admit(sim, "/out/1")


def too_many_redirects(sim: Simulation) -> tuple[str, str]:
    limit = sim.settings.hops_limit
    return admit(sim, "/", hops=limit), admit(sim, "/round", hops=limit + 1)


def too_many_hosts(sim: Simulation) -> tuple[str, str]:
    hosts = [f"http://{n}.a.test" for n in range(sim.settings.host_budget + 1)]
    *_, last, more = [admit(sim, "/", depth=1, host=host) for host in hosts]
    return last, more


def over_budget(sim: Simulation) -> tuple[str, str]:
    *_, last = [admit(sim, f"/{n}", depth=1) for n in range(sim.settings.url_budget)]
    return last, admit(sim, "/more", depth=1)


def too_many_bytes(sim: Simulation) -> tuple[str, str]:
    passed = admit(sim, "/", depth=1)
    sim.share(Site("a.test")).parts.worth(Site("a.test")).totals.received = sim.settings.byte_budget
    return passed, admit(sim, "/more", depth=1)


def too_many_seconds(sim: Simulation) -> tuple[str, str]:
    passed = admit(sim, "/", depth=1)
    sim.share(Site("a.test")).parts.worth(
        Site("a.test")
    ).totals.seconds = sim.settings.second_budget
    return passed, admit(sim, "/more", depth=1)


def too_many_sitemaps(sim: Simulation) -> tuple[str, str]:
    names = [f"/{n}.xml" for n in range(sim.settings.sitemap_budget)]
    *_, last = [admit(sim, name, depth=1, purpose=Purpose.SITEMAP) for name in names]
    return last, admit(sim, "/more.xml", depth=2, purpose=Purpose.SITEMAP)


def much_deeper_than_new_texts(sim: Simulation) -> tuple[str, str]:
    limit = sim.settings.depth_budget
    admit(sim, "/")
    return admit(sim, "/last", depth=limit), admit(sim, "/deep", depth=limit + 1)


def without_new_texts(sim: Simulation) -> tuple[str, str]:
    sim.answer = lambda url: {"outcome": Outcome.GONE} if "/cal/" in url else {}
    for n in range(MIN_LEVELS):
        admit(sim, f"/cal/{n}", depth=n)
    return admit(sim, "/", depth=1), admit(sim, "/cal/more", depth=1)


def exclude_by_robots(sim: Simulation) -> tuple[str, str]:
    return admit(sim, "/"), admit(sim, "/private/x")


REFUSED: dict[Hazard, tuple[Callable[[Simulation], tuple[str, str]], str]] = {
    Hazard.BLACKLISTED: (block_host, "by a.test/x*"),
    Hazard.TRAP_DEPTH: (too_deep, "limit of 3"),
    Hazard.OUT_OF_SCOPE: (out_of_scope, "not prefix("),
    Hazard.REDIRECT: (too_many_redirects, "redirects in a row"),
    Hazard.LOW_WORTH: (without_new_texts, "visits to http://a.test/cal/ brought hardly a new word"),
    Hazard.TRAP_BYTES: (too_many_bytes, "budget of 1,000,000 bytes"),
    Hazard.TRAP_SECONDS: (too_many_seconds, "budget of 60 seconds"),
    Hazard.TRAP_SITE_DEPTH: (much_deeper_than_new_texts, "budget of 10 links"),
    Hazard.TRAP_HOSTS: (too_many_hosts, "budget of 7 hosts"),
    Hazard.TRAP_URLS: (over_budget, "budget of 5 URLs"),
    Hazard.TRAP_SITEMAPS: (too_many_sitemaps, "budget of 3 sitemaps"),
    Hazard.ROBOTS_EXCLUDED: (exclude_by_robots, "line 3"),
}
"""Rule → a URL that passes, a URL that is refused, and a part of the reason."""


@pytest.mark.parametrize(
    "rule", [rule for rules in RULES for rule in rules if rule is not Hazard.TRAP_REQUISITES]
)
def test_rule_refuses_with_reason(rule: Hazard) -> None:
    robots = {"robots": PRIVATE}
    sim = Simulation(
        lambda url: robots if url.endswith("/robots.txt") else {},
        url_budget=5 if rule is Hazard.TRAP_URLS else 100,
        host_budget=7,
        sitemap_budget=3,
        byte_budget=1_000_000,
        budget_growth=0.0,
    )
    scenario, sentence = REFUSED[rule]
    passed, refused = scenario(sim)
    row = sim.url_row(refused)
    assert row and row.outcome == rule and sentence in row.reason
    assert passed in sim.pages() and refused not in sim.pages()
    (tally,) = [one.tally.row for one in sim.shares() if one.tally.row.refused]
    assert tally.refused == {rule: 1}


@pytest.mark.parametrize("purpose", [Purpose.SITEMAP, Purpose.USUAL_SITEMAP])
def test_hosts_count_whatever_their_urls_are_for(purpose: Purpose) -> None:
    sim = Simulation(lambda url: {}, host_budget=7)
    urls = [f"http://{n}.a.test/sitemap.xml" for n in range(20)]
    sim.admit_links(*(Discovery(url, depth=1, purpose=purpose) for url in urls))
    sim.run(until=sim.now + 600.0)
    assert len({host_key(url) for url in sim.pages()}) == 7


def test_budget_ends_within_the_links_of_a_page() -> None:
    sim = Simulation(lambda url: {}, url_budget=5)
    urls = [f"{HOST}/{n}" for n in range(8)]
    sim.admit_links(*urls)
    rows = [sim.url_row(url) for url in urls]
    assert [row and row.outcome for row in rows] == [None] * 5 + [Hazard.TRAP_URLS] * 3


def test_large_sitemap_counts_more_than_once() -> None:
    sim = Simulation(lambda url: {"received": 10 << 20}, sitemap_budget=25)
    for n in range(5):
        admit(sim, f"/{n}.xml", depth=1, purpose=Purpose.SITEMAP)
    assert len(sim.pages()) == 3


def test_sitemaps_take_nothing_from_the_budget_of_pages() -> None:
    sim = Simulation(lambda url: {"received": 1 << 20}, url_budget=5, byte_budget=1 << 20)
    for n in range(40):
        admit(sim, f"/{n}.xml", depth=1, purpose=Purpose.SITEMAP)
    assert admit(sim, "/", depth=2) in sim.pages()


def test_revisits_use_up_no_budget() -> None:
    sim = Simulation(lambda url: {"received": 600, "took": 20.0}, byte_budget=1000)
    page = admit(sim, "/", depth=1)
    for _ in range(9):
        wanted = FetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(page,))
        sim.handle(wanted)
        sim.run(until=sim.now + 600.0)
    assert sim.pages().count(page) == 10
    assert admit(sim, "/more", depth=1) in sim.pages()


def test_a_site_has_a_budget_of_requisites_a_day() -> None:
    sim = Simulation(lambda url: {}, requisite_budget=2)
    visited = sim.store.table(RequisiteRow)
    for day, count in enumerate((2, 4)):
        found = [
            Discovery(f"{HOST}/{day}/{n}.png", depth=1, purpose=Purpose.REQUISITE) for n in range(3)
        ]
        sim.admit_links(*found)
        sim.run(until=sim.now + 86400.0)
        assert len([*visited.everything()]) == count
    (tally,) = [one.tally.row for one in sim.shares() if one.tally.row.hazards]
    assert tally.hazards["trap_requisites"] == 2 and not tally.refused and not tally.admitted


def count_rows(sim: Simulation, table: str) -> int:
    """Return the number of rows of a table."""
    with sim.database.reading() as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def traps(rule: Hazard, count: int) -> list[Discovery]:
    """Return URLs that *rule* refuses after the first five were admitted."""
    match rule:
        case Hazard.REDIRECT:
            return [Discovery(f"{HOST}/{n}", depth=1, hops=99) for n in range(count)]
        case Hazard.ROBOTS_EXCLUDED:
            return [Discovery(f"{HOST}/private/{n}", depth=1) for n in range(count)]
        case _:
            return [Discovery(f"{HOST}/{n}", depth=1) for n in range(count)]


@pytest.mark.parametrize("rule", sorted(PERMANENT_RULES))
def test_trap_has_bounded_rows(rule: Hazard) -> None:
    robots = {"robots": PRIVATE}
    sim = Simulation(lambda url: robots if url.endswith("/robots.txt") else {})
    admit(sim, "/first")
    found = traps(rule, 10 * MAX_REFUSED_ROWS)
    for start in range(0, len(found), 50):
        sim.admit_links(*found[start : start + 50], via="test")
    sim.run()
    taken = len(sim.pages())
    assert taken <= 3
    site = sim.store.table(SiteRow).get("a.test")
    assert site and site.of(DEFAULT_CRAWL).refused == {rule: len(found) + 1 - taken}
    assert count_rows(sim, "urls") == taken + MAX_REFUSED_ROWS
    assert count_rows(sim, "hosts") == site.hosts <= 2
    tallies = [one.tally.row.refused for one in sim.shares()]
    assert sum(refused.get(rule, 0) for refused in tallies) == site.of(DEFAULT_CRAWL).refused[rule]


def test_each_url_beyond_depth_has_a_row() -> None:
    sim = Simulation()
    sim.admit_links(*(Discovery(f"{HOST}/{n}", depth=99) for n in range(2 * MAX_REFUSED_ROWS)))
    assert count_rows(sim, "urls") == 2 * MAX_REFUSED_ROWS


def test_seed_is_admitted_beyond_host_budget() -> None:
    sim = Simulation(host_budget=1)
    urls = [admit(sim, "/", host=f"http://{n}.a.test") for n in range(3)]
    assert sorted(sim.pages()) == urls
    assert admit(sim, "/1", depth=1, host="http://2.a.test") in sim.pages(), "admitted host"


def test_count_of_site_hosts_survives_restart() -> None:
    sim = Simulation(host_budget=2)
    for n in range(5):
        admit(sim, "/", depth=1, host=f"http://{n}.a.test")
        sim.start()
    assert len(sim.pages()) == 2
    assert sim.store.table(HostRow).get("a.test", "http://2.a.test") is None


def test_robots_visit_on_behalf_may_leave_the_scope() -> None:
    sim = Simulation()
    sim.handle(crawl(scope="domain('a.test')", max_depth=0))
    url = "http://b.test/robots.txt"
    sim.handle(RobotsRequested(at=sim.now, site=Site("b.test"), url=url, on_behalf_of=HOST, hops=1))
    sim.run()
    assert url in [visited for _, _, visited in sim.visits]
