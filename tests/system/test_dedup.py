"""Two instances of dedup on real servers, while URLs are discovered.

Instances start, stop, are killed and lose their disks. Every URL must be admitted, for its first
finder only.
"""

import json
import random
import shutil
import signal
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.waiting import until

from .crawl import GOSSAMER, run
from .fleet import Fleet, Member

pytestmark = pytest.mark.long

PARTITIONS = 6
SITES = 100
RATE = 50
"""Events a second, of ten URLs each; half of the URLs were discovered before."""


class Servers:
    """The settings of a fleet with topics and tables of its own."""

    def __init__(self, folder: Path, kafka: str, cassandra: int, engine: str) -> None:
        name = f"dedup{uuid.uuid4().hex[:8]}"
        self.folder, self.kafka, self.prefix = folder, kafka, f"{name}."
        self.settings = {
            "GOSSAMER_KAFKA__SERVERS": kafka,
            "GOSSAMER_KAFKA__PREFIX": self.prefix,
            "GOSSAMER_KAFKA__PARTITIONS": str(PARTITIONS),
            "GOSSAMER_KAFKA__REPLICATION": "1",
            "GOSSAMER_KAFKA__SESSION": "6",
            "GOSSAMER_CASSANDRA__HOSTS": '["127.0.0.1"]',
            "GOSSAMER_CASSANDRA__PORT": str(cassandra),
            "GOSSAMER_CASSANDRA__KEYSPACE": name,
            "GOSSAMER_DEDUP__FOLDER": str(folder / "dedup"),
            "GOSSAMER_DEDUP__ENGINE": engine,
        }
        for job in ("topics", "store"):
            done = run([GOSSAMER, job, "apply"], **self.settings)
            assert done.code == 0, done

    def member(self, number: int) -> Member:
        member = Member(cast(Fleet, self), "dedup", number)
        member.start()
        return member

    def lose_disk(self, member: Member) -> None:
        shutil.rmtree(self.folder / "dedup" / member.name)


class Finder(threading.Thread):
    """Discovers URLs until it is stopped, and records the first finder of each."""

    def __init__(self, servers: Servers) -> None:
        super().__init__(daemon=True)
        self.first: dict[str, str] = {}
        self.visit = 0
        self._topic, self._ended = servers.prefix + "urls.discovered", threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": servers.kafka,
                "enable.idempotence": True,
                "partitioner": "murmur2",
            }
        )

    def run(self) -> None:
        chance = random.Random(7)
        discovered: dict[str, list[str]] = defaultdict(list)
        while not self._ended.wait(1 / RATE):
            visit = self.visit + 1
            site, via = f"site{chance.randrange(SITES)}.example", str(visit)
            old = chance.sample(discovered[site], min(5, len(discovered[site])))
            new = [f"http://{site}/{visit}/{i}" for i in range(5)]
            discovered[site] += new
            urls = [{"url": url} for url in chance.sample(old + new, len(old + new))]
            self.first.update({url: via for url in new})
            event = {"event": "urls_discovered", "at": 1.0, "site": site, "via": via, "urls": urls}
            self._producer.produce(self._topic, json.dumps(event), site)
            self._producer.poll(0)
            self.visit = visit

    def stop(self) -> None:
        self._ended.set()
        self.join()
        assert self._producer.flush(30) == 0


class Admitted:
    """The admitted URLs with their finders."""

    def __init__(self, servers: Servers) -> None:
        self.vias: dict[str, list[str]] = defaultdict(list)
        self._newest: dict[int, int] = {}
        self._consumer: Any = Consumer(
            {"bootstrap.servers": servers.kafka, "group.id": "t", "auto.offset.reset": "earliest"}
        )
        topic = servers.prefix + "urls.admitted"
        self._consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])

    def read(self) -> None:
        """Read new records."""
        for message in self._consumer.consume(500, 0.1):
            assert not message.error(), message.error()
            event = json.loads(message.value())
            self._newest[message.partition()] = int(event["via"])
            for url in event["urls"]:
                self.vias[url["url"]].append(event["via"])

    def until_all_serve(self, visit: int) -> float:
        """Wait until each partition has admitted a URL found after *visit*; return the seconds."""
        began = time.monotonic()

        def all_served() -> bool:
            self.read()
            late = [newest for newest in self._newest.values() if newest > visit]
            return len(late) == PARTITIONS

        until(all_served, "something of every partition")
        return time.monotonic() - began

    def until_there(self, urls: Collection[str]) -> None:
        """Wait until that number of URLs was admitted; the last ones may be repeated."""

        def all_admitted() -> bool:
            self.read()
            return len(self.vias) >= len(urls)

        until(all_admitted, f"{len(urls)} URLs, not {len(self.vias)}")
        self.read()

    def twice(self) -> int:
        """Return how many URLs were admitted more than once."""
        return sum(len(vias) > 1 for vias in self.vias.values())

    def close(self) -> None:
        self._consumer.close()


class Scene:
    """Two instances at work, and their results."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.one, self.two = servers.member(1), servers.member(2)
        self.finder, self.admitted = Finder(servers), Admitted(servers)
        until(lambda: self.one.ready and self.two.ready, "readiness of both")
        self.finder.start()

    def report(self, what: str) -> None:
        """Wait until every partition works; print the seconds and the number of repetitions."""
        took = self.admitted.until_all_serve(self.finder.visit)
        twice, found = self.admitted.twice(), len(self.finder.first)
        print(f"{what}: all partitions work after {took:.1f} s; admitted twice {twice}/{found}")

    def back(self, member: Member) -> None:
        """Start *member* again."""
        member.start()
        until(lambda: member.ready, "readiness")
        self.report("  and back")

    def end(self) -> None:
        """Stop the instances; assert that no URL is lost or admitted for another finder."""
        self.finder.stop()
        self.admitted.until_there(self.finder.first)
        assert (self.one.stop(), self.two.stop()) == (0, 0)
        self.admitted.read()
        assert {url: set(vias) for url, vias in self.admitted.vias.items()} == {
            url: {via} for url, via in self.finder.first.items()
        }

    def close(self) -> None:
        """Close all clients and processes."""
        for member in (self.one, self.two):
            member.signal(signal.SIGCONT)
            member.kill()
        self.admitted.close()


@pytest.fixture(params=["own", "faust"])
def servers(tmp_path: Path, kafka: str, cassandra: int, request: pytest.FixtureRequest) -> Servers:
    return Servers(tmp_path, kafka, cassandra, request.param)


@pytest.fixture
def scene(servers: Servers) -> Iterator[Scene]:
    with closing(Scene(servers)) as scene:
        yield scene


def test_stops_repeat_nothing_and_kills_lose_nothing(
    scene: Scene,
) -> None:
    print()
    scene.report("two")
    for member in (scene.two, scene.one):
        assert member.stop() == 0
        scene.report("one stopped")
        scene.back(member)
    assert scene.admitted.twice() == 0, "no process was killed yet"
    scene.two.kill()
    scene.report("one killed")
    scene.back(scene.two)
    scene.one.kill()
    scene.servers.lose_disk(scene.one)
    scene.back(scene.one)
    scene.two.signal(signal.SIGSTOP)
    scene.report("one held up")
    scene.two.signal(signal.SIGCONT)
    until(lambda: scene.two.ready, "readiness")
    scene.report("  and back")
    scene.end()
