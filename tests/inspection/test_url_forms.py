"""`gossamer why` for any form of a URL: the form of the crawl, and the steps to it."""

from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.inspection.basics.folder import Folder
from gossamer.log.codec import encode
from gossamer.services.dedup.rows import HostStepsRow
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.url import HostKey, Site
from gossamer.web.url_steps import ALL_STEPS
from tests.support.transcripts import Transcript

HOST = HostKey("https://a.example")
RAW = f"{HOST}/index.html"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with a host for which rewriting rules are proven."""
    folder = Folder(tmp_path / "data")
    opened = folder.create()
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
def test_each_url_step_is_shown_with_its_result(
    data: Path, capsys: pytest.CaptureFixture[str], typed: str, url: str, steps: list[str]
) -> None:
    shown = why(data, capsys, typed)
    assert shown[0] == HOST + url
    rewritten = [line.strip() for line in shown if line.startswith("  rewritten: ")]
    assert rewritten == [f"rewritten: by {step}" for step in steps]


def why(data: Path, capsys: pytest.CaptureFixture[str], typed: str) -> list[str]:
    assert main(["why", "--data", str(data), typed]) == 0
    return capsys.readouterr().out.splitlines()


def test_url_visited_as_typed_keeps_its_form(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why(data, capsys, RAW)[0] == RAW


def test_excluded_url_is_shown_with_the_url_step(data: Path, transcript: Transcript) -> None:
    transcript("why", "--data", data, "a.example/b/c/b/c/")


def test_http_is_used_without_a_scheme_if_only_the_http_url_is_seen(
    data: Path, transcript: Transcript
) -> None:
    store = Folder(data).open().store
    plain = "http://b.example"
    for url in (f"{plain}/about", f"{plain}/"):
        store.table(UrlRow).put(
            UrlRow(
                DEFAULT_CRAWL,
                host=HostKey(plain),
                url=url,
                outcome="page",
                at=1.0,
                status=200,
                earlier=1,
            )
        )
    store.table(HostRow).put(HostRow(Site("b.example"), HostKey(plain)))
    store.flush()
    for typed in ("about", "new"):
        transcript("why", "--data", data, f"b.example/{typed}")
    for typed in ("https://b.example/about", "http://www.b.example/about"):
        transcript("why", "--data", data, typed)
