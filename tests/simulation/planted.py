"""Planted faults: faults that once broke a promise, to check that the simulation still detects
them.

A fault replaces functions of the services, its seams, by faulty versions. It names a seam by the
imported function itself: the type check finds a renamed one. A seam with other parameters than its
faulty version is an error when the fault is planted. So a refactoring cannot disable a fault.
"""

import inspect
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from heapq import heappush
from itertools import islice
from math import inf
from typing import Any
from unittest import mock

import msgspec
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage

from gossamer.blocklist import Blocklist
from gossamer.bounds import Exclusion
from gossamer.errors import GossamerError, Newer, Poison, Unavailable
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Discovery,
    ErasureBegun,
    Event,
    FetchRequested,
    HostCheckedOut,
    Outcome,
    Page,
    PageParsed,
    SeedAdded,
    Tombstone,
    UrlsAdmitted,
    UrlsDiscovered,
    Verdict,
)
from gossamer.log import At, GroupOffsets, Headers, Log, Message, Record
from gossamer.log.codec import Decoded, E, _headers_of_page, decode, decode_valid, try_decode
from gossamer.log.kafka.log import split_by_order
from gossamer.log.kafka.reader import KafkaReader, PassingMember, _accept_revocation
from gossamer.log.kafka.retention import GapCheck
from gossamer.log.throttling import far_behind
from gossamer.runtime.checkpoints import Alignment, CheckpointRow, Checkpoints, align
from gossamer.runtime.handling import read_ahead
from gossamer.runtime.loop import Blocking, Loop
from gossamer.runtime.processor import Key
from gossamer.runtime.sequential import Sequential
from gossamer.services.archive.retention import Job, Retention
from gossamer.services.dedup.documents import Documents, Version, is_overtaken
from gossamer.services.dedup.erasing import Erasing
from gossamer.services.dedup.replicated import ReplicatedSeen
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.service import Dedup
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.fetcher.rate_limits import AddressLimits
from gossamer.services.fetcher.service import Fetcher, OrderRun
from gossamer.services.fetcher.steps import Pace
from gossamer.services.fetcher.visit import _robots_validity, leaves_host, refusal
from gossamer.services.frontier.choice.dispatch import Balance
from gossamer.services.frontier.partition.parked import SITE_RULES
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.partition.politeness import (
    _has_retry_after,
    courtesy_delay,
    returned_order_delay,
)
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.sites import NO_RECORD, RecordAtSite
from gossamer.services.frontier.partition.workbench import Host, Places, Schedule, Workbench
from gossamer.services.frontier.procedures.removal import CrawlRemoval
from gossamer.services.frontier.steps.checkout import _charge
from gossamer.services.frontier.steps.refusals import Refusals, find_exclusion
from gossamer.services.frontier.steps.urgent import UrgentRequests, _may_wait
from gossamer.services.frontier.tables.hosts import (
    AppliedRecords,
    HostRow,
    Lease,
    OffsetAndTime,
    QueueEnds,
    RobotsRow,
)
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl
from gossamer.settings import FrontierSettings
from gossamer.store import Sort, Store
from gossamer.store.cassandra.errors import is_temporary
from gossamer.store.cassandra.store import CassandraStore, _by_partition
from gossamer.web.url import Site
from gossamer.web.usage.statements import Statement, limit_statements
from tests.simulation.run import simulate
from tests.simulation.scenarios import seeds_of

Seam = Callable[..., Any] | property
PACKAGES = frozenset({"gossamer", "services"})
PRIORITY = re.compile(rb'"priority": ?(-?\d+)')


@dataclass(frozen=True)
class Fault:
    """A fault, and how the simulation detects it."""

    name: str
    sentence: str
    scenario: str
    """The scenario whose seeds are run."""
    seeds: int
    """The maximum number of seeds that are run, three to five times the number that was needed."""
    report: str
    """A pattern of the line that reports the broken promise."""
    seams: Mapping[Seam, Seam]
    """Function or property of the services → its faulty version."""
    nightly: bool = False
    """Whether the search takes too long for every change."""


@contextmanager
def plant(fault: Fault) -> Iterator[None]:
    """Replace the seams of *fault*; raise TypeError if one has other parameters than it expects."""
    with ExitStack() as stack:
        for original, faulty in fault.seams.items():
            if _shape(original) != _shape(faulty):
                raise TypeError(
                    f"{original} is {_shape(original)}, and is replaced by {_shape(faulty)}"
                )
            for owner, name in _owners(original):
                stack.enter_context(mock.patch.object(owner, name, faulty))
        yield


