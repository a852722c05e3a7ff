"""CPU and disk of pages on the log by codec, batch size and fetch size.

    .venv/bin/python -m bench.batching --pages FOLDER [--each 2000]

FOLDER has real pages, `NAME.html.gz`. Each line shows one producer or consumer of `--each` records
of `pages.fetched`, on one broker of this machine: milliseconds of its CPU and of the broker's CPU a
page, and bytes on disk.
"""

import argparse
import gzip
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench.processes import cpu, family
from gossamer.events import PageFetched, Visit
from gossamer.log.codec import encode
from gossamer.log.kafka.client import consumer_config, producer_config
from gossamer.settings.servers import KafkaSettings
from gossamer.web.url import HostKey, Site
from tests.servers import Server, running

PARTITIONS = 6
QUIET = {"log_level": 2}
"""Logs nothing when a broker stops."""
GROUP = 32
"""Pages between two flushes, like a busy fetcher."""
NONE: dict[str, Any] = {}
CODECS: dict[str, Mapping[str, Any]] = {
    "zstd 1, not warm": NONE,
    "zstd 1": NONE,
    "none": {"compression.type": "none"},
    "lz4": {"compression.type": "lz4"},
    "zstd 3": {"compression.level": 3},
    "zstd 6": {"compression.level": 6},
    "zstd 9": {"compression.level": 9},
    "zstd 1, batches of 64 kB": {"batch.size": 64 << 10},
    "zstd 1, batches of 4 MB": {"batch.size": 4 << 20},
    "zstd 1, linger 0": {"linger.ms": 0},
    "zstd 1, linger 50 ms": {"linger.ms": 50},
}
FETCHES: dict[str, Mapping[str, Any]] = {
    "4 MB, 16 MB ahead": NONE,
    "1 MB": {"fetch.max.bytes": 1 << 20},
    "16 MB": {"fetch.max.bytes": 16 << 20},
    "4 MB, 1 MB a partition ": {"max.partition.fetch.bytes": 1 << 20},
    "4 MB, 4 MB ahead": {"queued.max.messages.kbytes": 4 << 10},
    "4 MB, 64 MB ahead": {"queued.max.messages.kbytes": 64 << 10},
}


class Broker:
    """One broker, with its CPU and disk usage."""

    def __init__(self, server: Server) -> None:
        self.servers, self._server = f"127.0.0.1:{server.port}", server
        self._admin = AdminClient({"bootstrap.servers": self.servers})
        self._made = 0

    def topic(self) -> str:
        """Create another topic."""
        self._made += 1
        name = f"pages-{self._made}"
        topic = NewTopic(name, PARTITIONS, 1, config={"max.message.bytes": str(64 << 20)})
        self._admin.create_topics([topic])[name].result(30)
        return name

    def spent(self) -> float:
        """Return its CPU seconds until now."""
        assert self._server.process
        return cpu(family(self._server.process.pid))

    def stored_bytes(self, topic: str) -> int:
        """Return the bytes of its log files for *topic*."""
        files = self._server.data.rglob(f"{topic}-*/*.log")
        return sum(file.stat().st_size for file in files)


def produce(broker: Broker, values: list[bytes], changes: Mapping[str, Any]) -> str:
    """Append *values*; print the cost; return the topic."""
    settings, topic = KafkaSettings(servers=broker.servers), broker.topic()
    client = Producer(
        {"bootstrap.servers": broker.servers, **QUIET, **producer_config(settings), **changes}
    )
    spent, client_cpu, began = broker.spent(), time.process_time(), time.monotonic()
    for start in range(0, len(values), GROUP):
        for number, value in enumerate(values[start : start + GROUP]):
            client.produce(topic, value, str(number), number % PARTITIONS)
        client.flush()
    took, client_cpu = time.monotonic() - began, time.process_time() - client_cpu
    _show(took, client_cpu, broker.spent() - spent, len(values))
    print(f"{broker.stored_bytes(topic) / len(values) / 1000:8.1f} kB", flush=True)
    return topic


def consume(broker: Broker, topic: str, count: int, changes: Mapping[str, Any]) -> None:
    """Read *count* records of *topic*; print the cost."""
    client: Any = Consumer(
        {"bootstrap.servers": broker.servers, **QUIET, **consumer_config("bench"), **changes}
    )
    spent, client_cpu, began = broker.spent(), time.process_time(), time.monotonic()
    client.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    left = count
    while left:
        left -= (message := client.poll(1.0)) is not None and not message.error()
    took, client_cpu = time.monotonic() - began, time.process_time() - client_cpu
    client.close()
    _show(took, client_cpu, broker.spent() - spent, count)
    print(flush=True)


def _show(took: float, client_cpu: float, brokers: float, count: int) -> None:
    each = [f"{1000 * seconds / count:8.3f}" for seconds in (took, client_cpu, brokers)]
    print(f"  {each[0]} ms; CPU: client {each[1]} ms, broker {each[2]} ms", end="")


def pages(folder: Path) -> Iterator[bytes]:
    """Yield the pages of *folder* as the fetcher appends them."""
    for path in sorted(folder.glob("*.html.gz")):
        yield encode(_page_of(gzip.decompress(path.read_bytes()))).value


def _page_of(body: bytes) -> PageFetched:
    headers = (("Content-Type", "text/html; charset=utf-8"),)
    return PageFetched(
        at=0.0,
        site=Site(""),
        host=HostKey(""),
        visit=Visit("", "http://page.test/"),
        started_at=0.0,
        took=0.0,
        status=200,
        headers=headers,
        body=body,
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--each", type=int, default=2000)
    options = parser.parse_args()
    values = [*islice(cycle(pages(options.pages)), options.each)]
    print(f"{len(values)} pages of {sum(map(len, values)) / len(values) / 1000:.1f} kB")
    with tempfile.TemporaryDirectory() as folder:
        server = Server("kafka", Path(folder) / "kafka")
        with running(server):
            broker, topic = Broker(server), ""
            for name, changes in CODECS.items():
                print(f"{name:24}", end="")
                topic = produce(broker, values, changes)
            for name, changes in FETCHES.items():
                print(f"fetches of {name:24}", end="")
                consume(broker, topic, len(values), changes)


if __name__ == "__main__":
    main()
