"""The archive crashes at every instant, and still has each page exactly once, in whole records."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.volumes import OPEN_SUFFIX
from tests.archive.faults import Crash, Crashed, crashing
from tests.archive.harness import Crawl, assert_readable, files, members, page, record_at, responses

SEGMENT_SIZE = 2500
"""Size of a full segment in bytes: two or three pages."""
MAX_INSTANTS = 500


class History:
    """Runs on one data folder, some of which crash."""

    def __init__(self, folder: Path, crash: Crash) -> None:
        self.folder, self.crash, self.pages = folder, crash, 0
        self.crawl: Crawl | None = None

    def begin(self) -> Crawl:
        self.crawl = self.crawl or Crawl(self.folder, SEGMENT_SIZE)
        return self.crawl

    def fetch(self, count: int) -> None:
        """Append *count* pages to the log, without a crash."""
        crawl, left, self.crash.left = self.begin(), self.crash.left, None
        fetched = [page(self.pages + i, os.urandom(i * 300)) for i in range(count)]
        crawl.fetch(*fetched)
        self.pages += count
        self.crash.left = left

    def survives(self, action: str) -> bool:
        """Do *action*; return whether the process survived it."""
        try:
            getattr(self, action)()
        except Crashed:
            self.clean_up()
            return False
        return True

    def step(self) -> None:
        self.begin().runner.step()

    def end(self) -> None:
        crawl = self.begin()
        crawl.work()
        crawl.end()
        self.crawl = None

    def kill(self) -> None:
        raise Crashed

    def clean_up(self) -> None:
        if self.crawl:
            self.crawl.kill()
        self.crash.clean_up()
        self.crawl = None

    def assert_complete_files_are_whole(self) -> None:
        folder = self.folder / "warc"
        for path in files(folder) if folder.exists() else []:
            if not path.name.endswith(OPEN_SUFFIX):
                assert members(path)

    def assert_each_page_once(self) -> None:
        """Finish, and compare the archived pages with the fetched ones."""
        self.crash.left = None
        self.end()
        folder = self.folder / "warc"
        expected = sorted(page(i).visit.url for i in range(self.pages))
        assert sorted(responses(folder)) == expected
        crawl = self.begin()
        events = crawl.events()
        assert crawl.events("dead.letters") == []
        self.clean_up()
        assert sorted(event.url for event in events) == expected
        for event in events:
            assert f"WARC-Target-URI: {event.url}\r\n".encode() in record_at(folder, event)


def crashes_at(instant: int, crash: Crash, folder: Path) -> bool:
    """Run a crawl with two batches and a normal end; return whether it crashed at *instant*."""
    history = History(folder, crash)
    history.fetch(2)
    crash.left = instant
    crashed = not history.survives("step")
    history.fetch(5)
    crashed |= not (history.survives("step") and history.survives("end"))
    history.assert_complete_files_are_whole()
    history.assert_each_page_once()
    if instant % 10 == 0:
        assert_readable(folder / "warc")
    return crashed


@pytest.mark.long
def test_crash_at_any_instant_neither_loses_nor_repeats_a_page(tmp_path: Path) -> None:
    with crashing() as crash:
        instants = 0
        while crashes_at(instants, crash, tmp_path / str(instants)):
            instants += 1
            assert instants < MAX_INSTANTS
    assert instants > 50


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("fetch"), st.integers(1, 6)),
            st.tuples(st.just("step"), st.just(0)),
            st.tuples(st.just("end"), st.just(0)),
            st.tuples(st.just("kill"), st.just(0)),
            st.tuples(st.just("crash soon"), st.integers(0, 40)),
        ),
        max_size=20,
    )
)
def test_no_sequence_of_crashes_loses_or_repeats_a_page(story: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, crashing() as crash:
        history = History(Path(folder), crash)
        for action, number in story:
            if action == "fetch":
                history.fetch(number)
            elif action == "crash soon":
                crash.left = number
            else:
                history.survives(action)
            history.assert_complete_files_are_whole()
        history.assert_each_page_once()


PROGRAM = """
import os, sys
from pathlib import Path
from tests.archive.harness import Crawl, page
crawl, count = Crawl(Path(sys.argv[1]), 60_000), int(sys.argv[2])
print("begun", flush=True)
for i in range(crawl.log.lag("nobody", "pages.fetched"), count):
    crawl.fetch(page(i, os.urandom(3000)))
    crawl.runner.step()
crawl.work()
crawl.end()
"""


@pytest.mark.slow
def test_killed_processes_neither_lose_nor_repeat_a_page(tmp_path: Path) -> None:
    count, kills = 250, 0
    for grown in range(100_000, 900_000, 170_000):
        worker = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout
        with worker, worker.stdout:
            assert worker.stdout.readline() == "begun\n"
            while worker.poll() is None and _archive_size(tmp_path / "warc") < grown:
                time.sleep(0.001)
            worker.kill()
        kills += worker.returncode == -9
    assert kills > 3
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), str(count)], check=True)
    assert sorted(responses(tmp_path / "warc")) == sorted(page(i).visit.url for i in range(count))
    assert_readable(tmp_path / "warc")


def _archive_size(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except FileNotFoundError:
        return 0
