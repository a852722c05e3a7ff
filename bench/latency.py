"""Seconds from a seed's acknowledgement to its document on `pages`.

    .venv/bin/python -m bench.latency [--seeds 100] [--count 1] [--rounds 2]

A fleet without work receives seeds of new hosts, one at a time. Each host is requested for
robots.txt and the page, a twentieth of a second apart. The web server's own time for both is shown
separately, and below it the times of the first and the last record of a seed on each topic. The
first round warms up the servers and is not shown.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.servers import Server, running
from tests.support.waiting import HANG_TIMEOUT
from tests.synthweb import SynthWeb, World
from tests.system.by_hand import of_servers
from tests.system.fleet import fleet

DELAY = 0.05
PAUSE = 0.5
"""Seconds between a document and the next seed."""


class Wait(NamedTuple):
    """The latency of a seed in seconds."""

    took: float
    server: float
    """The part of the web server."""
    topics: dict[str, list[float]]
    """Topic → seconds from the seed to each of its records."""


class Topics:
    """All topics of a fleet, read to their ends."""

    def __init__(self, servers: str, prefix: str) -> None:
        self._prefix = prefix
        self._consumer: Any = Consumer(
            {"bootstrap.servers": servers, "group.id": "bench", "fetch.wait.max.ms": 5}
        )
        topics = self._consumer.list_topics(timeout=30).topics
        self._consumer.assign(
            [
                TopicPartition(name, number, 0)
                for name, topic in topics.items()
                if name.startswith(prefix)
                for number in topic.partitions
            ]
        )

    def await_document(self, url: str) -> dict[str, list[float]]:
        """Return the times of all records by topic, up to the document of *url*."""
        found: dict[str, list[float]] = defaultdict(list)
        latest = time.monotonic() + HANG_TIMEOUT
        while time.monotonic() < latest:
            message = self._consumer.poll(0.1)
            if message and not message.error():
                topic = message.topic().removeprefix(self._prefix)
                found[topic].append(message.timestamp()[1] / 1000)
                if topic == "pages" and message.key().decode() == f"default/{url}":
                    return found
        raise TimeoutError(f"{url} is not on pages")

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()


def waits(servers: str, corner: dict[str, str], count: int, seeds: int) -> Iterator[Wait]:
    """Add one seed after the other; return their latencies."""
    prefix = corner["GOSSAMER_KAFKA__PREFIX"]
    settings = {
        **corner,
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
        "GOSSAMER_CRAWL__MAX_DEPTH": "0",
        "GOSSAMER_LOGS__LEVEL": "warning",
    }
    world = World.plain(seed=7, hosts=seeds, pages=2, seeds=seeds)
    with (
        tempfile.TemporaryDirectory() as folder,
        SynthWeb(world) as web,
        fleet(web, Path(folder), count, **settings),
    ):
        topics, producer = Topics(servers, prefix), Producer({"bootstrap.servers": servers})
        for url in web.seeds:
            before = len(web.requests())
            producer.produce(f"{prefix}seeds", url.encode())
            producer.flush()
            added = time.time()
            found = topics.await_document(url)
            took = time.time() - added
            requests = web.requests()[before:]
            late = {topic: [at - added for at in times] for topic, times in found.items()}
            yield Wait(took, sum(one.ended - one.at for one in requests), late)
            time.sleep(PAUSE)
        topics.close()


def main() -> None:
    """Print the median, the 95th percentile and the maximum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--count", type=int, default=1, help="of each service")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kafka, cassandra = (Server(kind, Path(folder) / kind) for kind in ("kafka", "cassandra"))
        with running(kafka, cassandra):
            for number in range(options.rounds):
                corner = of_servers(f"127.0.0.1:{kafka.port}", cassandra.port)
                found = [*waits(f"127.0.0.1:{kafka.port}", corner, options.count, options.seeds)]
                if number or options.rounds == 1:
                    show(found)


def show(found: list[Wait]) -> None:
    """Print the latencies, and the times of each topic."""
    for name, times in (
        ("seed to document", [one.took for one in found]),
        ("of it the web server", [one.server for one in found]),
    ):
        last = quantiles(times, n=20)[-1]
        print(f"{name:22} median {median(times):.3f} s, 95 % {last:.3f} s, max {max(times):.3f} s")
    firsts: dict[str, list[float]] = defaultdict(list)
    lasts: dict[str, list[float]] = defaultdict(list)
    for one in found:
        for topic, times in one.topics.items():
            # Records from before the seed belong to the previous one.
            if late := [at for at in times if at >= 0]:
                firsts[topic].append(min(late))
                lasts[topic].append(max(late))
    for topic in sorted(firsts, key=lambda topic: median(firsts[topic])):
        print(f"  {topic:24} {median(firsts[topic]):.3f} to {median(lasts[topic]):.3f} s")


if __name__ == "__main__":
    main()
