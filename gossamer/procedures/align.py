"""Alignment of log and store after one of them was lost or replaced by an older state.

Nothing is copied but the identity and the topic `control`, from the part that has them to the part
that lacks them. Each service's group returns to the older of both offsets, and all partitions are
claimed again, so that paused members of the former fleet cannot write.

Each step may be repeated: after a crash, align again.
"""

from collections.abc import Iterator

from gossamer.events.topics import CONSUMED_TOPICS
from gossamer.inspection.basics.figures import alignment, plural
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import ControlRow, control_events, control_row, newest_events
from gossamer.procedures.preconditions import STATEFUL_SERVICES
from gossamer.runtime.checkpoints import align_group, skip_gaps
from gossamer.runtime.identity import STORE, IdentityRow, adopt, check_topics, fleet_event
from gossamer.services.archive.rows import SegmentRow
from gossamer.services.archive.service import Archive
from gossamer.services.frontier.service import Frontier
from gossamer.store import Store
from gossamer.store.claims import Claimant


def align(log: Log, store: Store, now: float) -> Iterator[str]:
    """Align *log* and *store*; yield a line for each step. All services must be stopped."""
    is_new = store.table(IdentityRow).get(STORE) is None
    if is_new:
        yield adopt(log, store)
    yield from _restore_control(log, store, now)
    for service in STATEFUL_SERVICES:
        writers = [row.writer for row in store.table(SegmentRow).everything()]
        # Fences paused members: they must not write their cached rows.
        owners = writers if service is Archive else range(log.partitions)
        Claimant(store, "" if service is Frontier else service.name).claim([*owners], now)
        found = align_group(log, store, service, is_new)
        if service is Archive:
            # An older row lacks segments even if the group is aligned: records that were archived
            # but not committed at the backup were archived again, in a later segment. Without a
            # row, the archive keeps all complete records of the files that it finds.
            for writer in writers:
                store.table(SegmentRow).drop(writer)
        store.flush()
        yield alignment(found)
    for group in sorted(CONSUMED_TOPICS.keys() - {one.name for one in STATEFUL_SERVICES}):
        if (skipped := skip_gaps(log, group, CONSUMED_TOPICS[group])).moved:
            yield alignment(skipped)


def _restore_control(log: Log, store: Store, now: float) -> Iterator[str]:
    """Write the topic `control` from the store if it was lost; else update the store's copy."""
    if check_topics(log):
        for event in newest_events(log).values():
            store.table(ControlRow).put(control_row(event))
        return
    row = store.table(IdentityRow).get(STORE)
    assert row
    events = [fleet_event(row, now), *control_events(store)]
    messages = {message.key: message for message in map(encode, events)}
    log.append(messages.values())
    yield f"control: written from the store, {plural(len(messages), 'record')}"
