"""An erasure whose run is killed is finished by the next run of the folder."""

import gzip
import sqlite3
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import warcs
from .crawl import Crawl, Started, ask

WORLD = World.plain(seed=3, hosts=6, pages=12)


def erasures(data: Path) -> list[tuple[str, bool]]:
    """Return the service of each recorded part of an erasure, and whether it is complete."""
    with sqlite3.connect(f"file:{data}/gossamer.db?mode=ro", uri=True) as database:
        tables = database.execute("select name from sqlite_master where name = 'erasures'")
        if not tables.fetchall():
            return []
        return database.execute("select service, ended from erasures").fetchall()


def kill_when_recorded(crawl: Crawl, parts: int) -> None:
    """Run the crawl, and kill it when *parts* of the erasure are recorded, or let it end."""
    with crawl.start(seeds=[]) as started:
        until(lambda: _has(crawl, started, parts), "a part of the erasure, or the end of the run")
        started.kill(group=True)
        until(started.is_gone, "the end of the killed processes")


def _has(crawl: Crawl, started: Started, parts: int) -> bool:
    return len(erasures(crawl.data)) >= parts or not started.running


def records_about(data: Path, host: str) -> int:
    """Return how often the WARC files name a URL of *host* as a target."""
    named = f"WARC-Target-URI: {host}/".encode()
    return sum(gzip.decompress(path.read_bytes()).count(named) for path in warcs(data))


@pytest.mark.slow
@pytest.mark.parametrize("parts", [(1, 2), pytest.param((3, 3), marks=pytest.mark.long)], ids=str)
def test_killed_erasure_is_finished_by_the_next_run(tmp_path: Path, parts: tuple[int, ...]) -> None:
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", 0.02)
        assert crawl.run().code == 0
        host = web.seeds[0].rstrip("/")
        assert records_about(crawl.data, host)
        assert ask(crawl.data, "forget", "--yes", host).code == 0
        for count in parts:
            kill_when_recorded(crawl, count)
        last = crawl.run(seeds=[])
    assert (last.code, last.err) == (0, "")
    assert records_about(crawl.data, host) == 0
    listed = ask(crawl.data, "forget", "--list").out
    assert host in listed and "being erased" not in listed
