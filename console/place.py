"""Where a crawl is: a folder of this machine, or a fleet. What reads one reads the other."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from console.house.folder import Folder, Opened
from gossamer.config import Settings
from gossamer.log import Log
from gossamer.store import Store

DATA = Path("gossamer-data")


@dataclass(frozen=True)
class Place:
    """An opened crawl."""

    name: str
    """As a person would say it."""
    log: Log
    store: Callable[[], Store]
    """Opened when it is asked for: what is on the log can be read without it."""
    reading: Callable[[], AbstractContextManager[object]] = nullcontext
    """What is read within is one consistent view, where there is such a thing."""
    fleet: bool = False


@contextmanager
def open_place(settings: Settings, data: Path | None, create: bool = False) -> Iterator[Place]:
    """Open the folder *data*, or else the fleet of *settings*, or else the usual folder.

    A folder that is not there is made if *create*; else GossamerError says what to do.
    """
    if data is None and settings.kafka.servers:
        with _of_fleet(settings) as place:
            yield place
    else:
        yield _of_folder(Folder(data or DATA), create)


@contextmanager
def _of_fleet(settings: Settings) -> Iterator[Place]:
    # Not before it is needed: these are large libraries.
    from gossamer.fleet import open_log, open_store

    with ExitStack() as opened:
        log = opened.enter_context(open_log(settings))
        name = f"the fleet on {settings.kafka.servers}"
        yield Place(name, log, lambda: opened.enter_context(open_store(settings)), fleet=True)


def _of_folder(folder: Folder, create: bool) -> Place:
    fresh = create and not folder.database.exists()
    if fresh:
        folder.make()
    opened = Opened(folder) if fresh else folder.open()
    return Place(str(folder.path), opened.log, lambda: opened.store, opened.database.reading)
