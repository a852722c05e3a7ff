"""`gossamer refetch`: the requested URLs, and its message if there are none."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer import clock
from gossamer.events import DEFAULT_CRAWL, Outcome
from services.frontier.tables.urls import UrlRow
from tests.console.requests import RequestCommand

DAY = 86400.0
A = "http://a.example"


@pytest.fixture
def refetch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> RequestCommand:
    return RequestCommand("refetch", tmp_path / "data", capsys)


def url_row(url: str, outcome: str = Outcome.PAGE, days_ago: float = 1.0) -> UrlRow:
    host = "/".join(url.split("/", 3)[:3])
    return UrlRow(DEFAULT_CRAWL, host, url, outcome, at=clock.now() - days_ago * DAY, earlier=1)


def test_visited_urls_are_requested_with_any_outcome(refetch: RequestCommand) -> None:
    refused = UrlRow(DEFAULT_CRAWL, A, f"{A}/deep", "trap_depth", at=1.0)
    refetch.store_rows(url_row(f"{A}/page"), url_row(f"{A}/gone", Outcome.GONE), refused)
    shown = refetch(f"{A}/page", f"{A}/gone", f"{A}/deep", f"{A}/new\x1b[2J")
    assert f"{A}/deep was never visited: gossamer seed adds it" in shown
    assert "/new%1B[2J was never visited" in shown and "\x1b" not in shown
    assert "2 URLs to be fetched again" in shown and "next gossamer crawl" in shown
    assert refetch.requests() == [("a.example", A, (f"{A}/page", f"{A}/gone"))]


def test_unvisited_urls_are_not_requested(refetch: RequestCommand) -> None:
    shown = refetch(f"{A}/new", status=1)
    assert f"{A}/new was never visited" in shown and "to be fetched again" not in shown
    assert "No visited URL matches" in refetch("--older-than", "7d", status=1)
    assert refetch.requests() == []


def test_outcome_and_age_choose_urls(refetch: RequestCommand) -> None:
    refetch.store_rows(
        url_row(f"{A}/new"),
        url_row(f"{A}/old", days_ago=9),
        url_row("http://b.example/old", Outcome.NOT_MODIFIED, 9),
        url_row("http://b.example/gone", Outcome.GONE, 8),
    )
    assert "3 URLs" in refetch("--older-than", "7d")
    assert "1 URL " in refetch("--outcome", "gone")
    assert "No visited URL" in refetch("--outcome", "gone", "--older-than", "9d", status=1)
    urls = [sorted(urls) for _, _, urls in refetch.requests()]
    old, gone = "http://b.example/old", "http://b.example/gone"
    assert sorted(urls) == sorted([[f"{A}/old"], [gone, old], [gone]])


def test_status_codes_choose_urls(refetch: RequestCommand) -> None:
    missing = replace(url_row(f"{A}/404", Outcome.GONE), status=404)
    failing = replace(url_row(f"{A}/503", Outcome.SERVER_ERROR), status=503)
    refetch.store_rows(missing, failing, url_row(f"{A}/page"))
    assert "1 URL " in refetch("--outcome", "404")
    assert "1 URL " in refetch("--outcome", "5xx")
    assert "1 URL " in refetch("--outcome", "server-error")
    urls = [urls for _, _, urls in refetch.requests()]
    assert urls == [(f"{A}/404",), (f"{A}/503",), (f"{A}/503",)]


@pytest.mark.parametrize("outcome", ["trap_depth", "600", "6xx", "other", "lost"])
def test_unknown_outcomes_are_refused(refetch: RequestCommand, outcome: str) -> None:
    with pytest.raises(SystemExit):
        refetch("--outcome", outcome)


def test_requests_have_at_most_1000_urls(refetch: RequestCommand) -> None:
    many = [f"{A}/{n:05}" for n in range(2500)]
    refetch.store_rows(*(url_row(url) for url in many))
    assert "2,500 URLs" in refetch("--outcome", "page")
    assert [len(urls) for _, _, urls in refetch.requests()] == [400] * 6 + [100]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--older-than"),
        ([f"{A}/", "--older-than", "1d"], "--older-than"),
        (["http://"], "http://"),
    ],
)
def test_invalid_arguments_are_refused(
    refetch: RequestCommand, words: list[str], named: str
) -> None:
    assert named in refetch(*words, status=2)
    assert refetch.requests() == []
