"""The archive as a process of a fleet: `python -m services.archive`."""

import sys

from gossamer.process import Place, run, run_machine
from services.archive.service import Archive


def work(place: Place) -> None:
    """Write captures until it is to stop; then complete the files."""
    said, contact = place.settings.archive, place.settings.fetcher.contact
    archive = Archive(said.folder, place.store, said, contact, place.settings.service.instance)
    try:
        run_machine(place, archive)
        archive.close()
    finally:
        archive.let_go()


if __name__ == "__main__":
    sys.exit(run("archive", work))
