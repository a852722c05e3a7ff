"""`gossamer history`: all visits to a URL, newest first."""

from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, Outcome, Verdict
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.urls.visits import visit_of
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.web.soft_404 import NO_PAGE
from tests.console.gossamer import Gossamer

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
        HistoryRow(
            DEFAULT_CRAWL, f"{URL}4", NOW, Outcome.PAGE, 200, verdict=Verdict.CHANGED, change=0.0
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


def test_change_only_in_places_that_always_change_is_said(data: Path, gossamer: Gossamer) -> None:
    gossamer("history", f"{URL}4")


def test_visits_are_listed_with_outcome_and_change(data: Path, gossamer: Gossamer) -> None:
    visits = gossamer.json_lines("history", URL)
    assert len(visits) == 250
    assert visits == sorted(visits, key=lambda visit: visit["at"], reverse=True)
    gossamer("history", URL, "--limit", "4")
    gossamer("history", f"{URL}2")
    gossamer("history", f"{URL}3")


def test_limit_lists_the_newest_visits(data: Path, gossamer: Gossamer) -> None:
    assert len(gossamer.json_lines("history", URL, "--limit", "120")) == 120
    (found,) = gossamer.json_lines("history", URL, "--limit", "1")
    assert (found["at"], found["outcome"], found["change"]) == (NOW, "page", 0.125)
    gossamer("history", URL, "--limit", "0", status=2)


def test_unvisited_url_has_no_history(data: Path, gossamer: Gossamer) -> None:
    gossamer("history", "a.example/other", status=1)
    gossamer("history", "a.example/other", "--json", status=1)
    gossamer("history", ":::", status=2)
