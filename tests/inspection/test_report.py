"""The report from the totals of days: shares, sums, and each rule of advice."""

from typing import Any

import pytest

from gossamer.events.hazards import HAZARDS, Hazard, is_limit
from gossamer.inspection.progress.report import ADVICE_RULES, Report, make_report
from gossamer.services.frontier.totals.daily import (
    DAY,
    DailyTallyRow,
    Downloads,
    HazardCount,
    Stage,
)
from tests.support.transcripts import Transcript

AT = 20_000 * DAY
NO_EXAMPLES: dict[str, tuple[str, ...]] = {}


def make_day(at: float = AT, **fields: Any) -> DailyTallyRow:
    return DailyTallyRow("default", "0/4", at, **fields)


def report_of(*days: DailyTallyRow) -> Report:
    return make_report("data", [*days], NO_EXAMPLES)


def test_shares_are_of_sites_and_of_urls_or_visits() -> None:
    day = make_day(
        admitted=90,
        refused={"trap_urls": 10},
        sites=4,
        visits=50,
        hazards={"trap_urls": HazardCount(10, 1, 7), "soft_404": HazardCount(5, 2, 0)},
    )
    found = {one.hazard: one for one in report_of(day).hazards}
    assert set(found) == set(HAZARDS)
    budget, soft = found["trap_urls"], found["soft_404"]
    assert (budget.sites, budget.site_share) == (1, 0.25)
    assert (budget.urls, budget.of_urls, budget.url_share) == (10, 100, 0.1)
    assert (budget.refused, budget.productive_urls) == (10, 7)
    assert (soft.of_urls, soft.url_share, soft.site_share) == (50, 0.1, 0.5)
    assert budget.settings == HAZARDS[Hazard.TRAP_URLS].settings


def test_links_that_were_parked_count_as_urls_of_their_limit() -> None:
    hazards = {"trap_depth": HazardCount(0, 1, 0, links=25, productive_links=20)}
    (depth, *_) = report_of(make_day(admitted=75, hazards=hazards)).hazards
    assert (depth.hazard, depth.parked_links, depth.url_share) == ("trap_depth", 25, 0.25)


def test_copies_and_cost_of_a_new_text() -> None:
    verdicts = {"first": 6, "changed": 2, "unchanged": 4, "duplicate": 3, "near_duplicate": 1}
    day = make_day(
        visits=32,
        pages=16,
        new_texts=8,
        verdicts={**verdicts, "gone": 9},
        statuses={"200": Downloads(16, 1000), "404": Downloads(4, 24)},
        seconds={Stage.DELAY: 30.0, Stage.VISIT: 10.0, Stage.DNS: 1.0, Stage.BODY: 3.0},
    )
    report = report_of(day)
    totals = report.totals
    assert (totals.duplicates, totals.near_duplicates, totals.unchanged) == (3, 1, 4)
    assert totals.duplicate_share == 0.25
    assert (totals.pages_per_new_text, totals.visits_per_new_text) == (2.0, 4.0)
    assert (totals.received, totals.delay_seconds, totals.visit_seconds) == (1024, 30.0, 10.0)
    assert [(one.name, one.share) for one in report.statuses] == [("200", 0.8), ("404", 0.2)]
    shares = {one.stage: one.share for one in report.stages}
    assert (shares["dns"], shares["body"], shares["parse"]) == (0.25, 0.75, 0.0)


def test_empty_report_divides_by_nothing() -> None:
    report = report_of()
    assert (report.first_day, report.days, report.advice) == ("", (), ())
    assert report.totals.duplicate_share is report.totals.pages_per_new_text is None
    assert all(one.url_share == one.site_share == 0 for one in report.hazards)


def test_period_is_the_sum_of_its_days_newest_first() -> None:
    report = report_of(make_day(admitted=1), make_day(AT + DAY, admitted=2))
    assert (report.first_day, report.last_day) == ("2024-10-04", "2024-10-05")
    assert [(one.day, one.totals.admitted) for one in report.days] == [
        ("2024-10-05", 2),
        ("2024-10-04", 1),
    ]
    assert report.totals.admitted == 3


def advice_of(rule: str, **fields: Any) -> list[tuple[tuple[str, ...], str]]:
    """Return settings and text of the advice of *rule* on one day with *fields*."""
    return [
        (one.settings, one.text) for one in report_of(make_day(**fields)).advice if one.rule == rule
    ]


