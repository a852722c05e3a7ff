"""Checks of a fleet or a folder: the findings, and a remedy for each problem.

Nothing is changed. A server that is away hides only what it alone could tell.
"""

import asyncio
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from console.figures import alignment, counts, duration, percent, plural, size
from gossamer import clock
from gossamer.errors import BadSettings, GossamerError
from gossamer.events.topics import DEAD_LETTERS, PAGES_FETCHED, TOPICS, Keep
from gossamer.extras import require_extra
from gossamer.log import Log
from gossamer.runtime.alignment import Alignment, compare_group
from gossamer.runtime.backends import check_fleet
from gossamer.runtime.identity import FILE, check_identity, check_stated_folder
from gossamer.runtime.processor import Processor
from gossamer.settings import FetcherSettings, Settings
from gossamer.store import Store
from gossamer.web.suffixes import SUFFIX_LIST
from services.archive.service import Archive
from services.dedup.service import Dedup
from services.fetcher.addresses import NAT64_NAME
from services.fetcher.http.nameservers import LOOKUP_TIMEOUT, DnsFailure, DnsUnanswered, NameServers
from services.fetcher.limitations import LocalFault
from services.frontier.service import Frontier
from standalone.folder import Folder

if TYPE_CHECKING:
    # Imported when a fleet is examined: its libraries may be missing.
    from gossamer.log.kafka.brokers import Brokers
    from gossamer.log.kafka.log import KafkaLog
    from gossamer.log.kafka.topics import Differences
    from gossamer.store.cassandra.session import Cassandra

PATIENCE = 10.0
"""The most seconds that a request to a server may take."""
MAX_SKEW = 2.0
"""Seconds by which the clock of a node may differ: write timestamps are taken from clocks."""
MIN_FREE_BYTES, MIN_FREE_SHARE = 5e9, 0.1
LISTED = 3
"""The most differences that one line names."""
OLDEST_CASSANDRA = 5
"""The first major version that has UnifiedCompactionStrategy."""
NODE = "SELECT to_unix_timestamp(now()), release_version FROM system.local"


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    found: str
    remedy: str | None = None
    """What cures it, a sentence; None: all is well."""


def examine_fleet(settings: Settings) -> Iterator[Finding]:
    """Yield the findings about the fleet of *settings* and about this machine."""
    yield check_settings(settings)
    limited = {
        name: server.model_copy(update={"timeout": min(server.timeout, PATIENCE)})
        for name, server in (("kafka", settings.kafka), ("cassandra", settings.cassandra))
    }
    settings = settings.model_copy(update=limited)
    with ExitStack() as opened:
        log = yield from _examine_kafka(settings, opened)
        store = yield from _examine_cassandra(settings, opened)
        if log and store:
            yield from _examine_both(settings, log, store)
    yield check_dns(settings.fetcher)
    for setting, folder in (
        ("archive.folder", settings.archive.folder),
        ("dedup.folder", settings.dedup.folder),
    ):
        yield check_disk(folder, setting)
    yield own_version()


def examine_folder(path: Path, settings: Settings) -> Iterator[Finding]:
    """Yield the findings about the crawl in the folder *path* and about this machine."""
    try:
        opened = Folder(path).open()
        with closing(opened.database):
            yield Finding("folder", f"{path} holds a crawl")
            yield check_parts(opened.log, opened.store)
            for group, topics in groups().items():
                lag = {topic: opened.log.lag(group, topic) for topic in topics}
                yield Finding("groups", f"{group}: unread: {counts(lag)}")
            yield dead_letters(opened.log)
    except GossamerError as error:
        yield Finding("folder", str(error), "Name the folder of a crawl with --data.")
    yield check_dns(settings.fetcher)
    yield check_disk(path, "--data")
    yield own_version()


def check_settings(settings: Settings) -> Finding:
    """Check that the servers of a fleet are named, and that its libraries are here."""
    try:
        check_fleet(settings)
    except GossamerError as error:
        return Finding("settings", str(error), "Set it in the environment, or in --config FILE.")
    where = f"Kafka at {settings.kafka.servers}, Cassandra at {', '.join(settings.cassandra.hosts)}"
    return Finding("settings", where)


