"""Local faults: no host is blamed, and the fetcher backs off and reports it."""

import errno
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gossamer.errors import BadSettings
from gossamer.events import Outcome
from gossamer.log.sqlite import SqliteLog
from gossamer.services.fetcher.limitations import Limitations, LocalBackoff, LocalFault, local_fault
from gossamer.services.fetcher.wiring import count_descriptors, raise_descriptor_limit
from gossamer.store.sqlite import SqliteStore
from tests.fetcher.nameserver import naming
from tests.fetcher.orders import Emitted, fetcher, order, run_order, settings
from tests.fetcher.servers import page, serving
from tests.fetcher.test_runner import Tail, put, serving_orders


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Leave this process without file descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken[0], 64) + 64, hard))
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for one in taken:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_order_is_returned_without_file_descriptors() -> None:
    reports: list[str] = []
    emitted = Emitted()
    async with serving(a=page()) as server, fetcher(tell=reports.append) as processor:
        with no_descriptors():
            await processor.work(order(f"{server.root}/a"), emitted.emit)
        ended = emitted.one
        assert (ended.outcome, ended.last, ended.started_at) == (Outcome.UNVISITED, True, 0.0)
        assert ended.hazards == () and "no file descriptors left" in ended.reason
        assert reports[-1] == ended.reason and processor.backoff.is_active(time.time())
        await processor.work(order(f"{server.root}/a"), emitted.emit)
    assert (emitted.outcomes[1:], reports[-1]) == (["page"], "")
    assert not processor.backoff.is_active(time.time())


async def test_fetcher_begins_no_order_during_its_backoff(
    log: SqliteLog, store: SqliteStore
) -> None:
    async with serving(a=page(Connection="close"), b=page()) as server:
        out = Tail(log)
        async with serving_orders(log, store):
            put(log, order(f"{server.root}/a"))
            await out.until(1)
            with no_descriptors():
                put(log, order(f"{server.root}/a"))
                await out.until(2)
            put(log, order(f"{server.root}/b"))
            await out.until(3)
    assert [one.outcome for one in out.ended] == ["page", "unvisited", "page"]
    assert server.paths == ["/a", "/b"]


async def test_unreachable_name_server_is_a_local_fault() -> None:
    async with naming({}) as dns:
        address = dns.address
    emitted = await run_order("http://a.example/", nameserver=address)
    assert emitted.one.outcome is Outcome.UNVISITED
    assert "no name server can be reached" in emitted.one.reason


@pytest.mark.parametrize(
    ("number", "addresses", "ours"),
    [
        (errno.EMFILE, ("192.0.2.1",), True),
        (errno.EADDRNOTAVAIL, ("192.0.2.1",), True),
        (errno.ENETUNREACH, ("192.0.2.1", "2001:db8::1"), True),
        (errno.ENETUNREACH, ("2001:db8::1",), False),
        (errno.EHOSTUNREACH, ("192.0.2.1",), False),
        (errno.ECONNREFUSED, ("192.0.2.1",), False),
    ],
)
def test_local_faults_by_errno(number: int, addresses: tuple[str, ...], ours: bool) -> None:
    assert bool(local_fault(OSError(number, os.strerror(number)), addresses)) is ours


def test_backoff_grows_until_a_request_is_made() -> None:
    backoff, fault = LocalBackoff(Limitations(lambda why: None)), LocalFault("no ports left")

    def paused_for(now: float) -> float:
        backoff.record_fault(fault, now)
        backoff.record_fault(fault, now)
        return next(t for t in range(10_000) if not backoff.is_active(now + t / 100)) / 100

    lengths = [paused_for(1000.0 * n) for n in range(1, 8)]
    assert lengths == sorted(lengths) and lengths[0] < 1 <= lengths[-1]
    backoff.record_request()
    assert paused_for(1e6) == lengths[0]


def test_descriptor_limit_is_raised_to_the_need() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    many = settings(concurrency=300)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count_descriptors(many) - 1, hard))
    try:
        raise_descriptor_limit(many)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (count_descriptors(many), hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_concurrency_beyond_the_descriptor_limit_is_refused() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(BadSettings, match=r"fetcher\.concurrency.*ulimit"):
        raise_descriptor_limit(settings(concurrency=hard + 1))
