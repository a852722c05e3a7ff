"""Revisits: their times, their conditional requests, and crashes."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    ChangeHint,
    ChangesHinted,
    EvidenceKind,
    Outcome,
    PageDeduplicated,
    RefetchRequested,
    Verdict,
    VisitEnded,
)
from gossamer.events.hazards import Hazard
from gossamer.services.frontier.revisit import unpack_crawl
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow, PlanRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.links import sample_links
from gossamer.web.url import HostKey, Site
from gossamer.web.validators import NO_VALIDATORS, DistrustReason, Validators
from tests.frontier.simulation import (
    PARTITIONS,
    START,
    Answer,
    Simulation,
    crawl,
    make_verdict,
    page,
)

HOUR, DAY = 3600.0, 86400.0
HOST, URL = HostKey("http://a.test"), "http://a.test/1"


@dataclass
class Changing:
    """Verdicts of dedup on pages that change every *interval* seconds."""

    interval: float = 1e12
    validators: Validators = NO_VALIDATORS
    links: tuple[str, ...] = ()
    seen: dict[str, float] = field(default_factory=dict)

    def __call__(self, ended: VisitEnded) -> PageDeduplicated:
        url, at = ended.visit.url, ended.started_at
        before = self.seen.get(url)
        self.seen[url] = at
        change = None if before is None else float(at // self.interval > before // self.interval)
        verdict = {None: Verdict.FIRST, 0.0: Verdict.UNCHANGED}.get(change, Verdict.CHANGED)
        return make_verdict(
            ended,
            at=at,
            verdict=verdict,
            digest="d",
            change=change,
            fetched_at=at,
            status=304 if ended.outcome is Outcome.NOT_MODIFIED else 200,
            validators=self.validators,
            internal_links=sample_links(self.links),
        )


def simulate(
    revisit: str, give_verdict: Changing | None = None, answer: Answer = page, **fields: object
) -> Simulation:
    sim = Simulation(answer)
    sim.give_verdict = give_verdict or Changing()
    define(sim, revisit=revisit, **fields)
    return sim


def visits(sim: Simulation, url: str = URL) -> list[float]:
    return [at - START for at, _, visited in sim.visits if visited == url]


def plan(sim: Simulation, url: str = URL) -> PlanRow:
    row = SqliteStore(sim.database).table(PlanRow).get((DEFAULT_CRAWL, HOST), url)
    assert row
    return row


def shares(sim: Simulation) -> list[PartitionPlansRow]:
    table = SqliteStore(sim.database).table(PartitionPlansRow)
    return [*table.everything()]


def budget_use(sim: Simulation) -> Counter[str]:
    """Return the number of spent visits by basis."""
    return sum((Counter(row.spent) for row in shares(sim)), Counter())


def define(sim: Simulation, **fields: object) -> None:
    sim.definition = crawl(**fields)
    sim.handle(sim.definition)


def test_page_is_visited_once_with_policy_none() -> None:
    sim = simulate("none")
    sim.admit(URL)
    sim.run(START + 60 * DAY)
    assert len(visits(sim)) == 1
    assert sim.frontier.due() is None
    assert plan(sim).at is None and "once" in plan(sim).reason


@pytest.mark.slow
def test_fixed_interval_varies_by_a_twentieth() -> None:
    sim = simulate("fixed:1d")
    sim.admit(URL)
    sim.run(START + 10.4 * DAY)
    times = visits(sim)
    assert 10 <= len(times) <= 11
    gaps = [after - before for before, after in pairwise(times)]
    assert all(0.94 * DAY < gap < 1.06 * DAY for gap in gaps)
    assert len({round(gap) for gap in gaps}) > 5


@pytest.mark.slow
def test_page_that_changes_often_is_visited_more_often_within_the_budget() -> None:
    give_verdict, never = Changing(2 * DAY), "http://b.test/1"
    sim, slow = simulate("optimal", give_verdict, budget=1), Changing()
    sim.give_verdict = lambda ended: (give_verdict if ended.visit.url == URL else slow)(ended)
    sim.admit(URL, never)
    sim.run(START + 100 * DAY)
    assert len(visits(sim)) > len(visits(sim, never)) + 5 > 9
    assert len(visits(sim)) + len(visits(sim, never)) <= 105


@pytest.mark.slow
def test_budget_of_the_crawl_holds_over_all_partitions() -> None:
    sim = simulate("fixed:1h", budget=24)
    sim.admit(*(f"http://{name}.test/1" for name in "abcdefgh"))
    sim.run(START + 20 * DAY)
    assert 0.8 * 24 * 20 < len(sim.pages()) <= 8 + 24 * 21 + PARTITIONS


def test_saved_budget_is_at_most_a_day_after_an_outage() -> None:
    sim = simulate("fixed:1h", budget=48)
    sim.admit(*(f"http://{name}.test/1" for name in "abcdefgh"))
    sim.run(START + 2 * DAY)
    sim.lose()
    sim.now += 7 * DAY
    sim.start()
    before = len(sim.pages())
    sim.run(sim.now + HOUR)
    assert len(sim.pages()) - before <= 48 + 48 / 24 + PARTITIONS


@pytest.mark.slow
def test_changed_policy_replans_all_pages() -> None:
    sim = simulate("none")
    sim.admit(URL, "http://a.test/2")
    sim.run(START + 3 * DAY)
    define(sim, revisit="fixed:2d")
    sim.run(START + 3.1 * DAY)
    assert len(visits(sim)) == 2
    sim.run(START + 9 * DAY)
    assert 4 <= len(visits(sim)) <= 5
    define(sim, revisit="fixed:30d")
    sim.run(START + 20 * DAY)
    assert len(visits(sim)) <= 5
    define(sim, revisit="fixed:1d")
    sim.run(START + 21 * DAY)
    assert len(visits(sim)) >= 6
    define(sim, revisit="none")
    many = len(visits(sim))
    sim.run(START + 99 * DAY)
    assert len(visits(sim)) == many


BEHIND = tuple(f"http://a.test/{n}" for n in range(2, 7))


def crawl_unchanging_page(interval: float) -> Simulation:
    """Return a crawl of a page that never changes and links to pages that change every
    *interval* seconds."""
    give_verdict = Changing(interval)
    sim, page = simulate("selective-incremental:1d"), Changing(links=BEHIND)
    sim.give_verdict = lambda ended: (page if ended.visit.url == URL else give_verdict)(ended)
    sim.admit(URL, *BEHIND)
    sim.run(START + 40 * DAY)
    return sim


@pytest.mark.slow
def test_unchanged_page_is_visited_more_often_if_its_internal_pages_change() -> None:
    still, changing = crawl_unchanging_page(1e12), crawl_unchanging_page(DAY)
    assert len(visits(changing)) > 1.5 * len(visits(still)) > 3


@pytest.mark.slow
def test_skipped_due_visit_is_explained_and_costs_no_budget() -> None:
    sim = simulate("selective-incremental:1d", Changing(links=BEHIND), budget=2)
    sim.admit(URL)
    whys = set()
    for _ in range(40):
        sim.run(sim.now + DAY)
        whys.add(plan(sim).reason)
    assert any("0 of 5 pages that it links to have changed" in why for why in whys)
    assert sum(budget_use(sim).values()) == len(visits(sim)) - 1
    assert len(visits(sim)) >= 4
    tokens = [unpack_crawl(row.statistics).tokens for row in shares(sim)]
    assert max(tokens) > 1


def conditions(sim: Simulation) -> list[bool]:
    return [
        visit.conditional for _, order in sim.orders for visit in order.visits if visit.url == URL
    ]


@pytest.mark.slow
def test_visits_are_conditional_except_every_eighth() -> None:
    sim = simulate("fixed:1d", Changing(validators=Validators('"1"')))
    sim.admit(URL)
    sim.run(START + 18 * DAY)
    assert conditions(sim)[:17] == [False, *[True] * 6, False, *[True] * 7, False, True]


@pytest.mark.slow
def test_distrusted_validators_are_not_sent_again() -> None:
    sim = simulate("fixed:1d", Changing(1.5 * DAY, Validators('"same"')))
    sim.admit(URL)
    sim.run(START + 20 * DAY)
    site = SqliteStore(sim.database).table(SiteRow).get("a.test")
    assert site and site.validators[HOST].distrust_reason == DistrustReason.SAME_TAG
    assert not any(conditions(sim)[4:])
    assert sum(row.distrusted_hosts for row in shares(sim)) == 1


@pytest.mark.slow
def test_host_that_refuses_conditions_gets_none_for_a_while() -> None:
    """Report RssBandit #1390."""
    sim = simulate("fixed:1d", Changing(validators=Validators('"1"')))
    refused = {"hazards": (Hazard.CONDITIONS_REFUSED,)}
    sim.answer = lambda url: refused if url == URL and conditions(sim)[-1] else {}
    sim.admit(URL)
    sim.run(START + 40 * DAY)
    made = conditions(sim)
    assert made[:3] == [False, True, False] and not any(made[2:30]) and any(made[30:35])
    site = SqliteStore(sim.database).table(SiteRow).get("a.test")
    assert site and site.validators[HOST].distrust_reason == DistrustReason.REFUSED
    assert sum(row.distrusted_hosts for row in shares(sim)) == 1


