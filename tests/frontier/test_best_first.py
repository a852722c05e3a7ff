"""Best first: which URL and which host is ordered next, when prospects differ or change."""

from collections import Counter

import pytest

from gossamer.crawl import accept
from gossamer.errors import Poison
from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Discovery, Outcome
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.tables.ordering import rank_of_number
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import Origin
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site
from tests.frontier.simulation import START, Simulation, crawl

HOST = "http://a.test"


def links(count: int, path: str = "", **fields: object) -> list[Discovery]:
    fields = {"depth": 1, "score": 1.0, **fields}
    return [Discovery(f"{HOST}/{path}{n}", **fields) for n in range(count)]  # type: ignore[arg-type]


def define(sim: Simulation, **fields: object) -> None:
    sim.definition = crawl(**fields)
    sim.handle(sim.definition)


def test_seed_with_priority_precedes_the_waiting_urls_of_its_host() -> None:
    sim = Simulation(delay=1.0, batch=3, worth_parking=False, url_budget=0)
    sim.admit(*(f"{HOST}/{n}" for n in range(29)))
    sim.run(until=START + 2.5)
    sim.admit(f"{HOST}/first", priority=-100)
    sim.run()
    at = sim.pages().index(f"{HOST}/first")
    assert at <= 5, "only the order in flight precedes it"
    assert [url for url in sim.pages() if "first" not in url] == [f"{HOST}/{n}" for n in range(29)]


@pytest.mark.parametrize("loaded", [2, 100])
def test_better_url_moves_a_waiting_host_forward(loaded: int) -> None:
    took = {"took": 0.2}
    sim = Simulation(
        lambda url: took, batch=1, checked_out_limit=1, loaded_limit=loaded, url_budget=0
    )
    hosts = [f"http://h{n}.test" for n in range(40)]
    sim.admit(*(f"{host}/" for host in hosts))
    sim.run(until=START + 1)
    last = hosts[-1]
    assert f"{last}/" not in sim.pages()
    before = len(sim.visits)
    sim.admit(f"{last}/urgent", priority=-50)
    sim.run()
    assert f"{last}/robots.txt" in [url for _, _, url in sim.visits[before : before + 3]]
    assert sim.pages().index(f"{last}/urgent") < sim.pages().index(f"{last}/")
    assert len(sim.pages()) == 41


def test_better_url_of_a_host_in_the_directory_survives_a_crash() -> None:
    sim = Simulation(delay=1.0, batch=1, checked_out_limit=1, loaded_limit=2, url_budget=0)
    hosts = [f"http://h{n}.test" for n in range(40)]
    sim.admit(*(f"{host}/" for host in hosts))
    sim.admit(f"{hosts[-1]}/urgent", priority=-50)
    listed = sim.row(hosts[-1]).of(DEFAULT_CRAWL).listed
    assert listed is not None and rank_of_number(listed) == -50
    sim.start()
    sim.run()
    assert f"{hosts[-1]}/urgent" in sim.pages()[:3]


def test_links_of_good_pages_are_visited_first_and_equals_in_their_order() -> None:
    sim = Simulation(delay=1.0, batch=4, worth_parking=False, url_budget=0)
    poor, good = links(20, "poor", score=0.0), links(20, "good")
    sim.admit_links(*(url for pair in zip(poor, good, strict=True) for url in pair))
    sim.run()
    pages = sim.pages()
    assert [url for url in pages if "good" in url] == [found.url for found in good]
    assert [url for url in pages if "poor" in url] == [found.url for found in poor]
    assert all("good" in url for url in pages[:20])


def test_links_from_other_sites_precede_deeper_links_of_the_own_site() -> None:
    sim = Simulation(delay=1.0, batch=4, worth_parking=False, url_budget=0)
    sim.admit_links(*links(8, "own", depth=5))
    sim.admit_links(*links(8, "linked", depth=5), via="1.1.0@http://other.test/")
    sim.run()
    assert all("linked" in url for url in sim.pages()[:8])


def test_poor_urls_are_not_starved_by_endless_better_ones() -> None:
    sim = Simulation(delay=1.0, batch=1, worth_parking=False, url_budget=0)
    sim.admit_links(*links(10, "poor", score=0.0))
    for n in range(40):
        sim.admit_links(*links(10, f"good/{n}/"))
        sim.run(until=sim.now + 9.0)
    made = sum("poor" in url for url in sim.pages())
    assert made == 10
    assert len(sim.pages()) > 300


def test_poor_hosts_are_not_starved_by_endless_better_ones() -> None:
    took = {"took": 0.1}
    sim = Simulation(lambda url: took, batch=1, checked_out_limit=1, loaded_limit=3, url_budget=0)
    for n in range(4):
        sim.admit_links(Discovery(f"http://poor{n}.test/", 1, score=0.0))
    for n in range(600):
        # More hosts than one slot can visit.
        sim.admit_links(Discovery(f"http://good{n}.test/", 1, score=1.0))
        sim.run(steps=1)
    assert sum("poor" in url for url in sim.pages()) == 4
    assert len(sim.pages()) < 500


