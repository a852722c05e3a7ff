"""The HTTP API: the same data as the commands, for this machine alone."""

import json
import socket
from pathlib import Path
from typing import Any, get_args

import pytest
from litestar.routes import HTTPRoute
from msgspec.json import encode as encode_json

from gossamer.console.api.parameters import MAX_ROWS
from gossamer.console.cli.main import main
from gossamer.events import DEFAULT_CRAWL, CrawlDefined, SiteOverridden
from gossamer.events.topics import CONSUMED_TOPICS
from gossamer.inspection.answers.failures import read_failure_groups
from gossamer.inspection.answers.host_details import explain_host
from gossamer.inspection.answers.overview import read_overview
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.crawls.dead_letters import Service
from gossamer.inspection.progress.freshness import read_freshness
from gossamer.log.codec import encode
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import (
    HostCrawl,
    HostRow,
    HostTotals,
    NewQueues,
    Politeness,
)
from gossamer.services.frontier.tables.sites import SiteCrawl, SiteRow
from gossamer.services.frontier.tables.urls import HistoryRow, UrlRow
from gossamer.services.frontier.totals.daily import (
    DailyTallyRow,
    Downloads,
    HazardCount,
    HazardExample,
    HazardExamplesRow,
)
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.web.url import HostKey, Site
from tests.console.gossamer import Gossamer
from tests.console.served import PORT, Client
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript

