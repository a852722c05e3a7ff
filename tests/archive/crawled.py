"""A data folder whose archive has given pages, as a running crawl has left it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gossamer.events import Page, PageFetched, Verdict
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log.codec import encode
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.archive.service import Archive
from gossamer.settings import ArchiveSettings
from tests.archive.harness import NOW


def archived_folder(
    path: Path, fetched: Iterable[PageFetched], ends: bool = False, **options: Any
) -> Folder:
    """Return a folder with the captures of *fetched*; its last file is open, unless *ends*.

    *options* are settings of the archive.
    """
    folder = Folder(path)
    opened = folder.create()
    settings = ArchiveSettings(**options)
    archive = Archive(folder.warc, opened.store, settings, "me@example.org", "gossamer")
    loop = sequential_loop(archive, opened.log, opened.store, lambda: NOW)
    opened.log.append([encode(page) for page in fetched])
    while loop.step():
        pass
    if ends:
        loop.close()
        archive.close()
    else:
        archive.release()
    opened.database.close()
    return folder


def publish(folder: Folder, *pages: PageFetched) -> None:
    """Append the documents of *pages* to the topic `pages`, as dedup does."""
    opened = Opened(folder)
    opened.log.append([encode(document(page)) for page in pages])
    opened.database.close()


def document(page: PageFetched) -> Page:
    """Return the public document of a fetched page."""
    return Page(
        at=page.at,
        url=page.visit.url,
        site=page.site,
        status=page.status,
        fetched_at=page.started_at,
        content_type="text/html",
        title=f"Title of {page.visit.url}",
        text=f"Text of {page.visit.url}",
        links=(),
        verdict=Verdict.FIRST,
        duplicate_of="",
        depth=page.visit.depth,
        via="",
    )
