"""Commands that read a crawl, while it runs and afterwards: pages as lines and as a table, and
why."""

import json
import re
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from signal import SIGINT
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.waiting import HANG_TIMEOUT, until
from tests.synthweb import SynthWeb, Truth, World

from .assertions import half_readable, readable
from .conftest import Finished
from .crawl import GOSSAMER, Crawl, environment, run


def pages_command(data: Path, *options: str) -> list[str]:
    return [GOSSAMER, "pages", "--data", str(data), *options]


# --- pages


@pytest.mark.long
def test_reader_that_closes_the_pipe_is_not_an_error(tiny: Finished) -> None:
    with subprocess.Popen(
        pages_command(tiny.crawl.data),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stdout and process.stderr
        first = json.loads(process.stdout.readline())
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(HANG_TIMEOUT) == 0
    assert err == ""
    assert first["url"] in readable(tiny.web.truth)


def same(column: Any, expected: Any) -> bool:
    """Return whether a value of a table equals that of a line. In tables maps are objects, unknown
    times are 0, and parts omit default values."""
    match column, expected:
        case datetime(), float():
            return abs(column.timestamp() - expected) < 1e-5
        case list(), dict():
            return dict(column) == expected
        case dict(), dict():
            return all(same(value, expected.get(name, value)) for name, value in column.items())
        case list(), list():
            return len(column) == len(expected) and all(map(same, column, expected))
    return bool(column == expected) or (column is None and not expected)


@pytest.mark.long
@pytest.mark.parametrize("to", ["--output", ">"])
def test_parquet_table_has_the_rows_of_the_lines(
    mixed_crawl: Finished, tmp_path: Path, to: str
) -> None:
    file = tmp_path / "pages.parquet"
    command = pages_command(mixed_crawl.crawl.data, "--format", "parquet")
    if to == ">":
        with file.open("wb") as out:
            subprocess.run(command, stdout=out, env=environment(), timeout=HANG_TIMEOUT, check=True)
    else:
        done = run([*command, "--output", str(file)])
        assert (done.code, done.out, done.err) == (0, "", "")
    rows = {row["url"]: row for row in pq.read_table(file).to_pylist()}
    lines = {page["url"]: page for page in mixed_crawl.crawl.pages()}
    truth = mixed_crawl.web.truth
    assert set(rows) == set(lines) == readable(truth) | half_readable(truth)
    for url, row in rows.items():
        for name, value in row.items():
            assert same(value, lines[url][name]), name
        assert row["fetched_at"].timestamp() == pytest.approx(lines[url]["fetched_at"], abs=1e-5)
    assert {"etag", "last_modified"} == set(row["validators"])


@pytest.mark.slow
def test_output_option_writes_lines_to_a_file(mixed_crawl: Finished, tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    done = run(pages_command(mixed_crawl.crawl.data, "--output", str(file)))
    assert (done.code, done.out, done.err) == (0, "", "")
    assert [json.loads(line) for line in file.read_text().splitlines()] == mixed_crawl.crawl.pages()
    nowhere = run(pages_command(mixed_crawl.crawl.data, "--output", str(tmp_path / "no" / "file")))
    assert nowhere.code == 2 and str(tmp_path / "no" / "file") in nowhere.err
    assert "Traceback" not in nowhere.err


@pytest.mark.long
@pytest.mark.parametrize("end", ["interrupt", "close"])
def test_follow_prints_pages_as_they_are_published(tmp_path: Path, end: str) -> None:
    with SynthWeb(World.plain(seed=6, hosts=8, pages=10)) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.3)
        with crawl.start() as under_way:
            until(lambda: len(web.requests()) > 10, "ten requests")
            with subprocess.Popen(
                pages_command(crawl.data, "--follow"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(),
                text=True,
            ) as follower:
                assert follower.stdout and follower.stderr
                seen: list[str] = []
                while len(seen) < 40:
                    seen.append(json.loads(follower.stdout.readline())["url"])
                assert under_way.running, "the pages arrived while the crawl ran"
                assert len(set(seen)) == 40
                if end == "interrupt":
                    follower.send_signal(SIGINT)
                else:
                    follower.stdout.close()
                assert follower.wait(HANG_TIMEOUT) == (130 if end == "interrupt" else 0)
                assert follower.stderr.read() == ""
            assert under_way.running
            assert under_way.wait().code == 0
        assert set(seen) <= readable(web.truth)


# --- why

BACKOFF = r"not visited now until \d{4}-.* UTC: .* \(backoff\)"


REASONS: dict[str, tuple[Callable[[SynthWeb], str], str]] = {
    "page": (
        lambda web: web.seeds[0].upper().replace("HTTP", "http") + "#top",
        r"as a seed(?s:.*)visited: .* UTC: page \(200\)(?s:.*)verdict: first",
    ),
    "linked page": (lambda web: linked(web.truth), r"by a link on http://"),
    "excluded URL": (
        lambda web: next(url for url in sorted(web.truth.forbidden) if "/private/" in url),
        r"excluded by robots\.txt(?s:.*)line \d+: Disallow: /",
    ),
    "redirect": (
        lambda web: next(url for url in sorted(web.truth.redirects) if "/odd/308" in url),
        r"redirect \(308\)(?s:.*)to http://",
    ),
    "failure": (
        lambda web: of_kind(web.truth, "500"),
        # The visit may be due when a slow machine asks.
        r"500 Internal Server Error(?s:.*)next visit: (due since )?.* UTC[,;] attempt 2 after ",
    ),
    "missing page": (lambda web: of_kind(web.truth, "404"), "404 Not Found"),
    "host that refuses": (lambda web: of_kind(web.truth, "refused"), BACKOFF),
    "host without a name": (lambda web: of_kind(web.truth, "unresolved"), BACKOFF),
    "URL without a link": (lambda web: web.seeds[0] + "no/such/page", "not seen.*within 16 links"),
    "link on a nofollow page": (
        lambda web: next(u for u in sorted(web.truth.pages) if u.endswith("meta-nofollow")).replace(
            "/odd/", "/lure/"
        ),
        "not seen.*nofollow",
    ),
}
"""The state of a URL of the web → the URL, and a pattern of what `gossamer why` says of it."""


REASON_CASES = [
    pytest.param(state, marks=[] if state == "excluded URL" else pytest.mark.long)
    for state in REASONS
]
"""One state is explained by day: `tests/console/test_why.py` has the words for them."""


@pytest.mark.slow
@pytest.mark.parametrize("state", REASON_CASES)
def test_why_finds_what_the_services_have_stored(state: str, mixed_crawl: Finished) -> None:
    url_of, pattern = REASONS[state]
    why = mixed_crawl.crawl.why(url_of(mixed_crawl.web))
    assert re.search(pattern, why), why


@pytest.mark.slow
def test_why_of_a_duplicate_names_the_original(mixed_crawl: Finished) -> None:
    answers = {url: mixed_crawl.crawl.why(url) for url in mixed_crawl.web.truth.duplicates[0]}
    (original,) = [url for url, why in answers.items() if "verdict: first" in why]
    named = [url for url, why in answers.items() if f"verdict: duplicate of {original}" in why]
    assert {original, *named} == {*answers}


def linked(truth: Truth) -> str:
    return next(url for url in sorted(truth.pages) if truth.depths[url] > 1)


def of_kind(truth: Truth, kind: str) -> str:
    return next(url for url, error in sorted(truth.errors.items()) if error == kind)


@pytest.mark.long
def test_reading_a_running_crawl_does_not_disturb_it(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=6, hosts=8, pages=6)) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.3)
        with crawl.start() as under_way:
            until(web.requests, "a request")
            while under_way.running:
                crawl.pages()
                crawl.why(web.seeds[0])
            assert (under_way.wait().code, under_way.err) == (0, "")
        assert {page["url"] for page in crawl.pages()} == readable(web.truth)