@pytest.mark.long
def test_gone_page_is_confirmed_after_hours_and_then_rechecked_rarely() -> None:
    sim = simulate("optimal")
    sim.admit(URL)
    sim.run(START + HOUR)
    gone = {"outcome": Outcome.GONE, "status": 404}
    sim.answer = lambda url: gone if url == URL else {}
    sim.handle(RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(URL,)))
    sim.run(START + 100 * DAY)
    others = [at for at in visits(sim) if at >= HOUR]
    gaps = [b - a for a, b in pairwise(others)]
    assert gaps[0] < 7 * HOUR and gaps[1] < 1.1 * DAY
    assert all(gap > 27 * DAY for gap in gaps[2:]) and len(gaps) >= 4


@pytest.mark.slow
def test_requested_revisit_comes_before_the_plan_and_postpones_it() -> None:
    sim = simulate("fixed:10d")
    sim.admit(URL)
    sim.run(START + DAY)
    sim.handle(
        RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(URL, f"{HOST}/unmet"))
    )
    sim.run(START + 10.9 * DAY)
    assert len(visits(sim)) == 2
    sim.run(START + 12 * DAY)
    assert len(visits(sim)) == 3
    assert budget_use(sim) == {"requested": 1, "interval": 1}


def days_until_due(lies: bool) -> list[float]:
    """Return the days until a page was due, after each hint from its site."""
    changes = [START + at * DAY for at in (9, 17, 41, 60, 74, 90, 117, 131, 150, 162, 190, 199)]
    sim, give_verdict, due = simulate("optimal", budget=0.15), Changing(), list[float]()

    def result(ended: VisitEnded) -> PageDeduplicated:
        before, at, event = give_verdict.seen.get(URL, START), ended.started_at, give_verdict(ended)
        changed = not lies and any(before < change <= at for change in changes)
        return event if event.change is None else replace(event, change=float(changed))

    sim.give_verdict = result
    sim.admit(URL)
    for change in changes:
        sim.run(change + HOUR)
        said = ChangeHint(URL, EvidenceKind.SITEMAP, change)
        sim.handle(ChangesHinted(at=sim.now, site=Site("a.test"), host=HOST, hints=(said,)))
        due.append(((plan(sim).at or 0.0) - sim.now) / DAY)
    return due


