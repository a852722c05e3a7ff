"""Checks of a fleet or a folder: findings, and a remedy for each problem.

Nothing is changed. If a server does not answer, only the checks that need it are left out.
"""

import asyncio
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from gossamer import clock
from gossamer.crawl import definitions_of
from gossamer.errors import BadSettings, GossamerError
from gossamer.events.topics import CONSUMED_TOPICS, DEAD_LETTERS, PAGES_FETCHED, TOPICS, own_topics
from gossamer.extras import require_extra
from gossamer.inspection.basics.figures import alignment, counts, duration, percent, plural, size
from gossamer.inspection.basics.folder import Folder
from gossamer.log import Log
from gossamer.runtime.backends import check_fleet, open_blobs
from gossamer.runtime.checkpoints import Alignment, compare_group
from gossamer.runtime.identity import FILE, check_identity, check_stated_folder
from gossamer.runtime.processor import Processor
from gossamer.services.archive.service import Archive
from gossamer.services.dedup.service import Dedup
from gossamer.services.fetcher.addresses import NAT64_NAME
from gossamer.services.fetcher.http.nameservers import (
    LOOKUP_TIMEOUT,
    DnsFailure,
    DnsUnanswered,
    NameServers,
)
from gossamer.services.fetcher.limitations import LocalFault
from gossamer.services.frontier.service import Frontier
from gossamer.settings import FetcherSettings, Settings
from gossamer.store import Store
from gossamer.web.suffixes import packaged_list, used_list

if TYPE_CHECKING:
    # Imported when a fleet is examined, because its libraries are optional.
    from gossamer.log.kafka.client import Brokers
    from gossamer.log.kafka.log import KafkaLog
    from gossamer.log.kafka.topics import Differences
    from gossamer.store.cassandra.session import Cassandra

SERVER_TIMEOUT = 10.0
"""Seconds for one request to a server."""
MAX_SKEW = 2.0
"""The accepted clock difference of a node in seconds. Write timestamps come from clocks."""
MIN_FREE_BYTES, MIN_FREE_SHARE = 5e9, 0.1
MAX_LISTED = 3
"""Differences that one line names."""
MIN_CASSANDRA_VERSION = 5
"""The first major version with UnifiedCompactionStrategy."""
PROBE = b"gossamer doctor"
BLOBS_REMEDY = "Make blobs.volume writable and readable for all services, or name another volume."
NODE_QUERY = "SELECT to_unix_timestamp(now()), release_version FROM system.local"


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    check: str
    found: str
    remedy: str | None = None
    """The remedy, a sentence; None without a problem."""


def examine_fleet(settings: Settings) -> Iterator[Finding]:
    """Yield the findings about the fleet of *settings* and about this machine."""
    yield check_settings(settings)
    limited = {
        name: server.model_copy(update={"timeout": min(server.timeout, SERVER_TIMEOUT)})
        for name, server in (("kafka", settings.kafka), ("cassandra", settings.cassandra))
    }
    settings = settings.model_copy(update=limited)
    with ExitStack() as stack:
        log = yield from _examine_kafka(settings, stack)
        store = yield from _examine_cassandra(settings, stack)
        if log and store:
            yield from _examine_both(settings, log, store)
    yield run_check("blobs", partial(check_blobs, settings), BLOBS_REMEDY)
    yield check_dns(settings.fetcher)
    for setting, folder in (
        ("archive.folder", settings.archive.folder),
        ("dedup.folder", settings.dedup.folder),
    ):
        yield check_disk(folder, setting)
    yield gossamer_version()


def examine_folder(path: Path, settings: Settings) -> Iterator[Finding]:
    """Yield the findings about the crawl in the folder *path* and about this machine."""
    try:
        opened = Folder(path).open()
        with closing(opened.database):
            yield Finding("folder", f"{path} has a crawl")
            yield check_log_and_store(opened.log, opened.store)
            for group, topics in CONSUMED_TOPICS.items():
                lag = opened.log.lags(group, topics)
                yield Finding("groups", f"{group}: {lag_text(lag)}")
            yield dead_letters(opened.log)
    except GossamerError as error:
        yield Finding("folder", str(error), "Name the folder of a crawl with --data.")
    yield check_dns(settings.fetcher)
    yield check_disk(path, "--data")
    yield gossamer_version()


def check_blobs(settings: Settings) -> Finding:
    """Check that a file can be written to the volume of blobs, read and removed."""
    volume, name = open_blobs(settings), f"doctor/{uuid4().hex}"
    try:
        volume.put_bytes(name, PROBE)
        is_same = volume.read(name) == PROBE
    finally:
        volume.remove(name)
    if not is_same:
        return Finding("blobs", f"{volume.uri(name)} has other bytes than written", BLOBS_REMEDY)
    return Finding("blobs", f"{volume.url} can be written and read")