def _owners(seam: Seam) -> list[tuple[object, str]]:
    """Return the class of a method or property, or all modules that define or import a function;
    each with the name that the seam has there."""
    function: Any = seam.fget if isinstance(seam, property) else seam
    if owner := function.__qualname__.rpartition(".")[0]:
        return [(pkgutil.resolve_name(f"{function.__module__}:{owner}"), function.__name__)]
    return [
        (module, name)
        for module in [*sys.modules.values()]
        if module.__name__.partition(".")[0] in PACKAGES
        for name, value in vars(module).items()
        if value is seam
    ]


def detect(fault: Fault) -> int | None:
    """Return the number of seeds that were run until *fault* was detected; None if it was not
    detected within its seeds."""
    with plant(fault):
        for number, seed in enumerate(islice(seeds_of(fault.scenario), fault.seeds), 1):
            if any(re.search(fault.report, line) for line in simulate(seed).broken):
                return number
    return None


def _shape(function: Seam) -> tuple[object, ...]:
    if isinstance(function, property):
        assert function.fget
        return ("property", *_shape(function.fget))
    parameters = inspect.signature(function).parameters.values()
    kinds = [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]
    return inspect.iscoroutinefunction(function), *kinds


def _any_priority(value: bytes, kind: msgspec.json.Decoder[E]) -> E:
    """Decode *value* without limits for priorities."""
    event = decode_valid(PRIORITY.sub(b'"priority":0', value), kind)
    priorities = map(int, PRIORITY.findall(value))
    match event:
        case SeedAdded():
            return msgspec.structs.replace(event, priority=next(priorities, 0))
        case UrlsDiscovered() | UrlsAdmitted():
            urls = [
                msgspec.structs.replace(url, priority=next(priorities, 0)) for url in event.urls
            ]
            return msgspec.structs.replace(event, urls=tuple(urls))
    return event


def _beyond_the_end(self: QueueEnds, count: int) -> int:
    return count


def _never_before(self: Partition, row: HostRow) -> bool:
    return False


def _never_announced(outcome: Outcome, retry_after: float) -> bool:
    return False


def _by_its_own_clock(self: CassandraStore, first: int, end: int) -> None:
    pass


def _skip_guard(self: CassandraStore, check: Callable[[], None]) -> None:
    pass


def _one_by_one(self: Partition, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Host]:
    found = {key: self._host_rows.get(*key) for key in keys}
    return {key: Host(row) for key, row in found.items() if row}


def _never_leaves(url: str, target: str) -> bool:
    return False


def _heap_only_grows(self: Schedule[str], item: str, key: float) -> None:
    self._keys[item] = key
    heappush(self._heap, (key, item))


async def _ends_at_once(self: Fetcher, run: OrderRun) -> str:
    try:
        return await self._refusal_now(run)
    except Unavailable as error:
        raise GossamerError(str(error)) from error


def _short_wait(delay: float, returned: int) -> float:
    return 2.0


def _all_if_any(log: Log, limits: Mapping[str, int]) -> dict[tuple[str, str], set[int]]:
    everywhere = {*range(log.partitions)}
    return dict.fromkeys(far_behind(log, limits), everywhere)


def _in_step(
    group: str,
    group_offsets: Mapping[At, GroupOffsets],
    rows: Iterable[CheckpointRow],
    may_be_missing: bool,
) -> Alignment:
    return Alignment(group, {})


def _never_compares(self: Checkpoints, at: At, group_offsets: GroupOffsets) -> None:
    pass


def _dead_letter_newer(record: Record) -> Event | Poison | Newer:
    try:
        return decode(record)
    except (Poison, Newer) as error:
        return Poison(str(error))


def _goes_on(self: Any, at: Any, position: Any, found: int) -> None:
    position.next = found + 1


