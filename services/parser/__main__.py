"""The parser as a process of a fleet: `python -m services.parser`."""

import sys

from gossamer.process import Place, run
from gossamer.worker import run_async
from services.parser.wiring import serve


def work(place: Place) -> None:
    """Parse until it is to stop."""
    run_async(lambda ended: serve(place.settings, place.log, place.store, ended), place.stop)


if __name__ == "__main__":
    sys.exit(run("parser", work))
