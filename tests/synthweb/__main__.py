"""Runs a world until its parent ends: `python -m tests.synthweb --seed 7 --hosts 300 --record DIR`.

Every number of a `World` is an option; `--plain` omits the oddities. When ready, it prints one line
of JSON on standard output: {"http": port, "dns": port, "seeds": [...]}. The end of standard input
or SIGTERM stops it.
"""

import argparse
from dataclasses import fields
from pathlib import Path

from .answers import Answers
from .atlas import Atlas
from .dns import addresses_of, zone_of
from .listening import Place, Served, serve_until_orphaned
from .server import ByPath
from .world import World


def arguments(argv: list[str] | None = None) -> tuple[World, Place]:
    parser = argparse.ArgumentParser(prog="synthweb", description=__doc__)
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    parser.add_argument("--address", default="", help="where all of the world is")
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--dns-port", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="no oddities but those asked for")
    for field in fields(World):
        flag = f"--{field.name.replace('_', '-')}"
        parser.add_argument(flag, type=type(field.default), default=argparse.SUPPRESS)
    given = vars(parser.parse_args(argv))
    numbers = {field.name: given[field.name] for field in fields(World) if field.name in given}
    world = World.plain(**numbers) if given["plain"] else World(**numbers)
    return world, Place(given["record"], given["address"], given["http_port"], given["dns_port"])


def main() -> None:
    world, place = arguments()

    def open_web(port: int) -> Served:
        atlas = Atlas(world, port)
        zone = zone_of(atlas, place.address)
        return Served(ByPath(Answers(atlas)), zone, atlas.seeds, world.jitter, world.slowness)

    serve_until_orphaned(place, addresses_of(world), open_web)


if __name__ == "__main__":
    main()
