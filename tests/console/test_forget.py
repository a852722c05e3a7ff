"""`gossamer forget`: the request, the rows that it erases itself, and the list."""

import pytest
from msgspec.structs import replace

from gossamer.console.cli.main import main
from gossamer.erasures import ErasureRow
from gossamer.events import FLEET, CrawlDefined, Discovery, ErasureRequested
from gossamer.events.topics import AUDIT, CONTROL, DEAD_LETTERS, SEEDS, TOPICS, URLS_ADMITTED
from gossamer.inspection.basics.folder import Opened
from gossamer.log import Record
from gossamer.log.codec import dead_letter, encode
from gossamer.services.archive.rows import SegmentRow
from gossamer.services.dedup.content import DigestRow, NearCandidate, NearRow
from gossamer.services.frontier.partition.parked import ParkedRow
from tests.console.gossamer import Gossamer
from tests.runtime.processors import drain

URL, OTHER = "https://www.a.example/x", "https://b.example/y"


@pytest.fixture
def crawl_folder(gossamer: Gossamer) -> Opened:
    return gossamer.open()


def forget(gossamer: Gossamer, *words: str) -> int:
    return main(["forget", *words, "--yes", "--data", str(gossamer.data)])


@pytest.mark.parametrize(
    ("what", "host", "url"),
    [
        (URL, "", URL),
        ("https://www.a.example", "https://www.a.example", ""),
        ("a.example", "", ""),
        ("www.a.example/x?u=http://b", "", "https://www.a.example/x?u=http://b"),
    ],
)
def test_request_names_site_host_and_url(
    crawl_folder: Opened, gossamer: Gossamer, what: str, host: str, url: str
) -> None:
    assert forget(gossamer, what) == 0
    (event,) = gossamer.events(URLS_ADMITTED.name)
    assert isinstance(event, ErasureRequested)
    assert (event.site, event.host, event.url) == ("a.example", host, url)
    assert event.requested_by


@pytest.mark.parametrize("is_removed", [False, True])
def test_request_concerns_all_crawls_and_names_one_that_exists(
    crawl_folder: Opened, gossamer: Gossamer, is_removed: bool
) -> None:
    news = CrawlDefined(at=1.0, crawl="news", scope="any()", max_depth=1, removed=is_removed)
    shops = replace(news, crawl="shops", removed=False)
    crawl_folder.log.append(map(encode, (news, shops)))
    assert forget(gossamer, URL, "--forever") == 0
    (event,) = gossamer.events(URLS_ADMITTED.name)
    assert event.crawl == ("shops" if is_removed else "news")
    assert [one.crawl for one in gossamer.events(AUDIT.name)] == [FLEET] * 2
    assert main(["forget", "--list", "--data", str(gossamer.data)]) == 0


def test_forever_also_blocks_the_target(crawl_folder: Opened, gossamer: Gossamer) -> None:
    assert forget(gossamer, "a.example", "--forever") == 0
    keys = [record.key for record in drain(crawl_folder.log.tail([CONTROL.name]))]
    assert "blocklist_changed/*.a.example" in keys


def test_dead_letters_of_the_target_are_erased(crawl_folder: Opened, gossamer: Gossamer) -> None:
    for offset, url in enumerate((URL, OTHER)):
        record = Record(SEEDS.name, 0, offset, "k", f'{{"url": "{url}"}}'.encode())
        crawl_folder.log.append([encode(dead_letter(record, "dedup", "why", 1.0))])
    gossamer("forget", URL, "--yes")
    left = [
        record.value for record in drain(crawl_folder.log.tail([DEAD_LETTERS.name])) if record.value
    ]
    assert len(left) == 1
    gossamer("dead-letters list")


