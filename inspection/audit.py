"""The changes that operators made, from the topic `audit`."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Any

from msgspec import Struct

from gossamer.events import FLEET, ChangeRecorded
from gossamer.events.topics import AUDIT
from gossamer.log import Log, read_topic
from gossamer.log.codec import try_decode
from inspection.crawl import OpenCrawl
from inspection.paging import Page

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
    for record in read_topic(log, AUDIT.name, follow):
        change = try_decode(record)
        if isinstance(change, ChangeRecorded) and chosen.accepts(change):
            yield change


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