SITE, HOST = Site("a.example"), HostKey("http://a.example")
URL = f"{HOST}/page"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the folder of a crawl with two hosts, a failed URL and its history."""
    folder = Folder(tmp_path / "data")
    opened = folder.create()
    opened.log.append(
        [
            encode(CrawlDefined(at=1.0, scope="any()", max_depth=3)),
            encode(SiteOverridden(at=1.0, site=SITE, delay=9.0)),
        ]
    )
    rows = (
        HostRow(SITE, HOST, Condition.IDLE, totals=HostTotals(admitted=2, pages=1)),
        HostRow(
            SITE,
            HostKey("http://b.a.example"),
            Condition.DELAYED,
            crawls={DEFAULT_CRAWL: HostCrawl(NewQueues(queued=7))},
            politeness=Politeness(delay=9.0),
        ),
        SiteRow(SITE, 2, {DEFAULT_CRAWL: SiteCrawl(refused={"trap_urls": 3})}),
        TallyRow(DEFAULT_CRAWL, "0/4", admitted=9, queued=7, outcomes={"gone": 1}),
        PartitionTallyRow("0/4", conditions={"idle": 1, "delayed": 1}),
        *(
            DailyTallyRow(
                DEFAULT_CRAWL,
                f"{day}/4",
                day * 86400.0,
                sites=1,
                refused={"trap_urls": 3},
                statuses={"404": Downloads(1, 90)},
                hazards={"trap_urls": HazardCount(3, 1, 2)},
            )
            for day in range(3)
        ),
        HazardExamplesRow(
            DEFAULT_CRAWL, "0/4", "trap_urls", 1.0, (HazardExample(f"{HOST}/over", SITE),)
        ),
        UrlRow(DEFAULT_CRAWL, HOST, URL, "gone", at=5.0, status=404, attempt=1),
        *(HistoryRow(DEFAULT_CRAWL, URL, float(at), "gone", 404) for at in range(1, 6)),
    )
    put_rows(opened.store, *rows)
    opened.database.close()
    return folder.path


def without_time(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "at"}


def test_url_and_status_are_those_of_the_commands(client: Client, gossamer: Gossamer) -> None:
    found = client.get("/v1/crawls/default/url", params={"url": URL}).json()
    assert without_time(found) == without_time(gossamer.json("why", URL))
    assert found["state"] == "failed" and "404 Not Found" in found["answer"]
    status = client.get("/v1/crawls/default/status").json()
    assert status == gossamer.json("status")
    assert status["failures"] == [{"label": "404", "count": 1, "example": URL}]


def test_report_is_that_of_the_command(client: Client, gossamer: Gossamer) -> None:
    for query, words, days in (
        ("", (), 3),
        ("?days=2", ("--days", "2"), 2),
        ("?day=1970-01-02", ("--day", "1970-01-02"), 1),
    ):
        found = client.get(f"/v1/crawls/default/report{query}").json()
        assert found == gossamer.json("report", *words)
        assert len(found["days"]) == found["totals"]["sites"] == days
        (first, *_) = found["hazards"]
        assert (first["hazard"], first["urls"]) == ("trap_urls", 3 * days)
        assert first["examples"] == [f"{HOST}/over"]


def test_report_is_a_file_to_save_and_print(client: Client) -> None:
    found = client.get("/v1/crawls/default/report.html?days=2")
    assert found.status_code == 200 and found.headers["content-type"].startswith("text/html")
    name = "gossamer-report-default-1970-01-03.html"
    assert found.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert found.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert found.text.startswith("<!doctype html>") and f"{HOST}/over" in found.text
    assert client.get("/v1/crawls/default/report.html?day=monday").status_code == 400


def test_history_hosts_and_sites_are_those_of_the_commands(
    client: Client, gossamer: Gossamer
) -> None:
    for path, command, words in (
        ("/v1/hosts", "hosts", ()),
        ("/v1/hosts?condition=delayed", "hosts", ("--condition", "delayed")),
        ("/v1/hosts?search=b.A&sort=pages", "hosts", ("--search", "b.A", "--sort", "pages")),
        ("/v1/hosts?crawl=default", "hosts", ("--crawl", "default")),
        ("/v1/sites", "sites", ()),
        ("/v1/sites?search=A.E", "sites", ("--search", "A.E")),
        ("/v1/sites?site=a.example", "sites", ()),
        (f"/v1/crawls/default/history?url={URL}&limit=2", "history", (URL, "--limit", "2")),
    ):
        items = client.get(path).json()["items"]
        assert items == gossamer.json_lines(command, *words) != []
    longest, _ = client.get("/v1/hosts").json()["items"]
    assert (longest["host"], longest["queued"]) == ("http://b.a.example", 7)


def test_bad_request_is_answered_with_the_reason(client: Client, transcript: Transcript) -> None:
    for path in (
        "/v1/crawls/default/url?url=:::",
        "/v1/crawls/default/url",
        "/v1/crawls/default/report?days=2&day=1970-01-01",
        "/v1/crawls/default/report?day=monday",
        f"/v1/hosts?limit={MAX_ROWS + 1}",
        f"/v1/crawls/default/diff?url={URL}&since=nan",
        f"/v1/crawls/default/usage?target={URL}&at=inf",
        f"/v1/crawls/default/capture?url={URL}&at=-1",
        "/v1/audit?since=nan",
        "/v1/hosts?sort=x",
        "/v1/hosts?condition=x",
        "/v1/hosts?cause=x",
        "/v1/sites?sort=x",
        "/v1/audit?action=x",
        "/v1/live?topics=x",
        "/v1/crawls/default/dead-letters?service=x",
        "/v1/crawls/default/diff?url=http://a.example/&form=x",
        "/v1/crawls/default/urls?host=a.example&outcome=x",
        "/v1/crawls/No%20id/status",
    ):
        refused = client.get(path)
        assert refused.status_code == 400, path
        transcript.add(f"GET {path}", encode_json(refused.json()).decode())


def test_other_names_of_this_machine_are_refused(client: Client) -> None:
    refused = client.get("/v1/crawls/default/status", headers={"host": f"evil.example:{PORT}"})
    assert refused.status_code == 400 and "definition" not in refused.text


def test_port_in_use_is_reported_with_the_remedy(
    gossamer: Gossamer, transcript: Transcript
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        transcript.name(port, "PORT")
        gossamer("console", "--port", port, status=2)


def test_settings_of_a_site_are_served_at_once(client: Client, gossamer: Gossamer) -> None:
    assert main(["site", SITE, "--data", str(gossamer.data), "--delay", "20"]) == 0
    (site,) = client.get("/v1/sites").json()["items"]
    assert site["override"]["delay"] == 20.0


def test_hosts_are_searched_sorted_and_paged(client: Client) -> None:
    first = client.get("/v1/hosts", params={"sort": "host", "ascending": True, "limit": 1}).json()
    assert [one["host"] for one in first["items"]] == [HOST] and first["total"] == 2
    rest = {"sort": "host", "ascending": True, "cursor": first["next"]}
    last = client.get("/v1/hosts", params=rest).json()
    assert [one["host"] for one in last["items"]] == ["http://b.a.example"] and not last["next"]
    assert client.get("/v1/hosts?search=B.A").json()["total"] == 1
    assert client.get("/v1/hosts?search=nothing").json()["items"] == []
    assert client.get("/v1/hosts?cursor=odd").status_code == 400


def test_sites_are_searched_sorted_and_paged(client: Client, data: Path) -> None:
    assert main(["site", "c.example", "--data", str(data), "--delay", "20"]) == 0
    first = client.get("/v1/sites", params={"sort": "queued", "limit": 1}).json()
    (site,) = first["items"]
    assert (site["site"], site["queued"], site["pages"], site["hosts"]) == (SITE, 7, 1, 2)
    rest = {"sort": "queued", "cursor": first["next"]}
    last = client.get("/v1/sites", params=rest).json()
    assert [one["override"]["delay"] for one in last["items"]] == [20.0] and not last["next"]
    assert client.get("/v1/sites?search=C.EX").json()["total"] == 1
    assert client.get("/v1/sites?search=nothing").json()["items"] == []
    assert client.get("/v1/sites?cursor=odd").status_code == 400
    assert client.get("/v1/sites?crawl=other").status_code == 404


def test_every_path_is_described(client: Client) -> None:
    described = client.get("/schema/openapi.json").json()
    served = {route.path_format for route in client.app.routes if isinstance(route, HTTPRoute)}
    assert {path for path in served if path.startswith("/v1")} <= set(described["paths"])
    properties = described["components"]["schemas"]["UrlExplanation"]["properties"]
    assert {"answer", "state", "next_visit"} <= set(properties)


def test_hosts_and_sites_are_listed_for_people(gossamer: Gossamer) -> None:
    gossamer("hosts")
    gossamer("sites")
    gossamer("hosts", "--condition", "ready", status=1)


def as_json(data: object) -> Any:
    return json.loads(encode_json(data))


def test_history_is_paged(client: Client) -> None:
    path = "/v1/crawls/default/history"
    params: dict[str, Any] = {"url": URL, "limit": 2}
    whole = client.get(path, params={"url": URL}).json()["items"]
    found, cursor = [], None
    while True:
        page = client.get(path, params={**params, **({"cursor": cursor} if cursor else {})}).json()
        assert len(page["items"]) <= 2
        found += page["items"]
        if not (cursor := page["next"]):
            break
    assert found == whole and len(whole) == 5
    assert client.get(path, params={**params, "cursor": "odd"}).status_code == 400


def test_host_is_explained_with_timeline_and_queue(client: Client, data: Path) -> None:
    found = client.get("/v1/host", params={"host": HOST}).json()
    with open_crawl(None, data) as crawl:
        told = as_json(explain_host(crawl, HOST))
    assert without_time(found) == without_time(told) and found["host"]["host"] == HOST
    timeline = client.get("/v1/host/timeline", params={"host": HOST}).json()
    assert [visit["url"] for visit in timeline["visits"]] == [URL]
    queue = client.get("/v1/crawls/default/queues", params={"host": HOST}).json()
    assert queue["items"] == []
    urls = client.get("/v1/crawls/default/urls", params={"host": HOST, "outcome": "404"}).json()
    assert [one["url"] for one in urls["items"]] == [URL]
    assert client.get("/v1/host", params={"host": "http://b.example"}).status_code == 404
    assert client.get("/v1/host/robots", params={"host": HOST}).status_code == 404


def test_overview_failures_and_lags_are_those_of_the_read_model(client: Client, data: Path) -> None:
    with open_crawl(None, data) as crawl:
        groups = as_json(read_failure_groups(crawl))
        answer = read_overview(crawl).answer
    assert client.get("/v1/crawls/default/failures").json() == groups
    assert groups[0]["label"] == "404"
    overview = client.get("/v1/crawls/default/overview").json()
    assert overview["answer"] == answer


def test_lags_are_sampled_when_they_are_read(client: Client, data: Path) -> None:
    assert main(["seed", "http://c.example/", "--data", str(data)]) == 0
    opened = Folder(data).open()
    (record,) = opened.log.tail(["seeds"]).poll(0)
    opened.log.move("dedup", {("seeds", record.partition): 0})
    opened.database.close()
    found = client.get("/v1/lags")
    assert found.status_code == 200, found.text
    (lag,) = [lag for lag in found.json() if lag["records"]]
    assert (lag["service"], lag["topic"], lag["is_at_least"]) == ("dedup", "seeds", True)


def test_controls_are_those_that_commands_set(client: Client, data: Path) -> None:
    place = ("--data", str(data))
    for rule in ("b.example", "c.example", "c.example/a*"):
        assert main(["block", rule, *place]) == 0
    first = client.get("/v1/blocklist?limit=2").json()
    assert [one["rule"] for one in first["items"]] == ["b.example", "c.example"]
    rest = client.get("/v1/blocklist", params={"cursor": first["next"]}).json()
    assert [one["rule"] for one in rest["items"]] == ["c.example/a*"] and not rest["next"]
    assert len(client.get("/v1/blocklist?search=c.ex").json()["items"]) == 2
    match = client.get("/v1/blocklist/match?url=c.example/abc").json()
    assert match == {"url": "http://c.example/abc", "rule": "c.example"} or match["rule"]
    assert main(["speed", "5/s", *place]) == 0
    speed = client.get("/v1/speed").json()
    assert speed["active"] == {"when": "", "pages": 5.0, "bytes": None}
    assert client.get("/v1/overrides").json()["sites"][SITE]["delay"] == 9.0


def test_all_services_may_write_dead_letters() -> None:
    assert {*get_args(Service)} == {*CONSUMED_TOPICS}


def test_unknown_crawl_is_not_found(client: Client) -> None:
    unknown = client.get("/v1/crawls/shop/status")
    assert unknown.status_code == 404 and "no crawl 'shop'" in unknown.json()["detail"]


def test_freshness_is_that_of_the_read_model(client: Client, data: Path) -> None:
    with open_crawl(None, data) as crawl:
        days = as_json(read_freshness(crawl, 4))
    assert client.get("/v1/crawls/default/freshness?weeks=4").json() == days
