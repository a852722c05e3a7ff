"""A full disk stops the run, which continues once there is space."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.errors import GossamerError, NoSpace
from gossamer.services.archive.buffer import MIN_FREE_BYTES
from tests.archive.harness import Crawl, assert_readable, files, members, page, responses

COUNT = 40
PROGRAM = """
import sys
from pathlib import Path
from gossamer.errors import NoSpace
from tests.archive.harness import Crawl
crawl = Crawl(Path(sys.argv[1]))
try:
    crawl.work()
except NoSpace as error:
    crawl.archive.close()
    sys.exit(str(error))
"""


def fill(crawl: Crawl) -> None:
    for i in range(COUNT):
        crawl.fetch(page(i, os.urandom(20_000)))


def assert_nothing_lost(folder: Path) -> None:
    assert sorted(responses(folder)) == sorted(page(i).visit.url for i in range(COUNT))
    assert_readable(folder)


@pytest.mark.slow
def test_file_size_limit_stops_the_run(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    fill(crawl)
    crawl.kill()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    assert done.returncode == 1
    assert "no space left" in done.stderr and str(tmp_path / "warc") in done.stderr
    (left,) = files(tmp_path / "warc")
    assert len(members(left)) > 3, "an open file ends in a whole record"
    again = Crawl(tmp_path)
    again.work()
    assert again.events("dead.letters") == []
    again.end()
    assert_nothing_lost(tmp_path / "warc")


def test_full_disk_stops_the_run(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount; the test above covers this with a file size limit")
    try:
        crawl = Crawl(tmp_path / "data", warcs=disk)
        fill(crawl)
        with pytest.raises(NoSpace, match="free some"):
            crawl.work()
        crawl.archive.close()
        crawl.kill()
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        again = Crawl(tmp_path / "data", warcs=disk)
        again.work()
        again.end()
        assert_nothing_lost(disk)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_full_disk_pauses_an_archive_of_a_fleet(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    size = MIN_FREE_BYTES + 500_000
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount")
    try:
        crawl = Crawl(tmp_path / "data", warcs=disk, writer="archive-0")
        fill(crawl)
        crawl.work_until(lambda: bool(crawl.archive.limitation()))
        assert "archive is paused until" in crawl.archive.limitation()
        left = crawl.log.lag("archive", "pages.fetched")
        assert left and not crawl.runner.step()
        subprocess.run(["mount", "-o", f"remount,size={2 * size}", str(disk)], check=True)
        crawl.work()
        assert not crawl.archive.limitation() and crawl.events("dead.letters") == []
        crawl.end()
        assert_nothing_lost(disk / "archive-0")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_folder_that_is_a_file_stops_the_run_without_dead_letters(tmp_path: Path) -> None:
    (tmp_path / "warc").write_text("in the way")
    crawl = Crawl(tmp_path)
    fill(crawl)
    with pytest.raises(GossamerError, match="cannot be written to"):
        crawl.work()
    assert crawl.log.lag("archive", "pages.fetched") == COUNT
    assert crawl.events("dead.letters") == []
    crawl.kill()
