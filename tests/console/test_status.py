"""`gossamer status`: definition, progress, failures and waiting hosts, for people and programs."""

import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.console.cli.status import lines, summary
from gossamer.console.output import RED, Output
from gossamer.events import DEFAULT_CRAWL, CrawlDefined, SeedAdded
from gossamer.events.hazards import Hazard
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.progress.progress import Progress
from gossamer.inspection.progress.status import CrawlStatus, read_failures, read_status
from gossamer.inspection.progress.workload import Waiting
from gossamer.log import key_group_of
from gossamer.log.codec import encode
from gossamer.services.frontier.revisit import CrawlState, pack
from gossamer.services.frontier.tables.bucketed_log import BucketRange
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_key
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.store import Row
from gossamer.web.url import HostKey, Site
from tests.console.gossamer import Gossamer
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript

NOW = 2_000_000_000.0
HOST = HostKey("http://a.example")
GROUP = key_group_of(Site("a.example"))
DEFINED = CrawlDefined(at=NOW, scope="domain('a.example')", max_depth=3)


@pytest.fixture
def crawl_folder(data: Path) -> Opened:
    return Folder(data).create()


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


@pytest.fixture
def run_status(crawl_folder: Opened, gossamer: Gossamer) -> Gossamer:
    return gossamer.command("status")


def test_status_has_the_limits_of_the_crawl(transcript: Transcript) -> None:
    crawl = CrawlDefined(at=NOW, scope="any()", max_depth=1, max_pages=800, pages_before=200)
    transcript.add("limited to 800 more pages", show_status(Progress(), crawl))


def test_queue_without_a_definition_is_explained(transcript: Transcript) -> None:
    transcript.add("URLs without a definition", show_status(Progress(queued=2), None, fleet=True))


def test_pause_is_shown_with_the_command_that_ends_it(transcript: Transcript) -> None:
    paused = CrawlDefined(at=NOW, scope="any()", max_depth=1, paused=True)
    transcript.add("paused, in a folder", show_status(Progress(), paused))
    transcript.add("paused, in a fleet", show_status(Progress(), paused, fleet=True))
    removed = replace(paused, removed=True)
    transcript.add("removed", show_status(Progress(), removed))


def test_status_has_the_purposes_of_the_crawl(transcript: Transcript) -> None:
    usual = CrawlDefined(at=NOW, scope="any()", max_depth=1)
    transcript.add("usual purposes", show_status(Progress(), usual, verbose=False))
    other = CrawlDefined(at=NOW, scope="any()", max_depth=1, purposes=("search", "train-ai"))
    transcript.add("other purposes", show_status(Progress(), other))
    ignored = CrawlDefined(at=NOW, scope="any()", max_depth=1, purposes=())
    transcript.add("no purposes", show_status(Progress(), ignored))


def test_status_has_all_figures(transcript: Transcript) -> None:
    of = Progress(
        admitted=1200, queued=30, pages=5, received=2048, due_count=7, next_due_at=NOW - 90,
        outcomes=Counter(page=5, gone=2), verdicts=Counter(duplicate=1), 
        conditions=Counter({"ready": 1, "checked out": 2, "idle": 0}), dead_letters=1,
        lags={"dedup": {"seeds": 0, "pages.parsed": 3}, "frontier": {"visits.ended": 0}},
    )  # fmt: skip
    transcript.add("all figures", show_status(of))
    transcript.add("nothing lags", show_status(Progress(lags={"dedup": {"seeds": 0}})))


def test_first_due_time_is_shown_if_known(transcript: Transcript) -> None:
    transcript.add("due in a minute", show_status(Progress(due_count=1, next_due_at=NOW + 60)))
    transcript.add(
        "the first host is due later",
        show_status(Progress(due_count=1), waiting=Waiting(NOW + 9000)),
    )
    transcript.add("due times of a fleet", show_status(Progress(due_count=1), fleet=True))


def test_status_of_a_folder_is_read_from_store_and_log(
    crawl_folder: Opened, run_status: Gossamer
) -> None:
    due = NOW
    failing = HostRow(Site("a.example"), HOST, Condition.BACKING_OFF, due, "no connection\x1b[2J")
    store_rows(
        crawl_folder,
        TallyRow(DEFAULT_CRAWL, "0/4", admitted=2, queued=1),
        PartitionTallyRow("0/4", due_count=1, conditions={"backing off": 1}),
        TallyRow(DEFAULT_CRAWL, "3/4", admitted=1, pages=1, outcomes={"page": 1}),
        PartitionRow("0/4", due=BucketRange(0, 0, (GROUP,))),
        DueRow(f"hosts/{GROUP}/0", "1", due, Site("a.example"), HOST),
        failing,
    )
    crawl_folder.log.append([encode(DEFINED), encode(SeedAdded(at=1.0, url=f"{HOST}/"))])
    run_status()
    found = run_status.json()
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
    crawl_folder: Opened, run_status: Gossamer
) -> None:
    store_plans(crawl_folder)
    run_status()
    found = run_status.json()
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


def test_folder_without_a_definition_returns_0(crawl_folder: Opened, run_status: Gossamer) -> None:
    run_status()
    assert run_status.json()["definition"] is None


def test_unfinished_crawl_that_does_not_run_is_shown_with_the_remedy(
    crawl_folder: Opened, run_status: Gossamer
) -> None:
    queued = TallyRow(DEFAULT_CRAWL, "0/4", queued=1)
    store_rows(crawl_folder, queued, PartitionTallyRow("0/4", conditions={"checked out": 1}))
    crawl_folder.log.append([encode(DEFINED)])
    run_status()
    assert run_status.json()["is_running"] is False
    crawl_folder.folder.lock()
    run_status()
    assert run_status.json()["is_running"] is True


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


def test_fleet_shows_its_parked_urls_by_reason(
    crawl_folder: Opened, transcript: Transcript
) -> None:
    rules = (str(Hazard.LOW_WORTH), str(Hazard.TRAP_HOSTS))
    for key, counts in (("0/4", (29, 4)), ("1/4", (-2, 0))):
        parked = dict(zip(rules, counts, strict=True))
        hazards = dict.fromkeys(rules, 40 * (key == "0/4"))
        store_rows(crawl_folder, TallyRow(DEFAULT_CRAWL, key, hazards=hazards, parked=parked))
    crawl = OpenCrawl("a fleet", crawl_folder.log, lambda: crawl_folder.store, fleet=True)
    status = read_status(crawl)
    shown = [
        Output().line(line)
        for line in lines(status, NOW)
        if line.title == "parked" or line.style == RED
    ]
    transcript.add("parked URLs of a fleet", [summary(status), *shown])


def test_missing_crawl_is_reported_with_the_remedy(tmp_path: Path, transcript: Transcript) -> None:
    (tmp_path / "empty").mkdir()
    transcript("status", "--data", str(tmp_path / "empty"), status=1)
    assert list((tmp_path / "empty").iterdir()) == []


def test_unavailable_fleet_is_reported_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, transcript: Transcript
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        servers = f"127.0.0.1:{taken.getsockname()[1]}"
    monkeypatch.setenv("GOSSAMER_KAFKA__SERVERS", servers)
    monkeypatch.setenv("GOSSAMER_KAFKA__TIMEOUT", "0.1")
    transcript("status", status=1)
