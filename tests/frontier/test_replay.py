"""Records that come again, after a crash or because the offsets of the group were lost."""

from collections.abc import Iterable

from msgspec.structs import replace

from gossamer.events import (
    Discovery,
    Event,
    FetchRequested,
    PageDeduplicated,
    Purpose,
    UrlsAdmitted,
    Verdict,
    Visit,
)
from gossamer.events.topics import TOPIC_OF
from gossamer.log import Record
from gossamer.services.frontier.tables.hosts import AppliedRecords, HostRow, OffsetAndTime
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import START, Simulation

HOST = HostKey("http://a.test")


def make_verdict(visit: Visit, at: float) -> PageDeduplicated:
    """Return the verdict on a new page."""
    return PageDeduplicated(
        at=at,
        site=Site("a.test"),
        host=HOST,
        visit=visit,
        verdict=Verdict.FIRST,
        digest="d",
        fetched_at=at,
    )


def make_admission(number: int, *urls: str, at: float = START) -> UrlsAdmitted:
    """Return a record of *urls*, the *number*-th."""
    found = tuple(Discovery(url, depth=17 if "deep" in url else 1) for url in urls)
    return UrlsAdmitted(at=at, site=Site("a.test"), via=f"{number}@{HOST}/", urls=found)


def apply(sim: Simulation, events: Iterable[Event], first: int = 0) -> None:
    """Apply *events* as the records from the offset *first* on."""
    for offset, event in enumerate(events, first):
        topic = TOPIC_OF[type(event)].name
        sim.frontier.locate(Record(topic, 0, offset, "k", b""))
        sim.handle(event)
    sim.frontier._offset = None


def read_totals(sim: Simulation) -> tuple[object, ...]:
    """Return the budgets, totals, queues and refusals that operators see."""
    hosts = [
        (row.host, row.totals.admitted, row.queued, row.totals.visits, row.crawls)
        for row in sim.store.table(HostRow).scan("a.test")
    ]
    sites = [(row.site, row.hosts, row.crawls) for row in sim.store.table(SiteRow).everything()]
    tallies = [
        (row.partition, row.admitted, row.queued, row.refused, row.verdicts, row.hazards, row.hours)
        for row in sim.store.table(TallyRow).everything()
    ]
    return sorted(hosts), sorted(sites), sorted(tallies, key=repr)


def test_redelivered_records_change_no_budget_total_queue_or_refusal() -> None:
    sim = Simulation(batch=10, url_budget=60, host_budget=3)
    events = [
        make_admission(
            n, *(f"{HOST}/{n}/{m}" for m in range(4)), f"{HOST}/deep/{n}", f"{HOST}/{n}/last"
        )
        for n in range(10)
    ]
    events += [make_admission(90 + n, f"http://h{n}.a.test/", f"{HOST}/x{n}") for n in range(5)]
    apply(sim, events)
    sim.run()
    before, visits = read_totals(sim), len(sim.visits)
    apply(sim, events)
    sim.run()
    assert read_totals(sim) == before
    assert len(sim.visits) == visits
    # New URLs are admitted: redelivered records did not use up the budget.
    apply(sim, [make_admission(99, f"{HOST}/new")], len(events))
    sim.run()
    assert f"{HOST}/new" in sim.pages()


def test_redelivered_request_for_an_urgent_url_is_not_visited_again() -> None:
    sim = Simulation()
    apply(sim, [make_admission(0, f"{HOST}/1")])
    urls = (f"{HOST}/1", f"{HOST}/2")
    request = FetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=urls)
    apply(sim, [request])
    sim.run()
    assert sorted(sim.pages()) == [*urls]
    apply(sim, [request])
    sim.run()
    assert sorted(sim.pages()) == [*urls]
    apply(sim, [replace(request, at=sim.now)], 1)
    sim.run()
    assert sorted(sim.pages()) == sorted(2 * urls)


def test_redelivered_verdict_changes_no_total_and_no_plan() -> None:
    sim = Simulation()
    sim.handle(replace(sim.definition, revisit="fixed:1d"))
    sim.admit(f"{HOST}/1", f"{HOST}/2")
    sim.run(START + 3600.0)
    visits = [visit for _, order in sim.orders for visit in order.visits]
    verdicts = [make_verdict(visit, sim.now) for visit in visits if visit.purpose is Purpose.PAGE]
    assert len(verdicts) == 2
    apply(sim, verdicts)
    before, plans = read_totals(sim), [*sim.store.table(PlanRow).everything()]
    assert len(plans) == 2
    sim.now += 7200.0
    apply(sim, verdicts)
    assert read_totals(sim) == before
    assert [*sim.store.table(PlanRow).everything()] == plans


def test_second_copy_of_a_verdict_plans_no_visit_once_the_next_one_has_begun() -> None:
    sim = Simulation()
    sim.handle(replace(sim.definition, revisit="fixed:1d"))
    sim.admit(f"{HOST}/1", f"{HOST}/2")
    sim.run(START + 3600.0)
    visits = [visit for _, order in sim.orders for visit in order.visits]
    verdicts = [make_verdict(visit, sim.now) for visit in visits if visit.purpose is Purpose.PAGE]
    apply(sim, verdicts)
    sim.run(START + 2 * 86400.0)
    plans, made = [*sim.store.table(PlanRow).everything()], sim.pages()
    assert sorted(made) == sorted(2 * [verdict.visit.url for verdict in verdicts])
    # Dedup crashed before it committed the pages, and records verdicts on them again.
    apply(sim, [replace(verdict, at=sim.now) for verdict in verdicts], len(verdicts))
    sim.run(sim.now + 3600.0)
    assert sim.pages() == made
    assert [*sim.store.table(PlanRow).everything()] == plans


def test_topic_that_was_recreated_is_applied_from_its_first_record() -> None:
    sim = Simulation()
    apply(sim, [make_admission(n, f"{HOST}/{n}") for n in range(5)], 1000)
    sim.run()
    apply(sim, [make_admission(9, f"{HOST}/later", at=START + 60.0)], 0)
    sim.run()
    assert f"{HOST}/later" in sim.pages()


def test_record_is_covered_by_its_offset_and_its_time() -> None:
    applied = AppliedRecords().through(OffsetAndTime(7, START))
    assert applied.covers(OffsetAndTime(7, START)) and applied.covers(
        OffsetAndTime(3, START - 60.0)
    )
    assert not applied.covers(OffsetAndTime(8, START))
    assert not applied.covers(OffsetAndTime(3, START + 1.0))
    assert replace(HostRow(Site("s"), HostKey("h")), applied=applied).applied.until == 8
