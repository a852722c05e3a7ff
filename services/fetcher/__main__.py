"""The fetcher as a process of a fleet: `python -m services.fetcher`."""

import sys

from gossamer.runtime.concurrent import run_async
from gossamer.runtime.process import Backends, run
from services.fetcher.wiring import as_claimed, serve


def work(backends: Backends) -> None:
    """Fetch until the process is asked to stop."""
    log, store = backends.log, backends.store
    epochs = as_claimed(log, store)
    run_async(lambda ended: serve(backends.settings, log, store, epochs, ended), backends.stop)


if __name__ == "__main__":
    sys.exit(run("fetcher", work))
