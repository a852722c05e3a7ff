"""Dedup as a process of a fleet: `python -m services.dedup`."""

import asyncio
import sys

from gossamer.runtime.event_loop import run_async
from gossamer.runtime.process import Backends, run
from services.dedup.service import Dedup


def work(backends: Backends) -> None:
    """Admit and judge until it is to stop."""
    # Not before settings are read: where Faust is missing, `run` says so in words.
    from services.dedup.faust.app import build
    from services.dedup.faust.changelog import make_changelog
    from services.dedup.faust.folder import own_folder
    from services.dedup.faust.worker import FaustWorker

    # Faust reads by itself, so nobody else would.
    backends.log.watch(Dedup.name, [topic.name for topic in Dedup.reads], backends.store)

    changelog = make_changelog(backends.settings.kafka, backends.log.partitions)
    with own_folder(backends.settings, changelog) as folder:

        async def serve(ended: asyncio.Event) -> None:
            runner = build(backends.settings, folder, backends.log.partitions, backends.store)
            await FaustWorker(runner, backends.log, backends.process.health).run(ended)

        run_async(serve, backends.stop)


if __name__ == "__main__":
    sys.exit(run("dedup", work))
