"""When a run of several crawls ends, and how it is stopped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.crawl import active_of, are_all_paused, definitions_of
from gossamer.erasures import ErasureRow
from gossamer.events import CrawlDefined
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.progress.progress import End
from gossamer.inspection.progress.workload import Waiting, read_delayed
from gossamer.log import key_group_of
from gossamer.log.blobs import HOUR, keep
from gossamer.log.codec import encode
from gossamer.log.sqlite import PARTITIONS
from gossamer.procedures.tables import TABLES
from gossamer.services.archive.rows import STANDALONE_WRITER, SegmentRow
from gossamer.services.frontier.tables.bucketed_log import BucketList, BucketRange
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import (
    NO_HOST,
    HostCrawl,
    HostRow,
    ListedHost,
    NewQueues,
    Politeness,
    RobotsRow,
)
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_key
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow, PlanRow
from gossamer.services.frontier.tables.sites import ParkedPart, ParkedPartsRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.settings import load_settings
from gossamer.standalone.run import Run
from gossamer.store import Row, Store
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from tests.archive.harness import page

NOW = 2_000_000_000.0
NEWS = CrawlDefined(crawl="news", at=1.0, scope="any()", max_depth=3)
BLOGS = replace(NEWS, crawl="blogs")
STOPPED = replace(BLOGS, paused=True)
LIMITED = replace(BLOGS, max_pages=1)
SITE, HOST = Site("a.example"), HostKey("http://a.example")
GROUP, KEY = key_group_of(SITE), partition_key(0, PARTITIONS)


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Return a folder without crawls, with the tables that the processes of a run create."""
    opened = Folder(tmp_path / "data").create()
    for table in TABLES:
        opened.store.table(table)
    return opened


def begin(opened: Opened, *crawls: CrawlDefined) -> Run:
    """Define *crawls*, and return a run of the active ones."""
    opened.log.append([encode(crawl) for crawl in crawls])
    return Run(load_settings(), opened, active_of(definitions_of(opened.log)), 60.0, NOW)


def store_pages(opened: Opened, **pages: int) -> None:
    """Store the number of pages of crawls."""
    for crawl, count in pages.items():
        opened.store.table(TallyRow).put(TallyRow(crawl, KEY, pages=count))
    opened.store.flush()


def store_host(
    opened: Opened, condition: Condition = Condition.READY, until: float = 0.0, **queued: int
) -> None:
    """Store a host with *queued* URLs of crawls, in their directories and in the calendar."""
    crawls = {
        crawl: HostCrawl(NewQueues(queued=count), listed=1 if count else None)
        for crawl, count in queued.items()
    }
    opened.store.table(HostRow).put(HostRow(SITE, HOST, condition, until, crawls=crawls))
    for crawl in queued:
        entry = ListedHost(f"{crawl}/{GROUP}/0", f"{1:020} {HOST}", 1, SITE, HOST)
        opened.store.table(ListedHost).put(entry)
    listed = BucketList((0,), (GROUP,))
    store_due(opened, DueRow("", HOST, until, SITE, HOST), dict.fromkeys(queued, listed))


def store_due(
    opened: Opened, due: DueRow, directories: dict[str, BucketList] | None = None
) -> None:
    """Store an entry of the calendar."""
    opened.store.table(DueRow).put(replace(due, bucket=f"hosts/{GROUP}/0"))
    calendar = BucketRange(0, 0, (GROUP,))
    row = PartitionRow(KEY, directories=directories or {}, due=calendar)
    opened.store.table(PartitionRow).put(row)
    opened.store.flush()


def test_run_ends_when_no_crawl_has_work(opened: Opened) -> None:
    run = begin(opened, NEWS, BLOGS)
    store_host(opened, news=0, blogs=2)
    assert run.update(NOW) is None
    store_host(opened, Condition.IDLE, news=0, blogs=0)
    store_pages(opened, news=0, blogs=5)
    assert run.update(NOW) is End.DONE
    assert (run.progress.pages, run.progress.crawls["blogs"].pages) == (5, 5)


class Held(Opened):
    """A folder in which others commit between two reads of a run."""

    def __init__(self, folder: Folder, views: int, act: Callable[[Opened], None]) -> None:
        """Call *act* before the read after *views* others."""
        super().__init__(folder)
        self._views, self._act = views, act

    @contextmanager
    def view(self, *rows: type[Row]) -> Iterator[Store]:
        if self._views == 0:
            self._act(self.folder.open())
        self._views -= 1
        with super().view(*rows) as store:
            yield store


def fetch_last_url(opened: Opened) -> None:
    """Visit the last waiting URL. Its page was not parsed yet."""
    store_host(opened, Condition.IDLE, news=0)
    opened.log.append([encode(page(1))])


