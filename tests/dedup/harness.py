"""A dedup whose tables are in memory, and the events that it gives."""

from collections.abc import Iterable
from typing import Any, TypeVar

from gossamer.events import CrawlDefined, Event
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore

E = TypeVar("E", bound=Event)


def make_dedup(
    crawl: CrawlDefined | None = None, store: Store | None = None, **settings: Any
) -> Dedup:
    """Return a dedup in which *crawl* is defined."""
    store = store or SqliteStore(Database(":memory:"))
    dedup = Dedup(SeenTable(store), store, DedupSettings(**settings))
    if crawl:
        list(dedup.handle(crawl, 0.0))
    return dedup


def of_kind(kind: type[E], events: Iterable[object]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def only(kind: type[E], events: Iterable[object]) -> E:
    """Return the only one of *events* that is of *kind*."""
    (found,) = of_kind(kind, events)
    return found
