"""`gossamer why` for any form of a URL: the form of the crawl, and the steps to it."""

from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log.codec import encode
from gossamer.web.url_steps import ALL_STEPS
from services.dedup.rows import HostStepsRow
from services.frontier.rows import UrlRow
from standalone.folder import Folder, Opened

HOST = "https://a.example"
RAW = f"{HOST}/index.html"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder whose crawl knows a host that has proven something."""
    folder = Folder(tmp_path / "data")
    folder.make()
    opened = Opened(folder)
    defined = CrawlDefined(at=1.0, scope="any()", max_depth=3, url_steps=ALL_STEPS)
    opened.log.append([encode(defined)])
    row = HostStepsRow(HOST, {"session_id sid": ("a", "b", "c"), "letter_case": ("a",)})
    opened.store.table(HostStepsRow).put(row)
    opened.store.table(UrlRow).put(
        UrlRow(DEFAULT_CRAWL, host=HOST, url=RAW, outcome="page", at=1.0, earlier=1)
    )
    opened.store.flush()
    opened.database.close()
    return folder.path


@pytest.mark.parametrize(
    ("typed", "url", "steps"),
    [
        ("a.example", "/", []),
        ("a.example/x", "/x", []),
        (
            "HTTPS://A.example:443/x/../y#top",
            "/y",
            [f"standard to {HOST}/y"],
        ),
        (
            "a.example/%7eme/?utm_source=x&PHPSESSID=1",
            "/~me/",
            [
                f"escapes to {HOST}/~me/?utm_source=x&PHPSESSID=1",
                f"session_id to {HOST}/~me/?utm_source=x",
                f"tracking to {HOST}/~me/",
            ],
        ),
        (
            "a.example/A/index.html?sid=1",
            "/A/",
            [
                f"session_id sid (proven by 3 texts) to {HOST}/A/index.html",
                f"default_document (assumed) to {HOST}/A/",
            ],
        ),
    ],
)
def test_each_step_is_named_with_what_it_made(
    data: Path, capsys: pytest.CaptureFixture[str], typed: str, url: str, steps: list[str]
) -> None:
    shown = why(data, capsys, typed)
    assert shown[0] == HOST + url
    said = [line.strip() for line in shown if line.startswith("  rewritten: ")]
    assert said == [f"rewritten: by {step}" for step in steps]


def why(data: Path, capsys: pytest.CaptureFixture[str], typed: str) -> list[str]:
    assert main(["why", "--data", str(data), typed]) == 0
    return capsys.readouterr().out.splitlines()


def test_what_was_visited_as_it_stands_is_explained_as_it_stands(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why(data, capsys, RAW)[0] == RAW


def test_what_a_step_leaves_out_says_which(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = why(data, capsys, "a.example/b/c/b/c/")
    assert shown[:2] == [
        f"{HOST}/b/c/b/c/",
        "  Not fetched: excluded by the URL step repeated_path: a path in which a component stands "
        "three times in a row, or "
        "a pair of them twice, is not visited; components that are numbers may repeat.",
    ]
