"""`gossamer show`, `diff` and `history`, and the API: archived versions of a page."""

import gzip
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.console.cli.diff import render
from gossamer.console.cli.main import main
from gossamer.console.output import Output
from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.inspection.archive.versions import read_version
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.services.parser.options import Options
from gossamer.services.parser.wiring import options_of
from gossamer.settings import Settings
from gossamer.text.differences import compare_texts
from gossamer.volumes import Missing
from tests.console.archived import DAY, HOST, PAGE, START, Archived
from tests.console.gossamer import Gossamer
from tests.console.served import Client

FILLER = "Some words that are equal in both versions of the page. " * 8
HTML = ("Content-Type", "text/html; charset=utf-8")
GZIP = ("Content-Encoding", "gzip")
AFTER = ("2023-11-14T23:00", "2023-11-15T23:00", "2023-11-16T23:00", "2023-11-17T23:00")
"""Day of a capture → a time after it and before the next."""
HOSTILE = "\x1b[2Jevil"


def markup(price: str) -> bytes:
    return (
        f"<html><title>Prices</title><nav>menu</nav><article><p>{FILLER}</p>"
        f"<p>The price is {price} for everybody.</p></article></html>"
    ).encode()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with two versions of a page, a confirmation of each, and an error."""
    archived = Archived(tmp_path)
    archived.add(PAGE, 0, markup("10 €"), headers=(HTML,))
    archived.add(PAGE, 1, status=304)
    archived.add(
        PAGE, 2, gzip.compress(markup("12 €"), mtime=0), headers=(HTML, GZIP, ("X-Evil", HOSTILE))
    )
    archived.add(PAGE, 3, status=304)
    archived.add(PAGE, 4, b"<p>not here", 404, (HTML,))
    return archived.end()


def test_capture_of_a_time_is_shown(data: Path, gossamer: Gossamer) -> None:
    """A 304 has the text of the earlier capture."""
    for words in (
        ("--at", AFTER[2]),
        ("--at", AFTER[3]),
        ("--at", AFTER[3], "--text"),
        ("--text",),
    ):
        gossamer("show", PAGE, *words)
    gossamer("show", PAGE, "--at", "2020-01-01", status=1)
    gossamer("show", f"{HOST}/other", status=1)


def test_two_versions_are_compared(data: Path, gossamer: Gossamer) -> None:
    """Without times, they are the newest one that is a page and the last one with another body."""
    gossamer("diff", PAGE)
    gossamer("diff", PAGE, "--html")
    gossamer("diff", PAGE, "--from", AFTER[0], "--to", AFTER[1])
    for option, at in (("--to", AFTER[0]), ("--from", "2020-01-01"), ("--to", "2020-01-01")):
        gossamer("diff", PAGE, option, at, status=1)


def test_headers_are_escaped_and_raw_bytes_are_not(
    data: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["show", PAGE, "--at", AFTER[2], "--headers", "--data", str(data)]) == 0
    headers = capfdbinary.readouterr().out
    assert headers.startswith(b"200\nContent-Type: text/html") and b"\\u001b[2Jevil" in headers
    assert main(["show", PAGE, "--at", AFTER[2], "--raw", "--data", str(data)]) == 0
    raw = capfdbinary.readouterr().out
    head, _, body = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ") and b"\x1b[2Jevil" in head
    assert gzip.decompress(body) == markup("12 €")


def test_raw_bytes_are_not_written_to_a_terminal(
    data: Path, gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    gossamer("show", PAGE, "--raw", status=2)


def test_damaged_file_is_named(data: Path, gossamer: Gossamer) -> None:
    path = sorted((data / "warc").glob("*.warc.gz"))[2]
    path.write_bytes(path.read_bytes()[:600])
    gossamer("show", PAGE, "--at", AFTER[2], status=1)
    path.unlink()
    gossamer("show", PAGE, "--raw", "--at", AFTER[2], status=1)


def test_file_in_a_volume_is_read_there(data: Path, tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    for path in (data / "warc").iterdir():
        path.rename(tmp_path / "volume" / path.name)
    with open_crawl(None, data) as crawl:
        with pytest.raises(Missing):
            read_version(crawl, PAGE)
        moved = replace(crawl, volumes=(str(tmp_path / "other"), str(tmp_path / "volume")))
        assert read_version(moved, PAGE).capture.status == 404


def test_record_of_another_url_is_refused(data: Path, gossamer: Gossamer) -> None:
    opened = Folder(data).open()
    rows = opened.store.table(CaptureRow).scan((DEFAULT_CRAWL, PAGE))
    opened.store.table(CaptureRow).put(
        CaptureRow(
            DEFAULT_CRAWL,
            f"{HOST}/q",
            START,
            200,
            rows[-1].file,
            rows[-1].offset,
            rows[-1].length,
            "",
        )
    )
    opened.store.flush()
    opened.database.close()
    gossamer("show", f"{HOST}/q", "--raw", status=1)


def test_history_names_size_and_capture(data: Path, gossamer: Gossamer) -> None:
    opened = Folder(data).open()
    for number in (0.5, 1, 2):
        row = HistoryRow(DEFAULT_CRAWL, PAGE, START + number * DAY, Outcome.PAGE, 200, size=2500)
        opened.store.table(HistoryRow).put(row)
    opened.store.flush()
    opened.database.close()
    gossamer("history", PAGE)
    found = gossamer.json_lines("history", PAGE)
    # Two captures are newer than the visits, and the first one is older.
    assert [bool(visit["capture"]) for visit in found] == [True, True, True, True, False, True]
    assert found[2]["capture"]["record_type"] == "response"


def test_difference_is_coloured_on_a_terminal_and_escaped() -> None:
    found = compare_texts("one two three", f"one {HOSTILE} three")
    shown = render(found.pieces, Output(80, colour=True))
    assert shown == "one \x1b[31mtwo\x1b[0m \x1b[32m\\u001b[2Jevil\x1b[0m three"


def test_options_of_a_folder_are_the_defaults_of_the_settings() -> None:
    assert Options() == options_of(Settings())


def test_api_has_the_data_of_the_commands(client: Client, data: Path, gossamer: Gossamer) -> None:
    at = START + 2.5 * DAY
    version = client.get("/v1/crawls/default/capture", params={"url": PAGE, "at": at}).json()
    assert version == gossamer.json("show", PAGE, "--at", AFTER[2])
    assert version["text_kind"] == "main" and "12 €" in version["text"]
    difference = client.get("/v1/crawls/default/diff", params={"url": PAGE}).json()
    assert difference == gossamer.json("diff", PAGE)
    assert {"kind": "removed", "text": "10 "} in difference["pieces"]
    missing = client.get("/v1/crawls/default/capture", params={"url": f"{HOST}/other"})
    assert missing.status_code == 404 and "was not archived" in missing.json()["detail"]
    assert client.get("/v1/crawls/default/capture", params={"url": "http://["}).status_code == 400
    assert (
        client.get("/v1/crawls/default/diff", params={"url": PAGE, "form": "pdf"}).status_code
        == 400
    )
