"""`gossamer refetch`: the requested URLs, and its message if there are none."""

import pytest
from msgspec.structs import replace

from gossamer import clock
from gossamer.crawl import definitions_of
from gossamer.events import DEFAULT_CRAWL, Outcome, RefetchRequested
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.url import HostKey
from tests.console.gossamer import Gossamer

DAY = 86400.0
A = HostKey("http://a.example")


@pytest.fixture
def refetch(seeded: Gossamer) -> Gossamer:
    return seeded.command("refetch")


def url_row(url: str, outcome: str = Outcome.PAGE, days_ago: float = 1.0) -> UrlRow:
    host = "/".join(url.split("/", 3)[:3])
    return UrlRow(
        DEFAULT_CRAWL, HostKey(host), url, outcome, at=clock.now() - days_ago * DAY, earlier=1
    )


def test_visited_urls_are_requested_with_any_outcome(refetch: Gossamer) -> None:
    refused = UrlRow(DEFAULT_CRAWL, A, f"{A}/deep", "trap_depth", at=1.0)
    refetch.store_rows(url_row(f"{A}/page"), url_row(f"{A}/gone", Outcome.GONE), refused)
    refetch(f"{A}/page", f"{A}/gone", f"{A}/deep", f"{A}/new\x1b[2J")
    assert refetch.requests() == [("a.example", A, (f"{A}/page", f"{A}/gone"))]


def test_unvisited_urls_are_not_requested(refetch: Gossamer) -> None:
    refetch(f"{A}/new", status=1)
    refetch("--older-than", "7d", status=1)
    assert refetch.requests() == []


def test_outcome_and_age_choose_urls(refetch: Gossamer) -> None:
    refetch.store_rows(
        url_row(f"{A}/new"),
        url_row(f"{A}/old", days_ago=9),
        url_row("http://b.example/old", Outcome.NOT_MODIFIED, 9),
        url_row("http://b.example/gone", Outcome.GONE, 8),
    )
    refetch("--older-than", "7d")
    refetch("--outcome", "gone")
    refetch("--outcome", "gone", "--older-than", "9d", status=1)
    urls = [sorted(urls) for _, _, urls in refetch.requests()]
    old, gone = "http://b.example/old", "http://b.example/gone"
    assert sorted(urls) == sorted([[f"{A}/old"], [gone, old], [gone]])


def test_status_codes_choose_urls(refetch: Gossamer) -> None:
    missing = replace(url_row(f"{A}/404", Outcome.GONE), status=404)
    failing = replace(url_row(f"{A}/503", Outcome.SERVER_ERROR), status=503)
    refetch.store_rows(missing, failing, url_row(f"{A}/page"))
    refetch("--outcome", "404")
    refetch("--outcome", "5xx")
    refetch("--outcome", "server-error")
    urls = [urls for _, _, urls in refetch.requests()]
    assert urls == [(f"{A}/404",), (f"{A}/503",), (f"{A}/503",)]


def test_unknown_outcomes_are_refused(refetch: Gossamer) -> None:
    for outcome in ("trap_depth", "600", "6xx", "other", "lost"):
        refetch("--outcome", outcome, status=2)


def test_requests_have_at_most_1000_urls(refetch: Gossamer) -> None:
    many = [f"{A}/{n:05}" for n in range(2500)]
    refetch.store_rows(*(url_row(url) for url in many))
    refetch("--outcome", "page")
    assert [len(urls) for _, _, urls in refetch.requests()] == [400] * 6 + [100]


def test_invalid_arguments_are_refused(refetch: Gossamer) -> None:
    for words in ([], [f"{A}/", "--older-than", "1d"], ["http://"]):
        refetch(*words, status=2)
    assert refetch.requests() == []


def test_pages_of_a_crawl_with_rules_are_requested_as_a_whole(refetch: Gossamer) -> None:
    log = refetch.open().log
    refetch.store_rows(url_row(f"{A}/page"))
    for rules in ("", "shop_rules"):
        refetch.append(replace(definitions_of(log)[DEFAULT_CRAWL], rules=rules))
        refetch(f"{A}/page")
    found = [one for one in refetch.events("urls.admitted") if isinstance(one, RefetchRequested)]
    assert [one.whole for one in found] == [False, True]