def _examine_kafka(
    settings: Settings, opened: ExitStack
) -> "Generator[Finding, None, KafkaLog | None]":
    """Yield what Kafka alone can tell; return the log if it can be read."""
    if not settings.kafka.servers or not _has_libraries():
        return None
    from gossamer.log.kafka.brokers import Brokers
    from gossamer.log.kafka.log import KafkaLog
    from gossamer.log.kafka.topics import Topics

    try:
        differences = Topics(settings.kafka).compare()
    except GossamerError as error:
        remedy = "See that it runs, or name others in kafka.servers."
        yield refused("kafka", error, remedy)
        return None
    yield Finding("kafka", f"the brokers at {settings.kafka.servers} answer")
    brokers = Brokers(settings.kafka)
    yield kafka_version(brokers.old_version)
    yield check_topics(differences)
    try:
        log: KafkaLog = opened.enter_context(closing(KafkaLog(settings.kafka)))
        found = [*_groups_of_fleet(settings, log, brokers)]
    except GossamerError as error:
        if not (differences.appliable or differences.refused):
            yield refused("groups", error, "See the brokers' logs.")
        return None
    yield from found
    return log


def _groups_of_fleet(settings: Settings, log: Log, brokers: "Brokers") -> Iterator[Finding]:
    kafka = settings.kafka
    members = brokers.members([*(kafka.prefix + one for one in groups()), *kafka.further_groups])
    for group, topics in groups().items():
        lag = {topic: log.lag(group, topic) for topic in topics}
        yield check_group(group, lag, members[kafka.prefix + group])
    lags = log.lag_by_group(PAGES_FETCHED.name)
    for group in kafka.further_groups:
        lag = {PAGES_FETCHED.name: sum(lags[group].values())}
        remedy = "Start it, or take it out of kafka.further_groups: it holds the fetchers up."
        yield check_group(group, lag, members[group], remedy)
    yield dead_letters(log)


def _examine_cassandra(
    settings: Settings, opened: ExitStack
) -> Generator[Finding, None, Store | None]:
    """Yield what Cassandra alone can tell; return the store if it can be read."""
    if not settings.cassandra.hosts or not _has_libraries():
        return None
    from gossamer.store.cassandra.session import Cassandra
    from gossamer.store.cassandra.store import CassandraStore
    from gossamer.store.cassandra.tables import durability_warnings

    keyspace = settings.cassandra.keyspace
    try:
        nodes = opened.enter_context(closing(Cassandra(settings.cassandra)))
        asked = [*_ask_nodes(nodes)]
    except GossamerError as error:
        remedy = "See that it runs, or name other nodes in cassandra.hosts."
        yield refused("cassandra", error, remedy)
        return None
    yield Finding("cassandra", f"{nodes.where} answers")
    yield cassandra_version({node: release for node, _, release in asked})
    yield check_clocks({node: skew for node, skew, _ in asked})
    try:
        tables = check_tables(nodes, settings)
        yield tables
        for warning in durability_warnings(nodes, keyspace):
            what, _, remedy = warning.rpartition("; ")
            yield Finding("durability", what, f"{remedy[:1].upper()}{remedy[1:]}.")
        store = opened.enter_context(closing(CassandraStore(settings.cassandra)))
    except GossamerError as error:
        yield refused("tables", error, "Run gossamer store apply.")
        return None
    return None if tables.remedy else store


def _examine_both(settings: Settings, log: Log, store: Store) -> Iterator[Finding]:
    parts = check_parts(log, store)
    yield parts
    if parts.remedy:
        return
    fleet = check_identity(log, store)
    if fleet is None:
        return
    for service in (Frontier, Dedup, Archive):
        yield tried(
            "positions", partial(_check_service, log, store, service), "See the brokers' logs."
        )
    for folder in (settings.archive.folder, *_inside(settings.dedup.folder)):
        if (folder / FILE).exists():
            yield check_folder_identity(folder, fleet)


def _check_service(log: Log, store: Store, service: type[Processor]) -> Finding:
    return check_positions(compare_group(log, store, service, is_new=False))


def _inside(folder: Path) -> Sequence[Path]:
    return sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else ()


def _has_libraries() -> bool:
    try:
        require_extra("fleet")
    except GossamerError:
        return False
    return True


