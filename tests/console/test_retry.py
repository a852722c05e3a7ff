"""`gossamer retry`: the hosts and URLs that it retries, and its answers."""

import pytest

from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.url import HostKey, Site
from tests.console.gossamer import Gossamer


@pytest.fixture
def retry(seeded: Gossamer) -> Gossamer:
    return seeded.command("retry")


def failing_host(host: HostKey, by: Outcome = Outcome.HOST_DOWN) -> HostRow:
    until = 2_000_000_000.0
    why = "no connection\x1b[2J"
    return HostRow(Site("a.example"), host, Condition.BACKING_OFF, until, why, backoff_cause=by)


def url_row(url: str, outcome: str) -> UrlRow:
    return UrlRow(DEFAULT_CRAWL, HostKey("http://a.example"), url, outcome, at=1.0)


def test_failed_host_is_retried_on_all_its_schemes(retry: Gossamer) -> None:
    retry.store_rows(
        failing_host(HostKey("http://a.example")), failing_host(HostKey("https://a.example"))
    )
    retry("a.example")
    retry("http://a.example")
    hosts = [host for _, host, _ in retry.requests()]
    assert sorted(hosts) == ["http://a.example", "http://a.example", "https://a.example"]


def test_hosts_with_retry_after_or_without_failure_are_not_retried(retry: Gossamer) -> None:
    retry.store_rows(
        failing_host(HostKey("http://a.example"), Outcome.BUSY),
        HostRow(Site("a.example"), HostKey("http://b.a.example")),
    )
    retry("http://a.example", status=1)
    retry("b.a.example", status=1)
    retry("never.example", status=1)
    assert retry.requests() == []


def test_only_failed_urls_are_retried(retry: Gossamer) -> None:
    retry.store_rows(
        url_row("http://a.example/gone", Outcome.GONE),
        url_row("http://a.example/page", Outcome.PAGE),
        url_row("http://a.example/deep", "trap_depth"),
    )
    retry(*(f"http://a.example/{name}" for name in ("gone", "page", "deep", "new")))
    assert retry.requests() == [("a.example", "http://a.example", ("http://a.example/gone",))]


def test_outcome_chooses_all_its_urls_by_host(retry: Gossamer) -> None:
    many = [f"http://a.example/{n:05}" for n in range(2500)]
    retry.store_rows(*(url_row(url, Outcome.BROKEN) for url in many))
    retry.store_rows(url_row("http://a.example/x", Outcome.GONE))
    retry("--outcome", "broken")
    assert [len(urls) for _, _, urls in retry.requests()] == [400] * 6 + [100]
    assert sorted(url for _, _, urls in retry.requests() for url in urls) == many
    retry("--outcome", "busy", status=1)


def test_invalid_arguments_are_refused(retry: Gossamer) -> None:
    for words in ([], ["a.example", "--outcome", "gone"], ["http://"]):
        retry(*words, status=2)


def test_outcomes_that_are_not_failures_are_refused(retry: Gossamer) -> None:
    for outcome in ("page", "redirect", "unvisited", "trap_depth"):
        retry("--outcome", outcome, status=2)
