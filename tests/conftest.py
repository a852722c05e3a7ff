"""What tests of several folders need: an embedded crawl's file, log and store, fresh each time."""

import gc
import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.servers.fixtures import _launched as _launched
from tests.servers.fixtures import cassandra as cassandra
from tests.servers.fixtures import kafka as kafka
from tests.servers.fixtures import shared_folder as shared_folder
from tests.suites import data_folder, is_complete, load_suites

# As services say it by default: a line an event is for those who ask for it.
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))

# A busy machine is no failure: nothing here is judged by how long it took.
settings.register_profile(
    "gossamer", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gossamer")

# A job in the background is deaf to Ctrl-C and hands that on; a handler, even of nothing, is not
# inherited. So whatever the tests start hears Ctrl-C, however they were started themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: None)

NO_DATA = "the third-party data is not here; `scripts/suites` fetches it"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of the quick subset whatever needs a server or is long; begin with the longest.

    That alone: several of the long ones at once are several fleets and servers on a few cores.
    """
    for item in items:
        needs = {"kafka", "cassandra"} & {*getattr(item, "fixturenames", ())}
        if needs or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


def pytest_collection_finish() -> None:
    """Look for garbage seldom, and never among the tests: a tenth of the time would go there."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """Undo what a command does to logs: they would go where its output was captured."""
    before, handlers = structlog.get_config(), logging.getLogger().handlers[:]
    yield
    structlog.configure(**before)
    logging.getLogger().handlers = handlers


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Return a new file with nothing in it."""
    opened = Database(tmp_path / "gossamer.db")
    yield opened
    opened.close()


@pytest.fixture
def log(database: Database) -> SqliteLog:
    """Return an empty log."""
    return SqliteLog(database)


@pytest.fixture
def store(database: Database) -> SqliteStore:
    """Return an empty store, in the same file as the log."""
    return SqliteStore(database)


@pytest.fixture
def suite_folder() -> Callable[[str], Path]:
    """Return a function that returns the folder of a suite's data, or skips the test without it."""

    def folder_of(name: str) -> Path:
        if not is_complete(name):
            pytest.skip(load_suites()[1][name].not_fetched or NO_DATA)
        return data_folder()

    return folder_of


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end of a run how many tests were skipped because their data was not fetched."""
    skipped = terminalreporter.getreports("skipped")
    count = sum(NO_DATA in str(report.longrepr) for report in skipped)
    if count:
        were = "test was" if count == 1 else "tests were"
        terminalreporter.write_line(f"{count} conformance {were} skipped: {NO_DATA}")