def test_run_goes_on_if_its_last_url_is_fetched_between_two_reads(opened: Opened) -> None:
    begin(opened, NEWS)
    store_host(opened, news=1)
    run = begin(Held(opened.folder, 1, fetch_last_url))
    assert run.update(NOW) is None
    assert run.update(NOW) is None, "its page and the links there were not read"


def store_erasure(opened: Opened, service: str, part: int = 0, ended: bool = True) -> None:
    """Record what *service* has erased."""
    key = f"{NOW:017.6f} {service} {part:04d} {HOST}"
    row = ErasureRow("-", key, service, HOST, GROUP, NOW, "ann", 7, ended, {})
    opened.store.table(ErasureRow).put(row)
    opened.store.flush()


def test_run_goes_on_until_the_archive_has_erased_its_files(opened: Opened) -> None:
    run = begin(opened, NEWS)
    opened.store.table(SegmentRow).put(SegmentRow(writer=STANDALONE_WRITER))
    store_erasure(opened, "frontier", ended=False)
    assert run.update(NOW) is None
    for service in ("frontier", "dedup", "archive"):
        store_erasure(opened, service)
    assert run.update(NOW) is None
    store_erasure(opened, f"archive/{STANDALONE_WRITER}")
    assert run.update(NOW) is End.DONE


def test_index_of_searches_is_removed_whenever_an_erasure_advances(opened: Opened) -> None:
    run, index = begin(opened, NEWS), opened.folder.search
    for ended in (False, True):
        index.touch()
        store_erasure(opened, "frontier", ended=ended)
        run.update(NOW)
        assert not index.exists()
    index.touch()
    store_pages(opened, news=4)
    run.update(NOW)
    assert index.exists()


def test_crawl_at_its_page_limit_waits_for_the_others(opened: Opened) -> None:
    run = begin(opened, replace(NEWS, max_pages=4), BLOGS)
    store_pages(opened, news=4)
    store_host(opened, news=9, blogs=1)
    assert run.update(NOW) is None, "blogs has a URL to visit"
    store_host(opened, news=9, blogs=0)
    assert run.update(NOW) is End.PAGES


def test_entry_of_a_crawl_without_urls_is_stale(opened: Opened) -> None:
    """The last URL of the crawl was skipped, and the host was not ordered since."""
    run = begin(opened, NEWS, STOPPED)
    own = HostCrawl(listed=1)
    store_host(opened, news=1, blogs=5)
    host = opened.store.table(HostRow).get(SITE, HOST)
    assert host and run.update(NOW) is None and run.read_workload().hosts
    opened.store.table(HostRow).put(host.with_crawl("news", own))
    opened.store.flush()
    assert run.update(NOW) is End.DONE


@pytest.mark.parametrize("how", [{"paused": True}, {"removed": True, "paused": True}])
def test_queue_of_a_stopped_crawl_does_not_keep_the_run_going(
    opened: Opened, how: dict[str, bool]
) -> None:
    run = begin(opened, NEWS, BLOGS)
    store_host(opened, news=0, blogs=5)
    assert run.update(NOW) is None
    opened.log.append([encode(replace(BLOGS, **how))])
    assert run.update(NOW) is (End.DONE if "removed" in how else End.PAUSED)


def test_run_goes_on_until_the_rows_of_a_removed_crawl_are_dropped(opened: Opened) -> None:
    run = begin(opened, NEWS, replace(BLOGS, paused=True, removed=True))
    plans = opened.store.table(PartitionPlansRow)
    plans.put(PartitionPlansRow("blogs", KEY))
    opened.store.flush()
    assert run.update(NOW) is None
    plans.erase(KEY, "blogs")
    opened.store.flush()
    assert run.update(NOW) is End.DONE


@pytest.mark.parametrize("other", [BLOGS, STOPPED, LIMITED])
@pytest.mark.parametrize(("seconds", "is_awaited"), [(30.0, True), (-5.0, True), (400.0, False)])
@pytest.mark.parametrize("kind", ["host", "URL"])
def test_wait_of_an_active_crawl_is_awaited_for_a_while(
    opened: Opened, other: CrawlDefined, seconds: float, is_awaited: bool, kind: str
) -> None:
    """Neither the queues nor the waits of a crawl that is not visited count."""
    run = begin(opened, NEWS, other)
    store_pages(opened, blogs=1)
    store_wait(opened, kind, "news", NOW + seconds)
    late = End.PAGES if other is LIMITED else End.WAITING
    assert run.update(NOW) is (None if is_awaited else late)


