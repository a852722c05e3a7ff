"""The identity of a fleet, or of a standalone crawl's folder. Each of its parts states it.

It consists of an id, the number of partitions, and the Public Suffix List. The last two determine
where all data of a site is stored. The list is the one of the release that began the crawl; later
releases continue to use it. The identity is stated on the `control` topic, in the store, and in
folders on disks. If a part was replaced by an older or an empty one, or by one of another fleet,
the next start detects this before anything is read or written.

A moved crawl keeps its id. `control` then also states the new location, so that nobody continues
the crawl in two places.
"""

from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from gossamer.errors import GossamerError
from gossamer.events import FLEET, FleetBegun
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import newest_events
from gossamer.store import Row, Store
from gossamer.web.suffixes import SuffixList, packaged_list, use_list, used_list

STORE, TOPICS = "store", "topics"
FILE = "fleet.json"
LIST = "the suffix list of "
"""Before the version of the list that a crawl moves from, while its hosts get other sites."""


class IdentityRow(Row, frozen=True):
    """The identity of the fleet in the store, and as it was stated on the topics."""

    table = "identity"
    partition_key = "part"
    about = ()

    part: str
    """`store`, or `topics` once the event `fleet_begun` is on `control`."""
    id: str
    """The id of the fleet, the same in all of its parts."""
    partitions: int
    """Number of partitions of each topic that is keyed by site."""
    suffix_list: str
    """The publication time of the Public Suffix List."""
    suffixes: bytes = b""
    """The rules of the list, one a line, compressed by zlib."""


def identify(log: Log, store: Store, now: float) -> str:
    """State the identity of a new fleet, and return the id.

    Raise GossamerError unless *log* and *store* belong to the same fleet and are complete.
    """
    rows = store.table(IdentityRow)
    # Another process may start the fleet at the same time. It writes the topics before it records
    # this in the store, so the reads in the opposite order never find a record without the topics.
    was_stated = rows.get(TOPICS) is not None
    stated = check_topics(log)
    _compare(log, rows.get(STORE), stated, was_stated)
    begun_with = packaged_list()
    fresh = IdentityRow(STORE, uuid4().hex, log.partitions, begun_with.version, begun_with.packed)
    mine = rows.put_if_absent(fresh)
    store.flush()
    _compare(log, mine, stated, was_stated)
    if stated is None:
        log.append([encode(fleet_event(mine, now))])
    if not was_stated:
        rows.put(replace(mine, part=TOPICS))
        store.flush()
    return mine.id


def check_identity(log: Log, store: Store) -> str | None:
    """Return the id of the fleet, or None if it has not begun, without stating it.

    Raise GossamerError unless *log* and *store* belong to the same fleet and are complete.
    """
    rows = store.table(IdentityRow)
    # In the order of `identify`, which writes the topics before it records this in the store.
    was_stated = rows.get(TOPICS) is not None
    stated = check_topics(log)
    mine = rows.get(STORE)
    _compare(log, mine, stated, was_stated)
    return mine.id if mine else None


def _compare(
    log: Log, mine: IdentityRow | None, stated: FleetBegun | None, was_stated: bool
) -> None:
    """Raise GossamerError unless *mine*, of the store, and *stated*, on the topics, agree.

    *was_stated*: whether the store has recorded that the topics state the identity.
    """
    if mine is None:
        if stated:
            raise GossamerError(
                f"the topics belong to the fleet {stated.id}, and the store has no fleet: set "
                "cassandra.keyspace to the keyspace of that fleet; if it is lost, run gossamer "
                "restore --align, which starts a new store from the remaining records"
            )
        return
    _use(SuffixList(mine.suffix_list, mine.suffixes))
    if mine.partitions != log.partitions:
        raise _partition_mismatch(mine.partitions, log.partitions)
    if stated is None:
        if was_stated:
            raise GossamerError(
                f"the topic control of the fleet {mine.id} is lost, with the crawl's definition "
                "and the blocklist: run gossamer restore --align, which restores it from the store"
            )
    elif stated.id != mine.id:
        raise GossamerError(
            f"the topics belong to the fleet {stated.id}, and the store to the fleet {mine.id}: "
            "check kafka.prefix and cassandra.keyspace"
        )


