"""`gossamer history`: all visits to a URL, newest first."""

import json
from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.events import DEFAULT_CRAWL, Outcome, Verdict
from gossamer.web.soft_404 import NO_PAGE
from inspection.basics.folder import Folder
from inspection.urls.visits import visit_of
from services.frontier.tables.urls import HistoryRow

URL = "http://a.example/page"
NOW = 2_000_000_000.0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with 250 visits to the URL, an hour apart."""
    folder = Folder(tmp_path / "data")
    opened = folder.create()
    rows = [
        HistoryRow(DEFAULT_CRAWL, URL, NOW - hour * 3600, Outcome.PAGE, 200)
        for hour in range(3, 250)
    ]
    rows += [
        HistoryRow(
            DEFAULT_CRAWL, URL, NOW, Outcome.PAGE, 200, verdict=Verdict.CHANGED, change=0.125
        ),
        HistoryRow(
            DEFAULT_CRAWL,
            URL,
            NOW - 3600,
            Outcome.NOT_MODIFIED,
            304,
            verdict=Verdict.UNCHANGED,
            change=0,
        ),
        HistoryRow(DEFAULT_CRAWL, URL, NOW - 7200, Outcome.GONE, 404, reason="not here\x1b[2J"),
        HistoryRow(DEFAULT_CRAWL, f"{URL}3", NOW, Outcome.REDIRECT, 301, redirects_to=URL),
        HistoryRow(DEFAULT_CRAWL, f"{URL}3", NOW - 60, Outcome.GONE, 404, verdict=Verdict.GONE),
        HistoryRow(
            DEFAULT_CRAWL, f"{URL}2", NOW, Outcome.PAGE, verdict=Verdict.DUPLICATE, duplicate_of=URL
        ),
    ]
    for row in rows:
        opened.store.table(HistoryRow).put(row)
    opened.store.flush()
    opened.database.close()
    return folder.path


def test_visit_to_a_soft_404_found_no_page() -> None:
    row = HistoryRow(
        DEFAULT_CRAWL, URL, NOW, Outcome.PAGE, 200, reason=NO_PAGE, verdict=Verdict.FIRST
    )
    assert visit_of(row).verdict == Verdict.GONE


def history(
    data: Path, capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> list[str]:
    assert main(["history", "--data", str(data), *arguments]) == status
    shown = capsys.readouterr()
    return (shown.err if status == 2 else shown.out).splitlines()


def test_visits_are_listed_with_outcome_and_change(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = history(data, capsys, URL)
    assert len(lines) == 250 and lines == sorted(lines, reverse=True)
    assert lines[:3] == [
        "2033-05-18 03:33:20 UTC  page (200)  changed by 12 %",
        "2033-05-18 02:33:20 UTC  304 not modified  unchanged",
        "2033-05-18 01:33:20 UTC  404 Not Found  not here?[2J",
    ]
    assert history(data, capsys, f"{URL}2") == [
        f"2033-05-18 03:33:20 UTC  page  duplicate of {URL}"
    ]
    assert history(data, capsys, f"{URL}3") == [
        f"2033-05-18 03:33:20 UTC  redirect (301)  redirects to {URL}",
        "2033-05-18 03:32:20 UTC  404 Not Found  gone",
    ]


def test_limit_lists_the_newest_visits(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(history(data, capsys, URL, "--limit", "120")) == 120
    (line,) = history(data, capsys, URL, "--limit", "1", "--json")
    found = json.loads(line)
    assert (found["at"], found["outcome"], found["change"]) == (NOW, "page", 0.125)
    with pytest.raises(SystemExit):
        history(data, capsys, URL, "--limit", "0")


def test_unvisited_url_has_no_history(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = history(data, capsys, "a.example/other", status=1)
    assert "https://a.example/other was never visited: gossamer why" in line
    assert history(data, capsys, "a.example/other", "--json", status=1) == []
    assert "':::' is not a URL" in history(data, capsys, ":::", status=2)[0]
