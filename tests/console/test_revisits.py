"""The change rate of a page and its next visit in `gossamer why --verbose`."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from console.cli.why import details
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log import partition_of
from gossamer.log.sqlite import PARTITIONS
from gossamer.settings import Settings
from gossamer.web.validators import DistrustReason, Trust, Validators
from inspection.basics.folder import Folder, Opened
from inspection.crawls.crawl import open_crawl
from inspection.urls.url_rows import UrlFacts, read_facts
from inspection.urls.urls import explain
from services.dedup.rows import DocumentRow
from services.frontier.partition.queue import FoundUrl
from services.frontier.revisit import (
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    make_policy,
    pack,
)
from services.frontier.tables.hosts import HostRow
from services.frontier.tables.partitions import partition_key
from services.frontier.tables.plans import PartitionPlansRow, PlanRow
from services.frontier.tables.sites import SiteCrawl, SiteRow
from services.frontier.tables.urls import QueuedUrl
from tests.support.rows import put_rows

HOST, SITE = "http://a.example", "a.example"
URL = f"{HOST}/page"
NOW, DAY = 2_000_000_000.0, 86400.0


def page_facts(policy: str, *changes: bool, every: float = DAY, budget: float = 5.0) -> UrlFacts:
    """Return the facts about a page that was visited once and then for each of *changes*."""
    states = States(PageState(weight=0.5), SiteState(), CrawlState(budget=budget))
    begun = NOW - every * len(changes)
    for n, has_changed in enumerate((False, *changes)):
        visit = Visit(URL, begun + n * every, has_changed)
        states, plan = make_policy(policy).record_visit(states, visit)
    row = PlanRow(
        DEFAULT_CRAWL,
        host=HOST,
        url=URL,
        at=plan.at or None,
        reason=plan.reason,
        policy=policy,
        visited_at=NOW,
        statistics=pack(states.page),
    )
    return UrlFacts(
        url=URL,
        plan=row,
        site=SiteRow(SITE, crawls={DEFAULT_CRAWL: SiteCrawl(statistics=pack(states.site))}),
        shared=PartitionPlansRow(DEFAULT_CRAWL, "0", statistics=pack(states.crawl)),
        is_seen=True,
    )


def why(facts: UrlFacts, **others: object) -> str:
    return "\n".join(details(explain(replace(facts, **others), NOW + 1)))  # type: ignore[arg-type]


def test_changes_and_estimated_rate_are_shown_with_their_bounds() -> None:
    few = why(page_facts("optimal", True, False))
    assert "changes: at 1 of 2 visits after the first, last 2033-05-17 03:33:20 UTC" in few
    assert "estimate: it changes every" in few and "with 90 % probability)" in few
    at_random = [n in (1, 2, 3, 9, 11, 12, 17, 26, 27, 33, 41, 42, 43, 58) for n in range(60)]
    many = why(page_facts("optimal", *at_random))
    assert "changes: at 14 of 60 visits" in many
    assert "next visit: 2033-05-" in many and "by policy optimal: a visit is expected" in many
    assert "freshness: the copy is expected to be current" in many


def test_first_and_last_change_come_from_the_document() -> None:
    document = DocumentRow(
        DEFAULT_CRAWL, URL, NOW, "d", first_seen=NOW - 9 * DAY, last_changed=NOW - DAY
    )
    shown = why(page_facts("optimal", False), document=document)
    assert "at 0 of 1 visit after the first; first seen 2033-05-09" in shown
    assert "last changed 2033-05-17" in shown


def test_regular_changes_are_shown_with_the_next_time() -> None:
    shown = why(page_facts("optimal", *[False, False, False, True] * 30, every=DAY / 4))
    assert "estimate: it changes every 24 h, next at 2033-05-1" in shown
    assert " ± " in shown


def test_price_of_a_visit_is_shown_for_the_optimal_policy() -> None:
    shown = why(page_facts("optimal", False))
    assert "weight: 0.5 (a seed has 1); price of a visit: " in shown
    bound = page_facts("optimal", False)
    site = SiteState(surcharge=2.5, demand=900.0, limit=360.0)
    shown = why(bound, site=SiteRow(SITE, crawls={DEFAULT_CRAWL: SiteCrawl(statistics=pack(site))}))
    assert "2.5 times the usual price" in shown and "politeness allows 360" in shown
    assert "price of a visit" not in why(page_facts("fixed:1d", False))


def test_evidence_is_shown_with_its_likelihood_ratio() -> None:
    trust = {"sitemap": (9.0, 1.0, 0.0, 40.0), "last_modified": (20.0, 60.0, 1.0, 2.0)}
    site = changed(SiteState(), trust=trust)
    shown = why(
        page_facts("optimal", True),
        site=SiteRow(SITE, crawls={DEFAULT_CRAWL: SiteCrawl(statistics=pack(site))}),
    )
    assert "evidence: at a.example last_modified is ignored, sitemap makes a change 26" in shown


def test_validators_are_shown_as_sent_or_distrusted() -> None:
    facts = page_facts("fixed:1d", True)
    assert facts.plan and facts.site
    assert "validators: none in the last response, so each visit fetches the whole page" in why(
        facts
    )
    both = Validators('"1"', "Sun, 22 Nov 2026 08:00:00 GMT")
    given = replace(facts, plan=changed(facts.plan, validators=both))
    assert "validators: ETag and Last-Modified sent, except at each 8th visit" in why(given)
    lied = changed(facts.site, validators={HOST: Trust(distrust_reason=DistrustReason.SAME_TAG)})
    shown = why(given, site=lied)
    assert "validators: distrusted, not sent: a page changed and its ETag did not" in shown


def test_next_visit_is_shown_with_its_reason() -> None:
    never = why(page_facts("none", True))
    assert "next visit: never, by policy none: each page is visited once" in never
    assert "next visit: 2033-05-1" in why(page_facts("fixed:1d", True))
    facts = page_facts("fixed:1d", True)
    assert facts.plan
    late = replace(facts, plan=changed(facts.plan, at=NOW - 60))
    assert "due since 2033-05-18 03:32:20 UTC, within the budget of 5 visits a day" in why(late)
    queued = FoundUrl(QueuedUrl(DEFAULT_CRAWL, "", 0, URL, 0), 0, None, 0)
    assert "next visit: now, due since" in why(late, queued=queued, host=HostRow(SITE, HOST))
    retry = PlanRow(
        DEFAULT_CRAWL,
        HOST,
        URL,
        NOW + 60,
        reason="attempt 2 after busy",
        policy="fixed:1d",
        attempt=1,
    )
    assert "next visit: 2033-05-18 03:34:20 UTC, attempt 2 after busy" in why(facts, plan=retry)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"revisit": "optimal"}, "next visit: to be planned again, by policy optimal"),
        ({"revisit": "fixed:1d", "paused": True}, "the crawl is paused"),
    ],
)
def test_coming_change_of_the_plan_is_shown(fields: dict[str, object], words: str) -> None:
    crawl = changed(CrawlDefined(at=1.0, scope="any()", max_depth=3), **fields)
    assert words in why(page_facts("fixed:1d", True), definition=crawl)


def test_unvisited_url_has_no_revisit_details() -> None:
    assert why(UrlFacts(url=URL, is_seen=True)) == ""


def test_revisit_state_is_read_from_the_store(tmp_path: Path) -> None:
    folder, facts = Folder(tmp_path), page_facts("optimal", True, False)
    folder.make()
    opened = Opened(folder)
    assert facts.plan and facts.site and facts.shared
    shared = changed(
        facts.shared, partition=partition_key(partition_of(SITE, PARTITIONS), PARTITIONS)
    )
    put_rows(opened.store, facts.plan, facts.site, shared)
    opened.database.close()
    with open_crawl(Settings(), tmp_path) as crawl:
        assert read_facts(crawl, URL, NOW).states == facts.states
