"""The fetcher as a process of a fleet: `python -m services.fetcher`."""

import sys

from gossamer.runtime.event_loop import run_async
from gossamer.runtime.process import Backends, run
from services.fetcher.wiring import as_claimed, serve


def work(backends: Backends) -> None:
    """Fetch until the process is asked to stop."""
    settings, log, store = backends.settings, backends.log, backends.store
    epochs, tell = as_claimed(log, store), backends.process.health.hindered
    run_async(lambda ended: serve(settings, log, store, epochs, ended, tell), backends.stop)


if __name__ == "__main__":
    sys.exit(run("fetcher", work))
