"""A small plot for a terminal: pages in each hour of the last day, as bars of one character."""

from collections.abc import Iterable, Mapping

from services.frontier.tally import HOURS, hour_of

BARS = " ▁▂▃▄▅▆▇█"
KINDS = ("new", "changed", "unchanged")
"""The order of the counts in `services.frontier.rows.TallyRow.hours`."""


def day(hours: Mapping[str, tuple[int, int, int]], now: float) -> list[tuple[str, str]]:
    """Return title and line for all pages and for each kind: 24 bars on one scale, the last one for
    this hour."""
    last = hour_of(now)
    columns = [hours.get(str(hour), (0, 0, 0)) for hour in range(last - HOURS + 1, last + 1)]
    totals = [sum(column) for column in columns]
    highest = max(totals)
    text = f"at most {highest:,} an hour, {sum(totals):,} in 24 h"
    lines = [("pages / h", f"{bars(totals, highest)}  {text}")]
    for kind, counts in zip(KINDS, zip(*columns, strict=True), strict=True):
        lines.append((kind, f"{bars(counts, highest)}  {sum(counts):,}"))
    return lines


def bars(counts: Iterable[int], highest: int) -> str:
    """Return a bar for each count: visible from 1, and full at *highest* only."""
    scale = len(BARS) - 1
    return "".join(BARS[-(-count * scale // highest)] if highest else " " for count in counts)
