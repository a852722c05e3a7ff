"""`gossamer fetch` and its route: the requests, the answers, and what they wait for."""

import json

import pytest

from gossamer.console.api.routes.requests import MAX_URGENT
from gossamer.console.cli.main import main
from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.inspection.answers.fetched import is_complete, note_before, read_fetched
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.services.frontier.partition.queue import HostQueues
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.ordering import URGENT_RANK, request_number
from gossamer.services.frontier.tables.urls import QueuedUrl, UrlRow
from gossamer.web.url import HostKey, Site, host_key
from tests.console.gossamer import Gossamer
from tests.console.served import Client
from tests.support.transcripts import Transcript

A, B = HostKey("http://a.example"), "http://b.example"
NOW = 1_800_000_000.0


@pytest.fixture
def fetch(seeded: Gossamer) -> Gossamer:
    return seeded.command("fetch")


def url_row(url: str, outcome: str = Outcome.PAGE, **fields: object) -> UrlRow:
    given = {"at": NOW, "status": 200, "earlier": 1, **fields}
    return UrlRow(DEFAULT_CRAWL, host_key(url), url, outcome, **given)  # type: ignore[arg-type]


def test_known_and_unknown_urls_are_requested(fetch: Gossamer) -> None:
    fetch.store_rows(url_row(f"{A}/page"))
    fetch(f"{A}/page", f"{A}/new", f"{A}/page")
    assert fetch.requests() == [("a.example", A, (f"{A}/page", f"{A}/new"))]


def test_forbidden_urls_are_refused_with_the_rule(fetch: Gossamer, seeded: Gossamer) -> None:
    seeded("block", "a.example/no/*")
    fetch(f"{A}/no/1", B, status=1)
    assert fetch.requests() == []


def test_paused_crawl_fetches_nothing(fetch: Gossamer) -> None:
    assert main(["crawls", "pause", DEFAULT_CRAWL, "--data", str(fetch.data)]) == 0
    assert main(["fetch", f"{A}/page", "--data", str(fetch.data)]) == 2
    assert fetch.requests() == []


def test_waiting_without_a_running_crawl_names_the_command(fetch: Gossamer) -> None:
    fetch(f"{A}/page", "--wait", status=1)
    assert len(fetch.requests()) == 1


def test_forms_of_documents_need_a_wait(fetch: Gossamer) -> None:
    fetch(f"{A}/page", "--json", status=2)


def test_failed_visit_is_complete_and_a_page_waits_for_its_capture(fetch: Gossamer) -> None:
    urls = [f"{A}/gone", f"{A}/page"]
    with open_crawl(None, fetch.data) as crawl:
        before = note_before(crawl, urls)
        assert [read_fetched(crawl, one).has_ended for one in before] == [False, False]
        fetch.store_rows(url_row(urls[0], Outcome.GONE, status=404), url_row(urls[1]))
        gone, page = (read_fetched(crawl, one) for one in before)
    assert (gone.has_ended, gone.is_fetched, is_complete(gone)) == (True, False, True)
    assert "404 Not Found" in gone.answer
    assert (page.has_ended, page.is_fetched, is_complete(page)) == (True, True, False)


def test_url_that_waits_says_until_when(fetch: Gossamer, transcript: Transcript) -> None:
    row = HostRow(
        Site("a.example"), A, Condition.BACKING_OFF, 4e9, "Retry-After", backoff_cause=Outcome.BUSY
    )
    with open_crawl(None, fetch.data) as crawl:
        queues = HostQueues(crawl.store().table(QueuedUrl), DEFAULT_CRAWL)
        number = request_number(URGENT_RANK, 7)
        entry = QueuedUrl(DEFAULT_CRAWL, "", 0, f"{A}/page", number, earlier=3)
        row = queues.append(row, [entry])
        crawl.store().table(HostRow).put(row)
        crawl.store().flush()
        (before,) = note_before(crawl, [f"{A}/page"])
        found = read_fetched(crawl, before)
    assert not found.has_ended
    transcript.add("answer for an urgent URL", [found.answer])


def test_route_requests_urls_and_returns_what_they_wait_for(
    fetch: Gossamer, client: Client
) -> None:
    body = {"urls": [f"{A}/new", f"{B}/"], "wait": 0.1, "reason": "ticket 7"}
    answer = client.post(f"/v1/crawls/{DEFAULT_CRAWL}/fetch", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["effect"]["count"] == 1
    assert [(one["url"], one["has_ended"]) for one in found["urls"]] == [(f"{A}/new", False)]
    assert fetch.requests() == [("a.example", A, (f"{A}/new",))]


def test_route_reports_a_dry_run_without_a_request(fetch: Gossamer, client: Client) -> None:
    path = f"/v1/crawls/{DEFAULT_CRAWL}/fetch?dry_run=true"
    found = client.post(path, json={"urls": [f"{A}/new"], "wait": 30}).json()
    assert found["id"] is None and found["urls"] == []
    assert fetch.requests() == []


@pytest.mark.parametrize(
    "body", [{"urls": []}, {"urls": [A], "wait": 31}, {"urls": [A] * (MAX_URGENT + 1)}]
)
def test_route_limits_urls_and_seconds(client: Client, body: dict[str, object]) -> None:
    answer = client.post(f"/v1/crawls/{DEFAULT_CRAWL}/fetch", content=json.dumps(body))
    assert answer.status_code == 400
