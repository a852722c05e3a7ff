"""One folder, one crawl: whoever works in it holds it, each process by itself."""

import fcntl
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.errors import GossamerError, Locked
from standalone import folder as folder_module
from standalone.folder import Folder

ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import pickle, sys
folder = pickle.loads(bytes.fromhex(sys.argv[1]))
folder.share()
print("shared", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder that this process holds; whoever else wants it is refused at once."""
    monkeypatch.setattr(folder_module, "LOCK_TIMEOUT", 0.0)
    folder = Folder(tmp_path / "data")
    folder.make()
    folder.lock_for_crawl()
    return folder


def test_a_folder_is_claimed_once_and_the_holder_is_named(locked: Folder) -> None:
    with pytest.raises(Locked, match=rf"process {os.getpid()}\).*--data"):
        Folder(locked.path).lock_for_crawl()


def test_a_child_holds_it_by_itself_when_its_parent_is_gone(locked: Folder) -> None:
    command = [sys.executable, "-c", CHILD, pickle.dumps(locked).hex()]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout and child.stdout.readline() == "shared\n"
        assert locked._held is not None
        os.close(locked._held)
        with pytest.raises(Locked):
            Folder(locked.path).lock_for_crawl()
        child.communicate()
    Folder(locked.path).lock_for_crawl()


def test_nobody_shares_what_another_crawl_is_taking(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Locked, match="another crawl has locked"):
            Folder(tmp_path).share()


def test_a_folder_below_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    folder = Folder(tmp_path / "notes.txt" / "data")
    with pytest.raises(GossamerError, match=r"notes.txt/data is not writable .*--data"):
        folder.make()


def test_to_look_at_a_folder_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(GossamerError, match="has no crawl"):
        Folder(tmp_path / "data").open()
    assert os.listdir(tmp_path) == []
