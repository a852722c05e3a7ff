"""The changes that operators made, from the topic `audit`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any

from msgspec import Struct

from gossamer.events import FLEET, ChangeRecorded
from gossamer.events.topics import AUDIT
from gossamer.inspection.basics.paging import Page, cursor_of, parse_cursor
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Log, Record, read_newest, read_topic
from gossamer.log.codec import try_decode

UNCHANGED = ("at", "version", "actor", "reason")
"""Fields that are about the change, and not of the setting."""
MAX_READ_CHANGES = 5_000
"""Records of each partition that one page reads. The topic has one partition."""
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
    """Return the newest changes first, at most *limit*.

    *cursor* is the `next` of the page before. A page reads at most `MAX_READ_CHANGES` records, and
    is partial if it ends there.
    """
    reached = None if cursor is None else parse_cursor(cursor)
    found = read_newest(crawl.log, AUDIT.name, MAX_READ_CHANGES, reached)
    newest = _newest_first(found.records, chosen)
    page = tuple(change for _, change in islice(newest, limit))
    # The first change that is not shown, or else the first record that was not read.
    left = dict[int, int]()
    for record, _ in newest:
        left.setdefault(record.partition, record.offset + 1)
    left = found.before | left
    return Page(page, cursor_of(left) if left else None, bool(left) and len(page) < limit)


def _newest_first(
    records: Iterable[Record], chosen: ChangeFilter
) -> Iterator[tuple[Record, ChangeRecorded]]:
    """Yield the chosen changes in *records*, in the order of each partition."""
    partitions = defaultdict[int, list[tuple[Record, ChangeRecorded]]](list)
    for record in records:
        change = try_decode(record)
        if isinstance(change, ChangeRecorded) and chosen.accepts(change):
            partitions[record.partition].append((record, change))
    return merge(*map(reversed, partitions.values()), key=lambda one: one[1].id, reverse=True)


def search_changes(crawl: OpenCrawl, chosen: ChangeFilter, limit: int) -> Page[ChangeRecorded]:
    """Return the newest chosen changes first, at most *limit*, however many records are read."""
    page = read_changes(crawl, chosen, limit=limit)
    while page.is_partial:
        more = read_changes(crawl, chosen, page.next, limit - len(page.items))
        page = Page((*page.items, *more.items), more.next, more.is_partial)
    return page


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
            if name not in UNCHANGED and before.get(name) != value
        ]
        changed = ", ".join(
            f"{name} {_text(before.get(name))} → {_text(setting.after[name])}" for name in names
        )
        yield f"{setting.key}: {changed or 'unchanged'}"


def _text(value: Any) -> str:
    text = "none" if value in (None, "", [], {}) else str(value)
    first = text.partition("\n")[0][:MAX_VALUE_LENGTH]
    return first if first == text else f"{first}…"
