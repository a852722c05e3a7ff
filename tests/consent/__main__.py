"""Runs a web of consent until its parent ends: `python -m tests.consent --record DIR`.

Every number of a `ConsentWeb` is an option. The output is that of `tests.synthweb`.
"""

import argparse
from pathlib import Path

from tests.synthweb.listening import Place, Served, serve_until_orphaned

from .web import ConsentWeb, Hosts


def arguments(argv: list[str] | None = None) -> tuple[ConsentWeb, Place]:
    parser = argparse.ArgumentParser(prog="consent", description=__doc__)
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    parser.add_argument("--key", default="", help="the PEM file with the crawler's public key")
    for name in ("seed", "combinations"):
        parser.add_argument(f"--{name}", type=int, default=argparse.SUPPRESS)
    given = vars(parser.parse_args(argv))
    place = Place(given.pop("record"))
    return ConsentWeb(**given), place


def main() -> None:
    web, place = arguments()

    def open_web(port: int) -> Served:
        hosts = Hosts(web, port)
        return Served(hosts, hosts.zone(), hosts.seeds)

    serve_until_orphaned(place, web.addresses(), open_web)


if __name__ == "__main__":
    main()
