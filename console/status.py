"""The status of a crawl as data, which `gossamer status` prints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from console.examples import read_examples
from console.open_crawl import OpenCrawl
from gossamer.crawl import (
    blocklist_of,
    host_overrides_of,
    last_definition,
    overrides_of,
    speed_of,
    why_idle,
)
from gossamer.events import CrawlDefined, Outcome, SpeedSet
from services.frontier.conditions import Condition
from services.frontier.rows import (
    DueRow,
    HostRow,
    PartitionPlansRow,
    PartitionRow,
    PartitionTallyRow,
    PlanRow,
    TallyRow,
    UrlRow,
)
from standalone.progress import Progress, read_totals
from standalone.waiting import Waiting, read_waiting

READ_TABLES = (
    TallyRow,
    PartitionTallyRow,
    PartitionRow,
    PartitionPlansRow,
    DueRow,
    HostRow,
    PlanRow,
    UrlRow,
)


@dataclass(frozen=True)
class CrawlStatus:
    """The status of a crawl."""

    crawl: str
    """The name of the folder or of the fleet."""
    fleet: bool
    definition: CrawlDefined | None
    progress: Progress
    waiting: Waiting
    """Empty in a fleet: its calendar may be long, and each entry is a read."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Label of a failure → a URL that failed so."""
    blocklist_rules: int = 0
    sites: int = 0
    """Sites with settings of `gossamer site`."""
    hosts: int = 0
    """Hosts with such settings of their own."""
    speed: SpeedSet = field(default_factory=lambda: SpeedSet(at=0.0))

    @property
    def idle(self) -> str:
        """Why no page is fetched, and the remedy; "" if the crawl is active."""
        return why_idle(self.definition, self.progress.queued)

    @property
    def due_at(self) -> float | None:
        """When the first waiting host or URL is due.

        None: nothing waits; of a fleet also: nothing is due within the hour.
        """
        at = self.progress.next_due_at
        return self.waiting.first_at if at is None else at

    def for_programs(self) -> dict[str, Any]:
        """Return the content of `--json`."""
        return {
            "crawl": self.crawl,
            "definition": msgspec.to_builtins(self.definition),
            "idle": self.idle,
            "blocklist_rules": self.blocklist_rules,
            "different_sites": self.sites,
            "different_hosts": self.hosts,
            "speeds": msgspec.to_builtins(self.speed.speeds),
            **msgspec.to_builtins(self.progress),
            "revisiting": self._revisiting(),
            "next_due_at": self.due_at,
        }

    def _revisiting(self) -> dict[str, Any]:
        revisiting = self.progress.revisiting
        return {
            "policy": revisiting.policy,
            "budget": revisiting.budget,
            "planned": revisiting.planned,
            "waiting": revisiting.waiting,
            "next_at": revisiting.next_at,
            "spent": dict(revisiting.spent),
            "not_modified": self.progress.outcomes[Outcome.NOT_MODIFIED],
            "distrusted_hosts": revisiting.liars,
            "expected_freshness": revisiting.expected_freshness,
            "expected_age": revisiting.expected_age,
            "price": revisiting.mean_price,
        }


def read_status(crawl: OpenCrawl, has_examples: bool = True) -> CrawlStatus:
    """Return the status of *crawl*; without examples it reads no URLs."""
    store = crawl.store()
    for row in READ_TABLES:
        store.table(row)  # A missing table is created before the read transaction.
    with crawl.reading():
        progress = read_totals(crawl.log, store, crawl.id)
        backing_off = progress.conditions[Condition.BACKING_OFF]
        waiting, examples = Waiting(), dict[str, str]()
        if not crawl.fleet:
            waiting = read_waiting(store, backing_off, progress.due_count)
        if has_examples:
            urls = None if crawl.fleet else store
            examples = read_examples(urls, crawl.id, progress, waiting)
        return CrawlStatus(
            crawl=crawl.name,
            fleet=crawl.fleet,
            definition=last_definition(crawl.log),
            progress=progress,
            sites=len(overrides_of(crawl.log)),
            hosts=len(host_overrides_of(crawl.log)),
            speed=speed_of(crawl.log),
            blocklist_rules=len(blocklist_of(crawl.log).rules),
            examples=examples,
            waiting=waiting,
        )
