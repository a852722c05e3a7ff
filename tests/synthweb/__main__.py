"""Runs a web until its parent ends: `python -m tests.synthweb --record DIR MODULE:CLASS NUMBERS`.

NUMBERS is a JSON object with the fields of the class, which is a `Web`. When ready, the process
prints one line of JSON on standard output: {"http": port, "dns": port, "seeds": [...]}. The end of
standard input or SIGTERM stops it.
"""

import argparse
import json
from importlib import import_module
from pathlib import Path

from .listening import Place, serve_until_orphaned


def main() -> None:
    parser = argparse.ArgumentParser(prog="synthweb", description=__doc__)
    parser.add_argument("web", metavar="MODULE:CLASS")
    parser.add_argument("numbers", type=json.loads)
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    parser.add_argument("--address", default="", help="where all of the web is")
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--dns-port", type=int, default=0)
    given = parser.parse_args()
    module, _, name = given.web.partition(":")
    web = getattr(import_module(module), name)(**given.numbers)
    place = Place(given.record, given.address, given.http_port, given.dns_port)
    serve_until_orphaned(place, web.open)


if __name__ == "__main__":
    main()
