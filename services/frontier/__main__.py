"""The frontier as a process of a fleet: `python -m services.frontier`."""

import sys

from gossamer.runtime.process import Backends, run, run_processor
from services.frontier.service import Frontier


def work(backends: Backends) -> None:
    """Order visits until it is to stop."""
    settings = backends.settings
    limit, partitions = settings.fetcher.visit_limit, backends.log.partitions
    run_processor(
        backends, Frontier(settings.frontier, backends.store, limit, partitions, alone=False)
    )


if __name__ == "__main__":
    sys.exit(run("frontier", work))
