"""The path from a seed to a URL, over links, redirects and sitemaps."""

import pytest

from gossamer.events import DEFAULT_CRAWL, Purpose
from gossamer.inspection.answers.paths import MAX_STEPS, StepKind, UrlPath, read_path
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.log.sqlite import SqliteLog
from gossamer.services.frontier.tables.urls import Origin, UrlRow
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey
from tests.support.transcripts import Transcript

HOST = HostKey("http://a.example")


class Rows:
    """A crawl with the rows of some URLs."""

    def __init__(self) -> None:
        database = Database(":memory:")
        self.store = SqliteStore(database)
        self.crawl = OpenCrawl("rows", SqliteLog(database), lambda: self.store)

    def add(self, name: str, found_on: str, **origin: object) -> None:
        """Add the row of a visited URL, which was found on another one; "" for a seed."""
        via = f"1.2.0@{HOST}/{found_on}" if found_on else "seed@seeds/0/3"
        row = UrlRow(
            DEFAULT_CRAWL,
            HOST,
            f"{HOST}/{name}",
            "page",
            5.0,
            200,
            origin=Origin(via=via, **origin),  # type: ignore[arg-type]
            earlier=1,
        )
        self.store.table(UrlRow).put(row)
        self.store.flush()

    def path(self, name: str) -> UrlPath:
        return read_path(self.crawl, f"{HOST}/{name}")


def test_path_leads_from_the_seed_over_all_kinds_of_steps(transcript: Transcript) -> None:
    rows = Rows()
    rows.add("seed", "")
    rows.add("map", "seed", purpose=Purpose.SITEMAP)
    rows.add("page", "map", depth=1)
    rows.add("moved", "page", depth=2)
    rows.add("target", "moved", depth=2, hops=1)
    found = rows.path("target")
    assert found.is_complete
    assert [(step.url.rpartition("/")[2], step.kind) for step in found.steps] == [
        ("seed", StepKind.SEED),
        ("map", StepKind.SITEMAP),
        ("page", StepKind.SITEMAP),
        ("moved", StepKind.LINK),
        ("target", StepKind.REDIRECT),
    ]
    transcript.add("five steps", [found.answer])
    assert found.steps[0].at == 5.0 and found.steps[0].text == "page (200)"


def test_seed_is_its_own_path(transcript: Transcript) -> None:
    rows = Rows()
    rows.add("seed", "")
    transcript.add("a seed", [rows.path("seed").answer])


def test_path_with_a_missing_row_says_so(transcript: Transcript) -> None:
    rows = Rows()
    rows.add("page", "erased")
    found = rows.path("page")
    assert not found.is_complete
    assert [step.kind for step in found.steps] == [StepKind.UNKNOWN, StepKind.UNKNOWN]
    transcript.add("a row is missing", [found.answer])


def test_circle_of_rows_ends() -> None:
    rows = Rows()
    rows.add("a", "b")
    rows.add("b", "a")
    assert len(rows.path("a").steps) == 3
    for number in range(MAX_STEPS + 5):
        rows.add(f"{number}", f"{number + 1}")
    assert len(rows.path("0").steps) == MAX_STEPS + 1


def test_unknown_url_is_not_found() -> None:
    with pytest.raises(NotFound):
        Rows().path("x")
