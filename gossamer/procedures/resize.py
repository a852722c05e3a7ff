"""A resize of a stopped fleet: its topics and its rows get another number of partitions.

Rows are divided within the store, by `gossamer.services.frontier.procedures.resizing`. In the
changelog of the URL-seen set, sites that get another partition are copied there. Topics whose
records are consumed are created again, or get further partitions.

**After a failure.** Each step may be repeated. The rows of the former partitions, by which a
repetition divides again, are dropped together with the former number in the identity.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from gossamer import clock
from gossamer.errors import BadSettings, GossamerError
from gossamer.events.topics import SITE_KEYED
from gossamer.inspection.basics.figures import plural
from gossamer.log import KEY_GROUPS
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.procedures.copying import Copy, Side, claim_partitions
from gossamer.procedures.preconditions import (
    STATEFUL_SERVICES,
    check_drained,
    check_engine,
    check_stopped,
)
from gossamer.runtime.backends import open_store
from gossamer.runtime.checkpoints import forget_checkpoints
from gossamer.runtime.identity import STORE, IdentityRow, set_partitions
from gossamer.services.frontier.procedures.resizing import crawls_in, drop_partitions, resize
from gossamer.settings import Settings


def resize_fleet(settings: Settings, partitions: int) -> Iterator[str]:
    """Change topics and store to *partitions* partitions; yield a line for each step.

    After a failure the same call continues. Raise GossamerError if records are not consumed yet, or
    services run.
    """
    if KEY_GROUPS % partitions:
        numbers = ", ".join(str(n) for n in range(1, KEY_GROUPS + 1) if KEY_GROUPS % n == 0)
        raise BadSettings(
            f"{plural(partitions, 'partition')}: the number must divide {KEY_GROUPS}: {numbers}"
        )
    check_engine(settings, "resized")
    topics = Topics(settings.kafka)
    with open_store(settings) as store:
        row = store.table(IdentityRow).get(STORE)
        if row is None:
            raise GossamerError("this fleet has never run: set kafka.partitions instead")
        before, counts = row.partitions, topics.counts()
        has_begun = any(counts.get(name) != before for name in SITE_KEYED)
        if before == partitions and not has_begun:
            yield f"the fleet has {plural(partitions, 'partition')}: nothing to do"
            return
        check_stopped(settings.kafka)
        if not has_begun:
            with closing(KafkaLog(settings.kafka)) as log:
                check_drained(log, is_folder=False)
        now = clock.now()
        epoch = claim_partitions(store, max(before, partitions), now)
        resize(store, crawls := crawls_in(store), before, partitions)
        store.flush()
        yield f"store: rows of {plural(before, 'partition')} divided among {partitions}"
        yield from topics.resize(partitions)
        with closing(KafkaLog(settings.kafka)) as log:
            former = Side("the fleet", log, store, is_folder=False, partitions=before)
            copy = Copy(former, replace(former, partitions=partitions))
            count = sum(1 for _ in copy.copy_seen(epoch, now))
            yield f"urls.seen: {plural(count, 'record')} moved to other partitions"
            if partitions < before:
                # The topics were deleted and created again.
                for service in STATEFUL_SERVICES:
                    forget_checkpoints(store, service.name, SITE_KEYED)
            drop_partitions(store, crawls, before)
            set_partitions(log, store, now)
        yield (
            f"the fleet has {plural(partitions, 'partition')} now: set kafka.partitions to "
            f"{partitions}, and start the services"
        )