def tried(check: str, examine: Callable[[], Finding], remedy: str) -> Finding:
    """Return what *examine* finds, or the error that it raises as a finding with *remedy*."""
    try:
        return examine()
    except GossamerError as error:
        return refused(check, error, remedy)


def refused(check: str, error: GossamerError, remedy: str) -> Finding:
    """Return *error* of a check as a finding; settings that make no sense have their own remedy."""
    if isinstance(error, BadSettings):
        return Finding("settings", str(error), "Change this setting.")
    return Finding(check, str(error), remedy)


def groups() -> dict[str, list[str]]:
    """Return the topics that each service must read, by its group."""
    found: dict[str, list[str]] = {}
    for topic in TOPICS.values():
        if topic.keep is Keep.UNTIL_READ:
            for group in topic.consumers:
                found.setdefault(group, []).append(topic.name)
    return found


def check_topics(differences: "Differences") -> Finding:
    """Check that nothing is missing and nothing differs but what an operator may change."""
    if wrong := [*differences.appliable, *differences.refused]:
        # Each refusal names its own remedy.
        apply = "Run gossamer topics apply." if differences.appliable else ""
        return Finding("topics", listed(wrong), apply or "Do as said for each topic.")
    return Finding("topics", _in_order(len(TOPICS), "topic", differences.kept))


def check_tables(nodes: "Cassandra", settings: Settings) -> Finding:
    """Check the tables of the keyspace; raise GossamerError if that is missing."""
    from console.tables import tables
    from gossamer.store.cassandra.tables import option_problems, read_tables, table_problems

    keyspace, wanted = settings.cassandra.keyspace, tables(settings)
    found = read_tables(nodes, keyspace)
    wrong = [problem for row in wanted for problem in table_problems(row, found)]
    fixed, kept = option_problems(nodes, keyspace, wanted)
    if wrong or fixed:
        return Finding("tables", listed([*wrong, *fixed]), "Run gossamer store apply.")
    return Finding("tables", _in_order(len(wanted), "table", kept))


def _in_order(count: int, what: str, kept: Sequence[str]) -> str:
    set_by_operator = f"; set by an operator: {listed(kept)}" if kept else ""
    return f"{plural(count, what)} as they should be{set_by_operator}"


def listed(phrases: Sequence[str]) -> str:
    """Return the first of *phrases*, and how many more there are."""
    more = f"; and {len(phrases) - LISTED} more" if len(phrases) > LISTED else ""
    return "; ".join(phrases[:LISTED]) + more


def check_parts(log: Log, store: Store) -> Finding:
    """Check that *log* and *store* are of one fleet or folder, and complete."""
    try:
        fleet = check_identity(log, store)
    except GossamerError as error:
        return Finding(
            "identity", str(error), "Do as said, or name a log and a store of one fleet."
        )
    if fleet is None:
        return Finding("identity", "nothing has begun yet: the first service states an identity")
    return Finding("identity", f"log and store belong together: {fleet}")


def check_folder_identity(folder: Path, fleet: str) -> Finding:
    """Check that *folder* is of *fleet*."""
    try:
        check_stated_folder(folder, fleet)
    except GossamerError as error:
        return Finding("identity", str(error), "Name another folder, or remove this one.")
    return Finding("identity", f"{folder} is of this fleet")


def check_positions(found: Alignment) -> Finding:
    """Check that log and store are in step for one group."""
    remedy = "Stop all services, and run gossamer restore --align."
    is_wrong = found.repeated or found.deleted or found.lost
    return Finding("positions", alignment(found), remedy if is_wrong else None)


def check_group(
    group: str, lag: Mapping[str, int], members: int, remedy: str | None = None
) -> Finding:
    """Check that somebody reads what waits for *group*; *lag* is in records by topic."""
    found = f"{group}: {plural(members, 'member')}; unread: {counts(lag)}"
    if members or not any(lag.values()):
        return Finding("groups", found)
    return Finding("groups", found, remedy or f"Start the service {group}.")