def check_settings(settings: Settings) -> Finding:
    """Check that the settings name the servers, and that the libraries are installed."""
    try:
        check_fleet(settings)
    except GossamerError as error:
        return Finding("settings", str(error), "Set it in the environment, or in --config FILE.")
    where = f"Kafka at {settings.kafka.servers}, Cassandra at {', '.join(settings.cassandra.hosts)}"
    return Finding("settings", where)


def _examine_kafka(
    settings: Settings, stack: ExitStack
) -> "Generator[Finding, None, KafkaLog | None]":
    """Yield the findings about Kafka; return the log if it can be read."""
    if not settings.kafka.servers or not _has_libraries():
        return None
    from gossamer.log.kafka.client import Brokers
    from gossamer.log.kafka.log import KafkaLog
    from gossamer.log.kafka.topics import Topics

    try:
        differences = Topics(settings.kafka).compare()
    except GossamerError as error:
        remedy = "Check that Kafka runs, or name other brokers in kafka.servers."
        yield failed_check("kafka", error, remedy)
        return None
    yield Finding("kafka", f"the brokers at {settings.kafka.servers} answer")
    brokers = Brokers(settings.kafka)
    yield kafka_version(brokers.old_version)
    yield check_topics(differences)
    try:
        log: KafkaLog = stack.enter_context(closing(KafkaLog(settings.kafka)))
        findings = [*_own_topics(settings, log), *_fleet_groups(settings, log, brokers)]
    except GossamerError as error:
        if not (differences.appliable or differences.refused):
            yield failed_check("groups", error, "Read the logs of the brokers.")
        return None
    yield from findings
    return log


def _own_topics(settings: Settings, log: Log) -> Iterator[Finding]:
    """Yield the finding about the topics that single crawls have for their pages, if any do."""
    from gossamer.log.kafka.topics import Topics

    if own := own_topics(definitions_of(log).values()):
        differences = Topics(settings.kafka, own).compare()
        yield check_topics(differences, len(TOPICS) + len(own))


def _fleet_groups(settings: Settings, log: Log, brokers: "Brokers") -> Iterator[Finding]:
    kafka = settings.kafka
    members = brokers.members(
        [*(kafka.prefix + one for one in CONSUMED_TOPICS), *kafka.further_groups]
    )
    for group, topics in CONSUMED_TOPICS.items():
        lag = log.lags(group, topics)
        yield check_group(group, lag, members[kafka.prefix + group])
    lags = log.lag_by_group([PAGES_FETCHED.name])[PAGES_FETCHED.name]
    for group in kafka.further_groups:
        lag = {PAGES_FETCHED.name: sum(lags[group].values())}
        remedy = "Start it, or remove it from kafka.further_groups: it throttles the fetchers."
        yield check_group(group, lag, members[group], remedy)
    yield dead_letters(log)


def _examine_cassandra(
    settings: Settings, stack: ExitStack
) -> Generator[Finding, None, Store | None]:
    """Yield the findings about Cassandra; return the store if it can be read."""
    if not settings.cassandra.hosts or not _has_libraries():
        return None
    from gossamer.store.cassandra.session import Cassandra
    from gossamer.store.cassandra.store import CassandraStore
    from gossamer.store.cassandra.tables import durability_warnings

    keyspace = settings.cassandra.keyspace
    try:
        nodes = stack.enter_context(closing(Cassandra(settings.cassandra)))
        answers = [*_query_nodes(nodes)]
    except GossamerError as error:
        remedy = "Check that Cassandra runs, or name other nodes in cassandra.hosts."
        yield failed_check("cassandra", error, remedy)
        return None
    yield Finding("cassandra", f"{nodes.where} answers")
    yield cassandra_version({node: release for node, _, release in answers})
    yield check_clocks({node: skew for node, skew, _ in answers})
    try:
        tables = check_tables(nodes, settings)
        yield tables
        for warning in durability_warnings(nodes, keyspace):
            problem, _, remedy = warning.rpartition("; ")
            yield Finding("durability", problem, f"{remedy[:1].upper()}{remedy[1:]}.")
        store = stack.enter_context(closing(CassandraStore(settings.cassandra)))
    except GossamerError as error:
        yield failed_check("tables", error, "Run gossamer store apply.")
        return None
    return None if tables.remedy else store


