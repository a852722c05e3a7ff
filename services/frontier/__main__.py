"""The frontier as a process of a fleet: `python -m gossamer.services.frontier`."""

import sys

from gossamer.events.topics import PAGES_FETCHED
from gossamer.log.throttling import far_behind
from gossamer.runtime.process import Backends, run, run_processor
from gossamer.services.frontier.service import Frontier
from gossamer.web.signing import SignMode


def work(backends: Backends) -> None:
    """Order visits until the process is stopped."""
    settings, log = backends.settings, backends.log
    # Half of the lag at which the fetchers of a partition are throttled. Orders that are sent there
    # later would wait.
    max_lag = settings.fetcher.unparsed_limit // 2

    def find_lagging() -> set[int]:
        return set[int]().union(*far_behind(log, {PAGES_FETCHED.name: max_lag}).values())

    limit = settings.fetcher.visit_limit
    frontier = Frontier(
        settings.frontier,
        backends.store,
        limit,
        log.partitions,
        alone=False,
        find_lagging=find_lagging,
        sign=SignMode(settings.fetcher.sign),
        usual_sitemaps=settings.fetcher.usual_sitemaps,
    )
    run_processor(backends, frontier)


if __name__ == "__main__":
    sys.exit(run("frontier", work))