@pytest.mark.slow
def test_hint_advances_a_visit_by_the_trust_in_its_site() -> None:
    honest, lying = days_until_due(lies=False), days_until_due(lies=True)
    assert honest[0] > 1
    # A late page stays late, and the price may have changed since the plan.
    at_once = [sum(0 <= due < 0.1 for due in days[1:]) for days in (honest, lying)]
    assert at_once[0] >= 6 and at_once[0] > at_once[1] + 2


@pytest.mark.slow
def test_failed_revisit_is_retried_with_statistics_and_validators() -> None:
    sim = simulate("fixed:1d", Changing(validators=Validators('"1"')))
    sim.admit(URL)
    sim.run(START + 3.5 * DAY)
    sim.answer = lambda url: {"outcome": Outcome.SERVER_ERROR, "status": 500}
    sim.run(START + 4.2 * DAY)
    sim.answer = page
    sim.run(START + 9 * DAY)
    last = [v for _, order in sim.orders for v in order.visits if v.url == URL][-1]
    assert last.statistics and last.validators.etag == '"1"'
    assert last.earlier >= 7


@pytest.mark.slow
def test_new_urls_get_their_share_of_the_budget_and_revisits_the_rest() -> None:
    made = {}
    for share in (0.2, 0.8):
        sim = simulate("fixed:12h", budget=40, discovery_share=share)
        sim.admit(*(f"http://{name}.test/1" for name in "abcdefghijklmnopqrst"))
        sim.run(START + 4 * DAY)
        sim.admit(*(f"http://{name}.test/{n}" for name in "abcd" for n in range(2, 102)))
        begin = len(sim.pages())
        sim.run(START + 8 * DAY)
        later = sim.pages()[begin:]
        assert 0.85 * 160 < len(later) < 1.3 * 160
        made[share] = len({url for url in later if url[-6:] != "test/1"}) / len(later)
    assert 0.1 < made[0.2] < 0.3 and 0.65 < made[0.8] < 0.9


