"""The parser as a process of a fleet: `python -m gossamer.services.parser`."""

import sys

from gossamer.runtime.concurrent import run_async
from gossamer.runtime.process import Backends, run
from gossamer.services.parser.wiring import serve


def work(backends: Backends) -> None:
    """Run the parser until the process stops."""
    settings, log, store = backends.settings, backends.log, backends.store
    report = backends.process.health.report_outdated
    run_async(lambda ended: serve(settings, log, store, ended, report), backends.stop)


if __name__ == "__main__":
    sys.exit(run("parser", work))
