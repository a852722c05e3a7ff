"""Walls: challenges, logins and payments in place of pages, counted for each host."""

from msgspec.structs import replace

from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.web.walls import Wall


def count_wall(row: HostRow, wall: Wall) -> HostRow:
    """Return *row* with one more visit that *wall* answered."""
    name = f"{wall.kind}: {wall.name}"
    return replace(row, walls={**row.walls, name: row.walls.get(name, 0) + 1})