def test_new_url_that_waits_for_the_budget_is_explained_and_survives_a_crash() -> None:
    sim = simulate("none", budget=4, discovery_share=0.5)
    sim.admit(*(f"{HOST}/{n}" for n in range(40)))
    sim.run(START + 2.1 * DAY)  # Between two visits, which are a quarter of a day apart.
    assert "budget" in plan(sim, f"{HOST}/39").reason
    assert sum(row.waiting for row in shares(sim)) == 40 - len(sim.pages())
    for _ in range(9):
        sim.start()
        sim.run(sim.now + DAY)
    sim.run(START + 14 * DAY)
    assert sorted(sim.pages()) == sorted(f"{HOST}/{n}" for n in range(40))
    assert sim.pages() == [f"{HOST}/{n}" for n in range(40)]
    assert not any(row.waiting for row in shares(sim))


@pytest.mark.slow
def test_plans_stay_within_the_visits_that_the_delay_allows() -> None:
    give_verdict = Changing(0.5 * DAY)
    sim = Simulation(delay=3600.0)
    sim.give_verdict = give_verdict
    define(sim, revisit="optimal")
    sim.admit(*(f"{HOST}/{n}" for n in range(60)))
    sim.run(START + 40 * DAY)
    # A day's visits are 24: were each page planned as often as it is worth, all 60 would wait.
    assert sim.row().queued < 40


def test_crash_between_a_plan_and_its_entry_loses_no_visit() -> None:
    sim = simulate("fixed:1d")
    sim.admit(URL)
    sim.run(until=START + HOUR)
    store = SqliteStore(sim.database)
    entries = [*store.table(DueRow).everything()]
    partitions = [*store.table(PartitionPlansRow).everything()]
    define(sim, revisit="fixed:2h")
    sim.run(until=START + HOUR + 60.0)
    assert plan(sim).policy == "fixed:2h"
    # The plan is in the store; neither its entry nor the partition's row are.
    for entry in [*store.table(DueRow).everything()]:
        store.table(DueRow).drop(entry.bucket)
    for entry in entries:
        store.table(DueRow).put(entry)
    for partition in partitions:
        store.table(PartitionPlansRow).put(partition)
    store.flush()
    sim.start()
    sim.run(until=START + 3 * HOUR)
    assert len(visits(sim)) == 2


def test_crash_between_the_row_of_a_host_and_a_plan_queues_a_visit_once() -> None:
    sim = simulate("fixed:1h")
    sim.admit(URL)
    sim.run(until=START + 0.9 * HOUR)
    before = plan(sim)
    while sim.row().of(DEFAULT_CRAWL).again.queued == 0:
        sim.run(steps=1)
    # The host's row is in the store, and the plan's field `queued` is not.
    table = SqliteStore(sim.database)
    table.table(PlanRow).put(before)
    table.flush()
    sim.start()
    sim.run(steps=1)
    assert plan(sim).queued
    assert sim.row().of(DEFAULT_CRAWL).again.queued == 1


