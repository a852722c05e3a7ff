"""How a whole crawl stands: everything that `gossamer status` puts into words, as data."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

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
)
from standalone.progress import Progress, progress_of
from standalone.waiting import Waiting, read_waiting

READ = (
    TallyRow,
    PartitionTallyRow,
    PartitionRow,
    PartitionPlansRow,
    DueRow,
    HostRow,
    PlanRow,
)


@dataclass(frozen=True)
class Standing:
    """How a crawl stands."""

    crawl: str
    """What a person calls the folder or the fleet."""
    fleet: bool
    definition: CrawlDefined | None
    progress: Progress
    waiting: Waiting
    """Of a fleet nothing: there the calendar may be long, and each entry is a read."""
    blocked: int = 0
    """Rules of the blocklist."""
    sites: int = 0
    """At which something is different …"""
    hosts: int = 0
    """… and hosts, by themselves."""
    speed: SpeedSet = field(default_factory=lambda: SpeedSet(at=0.0))

    @property
    def idle(self) -> str:
        """Why nothing is fetched although all is well, and what to do; "" if nothing forbids it."""
        return why_idle(self.definition, self.progress.queued)

    @property
    def due_at(self) -> float | None:
        """When the oldest of all that waits for its time is due.

        None: nothing waits; in a fleet, or nothing is due within the hour.
        """
        at = self.progress.next_due_at
        return self.waiting.first_at if at is None else at

    def for_programs(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "crawl": self.crawl,
            "definition": msgspec.to_builtins(self.definition),
            "idle": self.idle,
            "blocked": self.blocked,
            "different_sites": self.sites,
            "different_hosts": self.hosts,
            "speeds": msgspec.to_builtins(self.speed.speeds),
            **msgspec.to_builtins(self.progress),
            "revisiting": self._revisiting(),
            "next_due_at": self.due_at,
        }

    def _revisiting(self) -> dict[str, Any]:
        of = self.progress.revisiting
        return {
            "policy": of.policy,
            "budget": of.budget,
            "planned": of.planned,
            "waiting": of.waiting,
            "next_at": of.next_at,
            "spent": dict(of.spent),
            "not_modified": self.progress.outcomes[Outcome.NOT_MODIFIED],
            "lying_hosts": of.liars,
            "expected_freshness": of.expected_freshness,
            "expected_age": of.expected_age,
            "price": of.mean_price,
        }


def read_standing(crawl: OpenCrawl) -> Standing:
    """Return how *crawl* stands now."""
    store = crawl.store()
    for row in READ:
        store.table(row)  # Made where it is missing, while nothing is being read.
    with crawl.reading():
        progress = progress_of(crawl.log, store, crawl.id)
        backing_off = progress.conditions[Condition.BACKING_OFF]
        return Standing(
            crawl=crawl.name,
            fleet=crawl.fleet,
            definition=last_definition(crawl.log),
            progress=progress,
            sites=len(overrides_of(crawl.log)),
            hosts=len(host_overrides_of(crawl.log)),
            speed=speed_of(crawl.log),
            blocked=len(blocklist_of(crawl.log).rules),
            waiting=Waiting() if crawl.fleet else read_waiting(store, backing_off),
        )
