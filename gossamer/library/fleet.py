"""A fleet: its pages, and each change of them once for a named cursor."""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gossamer.library.answers import time_of
from gossamer.library.options import check_settings, variables_of, words_of
from gossamer.library.pages import Page
from gossamer.library.place import Place
from gossamer.library.process import translate_errors

if TYPE_CHECKING:
    from gossamer.log import Record


@dataclass(frozen=True)
class Gone:
    """A page that is not published any more."""

    url: str
    reason: str
    """`removed`, `missing`, `moved` and others (docs/outcomes-and-hazards.md)."""
    redirects_to: str
    """Where the URL redirects; "" if it does not."""
    at: datetime
    """When the visit was made that found the page gone, in UTC."""


class Fleet(Place):
    """A crawl of a fleet; `connect` opens it. As a context manager it closes its connections."""

    def __init__(self, settings: Mapping[str, Any], config: Path | None, crawl: str | None) -> None:
        """Use `connect` instead."""
        self._settings = check_settings({"config": config}, settings)
        words = words_of({"config": config})
        super().__init__(words, variables_of(settings), crawl, self._settings)

    def __repr__(self) -> str:
        return f"Fleet({self._settings.kafka.servers!r})"

    def changes(self, cursor: str, *, follow: bool = False) -> Generator[Page | Gone, None, None]:
        """Yield the pages that are new, changed or gone since the last call with this *cursor*.

        The first call begins with all pages. The position of a cursor is kept in Kafka, as the
        offsets of the consumer group with its name. It moves past a page when the next one is
        requested: after a crash of the program, the last pages are yielded again. Several programs
        with one cursor share the sites. *follow*: wait for further changes, without end.
        """
        from gossamer.library.cursor import Cursor

        with translate_errors():
            crawl, topic = self._find_crawl()
            with closing(Cursor(self._settings.kafka, cursor, topic)) as reader:
                yield from self._changes_of(crawl, reader.read(follow))

    def _find_crawl(self) -> tuple[str, str]:
        """Return the id of the crawl, and the topic with its pages."""
        from gossamer.events.topics import PAGES, topic_of_pages
        from gossamer.inspection.crawls.crawl import open_crawl

        with open_crawl(self._settings, None, named=self._id) as crawl:
            definition = crawl.definition()
            return crawl.id, topic_of_pages(definition) if definition else PAGES.name

    def _changes_of(self, crawl: str, records: Iterator["Record"]) -> Iterator[Page | Gone]:
        from gossamer.events import Page as Document
        from gossamer.log.codec import crawl_of, decode, tombstone

        for record in records:
            if crawl_of(record) != crawl:
                continue
            if not record.value:
                gone = tombstone(record)
                yield Gone(gone.url, gone.reason, gone.redirects_to, time_of(gone.at))
                continue
            document = decode(record)
            assert isinstance(document, Document)
            yield Page(document, self._archive)

    def close(self) -> None:
        """Close the connections to the fleet's servers."""
        self._close_archive()

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect(
    servers: str | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    crawl: str | None = None,
) -> Fleet:
    """Return the fleet on the Kafka *servers*, such as `"kafka-1:9092,kafka-2:9092"`.

    *config* is the fleet's file of settings, and *settings* are further ones by name, as
    `{"cassandra.hosts": ["cassandra-1"]}`. Without *servers*, the setting `kafka.servers` counts.
    *crawl* is the id of the crawl, if the fleet has several. Raise ValueError for a wrong setting.
    """
    merged = {**(settings or {}), **({"kafka.servers": servers} if servers else {})}
    return Fleet(merged, Path(config) if config else None, crawl)