def test_entries_of_past_visits_are_skipped_after_a_restart() -> None:
    sim = simulate("fixed:1h")
    sim.admit(URL)
    sim.run(until=START + 1.9 * HOUR)
    # The buckets have the entries of visits that were made, too.
    assert len(visits(sim)) == 2
    sim.now = START + 3 * HOUR
    sim.start()
    assert len(sim.share(Site("a.test")).plans._calendar._entries) == 2
    sim.run(until=START + 3.5 * HOUR)
    assert len(visits(sim)) == 3


def test_clock_that_was_ahead_delays_no_visit() -> None:
    sim = simulate("fixed:1h")
    sim.admit(URL)
    sim.run(until=START + 0.5 * HOUR)
    assert [*sim.frontier.wake(sim.now + DAY)]
    sim.frontier.settle()
    sim.store.flush()
    sim.start()
    sim.run(until=START + 2.5 * HOUR)
    assert 1.5 * HOUR < visits(sim)[-1] < 2.5 * HOUR


def test_changed_policy_counts_each_plan_once() -> None:
    sim = simulate("fixed:1m")
    sim.admit(URL)
    sim.run(until=START + 550.0)
    assert len(visits(sim)) > 6
    for policy, planned in (("fixed:2m", 1), ("none", 0), ("fixed:1h", 1)):
        define(sim, revisit=policy)
        sim.run(until=sim.now + 10.0)
        assert [row.planned for row in shares(sim) if row.spent] == [planned]


def test_refetch_ignores_urls_without_visits() -> None:
    sim = Simulation()
    sim.admit("http://a.test/1", "http://a.test/2")
    urls = "http://a.test/2", "http://a.test/never-admitted"
    sim.handle(RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=urls))
    sim.run()
    assert sim.pages() == ["http://a.test/1", "http://a.test/2"]


def test_refetch_makes_conditional_visits() -> None:
    sim = simulate("none", Changing(validators=Validators('"1"')))
    sim.admit(URL)
    sim.run()
    sim.handle(RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(URL,)))
    sim.run()
    assert conditions(sim) == [False, True]
    [*_, last] = (visit for _, order in sim.orders for visit in order.visits)
    assert last.validators.etag == '"1"'


@pytest.mark.parametrize("field", ["duplicate_of", "near_duplicate_of"])
def test_verdict_names_the_leader(field: str) -> None:
    sim = Simulation()
    sim.give_verdict = lambda ended: replace(Changing()(ended), **{field: "http://a.test/original"})
    sim.admit(URL)
    sim.run()
    row = SqliteStore(sim.database).table(VerdictRow).get((DEFAULT_CRAWL, HOST), URL)
    assert row and row.duplicate_of == "http://a.test/original"


def test_tallies_count_each_verdict_for_the_report() -> None:
    sim = simulate("fixed:1d")
    sim.admit(URL, "http://a.test/2")
    sim.run(until=START + 1.5 * DAY)
    rows = SqliteStore(sim.database).table(TallyRow)
    counted = Counter[str]()
    for row in rows.everything():
        counted += Counter(row.verdicts)
    assert counted == {Verdict.FIRST: 2, Verdict.UNCHANGED: 2}


def test_budget_does_not_delay_first_visits_without_a_discovery_share() -> None:
    sim = simulate("optimal", budget=40)
    sim.admit(*(f"{HOST}/{n}" for n in range(200)))
    sim.run(START + HOUR)
    assert len({*sim.pages()}) == 200


def test_idle_budget_finds_new_posts_of_the_first_hour_within_15_minutes() -> None:
    sim = simulate("optimal", Changing(interval=600.0), budget=5000)
    sim.admit(URL)
    sim.admit(*(f"{HOST}/{n}" for n in range(2, 58)), depth=2)
    sim.run(START + HOUR)
    looks = visits(sim)
    assert len(looks) >= 4
    assert max(later - sooner for sooner, later in pairwise(looks)) <= 15 * 60


def test_early_visits_end_if_nothing_changes() -> None:
    sim = simulate("optimal", budget=5000)
    sim.admit(URL)
    sim.run(START + 2 * DAY)
    assert 4 <= len(visits(sim)) <= 20


def test_busy_budget_allows_no_early_visits() -> None:
    sim = simulate("optimal", budget=4)
    sim.admit(URL)
    sim.run(START + DAY)
    assert "sounded" not in budget_use(sim)
