"""`gossamer status`: definition, progress, failures and waiting hosts, for people and programs."""

import json
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from console.cli.main import main
from console.cli.status import lines, summary
from console.output import Output
from gossamer import clock
from gossamer.events import DEFAULT_CRAWL, CrawlDefined, SeedAdded
from gossamer.log import key_group_of
from gossamer.log.codec import encode
from gossamer.store import Row
from inspection.basics.folder import Folder, Opened
from inspection.crawls.crawl import OpenCrawl
from inspection.progress.progress import Progress
from inspection.progress.status import CrawlStatus, read_failures, read_status
from inspection.progress.workload import Waiting
from services.frontier.revisit import CrawlState, pack
from services.frontier.tables.bucketed_log import BucketRange
from services.frontier.tables.conditions import Condition
from services.frontier.tables.hosts import HostRow
from services.frontier.tables.partitions import PartitionRow, partition_key
from services.frontier.tables.plans import DueRow, PartitionPlansRow
from services.frontier.totals.tally import PartitionTallyRow, TallyRow
from tests.support.rows import put_rows

NOW = 2_000_000_000.0
HOST = "http://a.example"
GROUP = key_group_of("a.example")
DEFINED = CrawlDefined(at=NOW, scope="domain('a.example')", max_depth=3)


@pytest.fixture
def crawl_folder(tmp_path: Path) -> Opened:
    return Folder(tmp_path / "data").create()


def store_rows(crawl_folder: Opened, *rows: Row) -> None:
    put_rows(crawl_folder.store, *rows)


def show_status(
    progress: Progress,
    definition: CrawlDefined | None = DEFINED,
    verbose: bool = True,
    **fields: Any,
) -> str:
    fields = {"fleet": False, "is_running": True, "waiting": Waiting(), **fields}
    fields["failures"] = read_failures(None, DEFAULT_CRAWL, progress, fields["waiting"])
    status = CrawlStatus("there", definition=definition, progress=progress, **fields)
    return "\n".join([summary(status), *map(Output().line, lines(status, NOW, verbose))])


def run_status(capsys: pytest.CaptureFixture[str], crawl_folder: Opened, *arguments: str) -> str:
    assert main(["status", "--data", str(crawl_folder.folder.path), *arguments]) == 0
    return capsys.readouterr().out


def test_status_has_the_limits_of_the_crawl() -> None:
    crawl = CrawlDefined(at=NOW, scope="any()", max_depth=1, max_pages=800, pages_before=200)
    text = show_status(Progress(), crawl)
    assert text.startswith("there: 0 pages, 0 URLs queued.\n  crawl        default, defined 2033")
    assert "scope        any(), 1 link deep, at most 1,000 pages\n" in text
    assert "idle" not in text


def test_queue_without_a_definition_is_explained() -> None:
    text = show_status(Progress(queued=2), None, fleet=True)
    assert (
        "no crawl is defined, so nothing is fetched (URLs queued: 2): define it with gossamer seed"
        in text
    )


def test_pause_is_shown_with_the_command_that_ends_it() -> None:
    paused = CrawlDefined(at=NOW, scope="any()", max_depth=1, paused=True)
    for is_fleet in (False, True):
        assert "the crawl is paused: gossamer crawls resume default continues it\n" in show_status(
            Progress(), paused, fleet=is_fleet
        )
    removed = replace(paused, removed=True)
    assert "the crawl is removed\n" in show_status(Progress(), removed)


def test_status_has_the_purposes_of_the_crawl() -> None:
    usual = CrawlDefined(at=NOW, scope="any()", max_depth=1)
    assert "purposes" not in show_status(Progress(), usual, verbose=False)
    other = CrawlDefined(at=NOW, scope="any()", max_depth=1, purposes=("search", "train-ai"))
    text = show_status(Progress(), other)
    assert "search, train-ai; disallowed: do not fetch; unknown: fetch" in text
    ignored = CrawlDefined(at=NOW, scope="any()", max_depth=1, purposes=())
    assert "none: statements about usage are ignored" in show_status(Progress(), ignored)


