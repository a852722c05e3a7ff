"""Instructions of operators while a crawl runs in other processes, measured at the server."""

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .crawl import Crawl, ask

WORLD = World.plain(seed=8, hosts=4, pages=200)
IN_FORCE = 5.0
"""Seconds after which an instruction holds everywhere."""


@pytest.mark.long
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
            done = ask(crawl.data, "block", blocked)
            at = time.time()
            assert done.code == 0, done
            until(lambda: len(after(requests_to(other), at)) > 20, "the crawl goes on elsewhere")
            assert after(requests_to(blocked), at) == []
            before = len(requests_to(blocked))
            done = ask(crawl.data, "unblock", blocked)
            assert done.code == 0, done
            until(lambda: len(requests_to(blocked)) > before + 5, "requests to the host")
            under_way.interrupt()
            assert under_way.wait().code == 130
