"""The parser as a process of a fleet: `python -m services.parser`."""

import sys

from gossamer.runtime.event_loop import run_async
from gossamer.runtime.process import Backends, run
from services.parser.wiring import serve


def work(backends: Backends) -> None:
    """Parse until it is to stop."""
    run_async(
        lambda ended: serve(backends.settings, backends.log, backends.store, ended), backends.stop
    )


if __name__ == "__main__":
    sys.exit(run("parser", work))
