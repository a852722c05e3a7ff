"""What `gossamer topics resize` does: gives the topics of a stopped fleet another number of
partitions, and what is kept of partitions with them."""

from collections.abc import Iterator
from contextlib import closing

from console.at_rest import FLEET_REMEDY, check_drained, check_stopped
from console.figures import plural
from gossamer import clock
from gossamer.errors import BadSettings, GossamerError
from gossamer.events import DEFAULT_CRAWL
from gossamer.events.topics import SITE_KEYED
from gossamer.log import KEY_GROUPS, Log
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.runtime.alignment import forget_positions
from gossamer.runtime.backends import open_store
from gossamer.runtime.identity import STORE, IdentityRow, set_partitions
from gossamer.settings import Settings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from services.archive.service import Archive
from services.dedup.replicated import repartition_changelog
from services.dedup.service import Dedup
from services.frontier.resizing import drop_partitions, resize
from services.frontier.service import Frontier


def resize_fleet(settings: Settings, wanted: int) -> Iterator[str]:
    """Give all parts of the fleet *wanted* partitions; yield a line for each thing that was done.

    Each step can be repeated, so after a failure the same command goes on. Raise GossamerError if
    records are unread or members run.
    """
    if KEY_GROUPS % wanted:
        numbers = ", ".join(str(n) for n in range(1, KEY_GROUPS + 1) if KEY_GROUPS % n == 0)
        raise BadSettings(f"{wanted} partitions are not possible: {numbers} are")
    if settings.dedup.engine == "faust":
        raise BadSettings(
            "dedup.engine is faust, whose tables cannot be divided: set it to own, and let dedup "
            "read its changelog once"
        )
    topics = Topics(settings.kafka)
    with open_store(settings) as store:
        row = store.table(IdentityRow).get(STORE)
        if row is None:
            raise GossamerError("this fleet has not begun: set kafka.partitions instead")
        before, counts = row.partitions, topics.counts()
        has_begun = any(counts.get(name) != before for name in SITE_KEYED)
        if before == wanted and not has_begun:
            yield f"the fleet has {plural(wanted, 'partition')}: nothing to do"
            return
        check_stopped(settings.kafka)
        if not has_begun:
            with closing(KafkaLog(settings.kafka)) as log:
                check_drained(log, FLEET_REMEDY)
        now = clock.now()
        Claimant(store).claim(range(max(before, wanted)), now)
        resize(store, DEFAULT_CRAWL, before, wanted)
        store.flush()
        yield f"store: what is kept of {plural(before, 'partition')} is divided anew"
        yield from topics.resize(wanted)
        with closing(KafkaLog(settings.kafka)) as log:
            yield from _move_records(log, store, before, wanted, now)
            drop_partitions(store, DEFAULT_CRAWL, before)
            set_partitions(log, store, now)
        yield (
            f"the fleet has {plural(wanted, 'partition')} now: set kafka.partitions to {wanted}, "
            "and start the services"
        )


def _move_records(log: Log, store: Store, before: int, wanted: int, now: float) -> Iterator[str]:
    epoch = Claimant(store, Dedup.name).claim(range(max(before, wanted)), now)
    count = 0
    for messages in repartition_changelog(log, before, wanted, epoch, now):
        log.append(messages)
        count += len(messages)
    yield f"urls.seen: {plural(count, 'record')} moved to other partitions"
    if wanted < before:
        # Their topics were deleted and recreated.
        for service in (Frontier, Dedup, Archive):
            forget_positions(store, service.name, SITE_KEYED)
