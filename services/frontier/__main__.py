"""The frontier as a process of a fleet: `python -m services.frontier`."""

import sys
from functools import partial

from gossamer.log.unread import unread_partitions
from gossamer.runtime.process import Backends, run, run_processor
from services.frontier.service import Frontier


def work(backends: Backends) -> None:
    """Order visits until it is to stop."""
    settings, log = backends.settings, backends.log
    # Before the fetchers hold a partition back: what is sent there now would wait.
    unread = partial(unread_partitions, log, settings.fetcher.unparsed_limit // 2)
    limit = settings.fetcher.visit_limit
    frontier = Frontier(
        settings.frontier, backends.store, limit, log.partitions, alone=False, unread=unread
    )
    run_processor(backends, frontier)


if __name__ == "__main__":
    sys.exit(run("frontier", work))
