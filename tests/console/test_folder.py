"""The lock of a folder: one crawl at a time, and a lock for each of its processes."""

import fcntl
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.errors import GossamerError, Locked
from gossamer.inspection.basics import folder as folder_module
from gossamer.inspection.basics.folder import Folder

ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import pickle, sys
folder = pickle.loads(bytes.fromhex(sys.argv[1]))
folder.share()
print("shared", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder that this process has locked; another lock is refused at once."""
    monkeypatch.setattr(folder_module, "LOCK_TIMEOUT", 0.0)
    folder = Folder(tmp_path / "data")
    folder.make()
    folder.lock()
    return folder


def test_second_lock_is_refused_with_the_process_that_has_it(locked_folder: Folder) -> None:
    with pytest.raises(Locked, match=rf"process {os.getpid()}\).*--data"):
        Folder(locked_folder.path).lock()


def test_child_keeps_its_lock_after_the_end_of_the_parent(locked_folder: Folder) -> None:
    command = [sys.executable, "-c", CHILD, pickle.dumps(locked_folder).hex()]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout and child.stdout.readline() == "shared\n"
        assert locked_folder._held is not None
        os.close(locked_folder._held)
        with pytest.raises(Locked):
            Folder(locked_folder.path).lock()
        child.communicate()
    Folder(locked_folder.path).lock()


def test_share_is_refused_while_another_crawl_has_the_lock(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Locked, match="another crawl has locked"):
            Folder(tmp_path).share()


def test_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    folder = Folder(tmp_path / "notes.txt" / "data")
    with pytest.raises(GossamerError, match=r"notes.txt/data is not writable .*--data"):
        folder.make()


def test_open_of_a_missing_folder_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(GossamerError, match="has no crawl"):
        Folder(tmp_path / "data").open()
    assert os.listdir(tmp_path) == []
