"""The archive as a process of a fleet: `python -m gossamer.services.archive`."""

import sys
import threading

import structlog

from gossamer import clock
from gossamer.crawl import longest_share
from gossamer.errors import GossamerError, NoSpace, Unavailable
from gossamer.log.blobs import DAY, HOUR, LEFTOVER_AGE, remove_kept, remove_leftovers
from gossamer.runtime.identity import check_folder
from gossamer.runtime.process import Backends, run, run_processor
from gossamer.services.archive.service import Archive

logger = structlog.get_logger()


def work(backends: Backends) -> None:
    """Archive pages until the process is asked to stop; then complete the files."""
    settings = backends.settings
    check_folder(settings.archive.folder, backends.fleet)
    archive = Archive(
        settings.archive.folder,
        backends.store,
        settings.archive,
        settings.fetcher.contact,
        settings.fetcher.product,
        settings.service.instance,
    )
    try:
        run_processor(backends, archive)
        archive.close()
    except NoSpace as error:
        # Others have filled the disk. The next attempt waits for space.
        raise Unavailable(str(error)) from error
    finally:
        archive.release()


def serve(backends: Backends) -> None:
    """Archive pages, and remove unused blobs in threads beside the loop."""
    for target in (remove_leftovers_daily, remove_kept_hourly):
        threading.Thread(target=target, args=(backends,), daemon=True).start()
    work(backends)


def remove_leftovers_daily(backends: Backends) -> None:
    """Remove blobs without a record at the start, and then once a day.

    A fetcher or parser that was killed left them behind, or a reader of their records was restarted
    before it had removed them.
    """
    while True:
        try:
            remove_leftovers(backends.log, clock.now() - LEFTOVER_AGE)
        except GossamerError as error:
            logger.warning("blobs without a record cannot be removed now", reason=str(error))
        if backends.stop.wait(DAY):
            return


def remove_kept_hourly(backends: Backends) -> None:
    """Remove the captures that no crawl may take any more, at the start and then once an hour."""
    while True:
        try:
            if volume := backends.log.blobs:
                remove_kept(volume, clock.now() - longest_share(backends.log))
        except GossamerError as error:
            logger.warning(
                "captures too old for every crawl cannot be removed now", reason=str(error)
            )
        if backends.stop.wait(HOUR):
            return


if __name__ == "__main__":
    sys.exit(run("archive", serve))
