"""Events a second of the Kafka log, beside the same loop written directly on its client.

    .venv/bin/python -m bench.log [--events 100000]

Both go by turns against one broker of this machine with the same settings, in batches of 500, so
that only the ratio says something. Appending ends with each batch acknowledged, reading with each
batch committed. CPU seconds are those of this process; the broker's are not counted.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from gossamer.log import MAX_POLL_RECORDS, Message
from gossamer.log.kafka.client import (
    ConnectionErrors,
    client_config,
    consumer_config,
    producer_config,
)
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.settings.servers import KafkaSettings
from tests.servers import Server

ROUNDS = 3
TOPIC = "pages.fetched"
SITES = [f"site{n}.example" for n in range(1000)]
Work = Callable[[int], None]
"""Does something with so many events."""

_numbers = count()


class Nothing:
    """A store for those who have none."""

    def flush(self) -> None:
        """There is nothing to write."""


def append_by_log(log: KafkaLog, body: bytes) -> Work:
    """Return what appends."""

    def work(events: int) -> None:
        for start in range(0, events, MAX_POLL_RECORDS):
            sites = (SITES[n % 1000] for n in range(start, start + MAX_POLL_RECORDS))
            log.append([Message(TOPIC, site, body, site) for site in sites])

    return work


def append_by_client(settings: KafkaSettings, body: bytes) -> Work:
    """Return what produces the same, and looks at every failure."""
    failed: list[object] = []
    plain = Producer(
        {
            **client_config(settings, ConnectionErrors(settings.servers)),
            **producer_config(settings),
            "on_delivery": lambda error, _: failed.append(error),
        }
    )

    def work(events: int) -> None:
        for start in range(0, events, MAX_POLL_RECORDS):
            for n in range(start, start + MAX_POLL_RECORDS):
                plain.produce(TOPIC, body, SITES[n % 1000].encode())
            assert plain.flush(60) == 0 and not failed

    return work


def read_by_log(log: KafkaLog) -> Work:
    """Return what reads from the beginning, and advances."""

    def work(events: int) -> None:
        reader = log.reader(f"log{next(_numbers)}", [TOPIC], Nothing())  # type: ignore[arg-type]
        found = 0
        while found < events:
            records = reader.poll(1.0)
            found += sum(1 for record in records if record.value and record.key)
            reader.advance(records, ())
        reader.close()

    return work


def read_by_client(settings: KafkaSettings) -> Work:
    """Return what consumes the same, and commits."""

    def work(events: int) -> None:
        trouble = ConnectionErrors(settings.servers)
        plain = Consumer(
            {**client_config(settings, trouble), **consumer_config(f"plain{next(_numbers)}")}
        )
        plain.subscribe([TOPIC])
        found = 0
        while found < events:
            ends: dict[int, int] = {}
            for message in plain.consume(MAX_POLL_RECORDS, 1.0 if not found else 0.05):
                assert not message.error() and message.value() and message.key()
                ends[message.partition() or 0] = (message.offset() or 0) + 1
                found += 1
            if ends:
                offsets = [TopicPartition(TOPIC, number, end) for number, end in ends.items()]
                plain.commit(offsets=offsets, asynchronous=False)
        plain.close()

    return work


def timed(work: Work, events: int) -> tuple[float, float]:
    """Return the seconds and the CPU seconds that *work* takes."""
    began, spent = time.perf_counter(), time.process_time()
    work(events)
    return time.perf_counter() - began, time.process_time() - spent


def compare(what: str, ours: Work, plain: Work, events: int) -> None:
    """Let both do the same by turns, and print a line."""
    taken = [(timed(ours, events), timed(plain, events)) for _ in range(ROUNDS)]
    (wall, cpu), (their_wall, their_cpu) = (
        [sum(turn[who][kind] for turn in taken) / ROUNDS for kind in (0, 1)] for who in (0, 1)
    )
    print(
        f"{what:26} {events / wall:11,.0f} {events / their_wall:11,.0f} {their_wall / wall:6.2f}"
        f" {1e6 * cpu / events:11.1f} {1e6 * their_cpu / events:11.1f}",
        flush=True,
    )


def bench(settings: KafkaSettings, events: int) -> None:
    """Print a table."""
    list(Topics(settings).apply())
    print(f"{'':26} {'events/s':>11} {'plain':>11} {'ratio':>6} {'CPU µs each':>11} {'plain':>11}")
    with closing(KafkaLog(settings)) as log:
        for size, number in ((200, events), (16_000, events // 10)):
            start = log.lag("nobody", TOPIC)
            body = os.urandom(size // 2).hex().encode()
            for work in (append_by_log(log, body), append_by_client(settings, body)):
                work(MAX_POLL_RECORDS)
            compare(
                f"append, {size:,} bytes",
                append_by_log(log, body),
                append_by_client(settings, body),
                number // MAX_POLL_RECORDS * MAX_POLL_RECORDS,
            )
            there = log.lag("nobody", TOPIC)
            compare(
                f"poll + advance, {size:,} bytes" if not start else "poll + advance, both sizes",
                read_by_log(log),
                read_by_client(settings),
                there,
            )


def main() -> None:
    """Start a broker, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server("kafka", Path(folder) / "kafka")
        server.start()
        try:
            servers = f"127.0.0.1:{server.port}"
            bench(KafkaSettings(servers=servers, replication=1), options.events)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
