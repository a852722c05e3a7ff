"""A snapshot of a running crawl, restored after the crawl was killed, measured at the web
server."""

from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import assert_archived, assert_polite, assert_thorough, readable
from .crawl import GOSSAMER, Crawl, run

WORLD = World.plain(seed=6, hosts=12, pages=18)
DELAY = 1.0
"""Seconds, so that the crawl lasts longer than a snapshot on a busy machine."""


@pytest.mark.long
def test_killed_crawl_continues_from_an_earlier_snapshot(tmp_path: Path) -> None:
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", delay=DELAY)
        where = [str(tmp_path / "copy"), "--data", str(crawl.data)]
        with crawl.start() as under_way:
            until(lambda: len(web.requests()) > 30, "thirty requests")
            done = run([GOSSAMER, "snapshot", *where])
            assert (done.code, done.err) == (0, "")
            # A response that was not archived yet is archived again after the restore.
            before = {(request.url, request.status) for request in web.requests()}
            until(lambda: len(web.requests()) > 90, "ninety requests")
            assert under_way.running
            under_way.kill(group=True)
            until(under_way.is_gone, "the end of its processes")
        done = run([GOSSAMER, "restore", *where, "--replace"])
        assert (done.code, done.err) == (0, "")
        done = crawl.run()
        assert (done.code, done.err) == (0, "")
        requests, truth = web.requests(), web.truth
        assert_polite(requests, truth, DELAY)
        assert_thorough(requests, truth)
        assert {page["url"] for page in crawl.pages()} == readable(truth)
        assert_archived(crawl, requests, truth, before)
