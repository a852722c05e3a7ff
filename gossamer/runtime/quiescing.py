"""Quiesces a fleet: no service writes to the store for a while, so that copies are consistent.

Cassandra's nodes copy one table after another. A copy that is made while services write may contain
the writes of a step in one table and not in another: a URL's plan without its entry in the queue,
or a checkpoint behind records without their rows.

**Procedure.** A command appends `fleet_quiesced` to the control topic. A member that stores rows
finishes its step, and *then* records in the rows of its partitions (`CheckpointRow.quiesced`) that
it writes no more. Once all rows contain this note, the command starts the copy. Before it declares
the copy consistent, the command reads the notes again. If they are unchanged, nobody has written,
because a member withdraws its notes before it writes again.

**A crash of a member during a snapshot.** If the member has written its notes, no other member
claims its partitions before the end of the snapshot. Otherwise another member claims them, writes
the notes, and pauses.

**A crash of the command.** The event contains a time at which all members continue.

**Fetchers and parsers continue.** Their results stay on the log until members handle them again.
They write only leases of addresses to the store, and these have expired when a copy is restored.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from msgspec.structs import replace

from gossamer import clock
from gossamer.errors import GossamerError, Poison
from gossamer.events import FleetQuiesced
from gossamer.log import Log, Record
from gossamer.log.codec import decode, encode
from gossamer.log.control import ControlTail
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.store import Store

QUIESCE_TIMEOUT = 60.0
"""Maximum seconds until all members have written their notes. A step takes a second, and the
partitions of a crashed member are reassigned after `kafka.session`."""
POLL_INTERVAL = 0.1
"""Seconds between two reads of the notes."""


class QuiesceRequest:
    """The newest request to quiesce the fleet. The end of one snapshot does not end another one."""

    def __init__(self) -> None:
        self.event: FleetQuiesced | None = None

    def learn(self, records: Sequence[Record]) -> None:
        """Apply *records* of the control topic."""
        for record in records:
            with suppress(Poison):  # The processor writes the dead letter.
                event = decode(record)
                if isinstance(event, FleetQuiesced) and not self._ends_older(event):
                    self.event = event

    def _ends_older(self, event: FleetQuiesced) -> bool:
        """Return whether *event* ends another snapshot than the one that was requested last."""
        return event.until is None and self.event is not None and event.id != self.event.id

    @property
    def id(self) -> str | None:
        """The id of the event that forbids writes now, or None."""
        event = self.event
        if event is None or event.until is None or clock.now() >= event.until:
            return None
        return event.id


Notes = Mapping[tuple[str, int], CheckpointRow]
"""The notes by group and partition."""


@dataclass(frozen=True)
class QuiescedFleet:
    """A quiesced fleet."""

    event: FleetQuiesced
    notes: Notes
    """The checkpoints at which the members paused."""

    @property
    def until(self) -> float:
        """Epoch seconds at which members continue without a further event."""
        assert self.event.until
        return self.event.until


@contextmanager
def quiesce(
    log: Log, store: Store, groups: Collection[str], limit: float
) -> Iterator[QuiescedFleet]:
    """Quiesce the fleet on *log* and *store* for the block, for at most *limit* seconds.

    *groups* are the groups that store rows. Raise GossamerError if another command has quiesced the
    fleet, or if a member does not pause within QUIESCE_TIMEOUT. Raise it at the end of the block if
    a member has continued in between. The fleet continues after any error.
    """
    control, asked = ControlTail(log), QuiesceRequest()
    _read(control, asked)
    began = clock.now()
    if asked.id:
        assert asked.event and asked.event.until
        left = asked.event.until - began
        raise GossamerError(
            "the fleet is quiesced for another snapshot: wait for its end. If its command was "
            f"killed, the fleet continues without it in {left:.0f} s"
        )
    event = FleetQuiesced(at=began, id=uuid4().hex, until=began + limit)
    log.append([encode(event)])
    try:
        notes = _await(control, asked, log, store, groups, event)
        yield QuiescedFleet(event, notes)
        _read(control, asked)
        if _notes(log, store, groups) != notes or asked.event != event:
            raise GossamerError(
                "services continued before the copy was complete, so it is not consistent: give it "
                "more time (--limit), and check that the clocks of all machines agree"
            )
    finally:
        log.append([encode(replace(event, at=clock.now(), until=None))])
        control.close()


def _read(control: ControlTail, asked: QuiesceRequest) -> None:
    while news := control.poll(0):
        asked.learn(news)


def _notes(log: Log, store: Store, groups: Collection[str]) -> Notes:
    keys = [((group, str(number)), "") for group in groups for number in range(log.partitions)]
    rows = store.table(CheckpointRow).get_all(keys)
    return {(row.group, int(row.partition)): row for row in rows}


def _await(
    control: ControlTail,
    asked: QuiesceRequest,
    log: Log,
    store: Store,
    groups: Collection[str],
    event: FleetQuiesced,
) -> Notes:
    """Return the notes once all partitions of *groups* have one."""
    assert event.until
    until, is_read = clock.steady() + min(QUIESCE_TIMEOUT, event.until - event.at), False
    while True:
        _read(control, asked)
        if is_read and asked.event != event:
            raise GossamerError("another snapshot was started at the same time: wait for its end")
        is_read = asked.event == event
        notes = _notes(log, store, groups)
        paused = {at for at, row in notes.items() if row.quiesced == event.id}
        missing = [
            f"{group}, partition{'' if len(numbers) == 1 else 's'} " + ", ".join(map(str, numbers))
            for group in groups
            if (numbers := [n for n in range(log.partitions) if (group, n) not in paused])
        ]
        if is_read and not missing:
            return notes
        if clock.steady() > until:
            raise GossamerError(
                f"not all services stopped writing: {'; '.join(missing)}. Check that a process of "
                "each service is running, is ready, and has this version. Dedup on Faust cannot be "
                "quiesced"
            )
        clock.pause(POLL_INTERVAL)
