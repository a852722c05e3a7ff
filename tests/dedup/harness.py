"""A dedup whose tables are in memory, and the events that it gives."""

from collections.abc import Iterable
from typing import Any, TypeVar

from gossamer.events import CrawlDefined, Event, Link, PageParsed, Visit
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import host_key, site_of
from tests.support.kinds import with_kind

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


def parsed_page(
    url: str, digest: str = "", *links: Link, depth: int = 0, **fields: object
) -> PageParsed:
    """Return the response to a visit, by default with status 200."""
    given: dict[str, Any] = {
        "at": 1.0,
        "visit": Visit(f"1.1.0@{url}", url, depth=depth),
        "fetched_at": 1.0,
        "status": 200,
        "links": links,
        **fields,
    }
    page = PageParsed(site=site_of(url), host=host_key(url), digest=digest, **given)
    return page if "kind" in fields else with_kind(page)


def of_kind(kind: type[E], events: Iterable[object]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def only(kind: type[E], events: Iterable[object]) -> E:
    """Return the only one of *events* that is of *kind*."""
    (found,) = of_kind(kind, events)
    return found
