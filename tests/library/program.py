"""A program that crawls: python -m tests.library.program OPTIONS [fork]. It prints each URL.

With `fork` it has a worker, as the pools of some libraries do, which survives its program.
"""

import json
import os
import signal
import sys

import gossamer

if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    has_worker = sys.argv[2:] != ["fork"]
    for page in gossamer.Crawl(**options).run():
        print(page.url, flush=True)
        if not has_worker:
            has_worker = True
            if os.fork() == 0:
                signal.pause()
