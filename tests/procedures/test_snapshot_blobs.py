"""A snapshot has the large bodies that wait for their readers."""

from contextlib import closing
from pathlib import Path

from gossamer.inspection.basics.folder import Folder
from gossamer.log.blobs import keep, load, refer
from gossamer.log.codec import decode, encode
from gossamer.procedures.restore import restore_snapshot
from gossamer.procedures.snapshot import take_snapshot
from gossamer.settings.sections import StandaloneSettings
from tests.archive.harness import page


def test_restored_folder_has_the_blobs_of_waiting_records(tmp_path: Path) -> None:
    folder, restored = Folder(tmp_path / "crawl"), Folder(tmp_path / "restored")
    folder.make()
    folder.database.touch()
    large = page(1, b"x" * 1_000_000)
    with closing((opened := folder.open(StandaloneSettings())).database):
        assert opened.log.blobs is not None
        opened.log.append([encode(refer(large, opened.log.blobs, 1000))])
        kept = keep(page(2), opened.log.blobs)
    take_snapshot(folder, tmp_path / "snapshot")
    for path in folder.blobs.glob("[0-9]*/*"):
        path.unlink()
    restore_snapshot(tmp_path / "snapshot", restored, may_replace=False)
    with closing((opened := restored.open(StandaloneSettings())).database):
        (record,) = opened.log.tail(["pages.fetched"]).poll(0)
        assert load(decode(record), opened.log.blobs) == large
        assert opened.log.blobs and opened.log.blobs.size(kept) is None, (
            "crawls request such a page again"
        )
