"""Example URLs of failures: from the latest visits, waiting hosts, and the table of URLs."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.console.cli.progress import failure_table
from gossamer.console.output import RED, Line
from gossamer.events import DEFAULT_CRAWL, ErasureRequested, Outcome, Purpose, RetryRequested
from gossamer.events.hazards import Hazard
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.basics.labels import Kind, details, failures
from gossamer.inspection.hosts.hosts import host_of
from gossamer.inspection.progress.progress import Progress, read_totals
from gossamer.inspection.progress.status import Failure, read_failures
from gossamer.inspection.progress.workload import Waiting
from gossamer.log.sqlite import SqliteLog
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import Origin, UrlRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import Simulation

HOST = HostKey("http://a.example")
UNAVAILABLE = {"outcome": Outcome.SERVER_ERROR, "status": 503}


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Folder(tmp_path / "data").create()


def test_examples_come_from_visits_hosts_and_urls(opened: Opened) -> None:
    for name, outcome in (("a", Outcome.SERVER_ERROR), ("b", Outcome.PAGE), ("c", "trap_depth")):
        row = UrlRow(DEFAULT_CRAWL, HOST, f"{HOST}/{name}", outcome, at=1.0)
        opened.store.table(UrlRow).put(row)
    # Report browsertrix-crawler #933: a usual sitemap that does not exist is not a failure.
    usual = UrlRow(DEFAULT_CRAWL, HOST, f"{HOST}/0.xml", Outcome.SERVER_ERROR, at=1.0)
    usual = replace(usual, origin=Origin(purpose=Purpose.USUAL_SITEMAP))
    opened.store.table(UrlRow).put(usual)
    opened.store.flush()
    progress = Progress(
        outcomes=Counter(page=1, gone=2, server_error=1, host_down=1),
        hazards=Counter(trap_depth=4, non_web_link=2, soft_404=1),
        latest=((f"{HOST}/missing", "gone"), (f"{HOST}/", "page")),
    )
    down = HostRow(
        Site("b.example"),
        HostKey("http://b.example"),
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


class Unavailable:
    """A web in which `/always` always answers 503, and `/once` at the first visit."""

    def __init__(self) -> None:
        self.failing = {f"{HOST}/always", f"{HOST}/once"}

    def __call__(self, url: str) -> Mapping[str, object]:
        fails = url in self.failing
        if url == f"{HOST}/once":
            self.failing.discard(url)
        return UNAVAILABLE if fails else {}


def read(sim: Simulation) -> tuple[Progress, tuple[Failure, ...]]:
    """Return the progress of the crawl, and the failures without the table of URLs."""
    progress = read_totals(SqliteLog(sim.database), SqliteStore(sim.database), DEFAULT_CRAWL)
    return progress, read_failures(None, DEFAULT_CRAWL, progress, Waiting())


@pytest.fixture
def finished() -> Simulation:
    """Return a crawl in which the retries of `/always` are used up, and many visits followed."""
    sim = Simulation(Unavailable())
    sim.admit(f"{HOST}/always", f"{HOST}/once")
    sim.run()
    sim.admit(*(f"{HOST}/{number}" for number in range(20)))
    sim.run()
    return sim


def test_url_without_retries_left_is_the_example_of_its_failure(finished: Simulation) -> None:
    progress, failed = read(finished)
    assert f"{HOST}/always" not in dict(progress.latest)
    lines = [*failure_table(failed, verbose=False)]
    assert lines == [Line("failures", f"5xx       5  {HOST}/always", RED)]


def test_robots_txt_at_a_private_address_is_not_counted() -> None:
    private = {"outcome": Outcome.PRIVATE_ADDRESS, "hazards": (Hazard.PRIVATE_ADDRESS,)}
    sim = Simulation(lambda url: private)
    sim.admit(f"{HOST}/")
    sim.run()
    progress, failed = read(sim)
    assert progress.outcomes == {Outcome.PRIVATE_ADDRESS: 1}, "no robots.txt was fetched"
    assert [(failure.label, failure.count) for failure in failed] == [("private address", 1)]


def test_repaired_url_is_not_an_example(finished: Simulation) -> None:
    finished.answer = lambda url: {}
    event = RetryRequested(at=1.0, site=Site("a.example"), host=HOST, urls=(f"{HOST}/always",))
    finished.handle(event)
    finished.run()
    assert read(finished)[0].failed_urls == {}


def test_erased_url_is_not_an_example(finished: Simulation) -> None:
    url = f"{HOST}/always"
    finished.handle(ErasureRequested(at=finished.now, site=Site("a.example"), url=url))
    finished.run()
    assert read(finished)[0].failed_urls == {}
