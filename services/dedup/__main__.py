"""Dedup as a process of a fleet: `python -m gossamer.services.dedup`."""

import asyncio
import sys
from contextlib import closing

from gossamer import clock
from gossamer.extras import require_extra
from gossamer.log.throttling import Throttle
from gossamer.runtime.concurrent import run_async
from gossamer.runtime.identity import check_folder
from gossamer.runtime.process import Backends, run, run_processor
from gossamer.services.dedup.service import Dedup


def work(backends: Backends) -> None:
    """Process events until the process is asked to stop."""
    if backends.settings.dedup.engine == "faust":
        run_on_faust(backends)
    else:
        run_on_loop(backends)


def run_on_loop(backends: Backends) -> None:
    """Run on the runtime's loop, with the URL-seen set on the instance's disk."""
    require_extra("fleet")
    # Imported after the check, so that `run` reports a missing RocksDB in words.
    from gossamer.services.dedup.copies import Copies
    from gossamer.services.dedup.replicated import ReplicatedSeen
    from gossamer.services.dedup.rocksdb import RocksDisk
    from gossamer.volumes import Volume

    settings = backends.settings
    folder = settings.dedup.folder / settings.service.instance
    with closing(RocksDisk(folder / "seen", settings.dedup.cache)) as disk:
        check_folder(folder, backends.fleet)
        volumes = [Volume(url) for url in settings.archive.volumes]
        local = folder / "copies"
        copies = Copies(backends.log, backends.fleet, volumes, local) if volumes else None
        seen = ReplicatedSeen(backends.log, disk, clock.now, copies)
        dedup = Dedup(
            seen, backends.store, settings.dedup, archive=settings.archive, tests_links=True
        )
        run_processor(backends, dedup, Throttle(backends.log, dedup.name).partitions)


def run_on_faust(backends: Backends) -> None:
    """Run on Faust's streams and table."""
    require_extra("faust")
    from gossamer.services.dedup.faust.app import FaustWorker, build
    from gossamer.services.dedup.faust.changelog import make_changelog
    from gossamer.services.dedup.faust.tables import lock_folder
    from gossamer.services.dedup.faust.transport import Offsets

    # The runtime's loop watches its topics itself; Faust's consumer does not.
    backends.log.watch(Dedup.name, [topic.name for topic in Dedup.reads], backends.store)

    kafka = backends.settings.kafka
    changelog = make_changelog(kafka, backends.log.partitions)
    with lock_folder(backends.settings, changelog) as folder:
        check_folder(folder, backends.fleet)

        async def serve(stopped: asyncio.Event) -> None:
            settings, log, offsets = backends.settings, backends.log, Offsets(kafka)
            runner = build(settings, folder, log.partitions, backends.store, offsets)
            await FaustWorker(runner, offsets, log, backends.process.health).run(stopped)

        run_async(serve, backends.stop)


if __name__ == "__main__":
    sys.exit(run("dedup", work))
