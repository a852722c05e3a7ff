"""The archived bodies of a crawl, by the read model. Imported when one is read."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from gossamer.errors import GossamerError
from gossamer.events.topics import PAGES, PAGES_FETCHED, topic_of_pages
from gossamer.inspection.archive.captures import FOREVER, iterate_captures
from gossamer.inspection.archive.versions import MAX_BODY_BYTES, read_row
from gossamer.inspection.crawls.crawl import NotFound, open_crawl
from gossamer.library.answers import time_of
from gossamer.library.pages import Version
from gossamer.library.process import translate_errors
from gossamer.log import read_topic
from gossamer.log.codec import crawl_of
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.parser.charset import decode_text
from gossamer.settings import Settings
from gossamer.web.http import joined_values

DOCUMENTS = range(200, 300)
NOT_MODIFIED = 304
ARCHIVE = "archive"
"""The group of the archive on the log."""
WAIT, PAUSE = 10.0, 0.1
"""Seconds by which a capture may follow the publication of its page, and between two searches."""


class CrawlArchive:
    """The archive of a folder or a fleet."""

    def __init__(self, place: Path | Settings, crawl: str | None) -> None:
        settings, folder = (None, place) if isinstance(place, Path) else (place, None)
        self._opened = ExitStack()
        with translate_errors():
            opening = open_crawl(settings, folder, named=crawl)
            self._crawl = self._opened.enter_context(opening)

    def close(self) -> None:
        """Close log and store."""
        self._opened.close()

    def read_body(self, url: str, at: float) -> bytes:
        """Return the body of the response to the request for *url* at this time."""
        return self._read(url, at)[0]

    def read_text(self, url: str, at: float) -> str:
        """Return that body as text, in the encoding that a browser would choose."""
        body, content_type = self._read(url, at)
        return decode_text(body, content_type, is_html=True).text

    def _read(self, url: str, at: float) -> tuple[bytes, str]:
        """Return the body and the header Content-Type."""
        with translate_errors():
            capture = read_row(self._crawl, self._find(url, at))
            if capture.refers_to is not None:
                raise NotFound(f"{url}: the body of this capture was not stored")
            body = capture.decode_body(MAX_BODY_BYTES)
            return body, joined_values(capture.content_headers, "content-type")

    def _find(self, url: str, at: float) -> CaptureRow:
        """Return the position of that response.

        A page may be published before its capture is written: wait until the archive has read all
        fetched pages.
        """
        until = time.monotonic() + WAIT
        while True:
            # Asked first: what is written after the answer is found by the search.
            is_complete = not self._crawl.log.lag(ARCHIVE, PAGES_FETCHED.name)
            if row := self._crawl.store().table(CaptureRow).get((self._crawl.id, url), at):
                return row
            if is_complete or time.monotonic() >= until or self._crawl.is_stopped:
                raise GossamerError(
                    f"this version of {url} was not archived, or its capture has expired: "
                    f"gossamer why {url} explains"
                )
            time.sleep(PAUSE)

    def versions(self) -> Iterator[Version]:
        """Yield the archived documents, those of a URL together and the oldest first."""
        with translate_errors():
            for url in self._urls():
                captures = iterate_captures(self._crawl.store(), self._crawl.id, url, FOREVER)
                for row in reversed([*captures]):
                    if row.status in DOCUMENTS or row.status == NOT_MODIFIED:
                        yield Version(
                            url,
                            time_of(row.fetched_at),
                            row.status,
                            row.content_type,
                            row.digest,
                            self,
                            row.fetched_at,
                        )

    def _urls(self) -> Iterator[str]:
        """Yield the URLs that have or had a document. A document that is gone has a tombstone."""
        definition = self._crawl.definition()
        topic = topic_of_pages(definition) if definition else PAGES.name
        yield from dict.fromkeys(
            record.key.partition("/")[2]
            for record in read_topic(self._crawl.log, topic)
            if crawl_of(record) == self._crawl.id
        )
