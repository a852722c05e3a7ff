"""The fetcher as a process of a fleet: `python -m services.fetcher`."""

import sys

from gossamer.process import Place, run
from gossamer.worker import run_async
from services.fetcher.wiring import as_claimed, serve


def work(place: Place) -> None:
    """Fetch until it is to stop."""
    log, store = place.log, place.store
    epochs = as_claimed(log, store)
    run_async(lambda ended: serve(place.settings, log, store, epochs, ended), place.stop)


if __name__ == "__main__":
    sys.exit(run("fetcher", work))
