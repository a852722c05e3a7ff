"""The status of a crawl as data: its definition, totals, failures with examples, and what waits."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from gossamer.crawl import (
    blocklist_of,
    host_overrides_of,
    last_definition,
    overrides_of,
    speed_of,
    why_idle,
)
from gossamer.events import CrawlDefined, Outcome, SpeedSet
from gossamer.store import Store
from inspection.crawl import OpenCrawl
from inspection.labels import LABELS, failures
from inspection.progress import Progress, read_totals
from inspection.workload import Waiting, read_waiting
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


MAX_READ_URLS = 50_000
"""Rows of the table of URLs that are searched for examples; some 0.3 s."""


class Failure(msgspec.Struct, frozen=True):
    """A kind of failure that visits, or refusals of URLs, had."""

    label: str
    """The failure in words, by its status code if it has one."""
    count: int
    example: str = ""
    """A URL or a host that failed so; "" if none was found quickly."""


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
    failures: tuple[Failure, ...] = ()
    """The most frequent failure first."""
    blocklist_rules: int = 0
    overridden_sites: int = 0
    """Sites with settings of `gossamer site`."""
    overridden_hosts: int = 0
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
            "overridden_sites": self.overridden_sites,
            "overridden_hosts": self.overridden_hosts,
            "speeds": msgspec.to_builtins(self.speed.speeds),
            **msgspec.to_builtins(self.progress),
            "revisiting": self._revisiting(),
            "next_due_at": self.due_at,
            "failures": msgspec.to_builtins(self.failures),
            "backing_off": msgspec.to_builtins(self.waiting.hosts),
            "scheduled": msgspec.to_builtins(self.waiting.urls),
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


def read_status(crawl: OpenCrawl) -> CrawlStatus:
    """Return the status of *crawl*."""
    store = crawl.store()
    for row in READ_TABLES:
        store.table(row)  # A missing table is created before the read transaction.
    with crawl.reading():
        progress = read_totals(crawl.log, store, crawl.id)
        backing_off = progress.conditions[Condition.BACKING_OFF]
        waiting = Waiting() if crawl.fleet else read_waiting(store, backing_off, progress.due_count)
        return CrawlStatus(
            crawl=crawl.name,
            fleet=crawl.fleet,
            definition=last_definition(crawl.log),
            progress=progress,
            overridden_sites=len(overrides_of(crawl.log)),
            overridden_hosts=len(host_overrides_of(crawl.log)),
            speed=speed_of(crawl.log),
            blocklist_rules=len(blocklist_of(crawl.log).rules),
            failures=read_failures(None if crawl.fleet else store, crawl.id, progress, waiting),
            waiting=waiting,
        )


def read_failures(
    store: Store | None, crawl_id: str, progress: Progress, waiting: Waiting
) -> tuple[Failure, ...]:
    """Return the failures of *progress*, the most frequent first, with an example URL or host.

    The latest visits and the hosts of *waiting* come first. Then the rows of *store* are searched.
    In a fleet *store* is None, because the search would read all nodes.
    """
    counted = failures(progress.outcomes, progress.hazards)
    examples = _find_examples(set(counted), store, crawl_id, progress, waiting)
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Failure(label, count, examples.get(label, "")) for label, count in ordered)


def _find_examples(
    missing: set[str], store: Store | None, crawl_id: str, progress: Progress, waiting: Waiting
) -> dict[str, str]:
    examples = dict[str, str]()
    hosts = [(host.host, host.backoff_cause or "") for host in waiting.hosts]
    for url, outcome in (*hosts, *progress.latest):
        label = LABELS.get(outcome, "")
        if label in missing:
            examples[label] = url
    missing = missing - examples.keys()
    if not missing or store is None:
        return examples
    for row in islice(store.table(UrlRow).everything(), MAX_READ_URLS):
        label = LABELS.get(row.outcome, "")
        if row.crawl == crawl_id and label in missing:
            examples[label] = row.url
            missing.discard(label)
            if not missing:
                break
    return examples
