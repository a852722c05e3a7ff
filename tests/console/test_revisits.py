"""The change rate of a page and its next visit in `gossamer why --verbose`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from gossamer.console.cli.why import details
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.urls.url_rows import UrlFacts, read_facts
from gossamer.inspection.urls.urls import explain
from gossamer.log import partition_of
from gossamer.log.sqlite import PARTITIONS
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.frontier.partition.queue import FoundUrl
from gossamer.services.frontier.revisit import (
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    make_policy,
    pack,
)
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.partitions import partition_key
from gossamer.services.frontier.tables.plans import PartitionPlansRow, PlanRow
from gossamer.services.frontier.tables.sites import SiteCrawl, SiteRow
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.settings import Settings
from gossamer.web.url import HostKey, Site
from gossamer.web.validators import DistrustReason, Trust, Validators
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript

HOST, SITE = HostKey("http://a.example"), Site("a.example")
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
        definition=CrawlDefined(at=1.0, scope="any()", max_depth=3, revisit=policy, budget=budget),
        site=SiteRow(SITE, crawls={DEFAULT_CRAWL: SiteCrawl(statistics=pack(states.site))}),
        shared=PartitionPlansRow(DEFAULT_CRAWL, "0", statistics=pack(states.crawl)),
        is_seen=True,
    )


Why = Callable[..., None]


@pytest.fixture
def why(transcript: Transcript) -> Why:
    """Return a function that adds the details of `gossamer why` about facts to the transcript."""

    def add(situation: str, facts: UrlFacts, **others: object) -> None:
        found = explain(replace(facts, **others), NOW + 1)  # type: ignore[arg-type]
        transcript.add(f"gossamer why --verbose {URL}  # {situation}", details(found))

    return add


def test_changes_and_estimated_rate_are_shown_with_their_bounds(why: Why) -> None:
    why("changed once in two visits", page_facts("optimal", True, False))
    at_random = [n in (1, 2, 3, 9, 11, 12, 17, 26, 27, 33, 41, 42, 43, 58) for n in range(60)]
    why("changed 14 times in 60 visits", page_facts("optimal", *at_random))


def test_first_and_last_change_come_from_the_document(why: Why) -> None:
    document = DocumentRow(
        DEFAULT_CRAWL, URL, NOW, "d", first_seen=NOW - 9 * DAY, last_changed=NOW - DAY
    )
    why("changed before the first visit", page_facts("optimal", False), document=document)


def test_regular_changes_are_shown_with_the_next_time(why: Why) -> None:
    daily = page_facts("optimal", *[False, False, False, True] * 30, every=DAY / 4)
    why("changes each day", daily)


def test_price_of_a_visit_is_shown_for_the_optimal_policy(why: Why) -> None:
    bound = page_facts("optimal", False)
    why("optimal", bound)
    state = SiteState(surcharge=2.5, demand=900.0, limit=360.0)
    site = SiteRow(SITE, crawls={DEFAULT_CRAWL: SiteCrawl(statistics=pack(state))})
    why("optimal, and the site limits visits", bound, site=site)
    why("each day", page_facts("fixed:1d", False))


def test_evidence_is_shown_with_its_likelihood_ratio(why: Why) -> None:
    trust = {"sitemap": (9.0, 1.0, 0.0, 40.0), "last_modified": (20.0, 60.0, 1.0, 2.0)}
    state = changed(SiteState(), trust=trust)
    site = SiteRow(SITE, crawls={DEFAULT_CRAWL: SiteCrawl(statistics=pack(state))})
    why("the site announces changes", page_facts("optimal", True), site=site)


def test_validators_are_shown_as_sent_or_distrusted(why: Why) -> None:
    facts = page_facts("fixed:1d", True)
    assert facts.plan and facts.site
    why("no validators", facts)
    both = Validators('"1"', "Sun, 22 Nov 2026 08:00:00 GMT")
    given = replace(facts, plan=changed(facts.plan, validators=both))
    why("two validators", given)
    lied = changed(facts.site, validators={HOST: Trust(distrust_reason=DistrustReason.SAME_TAG)})
    why("two validators, and the host lied", given, site=lied)
    refused = changed(facts.site, validators={HOST: Trust().after_refusal(NOW - DAY)})
    why("two validators, and the host refused conditions", given, site=refused)
    before = changed(facts.site, validators={HOST: Trust().after_refusal(NOW - 40 * DAY)})
    why("two validators, and the host refused conditions long ago", given, site=before)


def test_next_visit_is_shown_with_its_reason(why: Why) -> None:
    why("no revisits", page_facts("none", True))
    facts = page_facts("fixed:1d", True)
    assert facts.plan
    why("each day", facts)
    late = replace(facts, plan=changed(facts.plan, at=NOW - 60))
    why("due", late)
    queued = FoundUrl(QueuedUrl(DEFAULT_CRAWL, "", 0, URL, 0), 0, None, 0)
    why("due and queued", late, queued=queued, host=HostRow(SITE, HOST))
    retry = PlanRow(
        DEFAULT_CRAWL,
        HOST,
        URL,
        NOW + 60,
        reason="attempt 2 after busy",
        policy="fixed:1d",
        attempt=1,
    )
    why("to be retried", facts, plan=retry)


def test_coming_change_of_the_plan_is_shown(why: Why) -> None:
    crawl, facts = CrawlDefined(at=1.0, scope="any()", max_depth=3), page_facts("fixed:1d", True)
    why("another policy", facts, definition=changed(crawl, revisit="optimal"))
    why("paused", facts, definition=changed(crawl, revisit="fixed:1d", paused=True))


def test_unvisited_url_has_no_revisit_details(why: Why) -> None:
    why("not visited", UrlFacts(url=URL, is_seen=True))


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
