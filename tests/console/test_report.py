"""`gossamer report` answers first, fits into 80 columns, and shows no control characters."""

from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.events import DEFAULT_CRAWL
from inspection.basics.figures import share_text
from inspection.basics.folder import Folder
from services.frontier.totals.daily import (
    DAY,
    DailyTallyRow,
    Downloads,
    HazardCount,
    HazardExample,
    HazardExamplesRow,
    Stage,
)
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
    examples = HazardExample(HOSTILE, "a.example"), HazardExample("http://b.example/", "b.example")
    put_rows(
        opened.store,
        make_day(AT),
        make_day(AT + DAY),
        HazardExamplesRow(DEFAULT_CRAWL, "0/4", "trap_urls", AT, examples),
    )
    opened.database.close()
    return folder.path


def show(data: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["report", "--data", str(data), *words]) == 0
    return capsys.readouterr().out.replace(str(data), "data").splitlines()


def test_first_sentence_answers_and_lines_fit_into_80_columns(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, *lines) = show(data, capsys)
    assert first == (
        "data: 1,800,000 pages of 100,000 sites, 1.5 downloads for each new text, 33.3 % copies."
    )
    assert [line for line in lines if len(line) > 80 or not line.isprintable()] == []
    assert "  period       2024-10-04 to 2024-10-05" in lines
    assert "  requests     2,000,000, 180.0 GiB received" in lines
    assert "  new texts    1,200,000, one in 1.67 requests" in lines
    assert any("(60.0 %)" in line for line in lines if "politeness" in line)
    row = next(
        n for n, line in enumerate(lines) if line.endswith("parked, over the URL budget of a site")
    )
    assert lines[row].split()[:6] == ["10,000", "10.0", "%", "800,000", "28.6", "%"]
    assert "800,000 URLs refused" in lines[row + 1] and "frontier.url_budget" in lines[row + 1]
    assert lines[row + 2].strip() == "http://a.example/?]0;owned?"
    assert lines[row + 3].strip() == "http://b.example/"
    assert any(line.endswith("90.0 %  180.0 GiB  200 OK") for line in lines)
    assert any(line.endswith("no connection") for line in lines)
    assert sum(line.strip().startswith("2024-10-0") for line in lines) == 2
    assert lines[-1].endswith("of advice: gossamer report --advice")


def test_advice_names_figures_and_settings(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (first, *lines) = show(data, capsys, "--advice", "--day", "2024-10-04")
    assert first.startswith("data: advice on ") and first.endswith("from 2024-10-04.")
    text = "\n".join(lines)
    assert "300,000 of 400,000 URLs (75 %)" in text and "Raise frontier.url_budget" in text
    assert "copies: 300,000 of 900,000 pages (33.3 %)" in text
    assert "crawl.max_depth may be lower" in text


def test_empty_period_is_said(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(data, capsys, "--day", "2001-01-01")
    assert lines == ["data: nothing was counted on 2001-01-01."]


def test_html_is_one_file_without_markup_of_the_web(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "http://a.example/<script>alert('x')</script>\x1b\u202e"
    opened = Folder(tmp_path / "html").create()
    day = make_day(AT, types={"text/<img src=//evil.example>": Downloads(3, 9)})
    examples = (HazardExample(hostile, "a.example"),)
    put_rows(opened.store, day, HazardExamplesRow(DEFAULT_CRAWL, "0/4", "trap_urls", AT, examples))
    assert main(["report", "--html", "--data", str(tmp_path / "html")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("<!doctype html>") and "900,000 pages of 50,000 sites" in shown
    assert "&lt;script&gt;" in shown and "&lt;img src=//evil.example&gt;" in shown
    for markup in ("<script", "<img", "<link", "href=", 'src="', "\x1b", "\u202e"):
        assert markup not in shown, markup


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--day", "monday"), "is not a day"),
        (("--day", "2024-10-04", "--days", "2"), "not both"),
        (("--days", "0"), "not a whole number"),
    ],
)
def test_bad_period_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str
) -> None:
    try:
        status = main(["report", "--data", str(data), *words])
    except SystemExit as error:
        status = int(error.code or 0)
    assert status == 2 and reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "0.0 %"), (0.0004, "< 0.1 %"), (0.0005, "0.1 %"), (1.0, "100.0 %")]
)
def test_share_has_one_decimal(share: float, shown: str) -> None:
    assert share_text(share) == shown