def _examine_both(settings: Settings, log: Log, store: Store) -> Iterator[Finding]:
    identity = check_log_and_store(log, store)
    yield identity
    if identity.remedy:
        return
    fleet = check_identity(log, store)
    if fleet is None:
        return
    for service in (Frontier, Dedup, Archive):
        yield run_check(
            "checkpoints",
            partial(_check_service, log, store, service),
            "Read the logs of the brokers.",
        )
    for folder in (settings.archive.folder, *_inside(settings.dedup.folder)):
        if (folder / FILE).exists():
            yield check_folder_identity(folder, fleet)


def _check_service(log: Log, store: Store, service: type[Processor]) -> Finding:
    return check_checkpoints(compare_group(log, store, service, is_new=False))


def _inside(folder: Path) -> Sequence[Path]:
    return sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else ()


def _has_libraries() -> bool:
    try:
        require_extra("fleet")
    except GossamerError:
        return False
    return True


def run_check(check: str, examine: Callable[[], Finding], remedy: str) -> Finding:
    """Return the finding of *examine*, or its error as a finding with *remedy*."""
    try:
        return examine()
    except GossamerError as error:
        return failed_check(check, error, remedy)


def failed_check(check: str, error: GossamerError, remedy: str) -> Finding:
    """Return *error* as a finding of *check*; invalid settings have a remedy of their own."""
    if isinstance(error, BadSettings):
        return Finding("settings", str(error), "Change this setting.")
    return Finding(check, str(error), remedy)


def check_topics(differences: "Differences", count: int = len(TOPICS)) -> Finding:
    """Check that none of *count* topics is missing, and that only configuration by an operator
    differs."""
    if problems := [*differences.appliable, *differences.refused]:
        # Each refusal has its own remedy.
        apply = "Run gossamer topics apply." if differences.appliable else ""
        return Finding("topics", join_first(problems), apply or "Follow the remedy of each topic.")
    return Finding("topics", _correct(count, "topic", differences.kept))


def check_tables(nodes: "Cassandra", settings: Settings) -> Finding:
    """Check the tables of the keyspace; raise GossamerError if the keyspace is missing."""
    from gossamer.procedures.tables import tables
    from gossamer.store.cassandra.tables import option_problems, read_tables, table_problems

    keyspace, expected = settings.cassandra.keyspace, tables(settings)
    found = read_tables(nodes, keyspace)
    problems = [problem for row in expected for problem in table_problems(row, found)]
    fixable, kept = option_problems(nodes, keyspace, expected)
    if problems or fixable:
        return Finding("tables", join_first([*problems, *fixable]), "Run gossamer store apply.")
    return Finding("tables", _correct(len(expected), "table", kept))


def _correct(count: int, word: str, kept: Sequence[str]) -> str:
    set_by_operator = f"; set by an operator: {join_first(kept)}" if kept else ""
    return f"{plural(count, word)} correct{set_by_operator}"


def join_first(phrases: Sequence[str]) -> str:
    """Return the first MAX_LISTED of *phrases*, and the number of the rest."""
    more = f"; and {len(phrases) - MAX_LISTED} more" if len(phrases) > MAX_LISTED else ""
    return "; ".join(phrases[:MAX_LISTED]) + more


def check_log_and_store(log: Log, store: Store) -> Finding:
    """Check that *log* and *store* belong to one fleet or folder, and are complete."""
    try:
        fleet = check_identity(log, store)
    except GossamerError as error:
        return Finding(
            "identity", str(error), "Follow the message, or name a log and a store of one fleet."
        )
    if fleet is None:
        return Finding("identity", "no service has run yet: the first one writes an identity")
    return Finding("identity", f"log and store belong together: {fleet}")


def check_folder_identity(folder: Path, fleet: str) -> Finding:
    """Check that *folder* belongs to *fleet*."""
    try:
        check_stated_folder(folder, fleet)
    except GossamerError as error:
        return Finding("identity", str(error), "Name another folder, or remove this one.")
    return Finding("identity", f"{folder} belongs to this fleet")


def check_checkpoints(found: Alignment) -> Finding:
    """Check that log and store agree for one group."""
    remedy = "Stop all services, and run gossamer restore --align."
    is_misaligned = found.repeated or found.deleted or found.lost
    return Finding("checkpoints", alignment(found), remedy if is_misaligned else None)


def lag_text(lag: Mapping[str, int]) -> str:
    """Return the records that a group has not consumed, by topic, in words."""
    return f"lag {counts(lag)}" if any(lag.values()) else "no lag"


def check_group(
    group: str, lag: Mapping[str, int], members: int, remedy: str | None = None
) -> Finding:
    """Check that *group* has members if it has a lag; *lag* is in records by topic."""
    found = f"{group}: {plural(members, 'member')}, {lag_text(lag)}"
    if members or not any(lag.values()):
        return Finding("groups", found)
    return Finding("groups", found, remedy or f"Start the service {group}.")


