"""The identity of a fleet, or of a laptop's folder: what it was begun with, on each of its parts.

That is an id, the number of partitions, and the version of the public suffix list. The last two
decide where everything about a site lies. It is stated on the `control` topic, in the store, and in
folders on disks; a part that was replaced by an older one, an empty one, or one of another fleet is
found out at the next start, before anything is read or written.

A crawl that is moved keeps its id. `control` then also says where it went, so that nobody continues
it in two places.
"""

from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from gossamer.errors import GossamerError
from gossamer.events import DEFAULT_CRAWL, FleetBegun
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import in_force
from gossamer.store import Row, Store
from gossamer.web.suffixes import SUFFIX_LIST

STORE, TOPICS = "store", "topics"
FILE = "fleet.json"


class IdentityRow(Row, frozen=True):
    """What the fleet was begun with: as the store has it, and as the topics were given it."""

    table = "identity"
    partition_key = "part"

    part: str
    """`store`, or `topics` once the event `fleet_begun` is on `control`."""
    id: str
    """Of the fleet, the same in all of its parts."""
    partitions: int
    """Of each topic that is keyed by site."""
    suffix_list: str
    """The version of the public suffix list."""


def identify(log: Log, store: Store, now: float) -> str:
    """State the identity where there is none yet, and return the id.

    Raise GossamerError unless *log* and *store* are of one fleet, and complete.
    """
    rows = store.table(IdentityRow)
    # In this order: another process may be the first one at the same time.
    was_stated = rows.get(TOPICS) is not None
    stated = check_topics(log)
    _compare(log, rows.get(STORE), stated, was_stated)
    fresh = IdentityRow(STORE, uuid4().hex, log.partitions, SUFFIX_LIST)
    mine = rows.put_if_absent(fresh)
    store.flush()
    _compare(log, mine, stated, was_stated)
    if stated is None:
        log.append([encode(begun(mine, now))])
    if not was_stated:
        rows.put(IdentityRow(TOPICS, mine.id, mine.partitions, mine.suffix_list))
        store.flush()
    return mine.id


def check_identity(log: Log, store: Store) -> str | None:
    """Return the id of the fleet, None if it has not begun; state nothing.

    Raise GossamerError unless *log* and *store* are of one fleet, and complete.
    """
    rows = store.table(IdentityRow)
    # In this order: the topics are stated after the store, and recorded there last.
    was_stated = rows.get(TOPICS) is not None
    stated = check_topics(log)
    mine = rows.get(STORE)
    _compare(log, mine, stated, was_stated)
    return mine.id if mine else None


def _compare(
    log: Log, mine: IdentityRow | None, stated: FleetBegun | None, was_stated: bool
) -> None:
    """Raise GossamerError unless *mine*, of the store, and *stated*, on the topics, agree.

    *was_stated*: the store knows that the topics had it.
    """
    if mine is None:
        if stated:
            raise GossamerError(
                f"the topics are of the fleet {stated.id}, and the store has no fleet. Name the "
                "keyspace of that fleet; if it is lost, gossamer restore --align begins a new "
                "store, which learns what the topics still have"
            )
        return
    _check_list("store", mine.suffix_list)
    if mine.partitions != log.partitions:
        raise _resized(mine.partitions, log.partitions)
    if stated is None:
        if was_stated:
            raise GossamerError(
                f"the topic control of the fleet {mine.id} is lost, and with it the crawl's "
                "definition and the blocklist: gossamer restore --align writes it from the store"
            )
    elif stated.id != mine.id:
        raise GossamerError(
            f"the topics are of the fleet {stated.id}, and the store of the fleet {mine.id}: see "
            "that kafka.prefix and cassandra.keyspace name parts of the same fleet"
        )


def adopt(log: Log, store: Store) -> str:
    """Have a new *store* be of the fleet of *log*; return what was done.

    Raise GossamerError if the log has no fleet either.
    """
    if (stated := check_topics(log)) is None:
        raise GossamerError("neither the topics nor the store have a fleet: nothing to restore")
    if stated.partitions != log.partitions:
        raise _resized(stated.partitions, log.partitions)
    rows = store.table(IdentityRow)
    for row in states(stated):
        rows.put(row)
    store.flush()
    return f"store: is of the fleet {stated.id} now"


