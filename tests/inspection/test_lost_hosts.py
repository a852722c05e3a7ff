"""Lost hosts: those that had delivered pages and fail again and again."""

from pathlib import Path

from gossamer.events.outcomes import Health
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.progress.workload import read_lost_hosts
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, HostTotals, Politeness
from gossamer.web.url import HostKey, Site

BACKING_OFF, IDLE = Condition.BACKING_OFF, Condition.IDLE


def host(
    name: Site, failures: dict[str, int], pages: int = 5, now: Condition = BACKING_OFF
) -> HostRow:
    return HostRow(
        name, HostKey(f"https://{name}"), now, totals=HostTotals(pages=pages),
        politeness=Politeness(failures=failures),
    )  # fmt: skip


def test_hosts_with_pages_that_keep_failing_are_lost(tmp_path: Path) -> None:
    opened = Folder(tmp_path).create()
    rows = [
        host(Site("silent.example"), {Health.SILENCE: 4}),
        host(Site("ready.example"), {Health.NAME: 9}, now=Condition.READY),
        host(Site("few.example"), {Health.SERVER: 3}),
        host(Site("busy.example"), {Health.BUSY: 99}),
        host(Site("new.example"), {Health.CONNECTION: 9}, pages=0),
        host(Site("done.example"), {Health.CONNECTION: 9}, now=IDLE),
    ]
    for row in rows:
        opened.store.table(HostRow).put(row)
    opened.store.flush()
    with open_crawl(None, tmp_path) as crawl:
        found = read_lost_hosts(crawl, 4, [row.host for row in rows])
    assert found == ["https://ready.example", "https://silent.example"]
