"""The archive as a process of a fleet: `python -m services.archive`."""

import sys

from gossamer.errors import NoSpace, Unavailable
from gossamer.runtime.identity import check_folder
from gossamer.runtime.process import Backends, run, run_processor
from services.archive.service import Archive


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


if __name__ == "__main__":
    sys.exit(run("archive", work))
