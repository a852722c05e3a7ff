"""Example URLs of failures: from the latest visits, waiting hosts, and the table of URLs."""

from collections import Counter
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.events.hazards import Hazard
from inspection.folder import Folder, Opened
from inspection.hosts import host_of
from inspection.labels import Kind, details, failures
from inspection.progress import Progress
from inspection.status import read_failures
from inspection.workload import Waiting
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, UrlRow

HOST = "http://a.example"


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    folder = Folder(tmp_path / "data")
    folder.make()
    return Opened(folder)


def test_examples_come_from_visits_hosts_and_urls(opened: Opened) -> None:
    for name, outcome in (("a", Outcome.SERVER_ERROR), ("b", Outcome.PAGE), ("c", "trap_depth")):
        row = UrlRow(DEFAULT_CRAWL, HOST, f"{HOST}/{name}", outcome, at=1.0)
        opened.store.table(UrlRow).put(row)
    opened.store.flush()
    progress = Progress(
        outcomes=Counter(page=1, gone=2, server_error=1, host_down=1),
        hazards=Counter(trap_depth=4, non_web_link=2, soft_404=1),
        latest=[(f"{HOST}/missing", "gone"), (f"{HOST}/", "page")],
    )
    down = HostRow(
        "b.example",
        "http://b.example",
        Condition.BACKING_OFF,
        backoff_cause=Outcome.HOST_DOWN,
    )
    waiting = Waiting(hosts=(host_of(down),))
    found = read_failures(opened.store, DEFAULT_CRAWL, progress, waiting)
    assert {failure.label: failure.example for failure in found if failure.example} == {
        "404": f"{HOST}/missing",
        "no connection": "http://b.example",
        "5xx": f"{HOST}/a",
        "deeper than --depth": f"{HOST}/c",
    }
    found = read_failures(None, DEFAULT_CRAWL, progress, Waiting())
    assert [failure.example for failure in found if failure.example] == [f"{HOST}/missing"]


def test_failure_counted_as_outcome_and_hazard_is_counted_once() -> None:
    assert failures({"host_down": 3, "page": 9}, {"host_down": 3, "redirect": 5}) == {
        "no connection": 3
    }


@pytest.mark.parametrize("hazard", Hazard)
def test_every_hazard_is_shown_as_a_failure_or_a_detail(hazard: Hazard) -> None:
    assert len(failures({}, {hazard: 1})) + len(details({hazard: 1})) == 1
    assert {kind.name for kind in Kind} == {"FAILURE", "DETAIL"}
