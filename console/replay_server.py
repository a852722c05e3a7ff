"""pywb as a process: `python -m console.replay_server`, with the options of pywb.

pywb imports its proxy mode at the start, and with it pyOpenSSL, whose releases without an upper
bound for cryptography fail with the current one. The proxy mode is never used here, so an empty
module replaces it. The process ends when its standard input does, so it never outlives the command
that has started it.
"""

import os
import sys
from types import ModuleType

import gevent


def main() -> None:
    """Run pywb until standard input ends."""
    package, proxy = ModuleType("wsgiprox"), ModuleType("wsgiprox.wsgiprox")
    vars(proxy)["WSGIProxMiddleware"] = None
    sys.modules |= {"wsgiprox": package, "wsgiprox.wsgiprox": proxy}
    from pywb.apps.cli import wayback  # It lets gevent replace threads and locks.

    gevent.spawn(_exit_at_end_of_input)
    wayback()


def _exit_at_end_of_input() -> None:
    gevent.get_hub().threadpool.apply(os.read, (sys.stdin.fileno(), 1))
    os._exit(0)


if __name__ == "__main__":
    main()
