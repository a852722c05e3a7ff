"""Whole crawls of synthetic worlds: all pages once, politely, published and archived."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Done
from tests.support.waiting import until
from tests.synthweb import Scope, SynthWeb, World, measure

from .assertions import (
    assert_archived,
    assert_once,
    assert_pages,
    assert_polite,
    assert_thorough,
    dot_robots,
    half_readable,
    page_answers,
    readable,
)
from .conftest import Finished
from .crawl import Crawl, ask

SMALL = World.plain(seed=4, hosts=8, pages=3)
TREE = World(seed=2, hosts=13, pages=4, shape="tree", redirects=0, duplicates=0)

IMPATIENT = """
[fetcher]
connect_limit = 4
first_byte_limit = 4
between_bytes_limit = 4
visit_limit = 8
body_limit = 300_000
"""


def output_of(done: Done) -> str:
    """Return standard output, and assert that the crawl succeeded."""
    assert (done.code, done.err) == (0, ""), done
    return done.out


def assert_complete(crawl: Crawl) -> None:
    requests, truth = crawl.web.requests(), crawl.web.truth
    assert_polite(requests, truth, crawl.delay)
    assert_thorough(requests, truth)
    assert_once(requests, truth)
    assert_pages(crawl, truth)
    assert_archived(crawl, requests, truth)


def test_tiny_crawl_is_complete_and_polite(tiny: Finished) -> None:
    assert_complete(tiny.crawl)


@pytest.mark.long
def test_crawl_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = ["cassandra", "confluent_kafka", "cramjam", "faust", "rocksdict", "pyarrow"]
    hide = f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n"
    (tmp_path / "sitecustomize.py").write_text(hide)
    monkeypatch.setenv(
        "PYTHONPATH", str(tmp_path)
    )  # The extra is read by every process of the crawl.
    with SynthWeb(World.plain(seed=4, hosts=2, pages=2)) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.02)
        output_of(crawl.run())
        assert_complete(crawl)
    pages = ask(crawl.data, "pages", "--format", "parquet")
    assert pages.code == 1
    assert "pyarrow not installed" in pages.err


@pytest.mark.long
def test_report_has_the_numbers_of_the_crawl(tiny: Finished) -> None:
    pages = len(readable(tiny.web.truth))
    assert re.search(rf"pages +{pages:,} .* {pages:,} ", tiny.done.out)
    assert str(tiny.crawl.data / "warc") in tiny.done.out
    rules = len(dot_robots(tiny.web.requests()))
    assert f"{rules} robots.txt" in tiny.done.out


@pytest.mark.long
def test_crawl_of_a_plain_world_is_complete(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=7, hosts=2000, pages=2)) as web:
        crawl = Crawl(web, tmp_path / "data")
        output_of(crawl.run())
        assert_complete(crawl)


@pytest.mark.slow
def test_crawl_of_a_world_with_all_oddities_is_complete(mixed_crawl: Finished) -> None:
    assert_complete(mixed_crawl.crawl)


@pytest.mark.long
def test_crawl_ends_although_servers_are_silent_or_endless(tmp_path: Path) -> None:
    settings = tmp_path / "impatient.toml"
    settings.write_text(IMPATIENT)
    with SynthWeb(World(seed=5, hosts=40, pages=2, retries=0, silent=0.05, stuck=0.05)) as web:
        crawl = Crawl(web, tmp_path / "data")
        output_of(crawl.run("--config", str(settings)))
        requests, truth = web.requests(), web.truth
        assert_polite(requests, truth, crawl.delay)
        assert_thorough(requests, truth)
        assert_once(requests, truth)
        assert_archived(crawl, requests, truth)
        pages = {page["url"]: page for page in crawl.pages()}
        assert readable(truth) <= set(pages)
        for url in set(pages) - readable(truth) - half_readable(truth):
            assert pages[url]["truncated"] and url in truth.errors


@pytest.mark.long
def test_page_limit_is_exact(tmp_path: Path) -> None:
    with SynthWeb(SMALL) as web:
        crawl = Crawl(web, tmp_path / "data")
        first = output_of(crawl.run("--max-pages", "10"))
        assert re.search(r"pages +10 .* 10 ", first)
        assert len(page_answers(web)) == len(crawl.pages()) == 10
        second = output_of(crawl.run("--max-pages", "7"))
        assert re.search(r"pages +7 .* 17 ", second)
        assert len(page_answers(web)) == len(crawl.pages()) == 17
        output_of(crawl.run())
        assert_complete(crawl)


def assert_depth(crawl: Crawl, depth: int) -> None:
    truth, requests = crawl.web.truth_for(Scope(depth=depth)), crawl.web.requests()
    assert_polite(requests, truth, crawl.delay)
    assert_thorough(requests, truth)
    assert {page["url"] for page in crawl.pages()} == readable(truth)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["host", "site"])
def test_scope_is_kept(tmp_path: Path, kind: str) -> None:
    with SynthWeb(World(seed=9, hosts=20, pages=3, retries=0, delays=0, silent=0, stuck=0)) as web:
        crawl = Crawl(web, tmp_path / "data", scope=kind)
        output_of(crawl.run())
        truth = web.truth_for(Scope("host" if kind == "host" else "site"))
        requests = web.requests()
        assert_polite(requests, truth, crawl.delay)
        assert_thorough(requests, truth)
        assert {page["url"] for page in crawl.pages()} == readable(truth)


def listed_urls(web: SynthWeb) -> str:
    return "# seeds\n\n" + "\n".join(f"  {seed}  " for seed in web.seeds) + "\n"


def from_file(crawl: Crawl, folder: Path) -> Done:
    file = folder / "seeds.txt"
    file.write_text(listed_urls(crawl.web))
    return crawl.run("--no-text", "--seeds", str(file), seeds=[])


def from_standard_input(crawl: Crawl, folder: Path) -> Done:
    return crawl.run("--no-text", "--seeds", "-", seeds=[], stdin=listed_urls(crawl.web))


@pytest.mark.long
@pytest.mark.parametrize("sow", [from_file, from_standard_input])
def test_seeds_from_lines_and_pages_without_text(
    tmp_path: Path, sow: Callable[[Crawl, Path], Done]
) -> None:
    with SynthWeb(SMALL) as web:
        crawl = Crawl(web, tmp_path / "data")
        output_of(sow(crawl, tmp_path))
        assert_thorough(web.requests(), web.truth)
        pages = crawl.pages()
        assert {page["url"] for page in pages} == readable(web.truth)
        assert {page["text"] for page in pages} == {None}
        assert all(page["title"] and page["links"] for page in pages)


@pytest.mark.slow
def test_second_run_makes_no_requests_and_a_new_seed_continues_the_crawl(
    tmp_path: Path,
) -> None:
    with SynthWeb(TREE) as web:
        crawl = Crawl(web, tmp_path / "data")
        output_of(crawl.run("--depth", "1"))
        assert_depth(crawl, 1)
        before = web.requests()
        output_of(crawl.run("--depth", "1"))
        assert web.requests() == before
        met = measure.requested_urls(before)
        unmet = next(url for url in sorted(web.truth.pages) if url not in met)
        output_of(crawl.run("--depth", "1", seeds=[unmet]))
        fresh = web.requests()[len(before) :]
        assert unmet in measure.requested_urls(fresh)
        assert not measure.unlinked_requests(fresh, web.truth_for(Scope(depth=1), [unmet]))
        assert len(crawl.pages()) == len({page["url"] for page in crawl.pages()})


@pytest.mark.long
def test_finished_crawl_with_a_new_policy_visits_its_pages_again(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=4, hosts=1, pages=3)) as web:
        crawl = Crawl(web, tmp_path / "data")
        output_of(crawl.run())
        before = len(web.requests())
        with crawl.start("--revisit", "fixed:2s", seeds=[]) as under_way:
            until(
                lambda: len(web.requests()) > before + 3 or not under_way.running,
                "revisits, or the end of the crawl",
            )
            assert under_way.running
            under_way.interrupt()
            assert under_way.wait().code == 130
