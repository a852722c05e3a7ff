"""Restarts of a loaded fleet at default settings, as an upgrade, a lost node or a crash causes
them."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .by_hand import of_servers
from .fleet import SERVICES, Fleet, Member, assert_whole, crawl_to_the_end, fleet

PARTITIONS = 12
DEFAULTS = {"GOSSAMER_KAFKA__PARTITIONS": str(PARTITIONS), "GOSSAMER_KAFKA__SESSION": "60"}
DEDUP_SESSION = {"GOSSAMER_KAFKA__SESSION": "120"}
"""The session of dedup in the manifests for Kubernetes."""
MIN_READY = 10.0
"""Seconds from the readiness of a process to the next restart, as in the manifests."""
DELAY, BATCH = 1.0, 10
"""The defaults of `frontier.delay` and `frontier.batch`."""
SLACK = 15.0
"""Seconds by which the silence of a host may exceed the absence of a process."""
LOADED_SLACK = 75.0
"""The same beside other tests, where a verdict may be awaited for a minute; a lease takes six."""


def owners(live_fleet: Fleet, service: str) -> dict[str, frozenset[int]]:
    """Return the partitions of each member of a service's group, once two members share them."""
    servers, prefix = (live_fleet.settings[f"GOSSAMER_KAFKA__{of}"] for of in ("SERVERS", "PREFIX"))
    admin, group = AdminClient({"bootstrap.servers": servers}), prefix + service

    def shares() -> dict[str, frozenset[int]] | None:
        found = admin.describe_consumer_groups([group])[group].result().members
        owned = {
            one.group_instance_id: frozenset(at.partition for at in one.assignment.topic_partitions)
            for one in found
        }
        whole = len(owned) == 2 and sum(map(len, owned.values())) == PARTITIONS
        return owned if whole else None

    found = until(shares, f"two members of {service} share the partitions")
    assert found
    return found


class Restarts:
    """Restarts of members, one after another, and the longest absence."""

    def __init__(self, live_fleet: Fleet) -> None:
        self.live_fleet = live_fleet
        self.began, self.longest_absence = time.time(), 0.0

    def restart(self, member: Member, harm: Callable[[], object], seconds: float) -> None:
        """Harm *member*, start it again after *seconds*, and compare the owners of partitions."""
        before, began = owners(self.live_fleet, member.service), time.time()
        harm()
        time.sleep(seconds)
        member.start()
        until(lambda: member.ready, f"{member.name} is ready")
        absence = time.time() - began
        self.longest_absence = max(self.longest_absence, absence)
        time.sleep(MIN_READY)
        assert owners(self.live_fleet, member.service) == before, member.name
        print(f"{member.name}: {harm.__name__}, ready after {absence:.1f} s")

    def silences(self) -> Iterator[float]:
        """Yield the times without a request to a host, before one of its later requests."""
        moments = defaultdict(list)
        for request in self.live_fleet.web.requests():
            moments[request.host].append(request.at)
        for own in moments.values():
            yield from (b - a for a, b in pairwise(sorted(own)) if b > self.began)


@pytest.mark.parametrize(
    ("services", "absence", "pages", "slack"),
    [
        pytest.param(("fetcher",), 2.0, 60, LOADED_SLACK, id="small", marks=pytest.mark.long),
        pytest.param(
            SERVICES,
            15.0,
            300,
            SLACK,
            id="whole",
            marks=[pytest.mark.long, pytest.mark.timeout(1800)],
        ),
    ],
)
def test_rolling_restart_and_kills_keep_partitions_hosts_and_urls(
    tmp_path: Path,
    kafka: str,
    cassandra: int,
    services: tuple[str, ...],
    absence: float,
    pages: int,
    slack: float,
) -> None:
    world = World.plain(seed=5, hosts=16, pages=pages, seeds=16, jitter=0.02)
    settings = {**of_servers(kafka, cassandra), **DEFAULTS}
    with SynthWeb(world) as web, fleet(web, tmp_path, 2, **settings) as live_fleet:
        live_fleet.seed()
        live_fleet.await_pages(100)
        restarts = Restarts(live_fleet)
        for service in services:
            for member in live_fleet.of(service):
                restarts.restart(member, member.stop, absence)
        for service in services:
            member = live_fleet.of(service)[0]
            restarts.restart(member, member.kill, 0.0)
        assert not web.is_complete(), "over too soon"
        crawl_to_the_end(live_fleet)
        assert assert_whole(live_fleet, DELAY) <= len(services) * BATCH * world.hosts
        silence = max(restarts.silences())
        print(f"longest silence of a host: {silence:.1f} s")
        assert silence < restarts.longest_absence + slack


@pytest.mark.long
@pytest.mark.timeout(900)
def test_dedup_keeps_its_partitions_over_an_absence_of_ninety_seconds(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    world = World.plain(seed=5, hosts=4, pages=2, seeds=4)
    settings = {**of_servers(kafka, cassandra), **DEFAULTS, **DEDUP_SESSION}
    with SynthWeb(world) as web, fleet(web, tmp_path, 2, **settings) as live_fleet:
        restarts, member = Restarts(live_fleet), live_fleet.of("dedup")[0]
        for seconds in (5.0, 15.0, 90.0):
            restarts.restart(member, member.stop, seconds)