def _never_missing(
    self: GapCheck, positions: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    return dict(positions)


def _not_if_overloaded(error: Exception) -> bool:
    overloaded = isinstance(error, OverloadedErrorMessage | IsBootstrappingErrorMessage)
    return not overloaded and is_temporary(error)


def _bound_after_a_visit(self: Balance, partition: Partition, site: str, now: float) -> int | None:
    last = self._last_visits.get(site)
    if last is None or not self._is_recent(last, now):
        return None
    return partition.topic_partition(last.sent_to)


def _never_overtaken(row: DocumentRow, at: float) -> bool:
    return False


publish_document = Documents.publish


def _if_first(
    self: Documents, page: PageParsed, version: Version, verdict: Verdict, original: str, now: float
) -> Iterator[Page]:
    published = [*publish_document(self, page, version, verdict, original, now)]
    return (one for one in published if not version.change)


def _all_fit(self: Sequential, decoded: Sequence[Decoded]) -> int:
    return len(decoded)


def _not_read(store: Store, groups: Iterable[Iterable[Key]]) -> None:
    """Make the handlers read row by row."""


def _row_by_row(keys: Iterable[tuple[Sort, ...]], has_buckets: bool) -> Iterator[Sequence[Any]]:
    for *partition, bucket, sort in keys if has_buckets else ():
        yield *partition, [bucket], [sort]
    for *partition, sort in () if has_buckets else keys:
        yield *partition, [sort]


def _noted_at_once(self: Loop, timeout: float = 0.0) -> Blocking[None]:
    while news := (yield partial(self._control.poll, timeout)):
        self._quiesce_request.learn(news)
        self._control_records += news
        timeout = 0.0
        if self._strategy.checkpoints and self._quiesce_request.id and not self._paused_by:
            self._strategy.checkpoints.note_quiesced(self._quiesce_request.id)
            yield partial(self._reader.advance, (), ())


def _without_weight(
    row: HostRow, order: HostCheckedOut, weight: float, open_crawls: Collection[str]
) -> HostRow:
    return _charge(row, order, 1.0, open_crawls)


def _as_if_all_were_open(
    row: HostRow, order: HostCheckedOut, weight: float, open_crawls: Collection[str]
) -> HostRow:
    return _charge(row, order, weight, row.crawls.keys())


def _of_default_crawl(page: Page) -> Headers:
    return _headers_of_page(msgspec.structs.replace(page, crawl=DEFAULT_CRAWL))


def _no_partitions(self: CrawlRemoval) -> Iterator[tuple[Partition, CrawlShare]]:
    return iter(())


begin_erasure, fetch_urgently = Erasing.begin, UrgentRequests.fetch
decide_refusal = refusal
record_refusal = Refusals.record


def _without_tombstones(
    self: Erasing, event: ErasureBegun, now: float
) -> Iterator[Event | Tombstone]:
    return (one for one in begin_erasure(self, event, now) if not isinstance(one, Tombstone))


def _never_excluded(
    settings: FrontierSettings,
    parts: Parts,
    blocklist: Blocklist,
    site: str,
    url: QueuedUrl,
    crawl: CrawlDefined,
    probed: Counter[str],
) -> Exclusion | None:
    return None


def _drops_and_goes_on(self: KafkaReader) -> None:
    self._paused_records, self._is_outdated = [], False
    self._buffer([])


begin_passing = PassingMember.pass_through


def _served_by_its_reader(self: PassingMember) -> bool:
    begin_passing(self)
    if self._consumer is not None:
        self._consumer.poll(0)
        if self._has_joined.is_set():
            self._consumer.close()
            self._consumer = None
    return not self.is_inside


def _subscribe_only(self: PassingMember) -> None:
    self._consumer.subscribe([self._topic], self._note_assignment, _accept_revocation)


def _at_any_time(self: AddressLimits, address: str, slot: int, now: float) -> float:
    return inf


def _send_together(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    return [*messages], []


def _always_has_place(
    self: Workbench, crawl: str, site: Site, number: int, places: Places, coming: int
) -> bool:
    return True


def _without_robots(
    settings: FrontierSettings, last_took: float, robots: RobotsRow | None
) -> float:
    return max(settings.delay, settings.delay_factor * last_took)


def _for_good(pace: Pace, reply: Reply) -> float:
    return 1e9


def _find_nothing(self: Retention) -> list[Job]:
    return []


def _not_if_fenced(order: HostCheckedOut, epoch: int, now: float) -> str:
    return decide_refusal(order, order.epoch, now)


def _covers_nothing(self: AppliedRecords, record: OffsetAndTime) -> bool:
    return False


def _without_statements(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    return ()


def _never_again(self: Refusals, crawls: Iterable[CrawlDefined]) -> Iterator[CrawlDefined]:
    return iter(())


def _as_if_still_parked(
    self: Refusals,
    share: CrawlShare,
    site: Site,
    found: Discovery,
    origin: Origin,
    earlier: int,
    refused: Exclusion,
    crawl: CrawlDefined | None,
    now: float,
    is_again: bool = False,
    at_site: RecordAtSite = NO_RECORD,
) -> None:
    if not is_again or refused.rule in SITE_RULES:
        record_refusal(
            self, share, site, found, origin, earlier, refused, crawl, now, is_again, at_site
        )


def _without_known(
    self: UrgentRequests,
    partition: Partition,
    share: CrawlShare,
    event: FetchRequested,
    now: float,
    record: OffsetAndTime | None = None,
) -> list[UrlsDiscovered]:
    unknown = [url for url in event.urls if not self._urls.get((event.crawl, event.host), url)]
    event = msgspec.structs.replace(event, urls=tuple(unknown))
    return fetch_urgently(self, partition, share, event, now, record)


def _never_waits(share: CrawlShare, row: HostRow, url: str) -> bool:
    return False


def _as_if_present(self: Dedup, event: Event) -> bool:
    return False


def _begun_by_any(self: Lease, fetcher: str, offset: int, committed: int) -> bool:
    return self.begun_by is not None


def _begun_by_none(self: Lease, fetcher: str, offset: int, committed: int) -> bool:
    return False


FAULTS = (
    Fault(
        "priority",
        "The priority of a seed is not limited: its request number exceeds 64 bits.",
        scenario="anything",
        seeds=10,
        report="has no dead letter",
        seams={decode_valid: _any_priority},
    ),
    Fault(
        "torn flush",
        "URLs beyond the end of a queue, left by a torn flush, are ordered.",
        scenario="torn flushes",
        seeds=100,
        report="admitted and has no outcome|did not finish|for URLs that were answered before",
        seams={
            QueueEnds.readable: _beyond_the_end,
            Partition.was_visited_before: _never_before,
        },
        nightly=True,
    ),
    Fault(
        "Retry-After",
        "A host is visited after its backoff, whatever its Retry-After is.",
        scenario="outcomes not consumed",
        seeds=5,
        report="Retry-After of .* broken",
        seams={_has_retry_after: _never_announced},
    ),
    Fault(
        "timestamps",
        "Owners stamp writes by their own clocks, and no flush checks claims.",
        scenario="frontiers' clocks",
        seeds=30,
        report="admitted and has no outcome|did not finish",
        seams={
            CassandraStore.stamp: _by_its_own_clock,
            CassandraStore.guard: _skip_guard,
        },
    ),
    Fault(
        "serial takeover",
        "A frontier that takes over a partition reads its hosts one by one, without a poll.",
        scenario="slow takeovers",
        seeds=5,
        report="was evicted for not polling",
        seams={
            Partition.read_all: _one_by_one,
            read_ahead: _not_read,
        },
    ),
    Fault(
        "robots redirect",
        "A visit follows a redirect of robots.txt to any host.",
        scenario="anything",
        seeds=35,
        report="s between two requests|two requests at once",
        seams={leaves_host: _never_leaves},
    ),
    Fault(
        "growing heap",
        "A heap grows by one entry with every change of a host.",
        scenario="many links",
        seeds=16,
        report="entries for . hosts in memory",
        seams={Schedule.put: _heap_only_grows},
        nightly=True,
    ),
    Fault(
        "short outage",
        "A short outage of the store ends the fetcher's order.",
        scenario="short store outages",
        seeds=100,
        report="was never answered: its lease expired|fetcher-. ended with status",
        seams={Fetcher._refusal: _ends_at_once},
        nightly=True,
    ),
    Fault(
        "hot loop",
        "An order that a fetcher refuses by its clock is repeated every two seconds.",
        scenario="fetchers' clocks",
        seeds=5,
        report="times in a row until",
        seams={returned_order_delay: _short_wait},
    ),
    Fault(
        "long step",
        "A step of any size reads rows one by one, which takes more than a minute for a sitemap.",
        scenario="listings",
        seeds=5,
        report="was evicted for not polling",
        seams={read_ahead: _not_read, Sequential.fits: _all_fit},
    ),
    Fault(
        "small requests",
        "Each request of a step of any size reads one row, which takes seconds for a sitemap "
        "despite read-ahead.",
        scenario="listings",
        seeds=5,
        report="a step of .* took",
        seams={_by_partition: _row_by_row, Sequential.fits: _all_fit},
    ),
    Fault(
        "slow archive",
        "A slow archive stops the hosts of all partitions.",
        scenario="one slow archive",
        seeds=25,
        report="which does not read its pages",
        seams={far_behind: _all_if_any},
        nightly=True,
    ),
    Fault(
        "overloaded",
        "An overloaded node stops the service that sends a request.",
        scenario="short store outages",
        seeds=5,
        report="ended with status 1",
        seams={is_temporary: _not_if_overloaded},
    ),
    Fault(
        "gap",
        "A reader continues after a gap.",
        scenario="records deleted",
        seeds=20,
        report="has skipped records",
        seams={GapCheck.check: _never_missing},
        nightly=True,
    ),
    Fault(
        "not aligned",
        "A group continues at its offsets although an older store was restored.",
        scenario="store restored",
        seeds=20,
        report="admitted and has no outcome|has no verdict|was not archived",
        seams={
            align: _in_step,
            Checkpoints._compare: _never_compares,
        },
        nightly=True,
    ),
    Fault(
        "newer dead letter",
        "A record that only a newer version can read becomes a dead letter.",
        scenario="upgraded",
        seeds=16,
        report="dead letter: ",
        seams={try_decode: _dead_letter_newer},
        nightly=True,
    ),
    Fault(
        "skipped records",
        "A reader does not notice records that its client skips.",
        scenario="records skipped",
        seeds=5,
        report="admitted and has no outcome|did not finish|has no verdict|was not archived",
        seams={KafkaReader._go_back: _goes_on},
        nightly=True,
    ),
    Fault(
        "older document",
        "A visit is published although `pages` has the document of a later visit.",
        scenario="late pages",
        seeds=20,
        report="on `pages` goes back",
        seams={is_overtaken: _never_overtaken},
        nightly=True,
    ),
    Fault(
        "changed pages",
        "A changed page is not published.",
        scenario="revisits",
        seeds=5,
        report="its version is not on `pages`",
        seams={Documents.publish: _if_first},
    ),
    Fault(
        "early quiesce",
        "A service reports that it is quiesced before it has written its last step.",
        scenario="quiesced",
        seeds=25,
        report="no snapshot: services continued|half written|has no outcome|did not finish",
        seams={Loop._read_control: _noted_at_once},
        nightly=True,
    ),
    Fault(
        "two fetchers",
        "A site moves to another partition while it has orders in flight.",
        scenario="wide",
        seeds=15,
        report="had orders at two partitions at once",
        seams={Balance._current_partition: _bound_after_a_visit},
        nightly=True,
    ),
    Fault(
        "equal shares",
        "A host is shared by crawls without their weights.",
        scenario="two crawls",
        seeds=5,
        report="did not follow the weights",
        seams={_charge: _without_weight},
    ),
    Fault(
        "saved visits",
        "A paused crawl saves up its visits to a host.",
        scenario="two crawls",
        seeds=8,
        report="did not follow the weights",
        seams={_charge: _as_if_all_were_open},
        nightly=True,
    ),
    Fault(
        "header of another crawl",
        "A document has the header of the default crawl.",
        scenario="two crawls",
        seeds=5,
        report="has the header crawl: default",
        seams={_headers_of_page: _of_default_crawl},
    ),
    Fault(
        "rows of a removed crawl",
        "The rows of a removed crawl are not dropped.",
        scenario="crawl removed",
        seeds=5,
        report="was removed and has a row in",
        seams={CrawlRemoval._find_partitions: _no_partitions},
    ),
    Fault(
        "documents of a removed crawl",
        "The documents of a removed crawl stay on `pages`.",
        scenario="crawl removed",
        seeds=5,
        report="was removed and .* is published",
        seams={Erasing.begin: _without_tombstones},
        nightly=True,
    ),
    Fault(
        "pages of a removed crawl",
        "Pages of a removed crawl in flight are published.",
        scenario="crawl removed",
        seeds=5,
        report="was removed and .* is published|was removed and .* was published later",
        seams={Dedup._is_dropped: _as_if_present},
        nightly=True,
    ),
    Fault(
        "narrower scope",
        "Queued URLs are visited after the scope of their crawl was changed to exclude them.",
        scenario="crawls changed",
        seeds=30,
        report="requested .* s after: default without",
        seams={find_exclusion: _never_excluded},
        nightly=True,
    ),
    Fault(
        "parked for good",
        "URLs that an earlier scope excluded stay parked.",
        scenario="crawls changed",
        seeds=10,
        report="is still excluded by an earlier scope",
        seams={Refusals.crawls_to_evaluate: _never_again},
        nightly=True,
    ),
    Fault(
        "crowded memory",
        "Hosts that wait for others of their site hold the places of all other hosts.",
        scenario="crowded",
        seeds=10,
        report="waited for .* orders of",
        seams={Workbench.has_place: _always_has_place},
        nightly=True,
    ),
    Fault(
        "Crawl-delay ignored",
        "The delay of a host does not follow its robots.txt.",
        scenario="anything",
        seeds=15,
        report="less than the Crawl-delay",
        seams={courtesy_delay: _without_robots},
    ),
    Fault(
        "old robots.txt",
        "The rules of a robots.txt never expire.",
        scenario="robots changed",
        seeds=5,
        report="is forbidden by robots.txt, since|without the reservation in robots.txt",
        seams={_robots_validity: _for_good},
    ),
    Fault(
        "statements lost",
        "A page lacks the statements about its use in robots.txt.",
        scenario="robots changed",
        seeds=5,
        report="without the reservation in robots.txt",
        seams={limit_statements: _without_statements},
    ),
    Fault(
        "erased bytes",
        "The records of an erased host stay in the WARC files.",
        scenario="erased",
        seeds=5,
        report="was erased and its .* is in",
        seams={Retention._find_jobs: _find_nothing},
    ),
    Fault(
        "fence ignored",
        "A fetcher carries out the orders of a frontier that has lost the partition.",
        scenario="fenced",
        seeds=8,
        report="for an order of an older epoch",
        seams={refusal: _not_if_fenced},
    ),
    Fault(
        "fetched and lost",
        "A reader whose commit was refused drops what it has fetched, and goes on behind it.",
        scenario="commits refused",
        seeds=10,
        report="was admitted and has no outcome|the crawl did not finish",
        seams={KafkaReader._read_again: _drops_and_goes_on},
    ),
    Fault(
        "waiting coordinator",
        "A reader serves its passing member only while it has a member id: an evicted reader waits "
        "for its group, which waits for the passing member.",
        scenario="frozen at start",
        seeds=5,
        report="waited .* s for each other",
        seams={
            PassingMember.pass_through: _served_by_its_reader,
            PassingMember._join_and_leave: _subscribe_only,
        },
    ),
    Fault(
        "visit without its page",
        "The end of a visit may be on the log before its page, which a kill then loses.",
        scenario="killed at send",
        seeds=20,
        report="ended, and its page is lost",
        seams={split_by_order: _send_together},
    ),
    Fault(
        "expired slot",
        "A request is sent although the lease of its slot of the address has expired.",
        scenario="shared address",
        seeds=10,
        report=r"requests at once to 192\.",
        seams={AddressLimits.send_before: _at_any_time},
    ),
    Fault(
        "half of the set",
        "Links are tested against a part of the URL-seen set that is not yet restored.",
        scenario="fetched",
        seeds=60,
        report="for URLs that were answered before",
        seams={ReplicatedSeen.serves: ReplicatedSeen.owns},
        nightly=True,
    ),
    Fault(
        "counted again",
        "Records that are read again are counted again.",
        scenario="fenced",
        seeds=10,
        report="has counted .* are on the log",
        seams={AppliedRecords.covers: _covers_nothing},
    ),
    Fault(
        "released and lost",
        "A URL that is parked at its site, and released while another rule excludes it, is lost.",
        scenario="parked",
        seeds=16,
        report="was parked by .* and is lost",
        seams={Refusals.record: _as_if_still_parked},
    ),
    Fault(
        "known pages",
        "A requested URL is not visited if it is known.",
        scenario="fetched",
        seeds=8,
        report="was requested at .* and was not visited since",
        seams={UrgentRequests.fetch: _without_known},
    ),
    Fault(
        "two entries",
        "A requested URL that waits in another queue is visited twice.",
        scenario="fetched",
        seeds=10,
        report="for URLs that were answered before",
        seams={_may_wait: _never_waits},
    ),
    Fault(
        "released too early",
        "A host is released while the request of the fetcher with its order may still run.",
        scenario="fetchers killed",
        seeds=30,
        report="s between two requests|two requests at once",
        seams={Lease.was_begun_before: _begun_by_any},
        nightly=True,
    ),
    Fault(
        "dead fetcher",
        "The hosts of a dead fetcher wait for their leases.",
        scenario="fetchers killed",
        seeds=5,
        report="was silent for",
        seams={Lease.was_begun_before: _begun_by_none},
    ),
)
