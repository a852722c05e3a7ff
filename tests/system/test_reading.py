"""Commands that read a crawl, while it runs and afterwards: pages as lines and as a table, and
why."""

import json
import re
import subprocess
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
class TestWhy:
    """`gossamer why`: the state of a URL, and the rule behind it."""

    def test_why_of_a_page(self, mixed_crawl: Finished) -> None:
        seed = mixed_crawl.web.seeds[0]
        why = mixed_crawl.crawl.why(seed.upper().replace("HTTP", "http") + "#top")
        assert why.splitlines()[0] == seed
        assert "scope: inside, by any()" in why and "as a seed" in why
        assert re.search(r"visited: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: page \(200\)", why)
        assert "verdict: first" in why

    def test_why_of_a_linked_page_names_the_linking_page(self, mixed_crawl: Finished) -> None:
        truth = mixed_crawl.web.truth
        url = next(url for url in sorted(truth.pages) if truth.depths[url] > 1)
        via = re.search(r"by a link on (\S+)", mixed_crawl.crawl.why(url))
        assert via and via[1] in truth.depths

    def test_why_of_an_excluded_url_names_the_line_of_robots_txt(
        self, mixed_crawl: Finished
    ) -> None:
        excluded = [url for url in sorted(mixed_crawl.web.truth.forbidden) if "/private/" in url]
        for url in excluded:
            why = mixed_crawl.crawl.why(url)
            assert "excluded by robots.txt" in why
            assert re.search(r"line \d+: Disallow: /", why), why
        assert excluded

    def test_why_of_a_duplicate_names_the_original(self, mixed_crawl: Finished) -> None:
        truth = mixed_crawl.web.truth
        group = truth.duplicates[0]
        answers = [mixed_crawl.crawl.why(url) for url in group]
        (original,) = [
            url for url, why in zip(group, answers, strict=True) if "verdict: first" in why
        ]
        for why in answers:
            assert f"verdict: duplicate of {original}" in why or "verdict: first" in why

    def test_why_of_a_redirect_names_its_target(self, mixed_crawl: Finished) -> None:
        for url, target in sorted(mixed_crawl.web.truth.redirects.items()):
            if target and "/odd/308" in url:
                why = mixed_crawl.crawl.why(url)
                assert "redirect (308)" in why and f"to {target}" in why
                return
        raise AssertionError("no redirect in this world")

    def test_why_of_a_failure_names_the_next_visit(self, mixed_crawl: Finished) -> None:
        url = of_kind(mixed_crawl.web.truth, "500")
        why = mixed_crawl.crawl.why(url)
        assert "500 Internal Server Error" in why
        # The visit may be due when a slow machine asks.
        assert re.search(r"next visit: (due since )?\d{4}-.* UTC[,;] attempt 2 after ", why)

    def test_why_of_a_missing_page_is_gone(self, mixed_crawl: Finished) -> None:
        assert "404 Not Found" in mixed_crawl.crawl.why(of_kind(mixed_crawl.web.truth, "404"))

    def test_why_of_a_host_without_answer_is_backing_off(self, mixed_crawl: Finished) -> None:
        for kind in ("refused", "unresolved"):
            why = mixed_crawl.crawl.why(of_kind(mixed_crawl.web.truth, kind))
            assert re.search(r"not visited now until \d{4}-.* UTC: .* \(backoff\)", why), why

    def test_why_of_an_unlinked_url_is_never_seen(self, mixed_crawl: Finished) -> None:
        why = mixed_crawl.crawl.why(mixed_crawl.web.seeds[0] + "no/such/page")
        assert "not seen" in why and "within 16 links" in why

    def test_why_of_a_link_on_a_nofollow_page_is_never_seen(self, mixed_crawl: Finished) -> None:
        lure = next(
            url for url in sorted(mixed_crawl.web.truth.pages) if url.endswith("meta-nofollow")
        )
        why = mixed_crawl.crawl.why(lure.replace("/odd/", "/lure/"))
        assert "not seen" in why and "nofollow" in why


def of_kind(truth: Truth, kind: str) -> str:
    return next(url for url, error in sorted(truth.errors.items()) if error == kind)


@pytest.mark.long
def test_why_of_urls_out_of_scope_too_deep_or_queued(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=6, hosts=4, pages=16, shape="tree")) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.5, scope="host")
        with crawl.start("--depth", "3") as under_way:
            until(lambda: len(web.requests()) > 8, "some requests")
            under_way.interrupt()
            assert under_way.wait().code == 130
        seed, truth = web.seeds[0], web.truth
        elsewhere = next(url for url in sorted(truth.pages) if not url.startswith(seed))
        why = crawl.why(elsewhere)
        assert "outside" in why and "visited" not in why
        own = [url for url in sorted(truth.pages) if url.startswith(seed)]
        deep = next(url for url in own if truth.depths[url] > 3)
        assert "not seen" in crawl.why(deep) and "within 3 links" in crawl.why(deep)
        queued = [why for url in own if "queued: behind" in (why := crawl.why(url))]
        ahead = [int(found[1]) for why in queued if (found := re.search(r"behind (\d+)", why))]
        assert sorted(ahead) == list(range(len(queued))) and queued


@pytest.mark.slow
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
