"""Commands on a folder and on a fleet: the choice between them, and their reads."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from gossamer.console.cli.main import main
from gossamer.events import Event, Page, Tombstone, Verdict
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.settings import load_settings
from gossamer.settings.servers import KafkaSettings
from gossamer.web.url import Site
from tests.runtime.processors import drain
from tests.support.transcripts import Transcript

pytestmark = pytest.mark.slow


@pytest.fixture
def fleet(kafka: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[KafkaLog]:
    """Return the log of the fleet in the environment; these tests need no store."""
    settings = KafkaSettings(
        servers=kafka, prefix=f"open-{uuid4().hex[:8]}.", partitions=3, replication=1
    )
    list(Topics(settings).apply())
    monkeypatch.setenv("GOSSAMER_KAFKA__SERVERS", kafka)
    monkeypatch.setenv("GOSSAMER_KAFKA__PREFIX", settings.prefix)
    monkeypatch.chdir(tmp_path)
    log = KafkaLog(settings)
    yield log
    log.close()


def page(url: Site, title: str) -> Page:
    return Page(
        at=1.0, url=url, site=url, status=200, fetched_at=1.0, content_type="text/html",
        title=title, description="", language="", text=None, links=(), verdict=Verdict.FIRST,
        duplicate_of="", digest="", depth=0, via="", canonical="", noindex=False,
        truncated=False, hazards=(),
    )  # fmt: skip


def titles(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {line["url"]: line["title"] for line in lines}
    assert len(found) == len(lines), "a URL was printed twice"
    return found


def test_pages_of_a_fleet_are_the_newest_of_each_url(
    fleet: KafkaLog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pages"]) == 0
    assert titles(capsys) == {}
    events: list[Event | Tombstone] = [
        *(page(Site(f"http://{n}.example/"), "old") for n in range(20)),
        *(page(Site(f"http://{n}.example/"), "new") for n in range(10)),
        # Of the same site as the pages, so that both are in one partition, in this order.
        *(
            Tombstone("default", url, Site(url))
            for url in (f"http://{n}.example/" for n in range(5))
        ),
        page(Site("http://0.example/"), "again"),
    ]
    fleet.append([encode(event) for event in events])
    assert main(["pages"]) == 0
    kept = {n: "new" if n < 10 else "old" for n in range(5, 20)}
    assert titles(capsys) == {
        "http://0.example/": "again",
        **{f"http://{n}.example/": title for n, title in kept.items()},
    }


def test_cursor_of_a_fleet_gives_the_newest_record_of_each_url_once(
    fleet: KafkaLog, capsys: pytest.CaptureFixture[str]
) -> None:
    def export() -> dict[str, tuple[str, str | None]]:
        assert main(["export", "-", "--format", "jsonl", "--since", "index"]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        found = {line["url"]: (line["state"], line["title"]) for line in lines}
        assert len(found) == len(lines)
        return found

    urls = [Site(f"http://{n}.example/") for n in range(6)]
    assert export() == {}
    gone = Tombstone("default", urls[5], urls[5])
    fleet.append([*(encode(page(url, "1")) for url in urls), encode(gone)])
    assert {url: title for url, (_, title) in export().items()} == dict.fromkeys(urls[:5], "1")
    assert export() == {}
    gone = Tombstone("default", urls[1], urls[1])
    changed = [page(urls[0], title) for title in ("2", "3")]
    fleet.append([*map(encode, changed), encode(page(urls[1], "4")), encode(gone)])
    found = export()
    assert found.keys() == {urls[0], urls[1]}
    assert found[urls[0]][1] == "3" and found[urls[1]] == ("gone", None)
    assert export() == {}


def test_named_folder_comes_before_the_fleet(
    fleet: KafkaLog, tmp_path: Path, transcript: Transcript
) -> None:
    transcript("seed", "--data", tmp_path / "folder", "http://a.example/")
    assert drain(fleet.tail(["seeds"])) == []
    for command in (["pages"], ["why", "http://a.example/"]):
        transcript(*command, "--data", tmp_path / "none", status=1)


def test_seeds_go_to_the_fleet(fleet: KafkaLog, transcript: Transcript) -> None:
    transcript("seed", "http://a.example/", "--depth", "2")
    transcript("seed", "http://a.example/2", "--priority", "3")
    transcript("seed", "http://b.example/", status=2)
    assert len(drain(fleet.tail(["control"]))) == 1
    seeds = [json.loads(record.value) for record in drain(fleet.tail(["seeds"]))]
    assert sorted((seed["url"], seed["priority"]) for seed in seeds) == [
        ("http://a.example/", 0),
        ("http://a.example/2", 3),
    ]
    assert not Path("gossamer-data").exists()


def test_command_that_needs_the_store_reports_its_absence(
    fleet: KafkaLog, transcript: Transcript
) -> None:
    transcript("why", "http://a.example/", status=2)


def test_store_of_a_fleet_is_opened_once(
    fleet: KafkaLog, cassandra: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CASSANDRA__HOSTS", '["127.0.0.1"]')
    monkeypatch.setenv("GOSSAMER_CASSANDRA__PORT", str(cassandra))
    monkeypatch.setenv("GOSSAMER_CASSANDRA__KEYSPACE", f"open_{uuid4().hex[:8]}")
    assert main(["store", "apply"]) == 0
    with open_crawl(load_settings(), None) as crawl:
        assert crawl.store() is crawl.store()
