"""Scans for the index of hosts: when they are made, and that they leave nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.errors import Unavailable
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.hosts import host_scans
from gossamer.inspection.hosts.host_scans import MIN_INTERVAL, HostScans
from gossamer.inspection.hosts.hosts import HostQuery
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.web.url import HostKey, Site

LATER = 1000 * MIN_INTERVAL


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Folder(tmp_path / "data").create()


def store_host(opened: Opened, name: Site) -> None:
    opened.store.table(HostRow).put(HostRow(name, HostKey(f"https://{name}")))
    opened.store.flush()


@pytest.fixture
def scans(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostScans]:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(
        host_scans, "mkdtemp", lambda prefix: str(tmp_path / "temporary" / prefix.strip("-"))
    )
    (tmp_path / "temporary" / "gossamer-hosts").mkdir()
    store_host(opened, Site("a.example"))
    scans = HostScans(opened.folder.path)
    yield scans
    scans.close()


def hosts(scans: HostScans, now: float) -> list[str]:
    return [site for site, _ in scans.index_at(now).find_hosts(HostQuery()).items]


def test_first_look_starts_a_scan_and_an_old_one_is_repeated(
    scans: HostScans, opened: Opened
) -> None:
    with pytest.raises(Unavailable, match="being read"):
        hosts(scans, 0.0)
    scans.wait()
    assert hosts(scans, 1.0) == ["a.example"]
    store_host(opened, Site("b.example"))
    scans.wait()
    assert hosts(scans, MIN_INTERVAL - 1.0) == ["a.example"], "the scan is young"
    hosts(scans, LATER)
    scans.wait()
    assert sorted(hosts(scans, LATER)) == ["a.example", "b.example"]


def test_failed_scan_is_reported_and_repeated_later(scans: HostScans, opened: Opened) -> None:
    opened.folder.database.rename(opened.folder.path / "away.db")
    scans.index_at(0.0)
    scans.wait()
    with pytest.raises(Unavailable, match="could not be read"):
        scans.index_at(1.0)
    (opened.folder.path / "away.db").rename(opened.folder.database)
    scans.index_at(LATER)
    scans.wait()
    assert hosts(scans, LATER) == ["a.example"]


def test_end_deletes_the_index_and_a_running_scan(scans: HostScans, tmp_path: Path) -> None:
    scans.index_at(0.0)
    scans.close()
    assert not [*(tmp_path / "temporary").iterdir()]