@pytest.mark.parametrize("other", [STOPPED, LIMITED])
@pytest.mark.parametrize("kind", ["host", "URL", "parts"])
def test_wait_of_a_stopped_crawl_is_not_awaited(
    opened: Opened, other: CrawlDefined, kind: str
) -> None:
    run = begin(opened, NEWS, other)
    store_pages(opened, blogs=1)
    store_wait(opened, kind, "blogs", NOW + 30.0)
    assert run.update(NOW) is (End.PAGES if other is LIMITED else End.DONE)


def test_parked_part_is_not_awaited_unless_it_is_being_released(opened: Opened) -> None:
    run = begin(opened, NEWS)
    store_wait(opened, "parts", "news", NOW)
    assert run.update(NOW) is None
    parked = {"/trap/": ParkedPart(rule="low_worth", since=NOW, probe_at=NOW)}
    opened.store.table(ParkedPartsRow).put(ParkedPartsRow("news", SITE, parked))
    opened.store.flush()
    assert run.update(NOW) is End.DONE


def store_wait(opened: Opened, kind: str, crawl: str, until: float) -> None:
    """Store a host that backs off, a URL that is tried again, or a part that is being released."""
    match kind:
        case "host":
            store_host(opened, Condition.BACKING_OFF, until, **{crawl: 1})
        case "URL":
            url = f"{HOST}/again"
            opened.store.table(PlanRow).put(PlanRow(crawl, HOST, url, until))
            store_due(opened, DueRow("", url, until, SITE, HOST, crawl, url))
        case _:
            parts = {"/trap/": ParkedPart(rule="low_worth", since=NOW, releasing=True)}
            opened.store.table(ParkedPartsRow).put(ParkedPartsRow(crawl, SITE, parts))
            store_due(opened, DueRow("", SITE, until, SITE, NO_HOST))


@pytest.mark.parametrize(
    ("condition", "ready_in", "delay_in", "end"),
    [
        (Condition.DELAYED, 600.0, 600.0, None),
        (Condition.DELAYED, 86400.0, 86400.0, End.WAITING),
        # The robots.txt is due before the next page.
        (Condition.DELAYED, 60.0, 86400.0, End.WAITING),
        (Condition.READY, -60.0, 86400.0, End.WAITING),
        (Condition.READY, -60.0, -60.0, None),
        # Another host of the name has the delay.
        (Condition.DELAYED, 86400.0, None, End.WAITING),
        (Condition.CHECKED_OUT, 0.0, 86400.0, None),
    ],
)
def test_run_ends_if_only_hosts_in_a_long_courtesy_delay_are_left(
    opened: Opened, condition: Condition, ready_in: float, delay_in: float | None, end: End | None
) -> None:
    """Reports Meziantou #2620, stormcrawler #768, #1979: a run does not wait for days."""
    run = begin(opened, NEWS)
    store_host(opened, condition, NOW + ready_in, news=1)
    row = opened.store.table(HostRow).get(SITE, HOST)
    until = None if delay_in is None else NOW + delay_in
    assert row
    politeness = Politeness(delay=86400.0, delay_until=until)
    opened.store.table(HostRow).put(replace(row, politeness=politeness))
    rules = RobotsRules(crawl_delay=1e300)
    opened.store.table(RobotsRow).put(RobotsRow(HOST, rules))
    opened.store.flush()
    assert run.update(NOW) is end
    waiting = read_delayed(opened, ["news"], NOW, Waiting())
    assert waiting.delayed_count == len(waiting.delayed) == (end is End.WAITING)
    if end:
        assert waiting.first_at == NOW + 86400.0
        assert "asks for over 1,000,000 days" in waiting.delayed[0].delay_reason


@pytest.mark.parametrize("has_console", [True, False])
def test_paused_crawls_keep_the_run_of_their_console_going(
    opened: Opened, has_console: bool
) -> None:
    run = begin(opened, NEWS)
    run.has_console = has_console
    store_pages(opened, news=3)
    store_host(opened, news=5)
    assert run.update(NOW) is None
    opened.log.append([encode(replace(NEWS, paused=True))])
    assert run.update(NOW) is (None if has_console else End.PAUSED)
    assert run.progress.pages == 3, "pages of a paused crawl are reported"
    opened.log.append([encode(replace(NEWS, removed=True, paused=True))])
    assert run.update(NOW) is End.DONE


def test_planned_revisits_of_one_crawl_keep_the_run_going(opened: Opened) -> None:
    run = begin(opened, NEWS, replace(BLOGS, revisit="optimal"))
    plans = PartitionPlansRow("blogs", KEY, policy="optimal", planned=1)
    opened.store.table(PartitionPlansRow).put(plans)
    store_pages(opened, news=4)
    assert run.update(NOW) is None
    opened.log.append([encode(replace(BLOGS, revisit="optimal", paused=True))])
    assert run.update(NOW) is End.PAUSED, "revisits of a paused crawl are not awaited"


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
