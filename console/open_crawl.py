"""Opens a crawl: a folder of this machine, or a fleet. What reads one reads the other."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.errors import Unavailable
from gossamer.events import DEFAULT_CRAWL
from gossamer.log import Log
from gossamer.runtime.backends import open_log, open_store
from gossamer.runtime.identity import check_topics
from gossamer.store import Store
from standalone.folder import Folder, Opened

if TYPE_CHECKING:
    # A folder is opened without settings, which take longer to import than all else together.
    from gossamer.settings import Settings

DATA = Path("gossamer-data")


@dataclass(frozen=True)
class OpenCrawl:
    """An opened crawl."""

    name: str
    """What a person calls it."""
    log: Log
    store: Callable[[], Store]
    """Opened the first time it is asked for: what is on the log can be read without it."""
    reading: Callable[[], AbstractContextManager[object]] = nullcontext
    """What is read within is one consistent view, where there is such a thing."""
    fleet: bool = False
    id: str = DEFAULT_CRAWL
    """The id of the crawl in rows and events."""


@contextmanager
def open_crawl(
    settings: "Settings | None", data: Path | None, create: bool = False
) -> Iterator[OpenCrawl]:
    """Open the folder *data*, or else the fleet of *settings*, or else the usual folder.

    A folder that is not there is made if *create*; else GossamerError says what to do.
    """
    if data is None and settings and settings.kafka.servers:
        with _of_fleet(settings) as crawl:
            check_topics(crawl.log)
            yield crawl
    else:
        crawl = _of_folder(Folder(data or DATA), create)
        check_topics(crawl.log)
        yield crawl


@contextmanager
def _of_fleet(settings: "Settings") -> Iterator[OpenCrawl]:
    with ExitStack() as opened:
        with _reached("kafka.servers"):
            log = opened.enter_context(open_log(settings))
        name = f"the fleet on {settings.kafka.servers}"

        @cache
        def store() -> Store:
            with _reached("cassandra.hosts"):
                return opened.enter_context(open_store(settings))

        yield OpenCrawl(name, log, store, fleet=True)


@contextmanager
def _reached(setting: str) -> Iterator[None]:
    """Say what to do where the servers that *setting* names do not answer."""
    try:
        yield
    except Unavailable as error:
        raise Unavailable(
            f"{error}: see that it runs (scripts/fleet status says so of a local fleet), name "
            f"others in {setting}, or a folder with --data"
        ) from error


def _of_folder(folder: Folder, create: bool) -> OpenCrawl:
    fresh = create and not folder.database.exists()
    if fresh:
        folder.make()
    opened = Opened(folder) if fresh else folder.open()
    return OpenCrawl(str(folder.path), opened.log, lambda: opened.store, opened.database.reading)
