"""A fleet with two instances of each service crawls a world like one crawler, and survives
failures."""

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.servers import Server, running
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World, measure
from tests.synthweb.record import Request

from .assertions import assert_polite, page_answers
from .by_hand import of_servers
from .fleet import SERVICES, Fleet, Member, assert_whole, crawl_to_the_end, fleet

WORLD = World(seed=11, hosts=60, pages=6, silent=0, stuck=0, jitter=0.02)
SMALL = replace(WORLD, hosts=30)
LONG = World(
    seed=13, hosts=10, pages=330, silent=0, stuck=0, retries=0, delays=0, jitter=0.05, crowd=10
)
"""With half a second between visits the crawl lasts until all harms are done. All of its hosts
share an address with a few slots."""
ADDRESS_SLOTS = 4
BATCH = 3
SETTINGS = {
    "GOSSAMER_FRONTIER__BATCH": str(BATCH),
    "GOSSAMER_FETCHER__ADDRESS_AT_ONCE": str(ADDRESS_SLOTS),
    "GOSSAMER_FETCHER__ADDRESS_GAP": "0",
}
SHORT_LEASE = {"GOSSAMER_FRONTIER__LEASE_SLACK": "2", "GOSSAMER_FETCHER__VISIT_LIMIT": "4"}
"""A fetcher that is stopped for longer than its leases is not stopped for minutes."""
DELAY = 0.5
LEASE = 2.0 + BATCH * (DELAY + 4.0)
"""Seconds after which an unanswered order of LONG expires."""
IN_FORCE = 5.0
"""Seconds after which an instruction of an operator holds everywhere."""
SLOW, PLAY, COUNTED = 2.0, 1.25, 8
"""Requests a second, the factor of a burst, and the number of requests in the measurement."""
LOSSES = 3
"""Harms that can lose fetched pages without outcomes: a kill of a fetcher, of Kafka or of
Cassandra."""