def adopt(log: Log, store: Store) -> str:
    """State the fleet of *log* in a new *store*. Return a sentence about it.

    Raise GossamerError if the log has no fleet either.
    """
    if (stated := check_topics(log)) is None:
        raise GossamerError("neither the topics nor the store have a fleet: nothing to restore")
    if stated.partitions != log.partitions:
        raise _partition_mismatch(stated.partitions, log.partitions)
    rows = store.table(IdentityRow)
    for row in identity_rows(stated):
        rows.put(row)
    store.flush()
    return f"store: belongs to the fleet {stated.id} now"


def fleet_event(row: IdentityRow, now: float) -> FleetBegun:
    """Return the event with the identity of *row*."""
    return FleetBegun(
        at=now,
        id=row.id,
        partitions=row.partitions,
        suffix_list=row.suffix_list,
        suffixes=row.suffixes,
    )


def identity_rows(event: FleetBegun) -> tuple[IdentityRow, IdentityRow]:
    """Return the rows with the identity of *event*: for the store and for the topics."""
    store, topics = (
        IdentityRow(part, event.id, event.partitions, event.suffix_list, event.suffixes)
        for part in (STORE, TOPICS)
    )
    return store, topics


def _partition_mismatch(began: int, now: int) -> GossamerError:
    return GossamerError(
        f"this fleet was started with {began} partitions of each topic, and the topics have {now} "
        "now: sites would be in other partitions than their data"
    )


def set_partitions(log: Log, store: Store, now: float) -> None:
    """State that the fleet now has the number of partitions of *log*."""
    table = store.table(IdentityRow)
    rows = [row for part in (STORE, TOPICS) if (row := table.get(part))]
    changed = [replace(row, partitions=log.partitions) for row in rows]
    # The store comes last: while it has the former number, a repeated resize continues.
    log.append([encode(fleet_event(row, now)) for row in changed if row.part == STORE])
    for row in changed:
        table.put(row)
    store.flush()


def check_topics(log: Log) -> FleetBegun | None:
    """Return the identity that *log* states, or None if the fleet has not begun. This process uses
    its suffix list from now on.

    Raise GossamerError for a crawl that was moved away, and for an unfinished move.
    """
    event = stated_identity(log)
    if event is None:
        return None
    _use(SuffixList(event.suffix_list, event.suffixes))
    if event.moved_to:
        raise GossamerError(
            f"this crawl was moved to {event.moved_to}: continue it there, or move it back with "
            "gossamer move"
        )
    if event.moving_from:
        command = "suffixes apply" if event.moving_from.startswith(LIST) else "move"
        raise GossamerError(
            f"the move of this crawl from {event.moving_from} is not finished: run gossamer "
            f"{command} again"
        )
    return event


def stated_identity(log: Log) -> FleetBegun | None:
    """Return the identity that *log* states, valid or not, or None."""
    event = newest_events(log).get(f"fleet_begun/{FLEET}")
    return event if isinstance(event, FleetBegun) else None


def _use(found: SuffixList) -> None:
    """Use the suffix list of the crawl in this process."""
    if not found.packed and found.version == packaged_list().version:
        found = packaged_list()
    if not found.packed:
        raise GossamerError(
            f"this crawl uses the Public Suffix List of {found.version}, whose rules are lost: "
            "continue with the release of Gossamer that has this list"
        )
    if found != used_list():
        use_list(found)


class _Stated(msgspec.Struct):
    fleet: str


def check_folder(folder: Path, fleet: str) -> None:
    """State in *folder* that it belongs to *fleet*. Raise GossamerError if it belongs to another
    one."""
    file = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_bytes(msgspec.json.encode(_Stated(fleet)))
    except OSError as error:
        raise _unusable(file, error) from error
    check_stated_folder(folder, fleet)


def check_stated_folder(folder: Path, fleet: str) -> None:
    """Raise GossamerError if *folder* states that it belongs to another fleet than *fleet*."""
    file = folder / FILE
    try:
        if not file.exists():
            return
        found = msgspec.json.decode(file.read_bytes(), type=_Stated).fleet
    except (OSError, msgspec.MsgspecError) as error:
        raise _unusable(file, error) from error
    if found != fleet:
        raise GossamerError(
            f"{folder} belongs to the fleet {found}, and the servers to the fleet {fleet}: use "
            "another folder, or remove this one if its fleet does not exist any more"
        )


def _unusable(file: Path, error: Exception) -> GossamerError:
    return GossamerError(f"{file} cannot be read or written: {error}")
