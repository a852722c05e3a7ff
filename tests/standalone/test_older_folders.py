"""A folder that an older version has written: gone on with, or refused with what to do."""

from pathlib import Path

import pytest

from gossamer.errors import GossamerError
from services.frontier.rows import HostRow, SiteRow
from standalone.folder import Folder, Opened


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Opened(Folder(tmp_path))


def test_a_folder_whose_hosts_were_not_counted_by_site_is_left_alone(opened: Opened) -> None:
    hosts = opened.store.table(HostRow)
    hosts.put(HostRow("a.test", "http://a.test"))
    opened.store.flush()
    with pytest.raises(GossamerError, match=r"start in another folder with --data"):
        opened.folder.lock_for_crawl()
    assert hosts.get("a.test", "http://a.test")


def test_a_folder_of_a_crawl_that_ended_before_its_first_host_is_opened(opened: Opened) -> None:
    opened.store.table(HostRow)
    opened.folder.lock_for_crawl()


def test_a_folder_whose_hosts_were_counted_is_opened(opened: Opened) -> None:
    opened.store.table(SiteRow)
    opened.store.table(HostRow).put(HostRow("a.test", "http://a.test"))
    opened.store.flush()
    opened.folder.lock_for_crawl()
