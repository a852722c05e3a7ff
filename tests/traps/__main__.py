"""Runs a web of traps until its parent ends: `python -m tests.traps --traps calendar --record DIR`.

Every number of a `TrapWeb` is an option. The output is that of `tests.synthweb`.
"""

import argparse
from pathlib import Path

from tests.synthweb.listening import Place, Served, serve_until_orphaned
from tests.synthweb.server import ByPath

from .web import Sites, TrapWeb


def arguments(argv: list[str] | None = None) -> tuple[TrapWeb, Place]:
    parser = argparse.ArgumentParser(prog="traps", description=__doc__)
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    parser.add_argument("--traps", default="", help="names of traps with commas between")
    for name in ("seed", "pages", "sites", "site-pages"):
        parser.add_argument(f"--{name}", type=int, default=argparse.SUPPRESS)
    given = vars(parser.parse_args(argv))
    place = Place(given.pop("record"))
    traps = tuple(filter(None, given.pop("traps").split(",")))
    return TrapWeb(traps=traps, **given), place


def main() -> None:
    web, place = arguments()

    def open_web(port: int) -> Served:
        sites = Sites(web, port)
        return Served(ByPath(sites), sites.zone(), sites.seeds)

    serve_until_orphaned(place, web.addresses(), open_web)


if __name__ == "__main__":
    main()
