"""A program that crawls: python -m tests.library.program OPTIONS. It prints each URL."""

import json
import sys

import gossamer

if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    for page in gossamer.Crawl(**options).run():
        print(page.url, flush=True)
