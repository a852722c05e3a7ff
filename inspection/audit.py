"""The changes that operators made, from the topic `audit`."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Any

from msgspec import Struct

from gossamer.errors import Newer, Poison
from gossamer.events import FLEET, ChangeRecorded
from gossamer.events.topics import AUDIT
from gossamer.log import Log, Record
from gossamer.log.codec import decode
from inspection.crawl import OpenCrawl
from inspection.paging import Page

POLL_TIMEOUT = 1.0
"""Seconds to wait for further changes at once."""
MAX_VALUE_LENGTH = 60
"""Characters of a setting's value in a line."""


class ChangeFilter(Struct, frozen=True, kw_only=True):
    """Which changes are chosen. An empty text chooses all of them."""

    actor: str = ""
    """The whole actor, or the part before `@`."""
    action: str = ""
    subject: str = ""
    """Text that the subject contains."""
    crawl: str = ""
    """The changed crawl. Changes that concern all crawls are chosen, too."""
    since: float = 0.0
    """Epoch seconds."""

    def accepts(self, change: ChangeRecorded) -> bool:
        """Return whether *change* is chosen."""
        return (
            change.at >= self.since
            and self.actor in ("", change.actor, change.actor.partition("@")[0])
            and self.action in ("", change.action)
            and self.subject in change.subject
            and (not self.crawl or change.crawl in (self.crawl, FLEET))
        )


def read_changes(
    crawl: OpenCrawl, chosen: ChangeFilter, cursor: str | None = None, limit: int = 100
) -> Page[ChangeRecorded]:
    """Return the newest changes first, at most *limit*. The whole topic is read.

    *cursor* is the `next` of the page before: the id of its last change.
    """
    older = (
        change
        for change in iterate_changes(crawl.log, chosen)
        if cursor is None or change.id < cursor
    )
    found = nlargest(limit + 1, older, key=lambda change: change.id)
    page = tuple(found[:limit])
    return Page(page, page[-1].id if len(found) > limit else None)


def iterate_changes(
    log: Log, chosen: ChangeFilter, follow: bool = False
) -> Iterator[ChangeRecorded]:
    """Yield the changes, oldest first; with *follow*, wait for further ones without end."""
    tail = log.tail([AUDIT.name])
    try:
        while (records := tail.poll(POLL_TIMEOUT if follow else 0)) or follow:
            found = map(_change_in, records)
            yield from (change for change in found if change and chosen.accepts(change))
    finally:
        tail.close()


def _change_in(record: Record) -> ChangeRecorded | None:
    """Return the change in *record*; None if it is unreadable, or of a newer version."""
    try:
        event = decode(record)
    except (Poison, Newer):
        return None
    return event if isinstance(event, ChangeRecorded) else None


def setting_lines(change: ChangeRecorded) -> Iterator[str]:
    """Yield each replaced setting with its values before and after, for people."""
    for setting in change.settings:
        if (before := setting.before) is None:
            yield f"{setting.key}: new"
            continue
        names = [
            name
            for name, value in setting.after.items()
            if name not in ("at", "version") and before.get(name) != value
        ]
        changed = ", ".join(
            f"{name} {_text(before.get(name))} → {_text(setting.after[name])}" for name in names
        )
        yield f"{setting.key}: {changed or 'unchanged'}"


def _text(value: Any) -> str:
    text = "none" if value in (None, "", [], {}) else str(value)
    first = text.partition("\n")[0][:MAX_VALUE_LENGTH]
    return first if first == text else f"{first}…"
