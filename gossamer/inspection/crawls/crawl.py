"""Opens a crawl, in a folder or in a fleet, with one interface for both."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.crawl import are_all_paused, choose_crawl, definitions_of
from gossamer.errors import GossamerError, Unavailable
from gossamer.events import CrawlDefined
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log import Log
from gossamer.runtime.backends import open_blobs, open_log, open_store
from gossamer.runtime.identity import check_topics
from gossamer.store import Row, Store

if TYPE_CHECKING:
    # A folder is opened without settings: importing them takes longer than the rest.
    from gossamer.settings import FrontierSettings, Settings
    from gossamer.volumes import Volume

DEFAULT_FOLDER = Path("gossamer-data")


class NotFound(GossamerError):
    """The crawl has no such host, URL or capture. The API answers 404."""


@dataclass(frozen=True)
class OpenCrawl:
    """An opened folder or fleet, and one of its crawls."""

    name: str
    """The name of the folder or the fleet in messages."""
    log: Log
    store: Callable[[], Store]
    """Opens the store at its first call: some commands need the log alone."""
    reading: Callable[[], AbstractContextManager[object]] = nullcontext
    """In a folder, all reads in its block have one consistent view. Callers use `view`."""
    is_running: Callable[[], bool | None] = lambda: None
    """Returns whether a crawl runs in the folder; None for a fleet, whose processes have probes."""
    fleet: bool = False
    named: str | None = None
    """The id of the crawl, if one was named. None means the only crawl of the folder or fleet."""
    settings: "Settings | None" = None
    """The settings that were given; None if all have their defaults."""
    blobs: "Callable[[], Volume] | None" = None
    """Opens the volume with large bodies."""
    warc: Path | None = None
    """The folder of the WARC files. In a fleet it may be on other machines."""
    volumes: tuple[str, ...] = ()
    """The URLs of the volumes that have complete WARC files, if there are any."""

    @cached_property
    def id(self) -> str:
        """The id of the crawl in rows and events; `default` if no crawl is defined.

        Raise BadSettings if the named crawl does not exist, or if there are several crawls and none
        is named. Commands that concern all crawls do not read the id.
        """
        return choose_crawl(definitions_of(self.log), self.named, self.name)

    @property
    def frontier(self) -> "FrontierSettings":
        """The settings of the frontier."""
        if self.settings:
            return self.settings.frontier
        # Imported here, because the import takes longer than most commands.
        from gossamer.settings import FrontierSettings

        return FrontierSettings()

    @property
    def is_stopped(self) -> bool:
        """Whether no crawl runs in the folder. A fleet is never known to be stopped."""
        return self.is_running() is False

    @property
    def are_all_paused(self) -> bool:
        """Whether an operator has paused all crawls together. The end of a run in a folder does
        too, and the next run continues them."""
        return are_all_paused(self.log) and not self.is_stopped

    def crawls(self) -> dict[str, CrawlDefined]:
        """Return the definitions of all crawls by id, sorted; removed crawls too."""
        return definitions_of(self.log)

    def definition(self) -> CrawlDefined | None:
        """Return the active definition of the crawl; None if it was never defined."""
        return self.crawls().get(self.id)

    @contextmanager
    def view(self, *rows: type[Row]) -> Iterator[Store]:
        """Yield the store. In a folder, all reads in the block have one consistent view of the
        tables *rows*."""
        store = self.store()
        for row in rows:
            store.table(row)  # A missing table is created before the read transaction.
        with self.reading():
            yield store

    def of(self, crawl: str) -> "OpenCrawl":
        """Return the crawl with the id *crawl* in this folder or fleet, on the same log and
        store."""
        return replace(self, named=crawl)


Viewed = OpenCrawl | Opened
"""A log and a store, whose rows can be read as of one moment."""


@contextmanager
def open_crawl(
    settings: "Settings | None", data: Path | None, create: bool = False, named: str | None = None
) -> Iterator[OpenCrawl]:
    """Open the folder *data*, or else the fleet of *settings*, or else the default folder.

    *named* is the id of the crawl; None means the only one. A missing folder is created if
    *create*; otherwise raise GossamerError.
    """
    if data is None and settings and settings.kafka.servers:
        with _open_fleet(settings) as crawl:
            check_topics(crawl.log)
            yield replace(crawl, named=named)
    else:
        crawl = _open_folder(settings, Folder(data or DEFAULT_FOLDER), create)
        check_topics(crawl.log)
        yield replace(crawl, named=named)


@contextmanager
def _open_fleet(settings: "Settings") -> Iterator[OpenCrawl]:
    with ExitStack() as opened:
        with _with_remedy("kafka.servers"):
            log = opened.enter_context(open_log(settings))
        name = f"the fleet on {settings.kafka.servers}"

        @cache
        def store() -> Store:
            with _with_remedy("cassandra.hosts"):
                return opened.enter_context(open_store(settings))

        yield OpenCrawl(
            name,
            log,
            store,
            fleet=True,
            settings=settings,
            blobs=lambda: open_blobs(settings),
            warc=settings.archive.folder,
            volumes=_volumes(settings),
        )


@contextmanager
def _with_remedy(setting: str) -> Iterator[None]:
    """Add the remedy to the error that is raised if the servers of *setting* do not answer."""
    try:
        yield
    except Unavailable as error:
        raise Unavailable(
            f"{error}: check that it runs (scripts/fleet status, for a local fleet), name other "
            f"servers in {setting}, or name a folder with --data"
        ) from error


def _open_folder(settings: "Settings | None", folder: Folder, create: bool) -> OpenCrawl:
    opened = folder.create() if create and not folder.database.exists() else folder.open()
    return OpenCrawl(
        str(folder.path),
        opened.log,
        lambda: opened.store,
        opened.database.reading,
        folder.is_locked,
        settings=settings,
        blobs=folder.open_blobs,
        warc=folder.warc,
        volumes=_volumes(settings),
    )


def _volumes(settings: "Settings | None") -> tuple[str, ...]:
    """Return the volumes that the archive uploads its files to, if there are any."""
    return settings.archive.volumes if settings else ()
