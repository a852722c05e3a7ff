"""What operators set while a crawl runs in other processes, measured at the server."""

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .crawl import GOSSAMER, Crawl, run

WORLD = World.plain(seed=8, hosts=4, pages=200)
IN_FORCE = 5.0
"""Seconds in which what is set is in force everywhere."""


@pytest.mark.slow
def test_a_host_that_is_blocked_is_asked_nothing_more_and_goes_on_when_it_is_unblocked(
    tmp_path: Path,
) -> None:
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.1)

        def asked(host: str) -> list[float]:
            return [one.at for one in web.requests() if one.host == host]

        def several() -> list[str]:
            hosts = Counter(one.host for one in web.requests())
            found = [host for host, count in hosts.items() if count > 5]
            return found if len(found) > 1 else []

        with crawl.start() as under_way:
            blocked, other, *_ = until(several, "requests to two hosts")
            done = run([GOSSAMER, "block", "--data", str(crawl.data), blocked])
            at = time.time()
            assert done.code == 0, done
            count = len(asked(other))
            until(lambda: time.time() > at + IN_FORCE, "the time is over")
            until(lambda: len(asked(other)) > count + 20, "the crawl goes on elsewhere")
            late = [moment for moment in asked(blocked) if moment > at + IN_FORCE]
            assert late == []
            before = len(asked(blocked))
            done = run([GOSSAMER, "unblock", "--data", str(crawl.data), blocked])
            assert done.code == 0, done
            until(lambda: len(asked(blocked)) > before + 5, "the host is asked again")
            under_way.interrupt()
            assert under_way.wait().code == 130


@pytest.mark.slow
def test_a_crawl_goes_as_fast_as_it_is_told_and_a_site_can_be_turned_off(tmp_path: Path) -> None:
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.1)

        def tell(*command: str) -> float:
            done = run([GOSSAMER, command[0], "--data", str(crawl.data), *command[1:]])
            assert done.code == 0, done
            return time.time()

        def made(begin: float, end: float) -> list[str]:
            return [one.host for one in web.requests() if begin <= one.at < end]

        def wait(seconds: float) -> tuple[float, float]:
            begin = time.time() + IN_FORCE
            until(lambda: time.time() > begin + seconds, "the time is over")
            return begin, begin + seconds

        with crawl.start() as under_way:
            until(lambda: len(web.requests()) > 40, "requests")
            tell("speed", "2/s")
            assert 0 < len(made(*wait(8.0))) <= 20
            off = web.requests()[-1].host
            tell("site", off, "--off")
            tell("speed", "none")
            asked = Counter(made(*wait(4.0)))
            assert asked[off] == 0 and asked.total() > 10, "more than at two a second"
            tell("site", off, "--no-off")
            count = len(web.requests())
            until(lambda: off in [one.host for one in web.requests()[count:]], "it is asked again")
            under_way.interrupt()
            assert under_way.wait().code == 130
