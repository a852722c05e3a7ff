"""The workload of a folder: hosts with queued URLs, and the time that they take."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, Speed, SpeedSet
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.hosts.hosts import host_of
from gossamer.inspection.progress.workload import Workload, read_workload
from gossamer.log import key_group_of
from gossamer.log.codec import encode
from gossamer.services.frontier.tables.bucketed_log import BucketList
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import (
    HostCrawl,
    HostRow,
    ListedHost,
    NewQueues,
    Politeness,
)
from gossamer.services.frontier.tables.partitions import PartitionRow
from gossamer.web.url import HostKey, Site

SITE, NOW = Site("a.example"), 2_000_000_000.0
GROUP = key_group_of(SITE)


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Folder(tmp_path / "data").create()


def busy(name: str, queued: int, condition: Condition = Condition.DELAYED) -> HostRow:
    return HostRow(
        SITE,
        HostKey(f"http://{name}.{SITE}"),
        condition,
        crawls={DEFAULT_CRAWL: HostCrawl(NewQueues(queued=queued), listed=queued)},
        politeness=Politeness(delay=2.0, last_took=0.5),
    )


def store_hosts(opened: Opened, *hosts: HostRow, number: int | None = None) -> None:
    for host in hosts:
        opened.store.table(HostRow).put(host)
        listed = host.of(DEFAULT_CRAWL).listed if number is None else number
        opened.store.table(ListedHost).put(
            ListedHost(
                f"{DEFAULT_CRAWL}/{GROUP}/0",
                f"{listed:020} {host.host}",
                listed or 0,
                SITE,
                host.host,
            )
        )
    directory = BucketList((0,), (GROUP,))
    opened.store.table(PartitionRow).put(
        PartitionRow("0/4", directories={DEFAULT_CRAWL: directory})
    )
    opened.store.flush()


def test_workload_has_the_host_with_the_longest_queue_first(opened: Opened) -> None:
    slow, quick = busy("slow", 40), busy("quick", 2, Condition.CHECKED_OUT)
    store_hosts(opened, quick, slow)
    workload = read_workload(opened, NOW)
    assert workload.hosts == (host_of(slow), host_of(quick))
    assert workload.seconds_left == workload.hosts[0].seconds_left == 100.0
    assert workload.is_waiting_for_delays
    store_hosts(opened, busy("ready", 1, Condition.READY))
    assert not read_workload(opened, NOW).is_waiting_for_delays


def test_host_without_a_response_counts_as_slow_as_the_others(opened: Opened) -> None:
    quick, unvisited = busy("quick", 2), busy("unvisited", 1000)
    store_hosts(opened, quick, replace(unvisited, politeness=Politeness()))
    assert read_workload(opened, NOW).seconds_left == 2500.0
    store_hosts(opened, replace(quick, politeness=Politeness()))
    assert read_workload(opened, NOW).seconds_left == 0.0


def test_workload_has_no_idle_hosts_and_no_stale_entries(opened: Opened) -> None:
    store_hosts(opened, busy("idle", 0, Condition.IDLE), busy("down", 3, Condition.BACKING_OFF))
    store_hosts(opened, busy("stale", 5), number=4)
    assert read_workload(opened, NOW) == Workload()


def test_workload_has_the_speed_of_the_crawl(opened: Opened) -> None:
    assert read_workload(opened, NOW).speed is None
    opened.log.append([encode(SpeedSet(at=NOW, speeds=(Speed("", pages=20.0),)))])
    assert read_workload(opened, NOW).speed == 20.0
    opened.log.append([encode(SpeedSet(at=NOW, speeds=(Speed("", pages=0.0),)))])
    assert read_workload(opened, NOW).is_standstill
