"""The archive dies at every instant, and still has each page exactly once, in whole records."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.archive.files.segment import OPEN_SUFFIX
from tests.archive.faults import Death, Killed, mortality
from tests.archive.harness import (
    Crawl,
    assert_readable,
    files,
    members,
    page,
    record_at,
    responses,
)

SMALL = 2500
"""Bytes after which a segment is full: two or three pages."""
ENOUGH = 500


class History:
    """Runs over one data folder, some of which die."""

    def __init__(self, folder: Path, death: Death) -> None:
        self.folder, self.death, self.pages = folder, death, 0
        self.crawl: Crawl | None = None

    def begin(self) -> Crawl:
        self.crawl = self.crawl or Crawl(self.folder, SMALL)
        return self.crawl

    def fetch(self, count: int) -> None:
        """Fetch pages; nothing of the archive is at work, so nothing dies."""
        crawl, left, self.death.left = self.begin(), self.death.left, None
        fetched = [page(self.pages + i, os.urandom(i * 300)) for i in range(count)]
        crawl.fetched(*fetched)
        self.pages += count
        self.death.left = left

    def live(self, action: str) -> bool:
        """Do something; return whether the process outlived it."""
        try:
            getattr(self, action)()
        except Killed:
            self.bury()
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
        raise Killed

    def bury(self) -> None:
        if self.crawl:
            self.crawl.die()
        self.death.bury()
        self.crawl = None

    def assert_complete_files_are_whole(self) -> None:
        folder = self.folder / "warc"
        for path in files(folder) if folder.exists() else []:
            if not path.name.endswith(OPEN_SUFFIX):
                assert members(path)

    def assert_each_page_once(self) -> None:
        """Finish, and hold what is there against what was fetched."""
        self.death.left = None
        self.end()
        folder = self.folder / "warc"
        expected = sorted(page(i).visit.url for i in range(self.pages))
        assert sorted(responses(folder)) == expected
        crawl = self.begin()
        events = crawl.events()
        assert crawl.events("dead.letters") == []
        self.bury()
        assert sorted(event.url for event in events) == expected
        for event in events:
            assert f"WARC-Target-URI: {event.url}\r\n".encode() in record_at(folder, event)


def dies_at(instant: int, death: Death, folder: Path) -> bool:
    """Run a crawl with two batches and an ordinary end; return whether it died at *instant*."""
    history = History(folder, death)
    history.fetch(2)
    death.left = instant
    died = not history.live("step")
    history.fetch(5)
    died |= not (history.live("step") and history.live("end"))
    history.assert_complete_files_are_whole()
    history.assert_each_page_once()
    if instant % 10 == 0:
        assert_readable(folder / "warc")
    return died


@pytest.mark.slow
def test_dying_at_any_instant_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    with mortality() as death:
        instants = 0
        while dies_at(instants, death, tmp_path / str(instants)):
            instants += 1
            assert instants < ENOUGH
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
            st.tuples(st.just("die soon"), st.integers(0, 40)),
        ),
        max_size=20,
    )
)
def test_no_history_of_deaths_loses_or_repeats_a_page(story: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, mortality() as death:
        history = History(Path(folder), death)
        for what, number in story:
            if what == "fetch":
                history.fetch(number)
            elif what == "die soon":
                death.left = number
            else:
                history.live(what)
            history.assert_complete_files_are_whole()
        history.assert_each_page_once()


PROGRAM = """
import os, sys
from pathlib import Path
from tests.archive.harness import Crawl, page
crawl, count = Crawl(Path(sys.argv[1]), 60_000), int(sys.argv[2])
print("begun", flush=True)
for i in range(crawl.log.lag("nobody", "pages.fetched"), count):
    crawl.fetched(page(i, os.urandom(3000)))
    crawl.runner.step()
crawl.work()
crawl.end()
"""


@pytest.mark.slow
def test_kill_9_in_the_middle_of_the_work(tmp_path: Path) -> None:
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
            while worker.poll() is None and _written(tmp_path / "warc") < grown:
                time.sleep(0.001)
            worker.kill()
        kills += worker.returncode == -9
    assert kills > 3
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), str(count)], check=True)
    assert sorted(responses(tmp_path / "warc")) == sorted(page(i).visit.url for i in range(count))
    assert_readable(tmp_path / "warc")


def _written(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except FileNotFoundError:
        return 0
