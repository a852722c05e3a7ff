"""What `gossamer why` says of a page's changes and its next visit."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from console.cli.why import sentences
from console.facts import UrlFacts, read_facts
from console.open_crawl import open_crawl
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log import partition_of
from gossamer.log.sqlite import PARTITIONS
from gossamer.settings import Settings
from gossamer.web.validators import DistrustReason, Trust, Validators
from services.dedup.rows import DocumentRow
from services.frontier.revisit import (
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    make_policy,
    pack,
)
from services.frontier.rows import PartitionPlansRow, PlanRow, SiteRow, partition_key
from standalone.folder import Folder, Opened

HOST, SITE = "http://a.example", "a.example"
URL = f"{HOST}/page"
NOW, DAY = 2_000_000_000.0, 86400.0


def visited(policy: str, *changes: bool, every: float = DAY, budget: float = 5.0) -> UrlFacts:
    """Return what is known of a page that was visited once and then for each of *changes*."""
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
        why=plan.why,
        policy=policy,
        visited_at=NOW,
        statistics=pack(states.page),
    )
    return UrlFacts(
        url=URL,
        plan=row,
        site=SiteRow(SITE, statistics=pack(states.site)),
        shared=PartitionPlansRow(DEFAULT_CRAWL, "0", statistics=pack(states.crawl)),
        met=True,
    )


def why(facts: UrlFacts, **others: object) -> str:
    return "\n".join(sentences(replace(facts, **others), NOW + 1))  # type: ignore[arg-type]


def test_how_often_it_changed_and_what_is_believed_is_said_with_how_sure() -> None:
    few = why(visited("optimal", True, False))
    assert "changes: seen at 1 of 2 visits after the first, last 2033-05-17 03:33:20 UTC" in few
    assert "believed: it changes every" in few and "nine times in ten)" in few
    at_random = [n in (1, 2, 3, 9, 11, 12, 17, 26, 27, 33, 41, 42, 43, 58) for n in range(60)]
    many = why(visited("optimal", *at_random))
    assert "changes: seen at 14 of 60 visits" in many
    assert "next visit: 2033-05-" in many and "by the policy optimal: a visit is expected" in many
    assert "freshness: its copy is expected to be right" in many


def test_the_document_knows_when_it_was_first_seen() -> None:
    document = DocumentRow(
        DEFAULT_CRAWL, URL, NOW, "d", first_seen=NOW - 9 * DAY, last_changed=NOW - DAY
    )
    shown = why(visited("optimal", False), document=document)
    assert "seen at 0 of 1 visit after the first; first seen 2033-05-09" in shown
    assert "last changed 2033-05-17" in shown


def test_a_page_with_regular_times_is_told_of() -> None:
    shown = why(visited("optimal", *[False, False, False, True] * 30, every=DAY / 4))
    assert "believed: it changes every 24 h, next about 2033-05-1" in shown
    assert "give or take" in shown


def test_what_a_visit_must_bring_is_said_where_that_decides() -> None:
    shown = why(visited("optimal", False))
    assert "weight: 0.5, where a seed has 1; a visit must bring" in shown
    bound = visited("optimal", False)
    site = SiteState(surcharge=2.5, demand=900.0, limit=360.0)
    shown = why(bound, site=SiteRow(SITE, statistics=pack(site)))
    assert "2.5 times as much as elsewhere" in shown and "politeness allows 360" in shown
    assert "must bring" not in why(visited("fixed:1d", False))


def test_evidence_counts_as_far_as_it_was_true() -> None:
    trust = {"sitemap": (9.0, 1.0, 0.0, 40.0), "last_modified": (20.0, 60.0, 1.0, 2.0)}
    site = changed(SiteState(), trust=trust)
    shown = why(visited("optimal", True), site=SiteRow(SITE, statistics=pack(site)))
    assert "evidence: at a.example last_modified says nothing, sitemap makes a change 26" in shown


def test_whether_validators_are_sent_is_said_and_why_not() -> None:
    facts = visited("fixed:1d", True)
    assert facts.plan and facts.site
    assert "validators: it came with none, so each visit brings the whole page" in why(facts)
    both = Validators('"1"', "Sun, 22 Nov 2026 08:00:00 GMT")
    given = replace(facts, plan=changed(facts.plan, validators=both))
    assert "validators: ETag and Last-Modified sent back, but for each 8th visit" in why(given)
    lied = changed(facts.site, validators={HOST: Trust(lie=DistrustReason.SAME_TAG)})
    shown = why(given, site=lied)
    assert "validators: not sent back to its host: a page changed and its ETag did not" in shown


def test_when_and_why_it_is_visited_next_is_said_or_never() -> None:
    never = why(visited("none", True))
    assert "next visit: never, by the policy none: each page is visited once" in never
    assert "next visit: 2033-05-1" in why(visited("fixed:1d", True))
    facts = visited("fixed:1d", True)
    assert facts.plan
    late = replace(facts, plan=changed(facts.plan, at=NOW - 60))
    assert "due since 2033-05-18 03:32:20 UTC, within the budget of 5 visits a day" in why(late)
    assert "next visit: now, due since" in why(late, ahead=0)
    retry = PlanRow(
        DEFAULT_CRAWL, HOST, URL, NOW + 60, why="attempt 2 after busy", policy="fixed:1d", attempt=1
    )
    assert "next visit: 2033-05-18 03:34:20 UTC, attempt 2 after busy" in why(facts, plan=retry)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"revisit": "optimal"}, "it is about to be planned anew, by the policy optimal"),
        ({"revisit": "fixed:1d", "paused": True}, "the crawl is paused"),
    ],
)
def test_what_will_change_the_plan_is_said(fields: dict[str, object], words: str) -> None:
    crawl = changed(CrawlDefined(at=1.0, scope="any()", max_depth=3), **fields)
    assert words in why(visited("fixed:1d", True), definition=crawl)


def test_a_url_that_was_never_visited_has_nothing_of_it() -> None:
    assert why(UrlFacts(url=URL, met=True)) == ""


def test_all_of_it_is_read_from_the_store(tmp_path: Path) -> None:
    folder, facts = Folder(tmp_path), visited("optimal", True, False)
    folder.make()
    opened = Opened(folder)
    assert facts.plan and facts.site and facts.shared
    shared = changed(
        facts.shared, partition=partition_key(partition_of(SITE, PARTITIONS), PARTITIONS)
    )
    for row in (facts.plan, facts.site, shared):
        opened.store.table(type(row)).put(row)
    opened.store.flush()
    opened.database.close()
    with open_crawl(Settings(), tmp_path) as crawl:
        assert read_facts(crawl, URL).states == facts.states
