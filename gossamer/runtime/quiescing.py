"""Quiescing a fleet: no service writes to the store for a while, so that copies are consistent.

Cassandra's nodes copy one table after the other. A copy that is made while services write has a
step's writes in one table and not in another: a URL's plan without the entry of its queue, a
position behind records that have left no rows.

**How.** A command puts `fleet_quiesced` on the control topic. A member that keeps rows ends its
step, and *then* notes in the rows of its partitions (`PositionRow.quiesced`) that it writes no
more. Once all rows say so, the command has the copy made. It looks at the rows again before it
takes the copy for consistent: a member that goes on takes its notes back before it writes.

**A member that dies during a snapshot** either has written its notes: then nobody claims its
partitions before the end. Or it has not: then another one claims them, rests, and writes the notes.

**Whatever happens to the command**, the event names an instant at which all go on.

**Fetchers and parsers go on**: what they answer waits on the log, as at any time, and of theirs the
store has only the leases of addresses, which are over when a copy is put back.
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
from gossamer.runtime.positions import PositionRow
from gossamer.store import Store

PATIENCE = 60.0
"""Seconds in which all members note that they rest: a step takes a second, and the partitions of a
dead member move after `kafka.session`."""
LOOK = 0.1
"""Seconds between two looks at the notes."""


class Asked:
    """What the newest event says; one that ends a snapshot says nothing of another one."""

    def __init__(self) -> None:
        self.event: FleetQuiesced | None = None

    def learn(self, records: Sequence[Record]) -> None:
        """Go by *records* of the control topic."""
        for record in records:
            with suppress(Poison):  # Its dead letter is written by whoever handles it.
                event = decode(record)
                if isinstance(event, FleetQuiesced) and not self._is_of_another(event):
                    self.event = event

    def _is_of_another(self, event: FleetQuiesced) -> bool:
        """Return whether *event* ends an older snapshot, since which another command has begun."""
        return event.until is None and self.event is not None and event.id != self.event.id

    @property
    def id(self) -> str | None:
        """The id of the event by which nothing is to be written now; None if there is none."""
        event = self.event
        if event is None or event.until is None or clock.now() >= event.until:
            return None
        return event.id


Notes = Mapping[tuple[str, int], PositionRow]
"""By group and partition."""


@dataclass(frozen=True)
class Quiesced:
    """A fleet in which nobody writes to the store."""

    event: FleetQuiesced
    notes: Notes
    """The positions at which the members rest."""

    @property
    def until(self) -> float:
        """Epoch seconds at which members go on by themselves."""
        assert self.event.until
        return self.event.until


@contextmanager
def quiesced(log: Log, store: Store, groups: Collection[str], limit: float) -> Iterator[Quiesced]:
    """Quiesce the fleet on *log* and *store* for the block, and *limit* seconds at most.

    *groups* are those that keep rows. Raise GossamerError if another command has quiesced the
    fleet, if not all members rest within PATIENCE, or at the end of the block if one of them has
    gone on meanwhile. Whatever is raised, the fleet goes on.
    """
    control, asked = ControlTail(log), Asked()
    _read(control, asked)
    began = clock.now()
    if asked.id:
        assert asked.event and asked.event.until
        left = asked.event.until - began
        raise GossamerError(
            "the fleet is quiesced for another snapshot: wait until that is taken. Where its "
            f"command was killed, the fleet goes on by itself, in {left:.0f} s"
        )
    event = FleetQuiesced(at=began, id=uuid4().hex, until=began + limit)
    log.append([encode(event)])
    try:
        notes = _await(control, asked, log, store, groups, event)
        yield Quiesced(event, notes)
        _read(control, asked)
        if _notes(log, store, groups) != notes or asked.event != event:
            raise GossamerError(
                "services went on before the copy was complete, so that it is not consistent: "
                "give it more time (--limit), and see that the clocks of all machines agree"
            )
    finally:
        log.append([encode(replace(event, at=clock.now(), until=None))])
        control.close()


def _read(control: ControlTail, asked: Asked) -> None:
    while news := control.poll(0):
        asked.learn(news)


def _notes(log: Log, store: Store, groups: Collection[str]) -> Notes:
    keys = [((group, str(number)), "") for group in groups for number in range(log.partitions)]
    rows = store.table(PositionRow).get_all(keys)
    return {(row.group, int(row.partition)): row for row in rows}


def _await(
    control: ControlTail,
    asked: Asked,
    log: Log,
    store: Store,
    groups: Collection[str],
    event: FleetQuiesced,
) -> Notes:
    """Return the notes once all partitions of *groups* have one."""
    assert event.until
    until, is_read = clock.steady() + min(PATIENCE, event.until - event.at), False
    while True:
        _read(control, asked)
        if is_read and asked.event != event:
            raise GossamerError("another snapshot has begun at the same time: wait for that one")
        is_read = asked.event == event
        notes = _notes(log, store, groups)
        delayed = {at for at, row in notes.items() if row.quiesced == event.id}
        missing = [
            f"{group}, partition{'' if len(numbers) == 1 else 's'} " + ", ".join(map(str, numbers))
            for group in groups
            if (numbers := [n for n in range(log.partitions) if (group, n) not in delayed])
        ]
        if is_read and not missing:
            return notes
        if clock.steady() > until:
            raise GossamerError(
                f"not all services stopped writing: {'; '.join(missing)}. See that a process of "
                "each runs and is ready, of this version, and dedup not on Faust, which cannot be "
                "quiesced"
            )
        clock.pause(LOOK)
