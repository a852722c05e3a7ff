"""Dedup as a process of a fleet: `python -m services.dedup`."""

import asyncio
import sys

from gossamer.process import Place, run
from gossamer.worker import run_async
from services.dedup.changelog import make_changelog
from services.dedup.faust_app import build
from services.dedup.folder import own_folder
from services.dedup.service import Dedup
from services.dedup.worker import Worker


def work(place: Place) -> None:
    """Admit and judge until it is to stop."""
    # Faust reads by itself, so nobody else would.
    place.log.watch(Dedup.name, [topic.name for topic in Dedup.reads], place.store)

    changelog = make_changelog(place.settings.kafka, place.log.partitions)
    with own_folder(place.settings, changelog) as folder:

        async def serve(ended: asyncio.Event) -> None:
            carrier = build(place.settings, folder, place.log.partitions, place.store)
            await Worker(carrier, place.log, place.process.health).run(ended)

        run_async(serve, place.stop)


if __name__ == "__main__":
    sys.exit(run("dedup", work))
