"""The frontier as a process of a fleet: `python -m services.frontier`."""

import sys

from gossamer.process import Place, run, run_machine
from services.frontier.service import Frontier


def work(place: Place) -> None:
    """Order visits until it is to stop."""
    settings = place.settings
    limit, partitions = settings.fetcher.visit_limit, place.log.partitions
    run_machine(place, Frontier(settings.frontier, place.store, limit, partitions, alone=False))


if __name__ == "__main__":
    sys.exit(run("frontier", work))