def dead_letters(log: Log) -> Finding:
    """Return how many dead letters there are; they stay after a replay, so that none is wrong."""
    count = log.lag("frontier", DEAD_LETTERS.name)
    hint = ": gossamer dead-letters list says why" if count else ""
    return Finding("letters", f"{plural(count, 'dead letter')}{hint}")


def _ask_nodes(nodes: "Cassandra") -> Iterator[tuple[str, float, str]]:
    """Yield the address, the skew in seconds and the version of each node."""
    nodes.query(NODE)  # Connects and prepares, so that this is not in the times.
    before = clock.now()
    for node, ((milliseconds, release),) in nodes.query_each_node(NODE):
        yield node, skew(milliseconds / 1000, before, clock.now()), str(release)
        before = clock.now()


def skew(at: float, before: float, after: float) -> float:
    """Return how many seconds the clock that read *at*, between *before* and *after* by ours, is
    ahead of ours at least; negative: behind."""
    return at - min(max(at, before), after)


def check_clocks(skews: Mapping[str, float]) -> Finding:
    """Check by how many seconds the clock of each node differs from this machine's."""
    wrong = [
        f"{node} is {duration(abs(by))} {'ahead of' if by > 0 else 'behind'} this machine"
        for node, by in skews.items()
        if abs(by) > MAX_SKEW
    ]
    if wrong:
        return Finding("clocks", listed(wrong), "Synchronise all clocks with NTP.")
    nodes = plural(len(skews), "node")
    return Finding("clocks", f"{nodes} within {MAX_SKEW:g} s of this machine")


def kafka_version(ask: Callable[[], str | None]) -> Finding:
    """Check the version of Kafka. *ask* returns the version of a broker older than 4, else None."""
    try:
        old = ask()
    except GossamerError as error:
        # Gossamer works without the right to describe brokers.
        return Finding("versions", f"Kafka's is not known: {error}")
    if old:
        return Finding("versions", f"Kafka is {old}", "Upgrade it to Kafka 4.")
    return Finding("versions", "Kafka is 4 or later")


def cassandra_version(releases: Mapping[str, str]) -> Finding:
    """Check the version of each node."""
    found = f"Cassandra is {', '.join(sorted({*releases.values()}))}"
    if any(_major(release) < OLDEST_CASSANDRA for release in releases.values()):
        return Finding("versions", found, f"Upgrade it to Cassandra {OLDEST_CASSANDRA}.")
    return Finding("versions", found)


def _major(release: str) -> int:
    first = release.partition(".")[0]
    return int(first) if first.isdecimal() else 0


def own_version() -> Finding:
    """Return the version of Gossamer and of its public suffix list."""
    return Finding(
        "versions", f"Gossamer is {version('gossamer')}, its suffix list of {SUFFIX_LIST}"
    )


def check_dns(settings: FetcherSettings) -> Finding:
    """Check that the name servers answer; that a name does not exist is an answer."""
    who = settings.nameserver or "the system's name servers"
    try:
        asyncio.run(_look_up(settings))
    except DnsFailure:
        pass
    except (DnsUnanswered, LocalFault, TimeoutError) as error:
        why = str(error) or f"no answer within {2 * LOOKUP_TIMEOUT:g} s"
        remedy = "Name one that answers in fetcher.nameserver, or mend /etc/resolv.conf."
        return Finding("dns", f"{who}: {why}", remedy)
    return Finding("dns", f"{who}: names are answered")


async def _look_up(settings: FetcherSettings) -> None:
    servers = NameServers(settings.nameserver, lambda name: None)
    try:
        await servers.resolve(NAT64_NAME, 2 * LOOKUP_TIMEOUT, bypass_cache=True)
    finally:
        await servers.close()


def check_disk(folder: Path, setting: str) -> Finding:
    """Check the free space where *folder* lies or would lie; *setting* names it."""
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    usage = shutil.disk_usage(there)
    share = usage.free / usage.total if usage.total else 0.0
    found = f"{folder}: {size(usage.free)} free, {percent(share)}"
    if usage.free < MIN_FREE_BYTES or share < MIN_FREE_SHARE:
        return Finding("disk", found, f"Make room, or name another folder with {setting}.")
    return Finding("disk", found)


def well(findings: Iterable[Finding]) -> bool:
    """Return whether nothing has to be done."""
    return not any(one.remedy for one in findings)
