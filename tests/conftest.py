"""Fixtures of several folders: the database, log and store of an embedded crawl, empty for each
test."""

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
from tests.servers.fixtures import _launch_servers as _launch_servers
from tests.servers.fixtures import cassandra as cassandra
from tests.servers.fixtures import kafka as kafka
from tests.servers.fixtures import shared_folder as shared_folder
from tests.suites import folder_of, is_complete, load_suites
from tests.support.transcripts import add_option, check_option
from tests.support.transcripts import transcript as transcript

# The default level of services: lines for single events are off.
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
LOGGING = structlog.get_config()

# A slow machine must not fail a test: no test asserts how long it took.
settings.register_profile(
    "gossamer", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gossamer")

# A background job ignores Ctrl-C, and its children inherit that. A handler is not inherited, so
# that processes of the tests receive Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: None)

LONG_FOLDERS = {"browser", "flow", "frontier", "honest_tests", "system"}
"""Folders whose files take minutes."""
NO_DATA = "the third-party data is not here; `scripts/suites` fetches it"


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    check_option(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long tests as slow, too; run files with long tests first, so that no process waits for
    another one at the end."""
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.slow)
    items.sort(
        key=lambda item: (
            item.get_closest_marker("timeout") is None,
            item.path.parent.name not in LONG_FOLDERS,
        )
    )


def pytest_collection_finish() -> None:
    """Collect garbage rarely, and not during tests, which would take a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    """Restore logging after a command configured it for captured output, perhaps one that prepared
    the tests of a module."""
    handlers = logging.getLogger().handlers[:]
    structlog.configure(**LOGGING)
    yield
    structlog.configure(**LOGGING)
    logging.getLogger().handlers = handlers


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Return an empty database in a file."""
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

    def complete_folder(name: str) -> Path:
        if not is_complete(name):
            pytest.skip(load_suites()[1][name].not_fetched or NO_DATA)
        return folder_of(name)

    return complete_folder


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped because their data was not fetched."""
    skipped = terminalreporter.getreports("skipped")
    count = sum(NO_DATA in str(report.longrepr) for report in skipped)
    if count:
        were = "test was" if count == 1 else "tests were"
        terminalreporter.write_line(f"{count} conformance {were} skipped: {NO_DATA}")