def begun(row: IdentityRow, now: float) -> FleetBegun:
    """Return the event that states the identity of *row*."""
    return FleetBegun(at=now, id=row.id, partitions=row.partitions, suffix_list=row.suffix_list)


def states(event: FleetBegun) -> tuple[IdentityRow, IdentityRow]:
    """Return the rows of the fleet that *event* states: as the store has it, and as the topics."""
    store, topics = (
        IdentityRow(part, event.id, event.partitions, event.suffix_list) for part in (STORE, TOPICS)
    )
    return store, topics


def _resized(began: int, now: int) -> GossamerError:
    return GossamerError(
        f"this fleet was begun with {began} partitions of each topic, and the topics have {now} "
        "now: sites would move to other partitions, away from what is known of them"
    )


def set_partitions(log: Log, store: Store, now: float) -> None:
    """State that the fleet has as many partitions as *log* from now on."""
    table = store.table(IdentityRow)
    rows = [row for part in (STORE, TOPICS) if (row := table.get(part))]
    changed = [replace(row, partitions=log.partitions) for row in rows]
    # The store last: as long as it has the former number, the command that resizes goes on.
    log.append([encode(begun(row, now)) for row in changed if row.part == STORE])
    for row in changed:
        table.put(row)
    store.flush()


def check_topics(log: Log) -> FleetBegun | None:
    """Return what *log* says of its fleet, None if that has not begun.

    Raise GossamerError for another suffix list, and for a crawl that is not here: it was moved
    away, or its move to here has not ended.
    """
    event = stated_in(log)
    if event is None:
        return None
    _check_list("topics", event.suffix_list)
    if event.moved_to:
        raise GossamerError(
            f"this crawl was moved to {event.moved_to}: go on there, or bring it back with "
            "gossamer move"
        )
    if event.moving_from:
        raise GossamerError(
            f"the move of this crawl from {event.moving_from} has not ended: run gossamer move "
            "again"
        )
    return event


def stated_in(log: Log) -> FleetBegun | None:
    """Return what *log* says of its fleet, whatever that is; None if it says nothing."""
    event = in_force(log).get(f"fleet_begun/{DEFAULT_CRAWL}")
    return event if isinstance(event, FleetBegun) else None


def _check_list(where: str, version: str) -> None:
    if version != SUFFIX_LIST:
        raise GossamerError(
            f"the {where} of this fleet were filled by the public suffix list of {version}, and "
            f"this version of Gossamer has that of {SUFFIX_LIST}: sites would move to other "
            "partitions, away from what is known of them. Go on with the version of Gossamer that "
            "has the older list, or begin anew, in another folder or fleet"
        )


class _Stated(msgspec.Struct):
    fleet: str


def check_folder(folder: Path, fleet: str) -> None:
    """State in *folder* that it is of *fleet*; raise GossamerError if it is of another one."""
    file = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_bytes(msgspec.json.encode(_Stated(fleet)))
    except OSError as error:
        raise _unusable(file, error) from error
    check_stated_folder(folder, fleet)


def check_stated_folder(folder: Path, fleet: str) -> None:
    """Raise GossamerError if *folder* says that it is of another fleet than *fleet*."""
    file = folder / FILE
    try:
        if not file.exists():
            return
        found = msgspec.json.decode(file.read_bytes(), type=_Stated).fleet
    except (OSError, msgspec.MsgspecError) as error:
        raise _unusable(file, error) from error
    if found != fleet:
        raise GossamerError(
            f"{folder} is of the fleet {found}, and the servers are of the fleet {fleet}: name "
            "another folder, or remove this one if its fleet is no more"
        )


def _unusable(file: Path, error: Exception) -> GossamerError:
    return GossamerError(f"{file} cannot be read or written: {error}")
