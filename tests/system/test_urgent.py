"""Urgent URLs on a busy and on an overloaded fleet: they precede all others, politely."""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World
from tests.synthweb.record import Request

from .assertions import assert_polite
from .by_hand import of_servers
from .fleet import Fleet, fleet

WORLD = World.plain(seed=5, hosts=60, pages=300)
"""So many pages that all hosts are busy until the end of the test."""
BATCH, DELAY = 5, 1.0
SETTINGS = {
    "GOSSAMER_FRONTIER__BATCH": str(BATCH),
    "GOSSAMER_FRONTIER__DELAY": str(DELAY),
    "GOSSAMER_FRONTIER__CHECKED_OUT_LIMIT": "20",
    "GOSSAMER_CRAWL__SCOPE": "any()",
}
"""Only a part of the hosts can be checked out, and the others are queued."""
URGENT_URLS = 20
BUSY_HOSTS = 30
WAIT = "180s"


LAG = 200_000
"""Admissions that wait for the frontier when the URLs are requested."""
SITES_OF_BACKLOG = 2_000


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_urgent_urls_precede_others_of_their_hosts_whatever_the_lag(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    with (
        SynthWeb(WORLD) as web,
        fleet(web, tmp_path, 1, **of_servers(kafka, cassandra), **SETTINGS) as live_fleet,
    ):
        live_fleet.seed()
        until(lambda: len({one.host for one in web.requests()}) >= BUSY_HOSTS, "many busy hosts")
        fetch_urgently(live_fleet, "busy")
        append_backlog(live_fleet, LAG)
        fetch_urgently(live_fleet, "overloaded")
        left = live_fleet.lag()["urls.admitted"]
        print(f"{left:.0f} admissions still waited at the end")
        assert left > LAG / 10, "the URLs were visited before the backlog was consumed"
        assert_polite(web.requests(), web.truth, DELAY)


def fetch_urgently(live_fleet: Fleet, state: str) -> None:
    """Fetch some URLs, and check that each was visited next at its host. *state*: of the fleet."""
    urls = choose_urls(live_fleet)
    done = live_fleet.gossamer("fetch", *urls, "--wait", WAIT, "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one["url"] for one in found] == urls, done
    for one in found:
        assert one["has_ended"], one
        document = one["document"]
        assert not one["is_fetched"] or document["text"] or document["fault"], one
    asked_at, requests = time_of_request(live_fleet), live_fleet.web.requests()
    waits = sorted(seconds_to_visit(requests, url, asked_at) for url in urls)
    print(f"{state}: median {waits[len(waits) // 2]:.1f} s, worst {waits[-1]:.1f} s")


def append_backlog(live_fleet: Fleet, count: int) -> None:
    """Append *count* admissions, faster than the frontier consumes them."""
    settings = live_fleet.settings
    producer = Producer(
        {
            "bootstrap.servers": settings["GOSSAMER_KAFKA__SERVERS"],
            "partitioner": "murmur2_random",
            "compression.type": "zstd",
            "queue.buffering.max.messages": count,
        }
    )
    topic = settings["GOSSAMER_KAFKA__PREFIX"] + "urls.admitted"
    for number in range(count):
        site = f"backlog{number % SITES_OF_BACKLOG}.test"
        event = {
            "event": "urls_admitted",
            "version": 1,
            "crawl": "default",
            "at": time.time(),
            "site": site,
            "via": f"1@http://{site}/",
            "urls": [{"url": f"http://{site}/{number}", "depth": 1}],
        }
        producer.produce(topic, json.dumps(event), site)
    assert not producer.flush(60.0)


def choose_urls(live_fleet: Fleet) -> list[str]:
    """Return one URL of each of some busy hosts that was not visited yet."""
    requests = live_fleet.web.requests()
    busy = dict.fromkeys(one.host for one in requests)
    left = sorted(live_fleet.web.truth.required - {one.url for one in requests}, reverse=True)
    of_hosts = (next((url for url in left if f"//{host}:" in url), None) for host in busy)
    return [url for url in of_hosts if url][:URGENT_URLS]


def time_of_request(live_fleet: Fleet) -> float:
    """Return the time of the record of the request, in epoch seconds."""
    done = live_fleet.gossamer("audit", "--json", "--action", "fetch")
    assert done.code == 0, done
    return max(float(json.loads(line)["at"]) for line in done.out.splitlines())


def seconds_to_visit(requests: list[Request], url: str, asked_at: float) -> float:
    """Return the seconds from the request for *url* to its visit; 0 if it was being visited."""
    host = next(one.host for one in requests if one.url == url)
    later = [one for one in requests if one.host == host and one.at >= asked_at]
    made = [one for one in later if one.url == url]
    assert len(made) <= 1, "an urgent URL is visited once"
    if not made:
        return 0.0
    earlier = [one for one in later if one.at < made[0].at]
    assert len(earlier) <= BATCH + 1, "the running order, and robots.txt"
    return made[0].at - asked_at
