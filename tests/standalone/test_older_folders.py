"""Folders of older versions: opened, or refused with the remedy."""

from pathlib import Path

import pytest

from gossamer.errors import GossamerError
from inspection.folder import Folder, Opened
from services.frontier.rows import HostRow, SiteRow


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Opened(Folder(tmp_path))


def test_folder_without_counts_of_hosts_by_site_is_refused(opened: Opened) -> None:
    hosts = opened.store.table(HostRow)
    hosts.put(HostRow("a.test", "http://a.test"))
    opened.store.flush()
    with pytest.raises(GossamerError, match=r"start in another folder with --data"):
        opened.folder.lock_for_crawl()
    assert hosts.get("a.test", "http://a.test")


def test_folder_without_hosts_is_opened(opened: Opened) -> None:
    opened.store.table(HostRow)
    opened.folder.lock_for_crawl()


def test_folder_with_counts_of_hosts_is_opened(opened: Opened) -> None:
    opened.store.table(SiteRow)
    opened.store.table(HostRow).put(HostRow("a.test", "http://a.test"))
    opened.store.flush()
    opened.folder.lock_for_crawl()
