"""A small plot for a terminal: what came of each hour of the last day, as bars of one character."""

from collections.abc import Iterable, Mapping

from services.frontier.tally import HOURS, hour_of

BARS = " ▁▂▃▄▅▆▇█"
KINDS = ("new", "changed", "unchanged")
"""As `services.frontier.rows.TallyRow.hours` counts pages."""


def day(hours: Mapping[str, tuple[int, int, int]], now: float) -> list[tuple[str, str]]:
    """Return a title and a line for all pages and for each kind: 24 bars, the last for this hour.

    All have one scale.
    """
    last = hour_of(now)
    columns = [hours.get(str(hour), (0, 0, 0)) for hour in range(last - HOURS + 1, last + 1)]
    totals = [sum(column) for column in columns]
    most = max(totals)
    said = f"{most:,} an hour at most, {sum(totals):,} in 24 h"
    lines = [("pages / h", f"{bars(totals, most)}  {said}")]
    for kind, counts in zip(KINDS, zip(*columns, strict=True), strict=True):
        lines.append((kind, f"{bars(counts, most)}  {sum(counts):,}"))
    return lines


def bars(counts: Iterable[int], most: int) -> str:
    """Return a bar for each count; what is not 0 is seen, and only *most* is full."""
    return "".join(BARS[-(-count * (len(BARS) - 1) // most)] if most else " " for count in counts)