def test_status_has_all_figures() -> None:
    of = Progress(
        admitted=1200, queued=30, pages=5, received=2048, due_count=7, next_due_at=NOW - 90,
        outcomes=Counter(page=5, gone=2), verdicts=Counter(duplicate=1), 
        conditions=Counter({"ready": 1, "checked out": 2, "idle": 0}), dead_letters=1,
        lags={"dedup": {"seeds": 0, "pages.parsed": 3}, "frontier": {"visits.ended": 0}},
    )  # fmt: skip
    text = show_status(of)
    for part in (
        "1,200 admitted, 30 queued", "pages        5, 1 duplicate\n", "2.0 KiB",
        "failures     404       2\n",
        "2 being fetched, 1 ready\n", "lag          dedup: 3 pages.parsed\n",
        "7 for later; the oldest has been due for 1 min 30 s", "1 dead letter: gossamer",
    ):  # fmt: skip
        assert part in text
    assert "frontier" not in text
    assert "lag          none" in show_status(Progress(lags={"dedup": {"seeds": 0}}))


def test_first_due_time_is_shown_if_known() -> None:
    soon = show_status(Progress(due_count=1, next_due_at=NOW + 60))
    assert "1 for later; the first is due at 2033-05-18 03:34:20 UTC" in soon
    assert "the first is due at" in show_status(Progress(due_count=1), waiting=Waiting(NOW + 9000))
    assert "none is due within the hour" in show_status(Progress(due_count=1), fleet=True)