def test_fleet_of_two_survives_a_kill_of_one_instance_of_each_service(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    servers = of_servers(kafka, cassandra)
    settings = {**servers, **SETTINGS, "GOSSAMER_FRONTIER__DELAY": "0.2"}
    with SynthWeb(SMALL) as web, fleet(web, tmp_path, 2, **settings) as live_fleet:
        live_fleet.seed()
        until(lambda: len(page_answers(web)) >= 40, "the first pages")
        assert not measure.repeated_requests(web.requests()).keys() - web.truth.retried
        assert not web.is_complete(), "the crawl ended too soon"
        for service in SERVICES:
            live_fleet.of(service)[0].kill()
            live_fleet.of(service)[0].start()
        crawl_to_the_end(live_fleet)
        hosts = len({request.host for request in web.requests()})
        assert assert_whole(live_fleet, 0.2) <= BATCH * hosts, "more than the orders under way"


@pytest.mark.long
def test_hosts_of_a_killed_fetcher_go_on_after_its_restart_under_default_leases(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    """A host that waited for its lease, 361 s or more, would count as hung."""
    # Orders that both have reported wait for their lease.
    servers = of_servers(kafka, cassandra)
    settings = {**servers, **SHORT_LEASE, "GOSSAMER_FRONTIER__DELAY": str(DELAY)}
    with SynthWeb(SMALL) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        [fetcher] = live_fleet.of("fetcher")
        live_fleet.seed()
        until(lambda: len(page_answers(web)) >= 20, "the first pages")
        fetcher.kill()
        fetcher.start()
        crawl_to_the_end(live_fleet)
        assert_whole(live_fleet, DELAY)


@pytest.mark.long
def test_older_of_two_fetchers_with_one_name_ends_and_says_what_to_do(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {**of_servers(kafka, cassandra), "GOSSAMER_FRONTIER__DELAY": str(DELAY)}
    with SynthWeb(SMALL) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        [older] = live_fleet.of("fetcher")
        live_fleet.seed()
        until(lambda: len(page_answers(web)) >= 20, "the first pages")
        newer = live_fleet.add("fetcher", 1)
        live_fleet.members.remove(older)
        until(lambda: not older.running, "the older one ends")
        assert older.stop() == 1
        assert "set service.instance to another name" in older.output()
        until(lambda: newer.ready, "the newer one is ready")
        before = len(page_answers(web))
        until(lambda: len(page_answers(web)) >= before + 20, "the newer one works")
        assert_polite(web.requests(), web.truth, DELAY)


class Chaos:
    """Harms to a working fleet, and its recovery."""

    def __init__(self, live_fleet: Fleet) -> None:
        self.live_fleet = live_fleet
        self.lines: list[str] = []

    def pages(self) -> int:
        return len(page_answers(self.live_fleet.web))

    def suffer(self, what: str, harm: Callable[[], None]) -> None:
        """Do harm, then wait until the fleet is ready and pages arrive as before."""
        began, before = time.monotonic(), self.pages()
        harm()
        self.live_fleet.await_ready()
        ready, at = time.monotonic() - began, self.pages()
        until(
            lambda: self.pages() >= at + 10 or self.live_fleet.web.is_complete(),
            f"pages after: {what}",
        )
        again = sum(
            times - 1
            for times in measure.repeated_requests(self.live_fleet.web.requests()).values()
        )
        self.lines.append(
            f"{what:28} ready after {ready:5.1f} s, work seen after "
            f"{time.monotonic() - began:5.1f} s, {at - before:3} pages meanwhile, "
            f"{again} repeated so far{', all over' if self.live_fleet.web.is_complete() else ''}"
        )

    def restart(self, member: Member) -> Callable[[], None]:
        def harm() -> None:
            member.kill()
            member.start()

        return harm

    def freeze(self, member: Member, seconds: float) -> None:
        """Stop a process until its leases and its session have expired."""
        member.signal(signal.SIGSTOP)
        time.sleep(seconds)
        member.signal(signal.SIGCONT)

    def replace(self) -> None:
        """Add a third instance of two services, and remove their first ones."""
        for service in ("frontier", "fetcher"):
            self.live_fleet.add(service, 3)
        self.live_fleet.await_ready()
        for service in ("frontier", "fetcher"):
            first = self.live_fleet.of(service)[0]
            assert first.stop() == 0
            self.live_fleet.members.remove(first)


class Instructions:
    """How soon an operator's instruction holds in the whole fleet, measured at the server."""

    def __init__(self, live_fleet: Fleet) -> None:
        self.live_fleet = live_fleet

    def say(self, *command: str) -> float:
        done = self.live_fleet.gossamer(*command)
        assert done.code == 0, done
        return time.time()

    def requests_to(self, since: float) -> list[Request]:
        return [one for one in self.live_fleet.web.requests() if one.at > since]

    def is_in_force(self) -> str:
        """Block a host and slow the crawl down; return the seconds until the last request that
        breaks either."""
        blocked = self.live_fleet.web.requests()[-1].host
        at = self.say("block", blocked)
        slowed_at = self.say("speed", f"{SLOW:g}/s")
        until(lambda: bool(self.requests_to(slowed_at + IN_FORCE + COUNTED / SLOW)), "a slow crawl")
        slow = self.requests_to(slowed_at + IN_FORCE)
        assert blocked not in {one.host for one in self.requests_to(at + IN_FORCE)}
        assert slow[-1].at - slow[0].at >= (len(slow) - 1) / (SLOW * PLAY), len(slow)
        last = max(
            (one.at - at for one in self.requests_to(at) if one.host == blocked), default=0.0
        )
        fast_at = self.say("speed", "none")
        again = self.say("unblock", blocked)
        until(
            lambda: any(one.host == blocked for one in self.requests_to(again)), "the host is asked"
        )
        back = next(one.at - again for one in self.requests_to(again) if one.host == blocked)
        until(lambda: len(self.requests_to(fast_at)) > COUNTED, "a fast crawl")
        moments = [one.at - fast_at for one in self.requests_to(fast_at)][: COUNTED + 1]
        return (
            f"blocked: the last request after {last:.1f} s; slow: {len(slow)} requests in "
            f"{slow[-1].at - slow[0].at:.1f} s from {IN_FORCE:g} s on; unblocked: the first after "
            f"{back:.1f} s; fast: {COUNTED} after {moments[-1]:.1f} s"
        )


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_fleet_survives_kills_of_services_and_servers(tmp_path: Path) -> None:
    kafka, cassandra = (Server(kind, tmp_path / kind) for kind in ("kafka", "cassandra"))
    servers = of_servers(f"127.0.0.1:{kafka.port}", cassandra.port)
    settings = {**servers, **SETTINGS, **SHORT_LEASE, "GOSSAMER_FRONTIER__DELAY": str(DELAY)}
    with (
        running(kafka, cassandra),
        SynthWeb(LONG) as web,
        fleet(web, tmp_path, 2, **settings) as live_fleet,
    ):
        live_fleet.seed()
        chaos = Chaos(live_fleet)
        until(lambda: chaos.pages() >= 30, "the first pages")
        chaos.lines.append(Instructions(live_fleet).is_in_force())
        for service in SERVICES:
            chaos.suffer(f"kill -9 a {service}", chaos.restart(live_fleet.of(service)[0]))
        for server in (kafka, cassandra):
            chaos.suffer(f"kill -9 {server.kind}", server.restart)
        for service in ("frontier", "fetcher"):
            freeze = partial(chaos.freeze, live_fleet.of(service)[1], LEASE + 5.0)
            chaos.suffer(f"a {service} stopped, gone on", freeze)
        chaos.suffer("instances added and removed", chaos.replace)
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        print("\n" + "\n".join(chaos.lines))
        print(f"{chaos.pages()} pages, {repeated} repeated")
        assert measure.most_at_once(web.requests()) <= ADDRESS_SLOTS
        hosts = len({request.host for request in web.requests()})
        assert repeated <= LOSSES * BATCH * hosts, "more than the orders under way at each loss"
        at_work = [line for line in chaos.lines if not line.endswith("all over")]
        assert len(at_work) >= 5, "the crawl was over too soon to suffer"
