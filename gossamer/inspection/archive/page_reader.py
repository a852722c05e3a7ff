"""Reads many archived pages, several at a time, as the parser reads them.

A document that was parsed without Markdown gets it from the capture of its visit, which is parsed
again. A document without a capture, or of a type without Markdown, such as a PDF, has the lines of
its text as paragraphs.
"""

import asyncio
import os
from collections.abc import Sequence
from types import TracebackType

from msgspec.structs import replace

from gossamer.errors import GossamerError
from gossamer.events import Page, PageParsed
from gossamer.inspection.archive.page_texts import parse_version, parser_options
from gossamer.inspection.archive.versions import Version, read_row
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.parser.html.markdown import lines_to_markdown
from gossamer.services.parser.pool.pool import Pool


class PageReader:
    """Reads archived pages of *crawl*, with Markdown, in child processes of the parser."""

    def __init__(self, crawl: OpenCrawl) -> None:
        self._crawl = crawl
        options, limits = parser_options(crawl.settings)
        text = "main" if options.text == "off" else options.text
        self._options = replace(options, markdown=True, text=text)
        self._size = os.cpu_count() or 1
        self._pool = Pool(self._size, *limits)
        self._runner = asyncio.Runner()
        self.unstructured = 0
        """Documents whose text has no structure, because no capture has their Markdown."""

    def __enter__(self) -> "PageReader":
        self._runner.__enter__()
        self._runner.run(self._pool.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._runner.run(self._pool.__aexit__(kind, error, trace))
        finally:
            self._runner.__exit__(kind, error, trace)

    def parse(self, versions: Sequence[Version]) -> list[PageParsed | str]:
        """Return what the parser reads in each of *versions*, or why it cannot, for people."""
        return self._runner.run(self._parse(versions)) if versions else []

    async def _parse(self, versions: Sequence[Version]) -> list[PageParsed | str]:
        tasks = (parse_version(self._pool, version, self._options) for version in versions)
        return list(await asyncio.gather(*tasks))

    def fill(self, pages: Sequence[Page]) -> list[Page]:
        """Return *pages* with their Markdown. A page without any text has none."""
        found = [self._find_version(page) for page in pages]
        parsed = iter(self.parse([version for version in found if version]))
        return [
            self._fill(page, next(parsed) if version else "")
            for page, version in zip(pages, found, strict=True)
        ]

    def _fill(self, page: Page, parsed: PageParsed | str) -> Page:
        if page.markdown is not None:
            return page
        markdown = None if isinstance(parsed, str) else parsed.markdown
        if markdown is None and page.text:
            self.unstructured += 1
            markdown = lines_to_markdown(page.text)
        return replace(page, markdown=markdown)

    def _find_version(self, page: Page) -> Version | None:
        """Return the capture of the visit of *page*; None without one, and if none is needed."""
        if page.markdown is not None:
            return None
        rows = self._crawl.store().table(CaptureRow)
        row = rows.get((page.crawl, page.url), page.fetched_at)
        return read_whole(self._crawl, row) if row else None


def read_whole(crawl: OpenCrawl, row: CaptureRow) -> Version | None:
    """Return the capture at *row*; None if it cannot be read, or its body was not stored."""
    try:
        version = Version(row, read_row(crawl, row))
    except GossamerError:
        return None
    return None if version.capture.refers_to is not None else version