def test_rows_without_a_key_are_erased(crawl_folder: Opened, gossamer: Gossamer) -> None:
    store = crawl_folder.store
    store.table(DigestRow).put(DigestRow("default", "1", URL))
    store.table(DigestRow).put(DigestRow("default", "2", OTHER))
    near = NearRow(
        "default", "a 0 0", (NearCandidate(URL, "0" * 16, 1.0), NearCandidate(OTHER, "0" * 16, 1.0))
    )
    store.table(NearRow).put(near)
    parked = ParkedRow("default", "0/out_of_scope/0", 0, "v", (Discovery(URL), Discovery(OTHER)))
    store.table(ParkedRow).put(parked)
    store.flush()
    assert forget(gossamer, "https://www.a.example") == 0
    assert [row.url for row in store.table(DigestRow).everything()] == [OTHER]
    assert [[k.url for k in row.pages] for row in store.table(NearRow).everything()] == [[OTHER]]
    assert [[u.url for u in row.urls] for row in store.table(ParkedRow).everything()] == [[OTHER]]


def test_nothing_is_erased_without_confirmation(
    crawl_folder: Opened, gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert main(["forget", URL, "--data", str(gossamer.data)]) == 1
    assert not drain(crawl_folder.log.tail([URLS_ADMITTED.name]))


def test_dry_run_counts_the_rows_and_erases_nothing(
    crawl_folder: Opened, gossamer: Gossamer
) -> None:
    store = crawl_folder.store
    store.table(DigestRow).put(DigestRow("default", "1", URL))
    store.flush()
    gossamer("forget", URL, "--yes", "--dry-run", "--forever")
    assert [row.url for row in store.table(DigestRow).everything()] == [URL]
    assert not drain(crawl_folder.log.tail([*TOPICS]))


def test_erasure_is_recorded_with_its_reason(crawl_folder: Opened, gossamer: Gossamer) -> None:
    gossamer("forget", URL, "--yes", "--reason", "request 12", "--forever")
    gossamer("audit")


def erasure_row(
    service: str, target: str, part: int = 0, ended: bool = True, **rows: int
) -> ErasureRow:
    at = 2_000_000_000.0
    key = f"{at:017.6f} {service} {part:04d} {target}"
    return ErasureRow("-", key, service, target, 0, at, "ann@desk", 7, ended, rows)


def test_erasure_is_listed_with_its_rows(crawl_folder: Opened, gossamer: Gossamer) -> None:
    gossamer("forget", "--list")
    table = crawl_folder.store.table(ErasureRow)
    table.put(erasure_row("frontier", URL, ended=False))
    crawl_folder.store.flush()
    gossamer("forget", "--list")
    table.put(erasure_row("frontier", URL))
    table.put(erasure_row("frontier", URL, part=1, urls=1, plans=1))
    table.put(erasure_row("dedup", URL, documents=1))
    crawl_folder.store.flush()
    gossamer("forget", "--list")
    table.put(erasure_row("archive", URL, captures=3))
    table.put(erasure_row("frontier", OTHER, ended=False))
    crawl_folder.store.flush()
    gossamer("forget", "--list")


def test_erasure_is_listed_until_every_writer_has_erased_its_files(
    crawl_folder: Opened, gossamer: Gossamer
) -> None:
    table, writers = crawl_folder.store.table(ErasureRow), crawl_folder.store.table(SegmentRow)
    for service in ("frontier", "dedup", "archive", "archive/archive-0"):
        table.put(erasure_row(service, URL))
    table.put(erasure_row("archive", URL, part=1))
    for number in range(2):
        writers.put(SegmentRow(writer=f"archive-{number}"))
    crawl_folder.store.flush()
    gossamer("forget", "--list")
    table.put(erasure_row("archive/archive-0", URL, part=1, warc_records=3))
    for part in range(2):
        table.put(erasure_row("archive/archive-1", URL, part=part, warc_records=part))
    crawl_folder.store.flush()
    gossamer("forget", "--list")


def test_list_with_a_target_is_refused(gossamer: Gossamer) -> None:
    gossamer("forget", URL, "--list", status=2)
