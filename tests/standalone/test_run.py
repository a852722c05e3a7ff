"""When a run of several crawls ends, and how it is stopped."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.crawl import active_crawls, are_all_paused, definitions_of
from gossamer.events import CrawlDefined
from gossamer.log.blobs import HOUR, keep
from gossamer.log.codec import encode
from gossamer.settings import load_settings
from inspection.folder import Folder, Opened
from inspection.progress import End
from services.frontier.conditions import Condition
from services.frontier.rows import PartitionPlansRow, PartitionTallyRow, TallyRow, partition_key
from standalone.run import Run
from tests.archive.harness import page

NOW = 2_000_000_000.0
NEWS = CrawlDefined(crawl="news", at=1.0, scope="any()", max_depth=3)
BLOGS = replace(NEWS, crawl="blogs")


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Return a folder without crawls."""
    folder = Folder(tmp_path / "data")
    folder.make()
    return Opened(folder)


def begin(opened: Opened, *crawls: CrawlDefined) -> Run:
    """Define *crawls*, and return a run of the active ones."""
    opened.log.append([encode(crawl) for crawl in crawls])
    return Run(load_settings(), opened, active_crawls(opened.log), 60.0, NOW)


def store_totals(opened: Opened, crawl: str, pages: int, queued: int = 0) -> None:
    """Store the totals of a crawl; its hosts are ready while URLs are queued."""
    key = partition_key(0, opened.log.partitions)
    opened.store.table(TallyRow).put(TallyRow(crawl, key, pages=pages, queued=queued))
    ready = {str(Condition.READY): 1} if queued else {}
    opened.store.table(PartitionTallyRow).put(PartitionTallyRow(key, conditions=ready))
    opened.store.flush()


def test_run_ends_when_no_crawl_has_work(opened: Opened) -> None:
    run = begin(opened, NEWS, BLOGS)
    store_totals(opened, "blogs", 3, queued=2)
    assert run.update(NOW) is None
    store_totals(opened, "blogs", 5)
    assert run.update(NOW) is End.DONE
    assert (run.progress.pages, run.progress.crawls["blogs"].pages) == (5, 5)


def test_crawl_at_its_page_limit_waits_for_the_others(opened: Opened) -> None:
    run = begin(opened, replace(NEWS, max_pages=4), BLOGS)
    store_totals(opened, "blogs", 1, queued=1)
    store_totals(opened, "news", 4, queued=9)
    assert run.update(NOW) is None, "blogs has a URL to visit"
    store_totals(opened, "blogs", 2)
    store_totals(opened, "news", 4, queued=9)
    assert run.update(NOW) is End.PAGES


@pytest.mark.parametrize("how", [{"paused": True}, {"removed": True, "paused": True}])
def test_queue_of_a_stopped_crawl_does_not_keep_the_run_going(
    opened: Opened, how: dict[str, bool]
) -> None:
    run = begin(opened, NEWS, BLOGS)
    store_totals(opened, "news", 3)
    store_totals(opened, "blogs", 1, queued=5)
    assert run.update(NOW) is None
    opened.log.append([encode(replace(BLOGS, **how))])
    assert run.update(NOW) is End.DONE


@pytest.mark.parametrize("has_console", [True, False])
def test_paused_crawls_keep_the_run_of_their_console_going(
    opened: Opened, has_console: bool
) -> None:
    run = begin(opened, NEWS)
    run.has_console = has_console
    store_totals(opened, "news", 3, queued=5)
    assert run.update(NOW) is None
    opened.log.append([encode(replace(NEWS, paused=True))])
    assert run.update(NOW) is (None if has_console else End.DONE)
    assert run.progress.pages == 3, "pages of a paused crawl are reported"
    opened.log.append([encode(replace(NEWS, removed=True, paused=True))])
    assert run.update(NOW) is End.DONE


@pytest.mark.parametrize(("seconds", "ends"), [(30.0, False), (-5.0, False), (-60.0, True)])
def test_due_retry_is_awaited_unless_it_stays_due(
    opened: Opened, seconds: float, ends: bool
) -> None:
    run = begin(opened, NEWS, replace(BLOGS, paused=True))
    key = partition_key(0, opened.log.partitions)
    due = PartitionTallyRow(key, due_count=1, next_due_at=NOW + seconds)
    opened.store.table(PartitionTallyRow).put(due)
    opened.store.flush()
    assert run.update(NOW) is (End.WAITING if ends else None)


def test_planned_revisits_of_one_crawl_keep_the_run_going(opened: Opened) -> None:
    run = begin(opened, NEWS, replace(BLOGS, revisit="optimal"))
    key = partition_key(0, opened.log.partitions)
    plans = PartitionPlansRow("blogs", key, policy="optimal", planned=1)
    opened.store.table(PartitionPlansRow).put(plans)
    store_totals(opened, "news", 4)
    assert run.update(NOW) is None
    opened.log.append([encode(replace(BLOGS, revisit="optimal", paused=True))])
    assert run.update(NOW) is End.DONE, "only the active crawls count"


def test_crawl_that_is_defined_during_the_run_joins_it(opened: Opened) -> None:
    run = begin(opened, NEWS)
    run.update(NOW)
    assert {*run.progress.crawls} == {"news"}
    opened.log.append([encode(BLOGS)])
    run.update(NOW)
    assert {*run.progress.crawls} == {"blogs", "news"}


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_stopped_run_pauses_no_definition(opened: Opened, is_interrupted: bool) -> None:
    run = begin(opened, NEWS, replace(BLOGS, paused=True))
    before = definitions_of(opened.log)
    run.interrupts = int(is_interrupted)
    end = run.update(NOW if is_interrupted else NOW + 60.0)
    assert end is (End.INTERRUPTED if is_interrupted else End.TIME)
    assert are_all_paused(opened.log)
    assert definitions_of(opened.log) == before


def test_run_removes_captures_that_no_crawl_may_take(opened: Opened) -> None:
    volume = opened.folder.open_blobs()
    run = begin(opened, replace(NEWS, share_for=2 * HOUR), replace(BLOGS, share_for=0.0))
    old, new = (
        keep(replace(page(number), started_at=NOW - age), volume)
        for number, age in enumerate((4 * HOUR, HOUR))
    )
    run.remove_kept(NOW)
    assert volume.size(old) is None and volume.size(new)
    run.remove_kept(NOW + HOUR)
    assert volume.size(new), "a crawl may take it for two hours"
    run.remove_kept(NOW + 3 * HOUR)
    assert volume.size(new) is None