def set_worth(monkeypatch: pytest.MonkeyPatch, worth: dict[str, float]) -> None:
    """Give URLs that contain a text an expected worth."""

    def rank_worth(self: Parts, site: str, url: str, origin: Origin) -> float:
        return next((value for text, value in worth.items() if text in url), 1.0)

    monkeypatch.setattr(Parts, "rank_worth", rank_worth)


def test_urls_that_became_worthless_are_moved_behind_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim = Simulation(delay=1.0, batch=5, worth_parking=False, url_budget=0)
    sim.admit_links(*links(150, "calendar"))
    sim.admit_links(*links(50, "news"))
    sim.run(until=START + 3.0)
    begun = len(sim.pages())
    set_worth(monkeypatch, {"calendar": 0.0})
    sim.run(until=START + 63.0)
    made = sim.pages()[begun + 5 :]
    assert sum("news" in url for url in made) >= 45, "one order of ten explores"
    sim.run()
    assert Counter(sim.pages()) == {
        found.url: 1 for found in (*links(150, "calendar"), *links(50, "news"))
    }
    calendar = [url for url in sim.pages() if "calendar" in url]
    assert calendar == [found.url for found in links(150, "calendar")], "equals kept their order"


def test_urls_that_became_worthy_are_moved_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    set_worth(monkeypatch, {"late": 0.0})
    sim = Simulation(delay=1.0, batch=1, worth_parking=False, url_budget=0)
    sim.admit_links(*links(50, "late"), *links(200, "other"))
    sim.run(until=START + 3.0)
    set_worth(monkeypatch, {"other": 0.5})
    sim.run(until=START + 90.0)
    assert sum("late" in url for url in sim.pages()) > 40
    sim.run()
    assert Counter(sim.pages()).most_common(1)[0][1] == 1
    assert len(sim.pages()) == 250


@pytest.mark.parametrize("crashes", [False, True])
def test_moves_lose_and_repeat_no_url(monkeypatch: pytest.MonkeyPatch, crashes: bool) -> None:
    sim = Simulation(delay=1.0, batch=3, worth_parking=False, url_budget=0)
    sim.admit_links(*links(120, "x"), *links(40, "y"))
    for step in range(20):
        set_worth(monkeypatch, {"x": step % 3 / 2, "y": (step + 1) % 2})
        sim.run(until=sim.now + 7.0)
        if crashes:
            sim.start()
    sim.run()
    assert {*sim.pages()} == {found.url for found in (*links(120, "x"), *links(40, "y"))}
    if not crashes:
        assert len(sim.pages()) == 160
    assert (sim.row().queued, sim.share(Site("a.test")).tally.row.queued) == (0, 0)


def test_new_strategy_ranks_queued_urls_anew() -> None:
    sim = Simulation(delay=1.0, batch=1, worth_parking=False, url_budget=0)
    sim.admit_links(*links(30, "poor", score=0.0))
    define(sim, strategy="breadth")
    for n in range(40):
        sim.admit_links(*links(5, f"good/{n}/"))
        sim.run(until=sim.now + 4.0)
    assert sum("poor" in url for url in sim.pages()) == 30
    assert {*sim.row().of(DEFAULT_CRAWL).new.waiting} <= {0}


def test_seeds_first_visits_sites_of_seeds_before_others() -> None:
    sim = Simulation(delay=1.0, batch=2, checked_out_limit=1, strategy="seeds-first", url_budget=0)
    sim.admit_links(
        *(Discovery(f"http://b.test/{n}", 1) for n in range(5)), via="1.1.0@http://a.test/"
    )
    sim.admit(f"{HOST}/")
    sim.admit_links(*links(12))
    rows = SqliteStore(sim.database).table(SiteRow).everything()
    seeds = {row.site: row.of(DEFAULT_CRAWL).has_seed for row in rows}
    assert seeds == {"a.test": True, "b.test": False}
    ranks = {rank_of_number(sim.row(host).number) for host in (HOST, "http://b.test")}
    assert ranks == {0, 20}


def test_random_walk_goes_on_with_one_link_of_the_page() -> None:
    sim = Simulation(delay=1.0, batch=1, strategy="sample", url_budget=0)
    sim.admit_links(*links(50))
    assert sim.row().of(DEFAULT_CRAWL).new.ranks[0].queued == 1
    assert sim.row().of(DEFAULT_CRAWL).new.queued == 50
    sim.run()
    assert len({*sim.pages()}) == len(sim.pages()) == 50


def test_retry_keeps_the_rank_of_its_url() -> None:
    failed = list[str]()

    def answer(url: str) -> dict[str, object]:
        if "fails" in url and url not in failed:
            failed.append(url)
            return {"outcome": Outcome.SERVER_ERROR, "status": 500}
        return {}

    sim = Simulation(answer, delay=5.0, batch=1, url_budget=0)
    sim.admit(f"{HOST}/fails", priority=-40)
    sim.admit(*(f"{HOST}/{n}" for n in range(600)))
    sim.run()
    assert sim.pages().count(f"{HOST}/fails") == 2
    assert len(sim.pages()) - sim.pages()[::-1].index(f"{HOST}/fails") < 580


def test_unknown_strategy_is_refused() -> None:
    definition = CrawlDefined(at=START, scope="any()", max_depth=1, strategy="worst")
    with pytest.raises(Poison, match="'worst' is not a strategy: choose from breadth, best"):
        accept(definition)
