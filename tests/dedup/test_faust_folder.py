"""An instance's table after its folder or its changelog was lost or recreated."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import rocksdict
from confluent_kafka.admin import AdminClient
from faust.stores.rocksdb import Store

from gossamer.events import DEFAULT_CRAWL
from gossamer.log import partition_of
from gossamer.services.dedup.seen import hash_finder, mapping_key
from gossamer.web.url import fingerprint
from tests.support.waiting import until

from .instance import PARTITIONS, Brokers, Instance, urls_discovered

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]

SITE, URL, NEWS = "example.org", "http://example.org/", "http://example.org/news"
CHANGELOG = "dedup-seen-changelog"


@pytest.fixture
def brokers(kafka: str) -> Brokers:
    return Brokers(kafka, f"dedup-{uuid.uuid4().hex[:8]}.")


def discover(brokers: Brokers, via: str, *urls: str) -> list[str]:
    """Let *via* discover *urls* and a new URL; return the *urls* that are admitted for *via*."""
    new = f"http://example.org/{uuid.uuid4().hex}"
    brokers.put("urls.discovered", urls_discovered(SITE, via, *urls, new), SITE)
    with brokers.topic("urls.admitted") as topic:
        until(lambda: any(new in str(e) for e in topic.read()), "the new URL")
        found = [e for e in topic.read() if e["via"] == via]
    return [url["url"] for event in found for url in event["urls"] if url["url"] != new]


def run(brokers: Brokers, folder: Path, via: str, *urls: str) -> list[str]:
    instance = Instance(brokers, folder).start().await_ready()
    found = discover(brokers, via, *urls)
    instance.stop()
    assert not instance.failure
    return found


def key_of(url: str) -> bytes:
    """Return the key of *url* in the table."""
    return mapping_key(DEFAULT_CRAWL, fingerprint(url)).encode()


@contextmanager
def disk(folder: Path) -> Iterator[rocksdict.Rdict]:
    """Open the partition of SITE, while no instance runs."""
    (path,) = folder.rglob(f"seen-{partition_of(SITE, PARTITIONS)}.db")
    with closing(rocksdict.Rdict(str(path), options=rocksdict.Options(raw_mode=True))) as table:
        yield table


@pytest.mark.long
def test_seen_urls_survive_the_loss_of_the_folder(brokers: Brokers, tmp_path: Path) -> None:
    assert run(brokers, tmp_path, "one", URL) == [URL]
    assert run(brokers, tmp_path, "two", URL) == []
    shutil.rmtree(tmp_path / "one")
    assert run(brokers, tmp_path, "three", URL, NEWS) == [NEWS]


@pytest.mark.long
def test_table_keeps_its_options_after_a_restart(brokers: Brokers, tmp_path: Path) -> None:
    def options() -> dict[str, str]:
        """Return the options with which RocksDB last opened the partition of SITE."""
        (path,) = tmp_path.rglob(f"seen-{partition_of(SITE, PARTITIONS)}.db")
        newest = max(path.glob("OPTIONS-*"), key=lambda file: file.name)
        lines = [line.partition("=") for line in newest.read_text().splitlines()]
        stored = {name.strip(): value for name, _, value in lines}
        return {
            name: stored[name]
            for name in ("filter_policy", "write_buffer_size", "max_write_buffer_number")
        }

    assert run(brokers, tmp_path, "one", URL) == [URL]
    first = options()
    assert first["filter_policy"] == "bloomfilter"
    assert run(brokers, tmp_path, "two", URL) == []
    assert options() == first


@pytest.mark.long
def test_another_instance_restores_the_table(brokers: Brokers, tmp_path: Path) -> None:
    first = Instance(brokers, tmp_path / "a", "a").start().await_ready()
    assert discover(brokers, "one", URL) == [URL]
    second = Instance(brokers, tmp_path / "b", "b").start().await_ready()
    first.stop()
    assert discover(brokers, "two", URL, NEWS) == [NEWS]
    second.stop()
    assert not first.failure
    assert not second.failure


def delete_changelog(brokers: Brokers) -> None:
    name = brokers.settings.prefix + CHANGELOG
    admin: Any = AdminClient({"bootstrap.servers": brokers.settings.servers})
    admin.delete_topics([name])[name].result()
    until(lambda: name not in admin.list_topics(timeout=30).topics, "the deletion of the topic")


@pytest.mark.long
def test_recreated_changelog_is_filled_from_disk(brokers: Brokers, tmp_path: Path) -> None:
    assert run(brokers, tmp_path, "one", URL) == [URL]
    delete_changelog(brokers)
    assert run(brokers, tmp_path, "two", URL) == []
    shutil.rmtree(tmp_path / "one")
    assert run(brokers, tmp_path, "three", URL, NEWS) == [NEWS]


@pytest.mark.long
def test_recreated_changelog_is_filled_by_a_later_instance(
    brokers: Brokers, tmp_path: Path
) -> None:
    assert run(brokers, tmp_path, "one", URL) == [URL]
    delete_changelog(brokers)
    owner = Instance(brokers, tmp_path / "other", "other").start().await_ready()
    assert discover(brokers, "two", NEWS) == [NEWS]
    late = Instance(brokers, tmp_path).start().await_ready()
    late.stop()
    assert discover(brokers, "three", URL, NEWS) == []
    owner.stop()
    assert not owner.failure
    assert not late.failure


@pytest.mark.long
@pytest.mark.parametrize("offset", [b"7", None], ids=["end lost", "killed while publishing"])
def test_changelog_is_completed_from_disk(
    brokers: Brokers, tmp_path: Path, offset: bytes | None
) -> None:
    assert run(brokers, tmp_path, "one", URL) == [URL]
    with disk(tmp_path) as table:
        table.put(key_of(NEWS), hash_finder("one").encode())
        if offset is None:
            table.delete(Store.offset_key)
        else:  # Beyond the end of the changelog, as if its brokers had lost the end.
            table.put(Store.offset_key, offset)
    assert run(brokers, tmp_path, "two", URL, NEWS) == []
    shutil.rmtree(tmp_path / "one")
    assert run(brokers, tmp_path, "three", URL, NEWS) == []


@pytest.mark.long
def test_redelivered_record_completes_the_changelog(brokers: Brokers, tmp_path: Path) -> None:
    run(brokers, tmp_path, "before")
    with disk(tmp_path) as table:
        # Killed here, before the change was sent.
        table.put(key_of(URL), hash_finder("one").encode())
    assert run(brokers, tmp_path, "one", URL) == [URL]
    shutil.rmtree(tmp_path / "one")
    assert run(brokers, tmp_path, "two", URL) == []
