"""The fetcher as a process of a fleet: `python -m gossamer.services.fetcher`."""

import sys

from gossamer.runtime.concurrent import run_async
from gossamer.runtime.process import Backends, run
from gossamer.services.fetcher.wiring import coordinate_fleet, serve


def work(backends: Backends) -> None:
    """Fetch until the process is asked to stop."""
    settings, log, store = backends.settings, backends.log, backends.store
    coordination, health = coordinate_fleet(settings, log, store), backends.process.health
    run_async(
        lambda stop: serve(
            settings,
            log,
            store,
            coordination,
            stop,
            health.report_limitation,
            health.report_outdated,
        ),
        backends.stop,
    )


if __name__ == "__main__":
    sys.exit(run("fetcher", work))
