"""How a person reads a number: sizes, durations, instants, counts."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.runtime.alignment import Alignment

MOST = 10
"""The most parts that a list of counts has."""
WHOLE = 100
"""From here on, nobody wants to know what is behind the point."""
NEARLY = 0.999
LATEST = 250_000_000_000.0
"""The last instant that has a year of four digits."""


def size(count: float) -> str:
    """Return bytes for a person."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def duration(seconds: float) -> str:
    """Return seconds for a person."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s"


def instant(at: float) -> str:
    """Return epoch seconds as `2026-11-22 08:00:00 UTC`; what is out of bounds is cut to them."""
    within = min(max(at, 0.0), LATEST)
    return datetime.fromtimestamp(within, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(count: int, what: str) -> str:
    """Return `1 URL`, `2 URLs`."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def counts(named: Mapping[str, float]) -> str:
    """Return `3 page, 1 gone`, the most frequent first; `none` if there are none."""
    parts = [f"{count:,} {name}" for name, count in largest(named.items()) if count]
    return ", ".join(parts) or "none"


def largest(items: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the ten largest, equal ones by name."""
    return sorted(items, key=lambda item: (-item[1], item[0]))[:MOST]


def alignment(found: "Alignment") -> str:
    """Return how log and store of a group stand to each other, for a person."""
    parts = [
        f"{plural(count, 'record')} {what}"
        for count, what in (
            (found.repeated, "to be handled once more"),
            (found.deleted, "that cannot be handled: the log has lost or deleted them"),
            (found.lost, "handled, and lost with the end of the log"),
        )
        if count
    ]
    return f"{found.group}: {'; '.join(parts) or 'log and store are in step'}"


def percent(share: float) -> str:
    """Return a share from 0 to 1 as `83.2 %`."""
    return f"{100 * share:.3g} %" if share == 1 or share < NEARLY else f"over {100 * NEARLY:.3g} %"


def number(value: float) -> str:
    """Return a number that need not be whole: `0.25`, `3.5`, `12,000`."""
    return f"{value:,.0f}" if value >= WHOLE else f"{value:.3g}"
