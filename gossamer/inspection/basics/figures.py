"""Numbers for people: sizes, durations, instants, counts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.runtime.checkpoints import Alignment

MAX_FEW = 3
"""Texts that `first_few` lists."""
MAX_COUNTS = 10
"""Items that `largest` returns."""
MIN_WHOLE_NUMBER = 100
"""Numbers from here on are shown without decimals."""
MAX_SHOWN_SHARE = 0.999
"""Shares between this one and 1 are shown as `over 99.9 %`."""
MIN_SHOWN_SHARE = 0.0005
"""Shares between 0 and this one are shown as `< 0.1 %`."""
MAX_INSTANT = 250_000_000_000.0
"""The last instant that has a year of four digits."""
MAX_SHOWN_DAYS = 1_000_000
"""Estimates of more days are shown as `over 1,000,000 days`."""
DAY = 86400.0


def size(count: float) -> str:
    """Return bytes as `9.6 kB`, which are 9,600 bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """Return seconds as `59.4 s`, `1 min 30 s` or `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s"


def instant(at: float) -> str:
    """Return epoch seconds as `2026-11-22 08:00:00 UTC`, between 1970 and 9999."""
    within = min(max(at, 0.0), MAX_INSTANT)
    return datetime.fromtimestamp(within, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def date_of(at: float) -> str:
    """Return the date of epoch seconds as `2026-11-22`, in UTC."""
    return instant(at)[:10]


def moment(at: float, now: float) -> str:
    """Return epoch seconds as `08:00:00 UTC` on the day of *now*, with the date on other days."""
    shown = instant(at)
    return shown[11:] if date_of(at) == date_of(now) else shown


def until(at: float, now: float, word: str = "until") -> str:
    """Return `until 08:00:00 UTC`, with another *word* before it; `due since 08:00:00 UTC` if *at*
    is over."""
    return f"{word} {moment(at, now)}" if at > now else f"due since {moment(at, now)}"


def about(seconds: float) -> str:
    """Return an estimate as `about 14 min`."""
    if seconds > MAX_SHOWN_DAYS * DAY:
        return f"over {MAX_SHOWN_DAYS:,} days"
    if seconds >= 2 * DAY:
        return f"about {seconds / DAY:,.0f} days"
    if seconds >= 5400:
        return f"about {seconds / 3600:.0f} h"
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {max(1, round(seconds))} s"


def plural(count: int, what: str) -> str:
    """Return `1 URL`, `2 URLs`, `2 near-duplicates`."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def counts(named: Mapping[str, float]) -> str:
    """Return `3 pages.parsed, 1 seeds`, the most frequent first; `none` without any."""
    parts = [f"{count:,} {name}" for name, count in largest(named.items()) if count]
    return ", ".join(parts) or "none"


def largest(items: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the ten largest items; equal ones are in the order of their names."""
    return sorted(items, key=lambda item: (-item[1], item[0]))[:MAX_COUNTS]


def first_few(texts: Sequence[str]) -> str:
    """Return `a, b, c and 2 more`."""
    more = len(texts) - MAX_FEW
    return ", ".join(texts[:MAX_FEW]) + (f" and {more} more" if more > 0 else "")


def alignment(found: "Alignment") -> str:
    """Return in words how the log and the store of a group differ."""
    parts = [
        f"{plural(count, 'record')} {what}"
        for count, what in (
            (found.repeated, "to be handled again"),
            (found.deleted, "deleted from the log before being handled"),
            (found.lost, "handled, and lost from the end of the log"),
        )
        if count
    ]
    return f"{found.group}: {'; '.join(parts) or 'log and store agree'}"


def percent(share: float) -> str:
    """Return a share from 0 to 1 as `83.2 %`."""
    return (
        f"{100 * share:.3g} %"
        if share == 1 or share < MAX_SHOWN_SHARE
        else f"over {100 * MAX_SHOWN_SHARE:.3g} %"
    )


def share_text(share: float) -> str:
    """Return a share from 0 to 1 as `83.2 %`, with one decimal; `< 0.1 %` if that would be 0."""
    return "< 0.1 %" if 0 < share < MIN_SHOWN_SHARE else f"{100 * share:.1f} %"


def number(value: float) -> str:
    """Return a number with at most three digits, or whole: `0.25`, `3.5`, `12,000`."""
    return f"{value:,.0f}" if value >= MIN_WHOLE_NUMBER else f"{value:.3g}"


def times(count: int) -> str:
    """Return `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")
