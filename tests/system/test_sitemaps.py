"""A shop with large sitemaps among small sites: no other site waits for it."""

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World, measure
from tests.synthweb.record import Request
from tests.synthweb.robots import SITEMAPS

from .assertions import assert_polite
from .by_hand import of_servers
from .fleet import Fleet, Member, fleet

WORLD = World.plain(seed=19, hosts=101, seeds=101, pages=30, listed=50_000)
DELAY = 5.0
SETTINGS = {
    "GOSSAMER_CRAWL__REVISIT": "optimal",
    "GOSSAMER_FRONTIER__DELAY": str(DELAY),
    "GOSSAMER_FRONTIER__BATCH": "3",
    # The hosts of a site do not wait for each other.
    "GOSSAMER_FRONTIER__SITE_AT_ONCE": "5",
}
MAX_WAIT = 10.0
"""Seconds beyond its own delay that a site may wait for its next visit."""
PAUSE = 0.5
"""Seconds between two checks of the fleet."""
ADMITTED = re.compile(r"^gossamer_urls_admitted_total\{crawl=\"default\"\} (\S+)$", re.MULTILINE)
LOST = re.compile(r'"lost": \[\d')


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_no_site_waits_for_the_sitemaps_of_another_site(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {**of_servers(kafka, cassandra), **SETTINGS}
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        began = time.monotonic()
        live_fleet.seed()
        small = {url for url in web.truth.required if not url.startswith(web.seeds[0])}
        late: list[float] = []
        until(
            lambda: check_liveness(live_fleet) and is_done(live_fleet, small, late),
            "all pages of the small sites",
            patience=900.0,
        )
        requests = web.requests()
        rate = len(requests) / (time.monotonic() - began)
        longest, host = max(waits(requests, shop(web)))
        print(f"\n{rate:.1f} requests/s; longest wait of another host: {longest:.1f} s ({host})")
        for member in live_fleet.members:
            print(member.name, longest_steps(member))
        assert longest <= MAX_WAIT + max(late)
        assert_polite(requests, web.truth, DELAY)
        for member in live_fleet.members:
            assert not LOST.search(member.log.read_text()), f"{member.name} lost its partitions"


def check_liveness(live_fleet: Fleet) -> bool:
    """Fail if a service has ended, or would be restarted by its liveness probe."""
    for member in live_fleet.members:
        assert member.running, f"{member.name} ended: {member.output()}"
        assert member.get("/healthz")[0] != 503, f"{member.name} is stuck"
    return True


def is_done(live_fleet: Fleet, small: set[str], late: list[float]) -> bool:
    """Return whether all of *small* is requested, and the frontier has consumed the entries of the
    sitemaps.

    Append to *late* the seconds by which this process woke up too late, when the machine stood
    still.
    """
    began = time.monotonic()
    time.sleep(PAUSE)  # The fleet needs the CPU more than the test does.
    late.append(time.monotonic() - began - PAUSE)
    if not small <= measure.requested_urls(live_fleet.web.requests()):
        return False
    admitted = ADMITTED.search(live_fleet.of("dedup")[0].get("/metrics")[1])
    all_admitted = admitted and float(admitted[1]) >= len(SITEMAPS) * live_fleet.web.world.listed
    return bool(all_admitted and live_fleet.lag().get("urls.admitted") == 0.0)


def shop(web: SynthWeb) -> str:
    """Return the host whose robots.txt names the sitemaps."""
    return web.atlas.roles.names[0]


def waits(requests: list[Request], shop: str) -> list[tuple[float, str]]:
    """Return the wait of each host except *shop* for each page beyond its delay, without
    revisits."""
    found = []
    for host, own in measure.by_host(requests).items():
        visits = {request.url: request for request in reversed(own)}.values()
        for earlier, later in pairwise(sorted(visits, key=lambda visit: visit.at)):
            if host != shop:
                found.append((later.at - earlier.ended - DELAY, host))
    return found


def longest_steps(member: Member) -> dict[str, float]:
    """Return the upper bounds of the histogram buckets of the longest step and of each of its
    phases."""
    counts: dict[str, tuple[float, float]] = {}
    for family in text_string_to_metric_families(member.get("/metrics")[1]):
        for sample in family.samples:
            if re.fullmatch("gossamer_step(_phase)?_seconds_bucket", sample.name):
                phase = sample.labels.get("phase", "step")
                bound, before = float(sample.labels["le"]), counts.get(phase, (0.0, 0.0))[1]
                if sample.value > before:
                    counts[phase] = bound, sample.value
    return {phase: bound for phase, (bound, _) in counts.items()}
