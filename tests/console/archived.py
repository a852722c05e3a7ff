"""A folder with captures, as the archive writes them."""

from pathlib import Path

from gossamer.events import DEFAULT_CRAWL, PageFetched, Purpose, Visit
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.services.archive.service import Archive
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.settings import ArchiveSettings
from gossamer.web.http import Headers
from gossamer.web.url import HostKey, Site, host_key, site_of
from gossamer.web.validators import Validators

HOST = HostKey("http://a.test")
PAGE, ROBOTS = f"{HOST}/p", f"{HOST}/robots.txt"
DAY, START = 86400.0, 1_700_000_000.0


class Archived:
    """A folder with captures."""

    def __init__(self, path: Path) -> None:
        self.folder = Folder(path / "data")
        self.folder.make()
        opened = Opened(self.folder)
        self._store, self._close = opened.store, opened.database.close
        self._archive = Archive(
            self.folder.warc, self._store, ArchiveSettings(), "me@example.org", "gossamer"
        )
        self._archive.assign(frozenset({0}), START)
        self._store.table(HostRow).put(HostRow(Site("a.test"), HOST))

    def add(
        self,
        url: str,
        day: float,
        body: bytes = b"",
        status: int = 200,
        headers: Headers = (),
        crawl: str = DEFAULT_CRAWL,
    ) -> None:
        purpose = Purpose.PAGE if url == PAGE or url.endswith("/") else Purpose.USAGE
        purpose = Purpose.ROBOTS if url == ROBOTS else purpose
        at = START + day * DAY
        event = PageFetched(
            crawl=crawl,
            at=at,
            site=site_of(url),
            host=host_key(url),
            visit=Visit(
                f"1.{day}.0@{url}",
                url,
                purpose=purpose,
                validators=Validators('"1"'),
                conditional=status == 304,
            ),
            started_at=at,
            took=0.1,
            status=status,
            headers=headers,
            body=body,
        )
        archived = list(self._archive.handle(event, at))
        assert bool(archived) is (purpose is Purpose.PAGE)

    def end(self) -> Path:
        self._archive.settle()
        self._archive.close()
        self._store.flush()
        self._close()
        return self.folder.path
