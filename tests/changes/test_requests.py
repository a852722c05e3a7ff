"""Requests of operators: a dry run writes nothing, and the record comes before the messages."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.changes.commit import commit, preview
from gossamer.changes.crawls import plan_apply
from gossamer.changes.letters import plan_discard, plan_replay
from gossamer.changes.plan import ChangeRequest, Plan
from gossamer.changes.releases import plan_release
from gossamer.changes.retries import (
    plan_fetch,
    plan_refetch,
    plan_refetch_of,
    plan_retry,
    plan_retry_of,
)
from gossamer.changes.seeds import plan_definition, plan_seeds
from gossamer.crawl_file import parse_crawl_file
from gossamer.errors import BadSettings
from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Outcome
from gossamer.events.topics import SEEDS
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.dead_letters import iterate_letters
from gossamer.inspection.urls.visits import parse_outcome
from gossamer.log import Record
from gossamer.log.codec import dead_letter, encode
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.url import HostKey, Site
from tests.changes.opened import START, Opened

ANN = ChangeRequest(actor="ann@example.org", reason="ticket 7")
HOST = HostKey("http://a.example")
CRAWL = CrawlDefined(at=START, scope="domain('a.example')", max_depth=3)
Planner = Callable[[OpenCrawl], Plan]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A crawl with a failing host, a failed URL, a page and two dead letters."""
    opened = Opened(tmp_path)
    until = START + 5000.0
    opened.store.table(HostRow).put(
        HostRow(
            Site("a.example"),
            HOST,
            Condition.BACKING_OFF,
            until,
            "no",
            backoff_cause=Outcome.HOST_DOWN,
        )
    )
    for name, outcome, status in (("gone", Outcome.GONE, 404), ("page", Outcome.PAGE, 200)):
        url, at = f"{HOST}/{name}", START - 9000.0
        row = UrlRow(DEFAULT_CRAWL, HOST, url, outcome, status=status, at=at, earlier=1)
        opened.store.table(UrlRow).put(row)
    opened.store.flush()
    letters = [
        dead_letter(Record(SEEDS.name, 1, number, "k", b"\xff"), "dedup", "no URL", START)
        for number in range(2)
    ]
    opened.log.append(map(encode, [CRAWL, *letters]))
    opened.appended.clear()
    opened.appends.clear()
    return opened


REQUESTS: dict[str, tuple[Planner, str, int]] = {
    "retry host": (lambda crawl: plan_retry(crawl, [HOST], START), "urls.admitted", 1),
    "retry url": (lambda crawl: plan_retry(crawl, [f"{HOST}/gone"], START), "urls.admitted", 1),
    "retry outcome": (
        lambda crawl: plan_retry_of(crawl, parse_outcome("404"), START),
        "urls.admitted",
        1,
    ),
    "fetch": (
        lambda crawl: plan_fetch(crawl, [f"{HOST}/page", f"{HOST}/new"], START),
        "visits.ended",
        2,
    ),
    "refetch": (
        lambda crawl: plan_refetch(crawl, [f"{HOST}/page", f"{HOST}/gone"], START),
        "urls.admitted",
        2,
    ),
    "refetch old": (lambda crawl: plan_refetch_of(crawl, None, 60.0, START), "urls.admitted", 2),
    "replay": (plan_replay, "seeds", 2),
    "discard": (plan_discard, "dead.letters", 2),
    "seed": (
        lambda crawl: plan_seeds(crawl, [f"{HOST}/", f"{HOST}/x"], START, priority=-5),
        "seeds",
        2,
    ),
    "pause": (
        lambda crawl: plan_definition(
            crawl, "pause", CrawlDefined(at=0.0, scope="any()", max_depth=1, paused=True), "", START
        ),
        "control",
        1,
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_request_is_recorded_before_its_messages(opened: Opened, name: str) -> None:
    planner, topic, count = REQUESTS[name]
    before = opened.records()
    assert preview(planner(opened.crawl)).count == count
    assert opened.records() == before and not opened.appended
    committed = commit(opened.log, planner(opened.crawl), ANN, START)
    assert committed.effect.count == count
    assert opened.appended[0] == "audit" and set(opened.appended[1:]) == {topic}
    (record,) = opened.audit()
    assert record.action == name.split()[0] and record.reason == "ticket 7"
    assert record.subject or name.startswith("refetch old")


@pytest.mark.parametrize(
    "planner",
    [
        lambda crawl: plan_retry(crawl, [f"{HOST}/page", "b.example"], START),
        lambda crawl: plan_retry_of(crawl, parse_outcome("busy"), START),
        lambda crawl: plan_fetch(crawl, ["http://elsewhere.example/"], START),
        lambda crawl: plan_refetch(crawl, [f"{HOST}/new"], START),
        lambda crawl: plan_refetch_of(crawl, None, 99_999.0, START),
        lambda crawl: plan_release(crawl, Site("a.example"), (), START),
        lambda crawl: plan_replay(crawl, service="nobody"),
        lambda crawl: plan_definition(crawl, "resume", CRAWL, "", START),
    ],
)
def test_request_without_an_effect_is_not_recorded(opened: Opened, planner: Planner) -> None:
    assert commit(opened.log, planner(opened.crawl), ANN, START).id is None
    assert not opened.appended


@pytest.mark.parametrize("name", ["retry host", "refetch"])
def test_request_of_a_paused_crawl_promises_no_visit(opened: Opened, name: str) -> None:
    planner = REQUESTS[name][0]
    assert "paused" not in planner(opened.crawl).effect.text
    opened.log.append([encode(replace(CRAWL, paused=True))])
    assert " while the crawl is paused." in planner(opened.crawl).effect.text


def test_discarded_letters_are_gone(opened: Opened) -> None:
    first, second = iterate_letters(opened.log)
    commit(opened.log, plan_discard(opened.crawl, {first.name}), ANN, START)
    assert [*iterate_letters(opened.log)] == [second]


def test_definition_of_a_file_is_stored_before_its_seeds_and_these_before_their_list(
    opened: Opened,
) -> None:
    """Dedup makes seeds of an unknown crawl dead letters, and a listed seed is not added again."""
    text = f"seeds = {json.dumps([f'{HOST}/{n}' for n in range(50)])}"
    plan = plan_apply(opened.crawl, parse_crawl_file(text, Path("news.toml"), "none"), START)
    commit(opened.log, plan, ANN, START)
    assert opened.appends == [{"audit"}, {"control"}, {"seeds"}, {"control"}]


def test_new_definition_comes_before_its_seeds(opened: Opened) -> None:
    wider = CrawlDefined(at=0.0, scope="any()", max_depth=3)
    plan = plan_seeds(opened.crawl, ["http://b.example/"], START, definition=wider)
    commit(opened.log, plan, ANN, START)
    assert opened.appended == ["audit", "control", "seeds"]
    (setting,) = opened.audit()[0].settings
    assert setting.key == "crawl_defined/default" and setting.before
    assert (setting.before["scope"], setting.after["scope"]) == (CRAWL.scope, "any()")


def test_impossible_seeds_are_refused(opened: Opened) -> None:
    with pytest.raises(BadSettings, match="out of scope"):
        plan_seeds(opened.crawl, ["http://b.example/"], START)
    with pytest.raises(BadSettings, match="-100 to 100"):
        plan_seeds(opened.crawl, [f"{HOST}/"], START, priority=101)
