"""URLs a second through the URL-seen test, compared with a plain loop on Faust.

    .venv/bin/python -m bench.seen [--events 5000] [--rounds 2]

Each event has ten new URLs. Both loops read it, test and store the URLs, and append the new ones.
They run in turn, in processes of their own on one broker of this machine, each with a new group and
an empty table. The time is from the first URL to the last one admitted; CPU seconds are those of
the process, without the broker's.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import faust
import msgspec
from prometheus_client import REGISTRY

from gossamer.events import Discovery, UrlsAdmitted, UrlsDiscovered
from gossamer.log import MAX_POLL_RECORDS, Message
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.runtime.health import Health, ObservedLog
from gossamer.runtime.process import Backends, Process
from gossamer.services.dedup.__main__ import work
from gossamer.settings import DedupSettings, Settings
from gossamer.settings.servers import KafkaSettings, ServiceSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.telemetry import configure_logs
from gossamer.web.url import Site, fingerprint
from tests.servers import Server

PARTITIONS = 6
URLS = 10
LOOK = 0.02


def fill(settings: KafkaSettings, events: int) -> None:
    """Append the events to the topic."""
    list(Topics(settings).apply())
    encoder = msgspec.json.Encoder()
    with closing(KafkaLog(settings)) as log:
        for start in range(0, events, MAX_POLL_RECORDS):
            log.append(
                _links_event(n, encoder)
                for n in range(start, min(events, start + MAX_POLL_RECORDS))
            )


def _links_event(n: int, encoder: msgspec.json.Encoder) -> Message:
    site = f"site{n % 500}.example"
    urls = tuple(Discovery(f"http://{site}/some/page-{n}-{i}.html", depth=3) for i in range(URLS))
    event = UrlsDiscovered(at=1.0, site=Site(site), via=f"1.{n}.0@http://{site}/from", urls=urls)
    return Message("urls.discovered", site, encoder.encode(event), site)


def measure(admitted: Callable[[], float], total: int) -> None:
    """Print the seconds and the CPU seconds from the first URL to the last."""
    while not (first := admitted()):
        time.sleep(LOOK)
    began, spent = time.perf_counter(), time.process_time()
    while (now := admitted()) < total:
        time.sleep(LOOK)
    wall, cpu = time.perf_counter() - began, time.process_time() - spent
    print(json.dumps({"urls": now - first, "wall": wall, "cpu": cpu}), flush=True)


def run_dedup(settings: KafkaSettings, folder: Path, total: int) -> None:
    """Run dedup as in a fleet, with SQLite as its store, which is not used here."""
    configure_logs(True, "warning")
    all_settings = Settings(
        kafka=settings,
        service=ServiceSettings(instance="bench"),
        dedup=DedupSettings(folder=folder),
    )
    health, stop = Health("dedup", "bench"), threading.Event()
    backends = Backends(
        Process("dedup", all_settings, health, stop),
        ObservedLog(KafkaLog(settings), health),
        SqliteStore(Database(folder / "store.db")),
        "a fleet",
    )
    thread = threading.Thread(target=work, args=(backends,))
    thread.start()
    name = "gossamer_urls_admitted_total"
    measure(lambda: REGISTRY.get_sample_value(name, {"crawl": "default"}) or 0.0, total)
    stop.set()
    thread.join()


def run_plain(settings: KafkaSettings, folder: Path, total: int) -> None:
    """Run the loop as in Faust's documentation."""
    app = faust.App(
        f"{settings.prefix}plain",
        broker=f"kafka://{settings.servers}",
        store="rocksdb://",
        datadir=folder,
        topic_partitions=PARTITIONS,
        topic_replication_factor=1,
        topic_disable_leader=True,
        producer_compression_type="zstd",
        web_enabled=False,
    )
    seen = app.Table("seen", key_type=str, value_type=str, partitions=PARTITIONS)
    source = app.topic(f"{settings.prefix}urls.discovered", value_serializer="raw")
    target = app.topic(
        f"{settings.prefix}urls.admitted", key_serializer="raw", value_serializer="raw"
    )
    decoder, encoder = msgspec.json.Decoder(UrlsDiscovered), msgspec.json.Encoder()
    done = [0]

    async def admit(stream: "faust.types.StreamT[bytes]") -> None:
        async for value in stream:
            event = decoder.decode(value)
            fresh = tuple(
                url
                for url in event.urls
                if seen.setdefault(fingerprint(url.url), event.via) == event.via
            )
            answer = UrlsAdmitted(at=time.time(), site=event.site, via=event.via, urls=fresh)
            await target.send(key=event.site.encode(), value=encoder.encode(answer))
            done[0] += len(fresh)

    async def serve() -> None:
        await app.start()
        await app.wait_until_stopped()

    app.agent(source)(admit)
    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    measure(lambda: float(done[0]), total)
    os._exit(0)  # Faust may be called only from its own loop.


def run(kind: str, settings: KafkaSettings, events: int) -> dict[str, float]:
    """Run one kind in a process of its own; return its result."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.seen", "--kind", kind, "--events", str(events)]
        where = ["--servers", settings.servers, "--prefix", settings.prefix, "--folder", folder]
        done = subprocess.run([*command, *where], stdout=subprocess.PIPE, check=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def bench(servers: str, events: int, rounds: int) -> None:
    """Print a table."""
    print(f"{'':10} {'URLs/s':>8} {'CPU µs a URL':>13}")
    rates: dict[str, list[float]] = {"ours": [], "plain": []}
    for number in range(rounds):
        for kind in rates:
            settings = settings_of(servers, f"{kind}{number}.")
            fill(settings, events)
            found = run(kind, settings, events)
            rates[kind].append(found["urls"] / found["wall"])
            cpu = 1e6 * found["cpu"] / found["urls"]
            print(f"{kind:10} {rates[kind][-1]:8,.0f} {cpu:13.1f}", flush=True)
    print(f"ratio {sum(rates['ours']) / sum(rates['plain']):.2f}")


def settings_of(servers: str, prefix: str) -> KafkaSettings:
    """Return the settings of one run, with topics of its own."""
    return KafkaSettings(servers=servers, prefix=prefix, partitions=PARTITIONS, replication=1)


def main() -> None:
    """Start a broker and measure; with --kind, run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=2)
    for name in ("kind", "servers", "prefix", "folder"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kind:
        settings = settings_of(options.servers, options.prefix)
        kind = {"ours": run_dedup, "plain": run_plain}[options.kind]
        kind(settings, Path(options.folder), options.events * URLS)
        return
    with tempfile.TemporaryDirectory() as folder:
        server = Server("kafka", Path(folder) / "kafka")
        server.start()
        try:
            bench(f"127.0.0.1:{server.port}", options.events, options.rounds)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