def dead_letters(log: Log) -> Finding:
    """Return the number of dead letters. They stay after a replay, so they are not a problem."""
    count = log.lag("frontier", DEAD_LETTERS.name)
    hint = ": gossamer dead-letters list gives the reasons" if count else ""
    return Finding("letters", f"{plural(count, 'dead letter')}{hint}")


def _query_nodes(nodes: "Cassandra") -> Iterator[tuple[str, float, str]]:
    """Yield the address, the skew in seconds and the version of each node."""
    nodes.query(NODE_QUERY)  # Connects and prepares before the times are measured.
    before = clock.now()
    for node, ((milliseconds, release),) in nodes.query_each_node(NODE_QUERY):
        yield node, skew(milliseconds / 1000, before, clock.now()), str(release)
        before = clock.now()


def skew(at: float, before: float, after: float) -> float:
    """Return the least difference, in seconds, between another clock and ours.

    The other clock showed *at* while ours was between *before* and *after*. A negative result means
    that the other clock is behind.
    """
    return at - min(max(at, before), after)


def check_clocks(skews: Mapping[str, float]) -> Finding:
    """Check the clocks of the nodes. *skews*: node → seconds ahead of this machine."""
    problems = [
        f"{node} is {duration(abs(by))} {'ahead of' if by > 0 else 'behind'} this machine"
        for node, by in skews.items()
        if abs(by) > MAX_SKEW
    ]
    if problems:
        return Finding("clocks", join_first(problems), "Synchronise all clocks with NTP.")
    nodes = plural(len(skews), "node")
    return Finding("clocks", f"{nodes} within {MAX_SKEW:g} s of this machine")


def kafka_version(old_version: Callable[[], str | None]) -> Finding:
    """Check the version of Kafka. *old_version* returns the version of a broker below 4, if any."""
    try:
        old = old_version()
    except GossamerError as error:
        # Gossamer works without the permission to describe brokers.
        return Finding("versions", f"version of Kafka unknown: {error}")
    if old:
        return Finding("versions", f"Kafka is {old}", "Upgrade it to Kafka 4.")
    return Finding("versions", "Kafka is 4 or later")


def cassandra_version(releases: Mapping[str, str]) -> Finding:
    """Check the version of each node."""
    found = f"Cassandra is {', '.join(sorted({*releases.values()}))}"
    if any(_major(release) < MIN_CASSANDRA_VERSION for release in releases.values()):
        return Finding("versions", found, f"Upgrade it to Cassandra {MIN_CASSANDRA_VERSION}.")
    return Finding("versions", found)


def _major(release: str) -> int:
    first = release.partition(".")[0]
    return int(first) if first.isdecimal() else 0


def gossamer_version() -> Finding:
    """Return the version of Gossamer and of its public suffix list."""
    used, packaged = used_list().version, packaged_list().version
    found = f"Gossamer is {version('gossamer')}, with the suffix list of {packaged}"
    if used != packaged:
        found += f"; this crawl has that of {used}, until gossamer suffixes apply changes it"
    return Finding("versions", found)


def check_dns(settings: FetcherSettings) -> Finding:
    """Check that the name servers answer; "no such name" is an answer."""
    servers = settings.nameserver or "the system's name servers"
    try:
        asyncio.run(_look_up(settings))
    except DnsFailure:
        pass
    except (DnsUnanswered, LocalFault, TimeoutError) as error:
        reason = str(error) or f"no answer within {2 * LOOKUP_TIMEOUT:g} s"
        remedy = "Name one that answers in fetcher.nameserver, or repair /etc/resolv.conf."
        return Finding("dns", f"{servers}: {reason}", remedy)
    return Finding("dns", f"{servers} answer" if not settings.nameserver else f"{servers} answers")


async def _look_up(settings: FetcherSettings) -> None:
    servers = NameServers(settings.nameserver, lambda name: None)
    try:
        await servers.resolve(NAT64_NAME, 2 * LOOKUP_TIMEOUT, bypass_cache=True)
    finally:
        await servers.close()


def check_disk(folder: Path, setting: str) -> Finding:
    """Check the free space of the disk of *folder*, which *setting* names."""
    existing = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    usage = shutil.disk_usage(existing)
    share = usage.free / usage.total if usage.total else 0.0
    found = f"{folder}: {size(usage.free)} free, {percent(share)}"
    if usage.free < MIN_FREE_BYTES or share < MIN_FREE_SHARE:
        return Finding("disk", found, f"Free some space, or name another folder with {setting}.")
    return Finding("disk", found)
