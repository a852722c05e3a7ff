"""Instructions of operators while a crawl runs in other processes, measured at the server."""

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World
from tests.synthweb.record import Request

from .crawl import GOSSAMER, Crawl, run

WORLD = World.plain(seed=8, hosts=4, pages=200)
IN_FORCE = 5.0
"""Seconds after which an instruction holds everywhere."""
MEASURED_REQUESTS = 16
"""The number of requests in a measurement of the speed."""


@pytest.mark.slow
def test_blocked_host_receives_no_requests_until_it_is_unblocked(
    tmp_path: Path,
) -> None:
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.1)

        def requests_to(host: str) -> list[float]:
            return [one.at for one in web.requests() if one.host == host]

        def after(moments: list[float], at: float) -> list[float]:
            return [moment for moment in moments if moment > at + IN_FORCE]

        def several() -> list[str]:
            hosts = Counter(one.host for one in web.requests())
            found = [host for host, count in hosts.items() if count > 5]
            return found if len(found) > 1 else []

        with crawl.start() as under_way:
            blocked, other, *_ = until(several, "requests to two hosts")
            done = run([GOSSAMER, "block", "--data", str(crawl.data), blocked])
            at = time.time()
            assert done.code == 0, done
            until(lambda: len(after(requests_to(other), at)) > 20, "the crawl goes on elsewhere")
            assert after(requests_to(blocked), at) == []
            before = len(requests_to(blocked))
            done = run([GOSSAMER, "unblock", "--data", str(crawl.data), blocked])
            assert done.code == 0, done
            until(lambda: len(requests_to(blocked)) > before + 5, "requests to the host")
            under_way.interrupt()
            assert under_way.wait().code == 130


@pytest.mark.long
def test_speed_of_a_crawl_and_a_site_turned_off_hold_at_the_server(tmp_path: Path) -> None:
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.1)

        def tell(*command: str) -> float:
            done = run([GOSSAMER, command[0], "--data", str(crawl.data), *command[1:]])
            assert done.code == 0, done
            return time.time()

        def since(told_at: float) -> list[Request]:
            return [one for one in web.requests() if one.at >= told_at + IN_FORCE]

        def fast(told_at: float) -> bool:
            made = [one.at for one in since(told_at)]
            return any(late - early < 1.0 for early, late in zip(made, made[4:], strict=False))

        with crawl.start() as under_way:
            until(lambda: len(web.requests()) > 40, "requests")
            at = tell("speed", "2/s")
            until(lambda: len(since(at)) >= MEASURED_REQUESTS, "requests")
            made = since(at)[:MEASURED_REQUESTS]
            assert made[-1].at - made[0].at >= (MEASURED_REQUESTS - 1) / 2.5, (
                "two a second, with some play"
            )
            off = web.requests()[-1].host
            tell("site", off, "--off")
            at = tell("speed", "none")
            until(lambda: fast(at), "five requests in a second")
            assert off not in [one.host for one in since(at)]
            tell("site", off, "--no-off")
            count = len(web.requests())
            until(
                lambda: off in [one.host for one in web.requests()[count:]], "requests to the site"
            )
            under_way.interrupt()
            assert under_way.wait().code == 130
