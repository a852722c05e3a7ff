"""Whole crawls of synthetic worlds: they ask for what there is, once, politely, and keep it all."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Done
from tests.synthweb import Scope, SynthWeb, World, measure

from .conftest import Finished
from .crawl import GOSSAMER, Crawl, run
from .judge import (
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


def ended_well(done: Done) -> str:
    """What it said on standard output."""
    assert (done.code, done.err) == (0, ""), done
    return done.out


def all_is_right(crawl: Crawl) -> None:
    requests, truth = crawl.web.requests(), crawl.web.truth
    assert_polite(requests, truth, crawl.delay)
    assert_thorough(requests, truth)
    assert_once(requests, truth)
    assert_pages(crawl, truth)
    assert_archived(crawl, requests, truth)


@pytest.mark.slow
def test_a_tiny_crawl_is_complete_and_polite(tiny: Finished) -> None:
    all_is_right(tiny.crawl)


@pytest.mark.slow
def test_a_larger_depth_takes_up_what_the_smaller_one_left_out(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=4, hosts=5, pages=6, shape="tree")) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.02, scope="site")
        ended_well(crawl.run("--depth", "1"))
        few = len(crawl.pages())
        ended_well(crawl.run("--scope", "any"))
        assert len(crawl.pages()) > few
        all_is_right(crawl)


@pytest.mark.slow
def test_a_crawl_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = ["cassandra", "confluent_kafka", "cramjam", "faust", "rocksdict", "pyarrow"]
    hide = f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n"
    (tmp_path / "sitecustomize.py").write_text(hide)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # Every process of the crawl reads it.
    with SynthWeb(World.plain(seed=4, hosts=2, pages=2)) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.02)
        ended_well(crawl.run())
        all_is_right(crawl)
    pages = run([GOSSAMER, "pages", "--data", str(crawl.data), "--format", "parquet"])
    assert pages.code == 1
    assert "pyarrow not installed" in pages.err


@pytest.mark.slow
def test_the_report_says_what_came_of_it(tiny: Finished) -> None:
    pages = len(readable(tiny.web.truth))
    assert re.search(rf"pages +{pages:,} in this run .* {pages:,} in all", tiny.done.out)
    assert str(tiny.crawl.data / "warc") in tiny.done.out
    rules = len(dot_robots(tiny.web.requests()))
    assert f"{rules} robots.txt" in tiny.done.out


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [200, pytest.param(2000, marks=pytest.mark.long)])
def test_a_plain_world(tmp_path: Path, hosts: int) -> None:
    with SynthWeb(World.plain(seed=7, hosts=hosts, pages=2)) as web:
        crawl = Crawl(web, tmp_path / "data")
        ended_well(crawl.run())
        all_is_right(crawl)


@pytest.mark.slow
def test_a_world_with_everything_strange(mixed: Finished) -> None:
    all_is_right(mixed.crawl)


@pytest.mark.slow
def test_a_world_where_servers_say_nothing_or_never_end(tmp_path: Path) -> None:
    settings = tmp_path / "impatient.toml"
    settings.write_text(IMPATIENT)
    with SynthWeb(World(seed=5, hosts=40, pages=2, retries=0, silent=0.05, stuck=0.05)) as web:
        crawl = Crawl(web, tmp_path / "data")
        ended_well(crawl.run("--config", str(settings)))
        requests, truth = web.requests(), web.truth
        assert_polite(requests, truth, crawl.delay)
        assert_thorough(requests, truth)
        assert_once(requests, truth)
        assert_archived(crawl, requests, truth)
        pages = {page["url"]: page for page in crawl.pages()}
        assert readable(truth) <= set(pages)
        for url in set(pages) - readable(truth) - half_readable(truth):
            assert pages[url]["truncated"] and url in truth.errors


@pytest.mark.slow
def test_a_page_limit_is_kept_to_the_page(tmp_path: Path) -> None:
    with SynthWeb(SMALL) as web:
        crawl = Crawl(web, tmp_path / "data")
        first = ended_well(crawl.run("--max-pages", "10"))
        assert "the page limit is reached" in first
        assert re.search(r"pages +10 in this run .* 10 in all", first)
        assert len(page_answers(web)) == len(crawl.pages()) == 10
        second = ended_well(crawl.run("--max-pages", "7"))
        assert re.search(r"pages +7 in this run .* 17 in all", second)
        assert len(page_answers(web)) == len(crawl.pages()) == 17
        ended_well(crawl.run())
        all_is_right(crawl)


@pytest.mark.slow
def test_with_no_depth_the_seeds_alone_are_visited(tmp_path: Path) -> None:
    with SynthWeb(TREE) as web:
        crawl = Crawl(web, tmp_path / "data")
        ended_well(crawl.run("--depth", "0"))
        assert_depth(crawl, 0)


def assert_depth(crawl: Crawl, depth: int) -> None:
    truth, requests = crawl.web.truth_for(Scope(depth=depth)), crawl.web.requests()
    assert_polite(requests, truth, crawl.delay)
    assert_thorough(requests, truth)
    assert {page["url"] for page in crawl.pages()} == readable(truth)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["host", "site"])
def test_a_scope_is_kept(tmp_path: Path, kind: str) -> None:
    with SynthWeb(World(seed=9, hosts=20, pages=3, retries=0, delays=0, silent=0, stuck=0)) as web:
        crawl = Crawl(web, tmp_path / "data", scope=kind)
        ended_well(crawl.run())
        truth = web.truth_for(Scope("host" if kind == "host" else "site"))
        requests = web.requests()
        assert_polite(requests, truth, crawl.delay)
        assert_thorough(requests, truth)
        assert {page["url"] for page in crawl.pages()} == readable(truth)


@pytest.mark.slow
def test_unless_told_otherwise_a_crawl_stays_on_the_sites_of_its_seeds(tmp_path: Path) -> None:
    with SynthWeb(SMALL) as web:
        crawl = Crawl(web, tmp_path / "data", scope="")
        ended_well(crawl.run(seeds=web.seeds[:1]))
        truth = web.truth_for(Scope("site"), web.seeds[:1])
        assert {page["url"] for page in crawl.pages()} == readable(truth)
        assert_polite(web.requests(), truth, crawl.delay)


def listed(web: SynthWeb) -> str:
    return "# seeds\n\n" + "\n".join(f"  {seed}  " for seed in web.seeds) + "\n"


def from_file(crawl: Crawl, folder: Path) -> Done:
    file = folder / "seeds.txt"
    file.write_text(listed(crawl.web))
    return crawl.run("--no-text", "--seeds", str(file), seeds=[])


def from_standard_input(crawl: Crawl, folder: Path) -> Done:
    return crawl.run("--no-text", "--seeds", "-", seeds=[], stdin=listed(crawl.web))


@pytest.mark.slow
@pytest.mark.parametrize("sow", [from_file, from_standard_input])
def test_seeds_by_the_line_and_pages_without_text(
    tmp_path: Path, sow: Callable[[Crawl, Path], Done]
) -> None:
    with SynthWeb(SMALL) as web:
        crawl = Crawl(web, tmp_path / "data")
        ended_well(sow(crawl, tmp_path))
        assert_thorough(web.requests(), web.truth)
        pages = crawl.pages()
        assert {page["url"] for page in pages} == readable(web.truth)
        assert {page["text"] for page in pages} == {None}
        assert all(page["title"] and page["links"] for page in pages)


@pytest.mark.slow
def test_a_depth_is_kept_and_a_second_run_asks_nothing_and_a_new_seed_goes_on(
    tmp_path: Path,
) -> None:
    with SynthWeb(TREE) as web:
        crawl = Crawl(web, tmp_path / "data")
        ended_well(crawl.run("--depth", "1"))
        assert_depth(crawl, 1)
        before = web.requests()
        ended_well(crawl.run("--depth", "1"))
        assert web.requests() == before
        met = measure.asked(before)
        unmet = next(url for url in sorted(web.truth.pages) if url not in met)
        ended_well(crawl.run("--depth", "1", seeds=[unmet]))
        fresh = web.requests()[len(before) :]
        assert unmet in measure.asked(fresh)
        assert not measure.uncalled_for(fresh, web.truth_for(Scope(depth=1), [unmet]))
        assert len(crawl.pages()) == len({page["url"] for page in crawl.pages()})
