"""The progress of crawls: totals, lags and dead letters, read in one consistent view."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from gossamer.bounds import limit_state
from gossamer.crawl import blocklist_of
from gossamer.events import CrawlDefined
from gossamer.events.topics import CONSUMED_TOPICS, DEAD_LETTERS
from gossamer.inspection.basics.folder import Opened
from gossamer.inspection.crawls.crawl import Viewed
from gossamer.log import KEY_GROUPS, Log
from gossamer.log.sqlite import PARTITIONS
from gossamer.services.frontier.partition.parked import ParkedLimitRow
from gossamer.services.frontier.tables.conditions import LISTED_CONDITIONS, Condition
from gossamer.services.frontier.tables.harvest import (
    MIN_VISITS,
    HarvestPoint,
    late_points,
    rates,
)
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.tables.totals import merge
from gossamer.services.frontier.totals.tally import PartitionTallyRow, RevisitTotals, TallyRow
from gossamer.store import Store
from gossamer.store.claims import ClaimRow


class End(Enum):
    """Why a run ended."""

    DONE = "nothing is left to fetch"
    WAITING = "only hosts that back off and URLs scheduled for later are left"
    PAUSED = "a crawl is paused, and nothing else can be fetched now"
    PAGES = "the page limit is reached"
    TIME = "the time limit is reached"
    RULES = "a rule failed (--rules-strict)"
    INTERRUPTED = "interrupted"
    KILLED = "interrupted at once"


@dataclass
class CrawlTotals:
    """Totals of one of the crawls in a `Progress`."""

    admitted: int = 0
    pages: int = 0
    queued: int = 0
    revisiting: RevisitTotals = field(default_factory=RevisitTotals)


@dataclass
class Progress:
    """Totals of one or several crawls since their start, and the lag of the services.

    The counts are those of `TallyRow` and `PartitionTallyRow`, by the same names.
    """

    admitted: int = 0
    queued: int = 0
    pages: int = 0
    received: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    parked: Counter[str] = field(default_factory=Counter)
    conditions: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    latest: tuple[tuple[str, str], ...] = ()
    failed_urls: dict[str, str] = field(default_factory=dict)
    next_due_at: float | None = None
    due_count: int = 0
    hours: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    harvest: tuple[HarvestPoint, ...] = ()
    revisiting: RevisitTotals = field(default_factory=RevisitTotals)
    lags: dict[str, dict[str, int]] = field(default_factory=dict)
    """Group → topic → records that the group has not consumed."""
    dead_letters: int = 0
    crawls: dict[str, CrawlTotals] = field(default_factory=dict)
    """The crawls that the totals are of, by id."""

    @property
    def lag(self) -> dict[str, int]:
        """Topic → records that its slowest group has not consumed."""
        slowest: dict[str, int] = {}
        for topics in self.lags.values():
            for topic, records in topics.items():
                slowest[topic] = max(records, slowest.get(topic, 0))
        return slowest

    @property
    def active(self) -> int:
        """Hosts with queued URLs that are ready, delayed or checked out."""
        return sum(self.conditions[condition] for condition in LISTED_CONDITIONS)

    @property
    def checked_out(self) -> int:
        """Hosts that are checked out."""
        return self.conditions[Condition.CHECKED_OUT]

    @property
    def unvisited(self) -> int:
        """Admitted URLs that will be visited for the first time. Some of them may be due again, if
        no more URLs than these wait."""
        waiting = self.queued + self.revisiting.waiting + self.due_count
        return max(0, min(waiting, self.admitted - self.visited))

    @property
    def visited(self) -> int:
        """URLs without sitemaps whose first visit ended, after retries."""
        return sum(point.first_visits for point in self.harvest)

    @property
    def new_urls_lately(self) -> float | None:
        """New URLs that pages linked to, per 100 visits of the newest eighth of all visits; None
        before 100 visits."""
        if sum(point.visits for point in self.harvest) < MIN_VISITS:
            return None
        lately = rates(late_points(self.harvest))
        return lately.found if lately else None

    @property
    def is_drained(self) -> bool:
        """Whether every topic is consumed to its end and no host is checked out."""
        return not any(self.lag.values()) and not self.checked_out


def read_progress(opened: Viewed, crawls: Iterable[str]) -> Progress:
    """Return the progress of *crawls* together."""
    with opened.view(TallyRow, PartitionTallyRow, PartitionPlansRow) as store:
        return read_totals(opened.log, store, *crawls)


def read_totals(log: Log, store: Store, *crawls: str) -> Progress:
    """Return the progress of *crawls*, together, on *log* and *store*, of a folder or of a
    fleet."""
    tallies, revisits, totals = list[TallyRow](), list[RevisitTotals](), dict[str, CrawlTotals]()
    partitions = partition_keys(log.partitions)
    for crawl in crawls:
        keys = [(partition, crawl) for partition in partitions]
        rows = store.table(TallyRow).get_all(keys)
        tallies += rows
        total = merge(TallyRow(crawl, ""), *rows)
        plans = [RevisitTotals.of(row) for row in store.table(PartitionPlansRow).get_all(keys)]
        revisits += plans
        revisiting = merge(RevisitTotals(), *plans)
        totals[crawl] = CrawlTotals(total.admitted, total.pages, total.queued, revisiting)
    shared = store.table(PartitionTallyRow).get_all([(partition, "") for partition in partitions])
    counts = merge(TallyRow("", ""), *tallies), merge(PartitionTallyRow(""), *shared)
    return Progress(
        **_pick_counts(*counts),
        crawls=totals,
        revisiting=merge(RevisitTotals(), *revisits),
        lags={group: dict(log.lags(group, topics)) for group, topics in CONSUMED_TOPICS.items()},
        # No group consumes dead letters. A broker may refuse to report the offsets of an unknown
        # group, so the query names the frontier's group.
        dead_letters=log.lag("frontier", DEAD_LETTERS.name),
    )


def _pick_counts(*rows: Struct) -> dict[str, Any]:
    """Return the counts in *rows* that a `Progress` has, by their names there."""
    known = {one.name: one.default_factory for one in fields(Progress)}
    found = {name: value for row in rows for name, value in asdict(row).items() if name in known}
    return {name: Counter(one) if known[name] is Counter else one for name, one in found.items()}


def has_parked_to_evaluate(opened: Opened, crawl: CrawlDefined) -> bool:
    """Return whether a new *crawl* or blocklist requires a new evaluation of parked URLs."""
    table, blocklist = opened.store.table(ParkedLimitRow), blocklist_of(opened.log)
    return any(
        limit.evaluated_by != limit_state(limit.name, crawl, blocklist)
        for group in range(KEY_GROUPS)
        for limit in table.scan((crawl.crawl, str(group)))
        if limit.ends.tail_size or limit.ends.tail > limit.ends.head
    )


def has_rows_to_drop(opened: Opened, crawl: CrawlDefined) -> bool:
    """Return whether the frontier has yet to drop rows of *crawl*, because it is removed."""
    # The frontier drops this row of a crawl last.
    table, keys = opened.store.table(PartitionPlansRow), partition_keys(PARTITIONS)
    return crawl.removed and any(table.get(key, crawl.crawl) for key in keys)


def last_epoch(opened: Opened) -> int:
    """Return the largest epoch of a claim so far; 0 without claims."""
    rows = (opened.store.table(ClaimRow).get(str(p)) for p in range(PARTITIONS))
    return max((row.epoch for row in rows if row), default=0)