def test_parked_parts_are_named_with_the_command_that_visits_them(transcript: Transcript) -> None:
    count = HazardCount(29, 1, 1)
    ((_, text),) = advice_of("parks_honest_pages", sites=8, hazards={"low_worth": count})
    transcript.add("parked parts", [text])


def test_budget_that_stops_urls_of_productive_sites_costs_honest_pages(
    transcript: Transcript,
) -> None:
    count = HazardCount(10, 2, 5)
    ((settings, text),) = advice_of(
        "costs_honest_pages", sites=8, hazards={"trap_urls": count, "redirect": count}
    )
    assert settings == HAZARDS[Hazard.TRAP_URLS].settings
    transcript.add("a budget of sites", [text])


@pytest.mark.parametrize(
    "count", [HazardCount(9, 1, 9), HazardCount(10, 1, 4), HazardCount(0, 0, 0)]
)
def test_limit_that_stops_few_urls_or_traps_gets_no_advice(count: HazardCount) -> None:
    assert advice_of("costs_honest_pages", hazards={"trap_urls": count}) == []


def test_parked_links_of_productive_sites_cost_honest_pages(transcript: Transcript) -> None:
    count = HazardCount(0, 1, 0, links=20, productive_links=15)
    ((settings, text),) = advice_of("costs_honest_pages", hazards={"trap_depth": count})
    assert settings == ("crawl.max_depth",)
    transcript.add("a limit of links", [text])


def test_limit_that_nothing_reached_never_applies(transcript: Transcript) -> None:
    found = advice_of("never_applies", admitted=1000, visits=999)
    named = {name for settings, _ in found for name in settings}
    assert set(HAZARDS[Hazard.TRAP_URLS].settings) <= named
    assert "fetcher.body_limit" not in named, "too few visits"
    transcript.add("1,000 URLs", [text for _, text in found])
    reached = {"trap_urls": HazardCount(1, 1, 0)}
    names = [text for _, text in advice_of("never_applies", admitted=1000, hazards=reached)]
    assert len(names) == len(found) - 1


@pytest.mark.parametrize(("copies", "advised"), [(24, False), (25, False), (26, True)])
def test_many_copies_waste_the_crawl(copies: int, advised: bool) -> None:
    verdicts = {"first": 100 - copies, "duplicate": copies - 4, "near_duplicate": 4}
    found = advice_of("wasted_on_copies", new_texts=100 - copies, verdicts=verdicts)
    assert bool(found) is advised
    if found:
        ((settings, text),) = found
        assert settings == ("dedup.duplicates_limit",) and "26 of 100" in text


@pytest.mark.parametrize(("urls", "advised"), [(10, False), (11, True)])
def test_many_documents_of_other_types_waste_the_crawl(urls: int, advised: bool) -> None:
    hazards = {"unwanted_type": HazardCount(urls, 1, 0)}
    found = advice_of("unwanted_documents", visits=100, hazards=hazards)
    assert bool(found) is advised
    if found:
        assert found[0][0] == ("fetcher.types", "crawl.scope")


def test_every_rule_is_tested_here() -> None:
    assert set(ADVICE_RULES) == {
        "costs_honest_pages",
        "never_applies",
        "parks_honest_pages",
        "wasted_on_copies",
        "unwanted_documents",
    }


def test_hazards_that_are_limits_have_settings() -> None:
    limits = [hazard for hazard in Hazard if is_limit(hazard)]
    assert {Hazard.TRAP_URLS, Hazard.TRAP_HOSTS, Hazard.TRAP_DEPTH, Hazard.TRAP_TIME} <= {*limits}
    assert {Hazard.REDIRECT, Hazard.ROBOTS_EXCLUDED, Hazard.OUT_OF_SCOPE}.isdisjoint(limits)
    assert all(HAZARDS[hazard].settings for hazard in limits)


def test_worth_of_parts_of_a_productive_site_gets_no_advice() -> None:
    reached = {"low_worth": HazardCount(sites=2, urls=400, productive_urls=400)}
    for rule in ("costs_honest_pages", "never_applies"):
        for hazards in (reached, {}):
            found = advice_of(rule, admitted=1000, hazards=hazards)
            assert not any("worth_parking" in text for _, text in found)
