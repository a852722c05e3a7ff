"""`gossamer report` answers first, fits into 80 columns, and shows no control characters."""

from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from gossamer.events import DEFAULT_CRAWL
from gossamer.inspection.basics.figures import share_text
from gossamer.inspection.basics.folder import Folder
from gossamer.services.frontier.totals.daily import (
    DAY,
    DailyTallyRow,
    Downloads,
    HazardCount,
    HazardExample,
    HazardExamplesRow,
    Stage,
)
from gossamer.web.url import Site
from tests.console.gossamer import Gossamer
from tests.support.rows import put_rows

AT = 20_000 * DAY
HOSTILE = "http://a.example/\x1b]0;owned\x07"


def make_day(at: float, **fields: object) -> DailyTallyRow:
    given = {
        "admitted": 1_000_000,
        "refused": {"trap_urls": 400_000},
        "sites": 50_000,
        "visits": 1_000_000,
        "pages": 900_000,
        "statuses": {"200": Downloads(900_000, 90 << 30), "host_down": Downloads(100_000)},
        "types": {"text/html": Downloads(900_000, 90 << 30)},
        "verdicts": {"first": 600_000, "duplicate": 200_000, "near_duplicate": 100_000},
        "new_texts": 600_000,
        "hazards": {"trap_urls": HazardCount(400_000, 5_000, 300_000)},
        "seconds": {Stage.BODY: 1e6, Stage.VISIT: 2e6, Stage.DELAY: 3e6},
        **fields,
    }
    return DailyTallyRow(DEFAULT_CRAWL, "0/4", at, **given)  # type: ignore[arg-type]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the folder of a crawl with the totals of two days."""
    folder = Folder(tmp_path / "data")
    opened = folder.create()
    examples = (
        HazardExample(HOSTILE, Site("a.example")),
        HazardExample("http://b.example/", Site("b.example")),
    )
    put_rows(
        opened.store,
        make_day(AT),
        make_day(AT + DAY),
        HazardExamplesRow(DEFAULT_CRAWL, "0/4", "trap_urls", AT, examples),
    )
    opened.database.close()
    return folder.path


def test_first_sentence_answers_and_lines_fit_into_80_columns(
    data: Path, gossamer: Gossamer
) -> None:
    _, *lines = gossamer("report").splitlines()
    assert [line for line in lines if len(line) > 80 or not line.isprintable()] == []


def test_advice_names_figures_and_settings(data: Path, gossamer: Gossamer) -> None:
    gossamer("report", "--advice", "--day", "2024-10-04")


def test_empty_period_is_said(data: Path, gossamer: Gossamer) -> None:
    gossamer("report", "--day", "2001-01-01")


def test_html_is_one_file_without_markup_of_the_web(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "http://a.example/<script>alert('x')</script>\x1b\u202e"
    opened = Folder(tmp_path / "html").create()
    day = make_day(AT, types={"text/<img src=//evil.example>": Downloads(3, 9)})
    examples = (HazardExample(hostile, Site("a.example")),)
    put_rows(opened.store, day, HazardExamplesRow(DEFAULT_CRAWL, "0/4", "trap_urls", AT, examples))
    assert main(["report", "--html", "--data", str(tmp_path / "html")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("<!doctype html>")
    assert "&lt;script&gt;" in shown and "&lt;img src=//evil.example&gt;" in shown
    for markup in ("<script", "<img", "<link", "href=", 'src="', "\x1b", "\u202e"):
        assert markup not in shown, markup


def test_bad_period_is_refused(data: Path, gossamer: Gossamer) -> None:
    for words in (("--day", "monday"), ("--day", "2024-10-04", "--days", "2"), ("--days", "0")):
        gossamer("report", *words, status=2)


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "0.0 %"), (0.0004, "< 0.1 %"), (0.0005, "0.1 %"), (1.0, "100.0 %")]
)
def test_share_has_one_decimal(share: float, shown: str) -> None:
    assert share_text(share) == shown