def test_status_of_a_folder_is_read_from_store_and_log(
    crawl_folder: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    due = clock.now() + 5000.0
    failing = HostRow("a.example", HOST, Condition.BACKING_OFF, due, "no connection\x1b[2J")
    store_rows(
        crawl_folder,
        TallyRow(DEFAULT_CRAWL, "0/4", admitted=2, queued=1),
        PartitionTallyRow("0/4", due_count=1, conditions={"backing off": 1}),
        TallyRow(DEFAULT_CRAWL, "3/4", admitted=1, pages=1, outcomes={"page": 1}),
        PartitionRow("0/4", due=BucketRange(0, 0, (GROUP,))),
        DueRow(f"hosts/{GROUP}/0", "1", due, "a.example", HOST),
        failing,
    )
    crawl_folder.log.append([encode(DEFINED), encode(SeedAdded(at=1.0, url=f"{HOST}/"))])
    text = run_status(capsys, crawl_folder)
    assert "3 admitted, 1 queued" in text and "domain('a.example')" in text
    assert f"{HOST} until" in text and "(no connection?[2J)" in text
    assert "lag          dedup: 1 seeds\n" in text
    found = json.loads(run_status(capsys, crawl_folder, "--json"))
    assert found["crawl"] == str(crawl_folder.folder.path) and found["idle"] == ""
    assert (found["definition"]["scope"], found["definition"]["paused"]) == (DEFINED.scope, False)
    assert (found["admitted"], found["queued"], found["pages"]) == (3, 1, 1)
    assert found["conditions"] == {"backing off": 1} and found["outcomes"] == {"page": 1}
    assert found["lags"]["dedup"]["seeds"] == 1 and found["dead_letters"] == 0
    assert found["next_due_at"] == due


def store_plans(crawl_folder: Opened) -> None:
    """Store the plans and visits of two partitions."""
    crawls = (
        CrawlState(budget=10.0, weights=3.0, fresh=1.5, age=0.75, price=0.5),
        CrawlState(budget=30.0, weights=1.0, fresh=1.0, age=0.25, price=0.5),
    )
    for number, crawl in enumerate(crawls):
        spent = {"rate": 2, "hint": number}
        row = PartitionPlansRow(
            DEFAULT_CRAWL,
            partition_key(number, 4),
            "optimal",
            planned=4,
            waiting=6,
            next_at=NOW + number,
            spent=spent,
            distrusted_hosts=number,
        )
        store_rows(crawl_folder, replace(row, statistics=pack(crawl)))
    store_rows(
        crawl_folder,
        TallyRow(DEFAULT_CRAWL, "0/4", outcomes={"not_modified": 6}, hours={"1": (1, 2, 3)}),
    )
    store_rows(crawl_folder, TallyRow(DEFAULT_CRAWL, "1/4", hours={"1": (1, 0, 0), "2": (0, 0, 1)}))
    crawl_folder.log.append([encode(replace(DEFINED, revisit="optimal", budget=40.0))])


def test_status_has_revisits_budget_and_freshness(
    crawl_folder: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    store_plans(crawl_folder)
    text = run_status(capsys, crawl_folder)
    assert "  revisit      optimal, 40 visits a day\n" in text
    assert "new          12 URLs waiting for the budget" in text
    assert (
        "revisits     optimal, 40 visits a day; 8 planned, next at 2033-05-18 03:33:20 UTC" in text
    )
    assert "62.5 % of the copies expected to be current, 6 h behind" in text
    assert "4 by change rate, 1 by hint" in text
    found = json.loads(run_status(capsys, crawl_folder, "--json"))
    assert found["hours"] == {"1": [2, 2, 3], "2": [0, 0, 1]}
    assert found["revisiting"] == {
        "policy": "optimal",
        "budget": 40.0,
        "planned": 8,
        "waiting": 12,
        "next_at": NOW,
        "spent": {"rate": 4, "hint": 1},
        "not_modified": 6,
        "distrusted_hosts": 1,
        "expected_freshness": 0.625,
        "expected_age": 21600.0,
        "price": 43200.0,
    }


def test_folder_without_a_definition_returns_0(
    crawl_folder: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no crawl is defined" in run_status(capsys, crawl_folder)
    assert json.loads(run_status(capsys, crawl_folder, "--json"))["definition"] is None


def test_unfinished_crawl_that_does_not_run_is_shown_with_the_remedy(
    crawl_folder: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    queued = TallyRow(DEFAULT_CRAWL, "0/4", queued=1)
    store_rows(crawl_folder, queued, PartitionTallyRow("0/4", conditions={"checked out": 1}))
    crawl_folder.log.append([encode(DEFINED)])
    assert "no crawl runs in this folder: gossamer crawl continues it" in run_status(
        capsys, crawl_folder
    )
    assert json.loads(run_status(capsys, crawl_folder, "--json"))["is_running"] is False
    crawl_folder.folder.lock()
    assert "no crawl runs" not in run_status(capsys, crawl_folder)
    assert json.loads(run_status(capsys, crawl_folder, "--json"))["is_running"] is True


def test_calendar_of_a_fleet_is_not_read(crawl_folder: Opened) -> None:
    store_rows(
        crawl_folder,
        TallyRow(DEFAULT_CRAWL, "0/4", queued=1),
        PartitionTallyRow("0/4", due_count=1),
        PartitionRow("0/4", due=BucketRange(0, 1 << 60, (GROUP,))),
    )
    status = read_status(
        OpenCrawl("a fleet", crawl_folder.log, lambda: crawl_folder.store, fleet=True)
    )
    assert (status.progress.queued, status.due_at) == (1, None)


def test_missing_crawl_is_reported_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["status", "--data", str(tmp_path / "empty")]) == 1
    assert "empty has no crawl: start one with gossamer crawl, or" in capsys.readouterr().err
    assert list((tmp_path / "empty").iterdir()) == []


def test_unavailable_fleet_is_reported_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        servers = f"127.0.0.1:{taken.getsockname()[1]}"
    monkeypatch.setenv("GOSSAMER_KAFKA__SERVERS", servers)
    monkeypatch.setenv("GOSSAMER_KAFKA__TIMEOUT", "0.1")
    assert main(["status"]) == 1
    said = capsys.readouterr().err
    assert f"Kafka at {servers} does not answer" in said
    assert "check that it runs" in said and "name other servers in kafka.servers" in said
