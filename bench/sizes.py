"""Bytes on disk of all data that grows: each table, the URL-seen set, and retained topics.

    .venv/bin/python -m bench.sizes [--urls 50000]

Rows and records of generated URLs of typical length, with words and digests that compress like real
ones, are written through the store and the log to a Cassandra and a Kafka of this machine. Then the
files are measured: on Cassandra after a major compaction, with the compression of its tables; on
Kafka with our producer's compression, in batches of a hundred. Sizes are of one copy.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from pydoc_data.topics import topics
from random import Random
from zlib import crc32

import rocksdict

from gossamer.events import DEFAULT_CRAWL, Discovery, Event, Page, PageArchived, Verdict
from gossamer.log import Message
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.procedures.tables import tables
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.content import DigestRow, NearCandidate, NearRow, bands
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.seen import hash_finder, mapping_key
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.revisit import (
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    make_policy,
    pack,
)
from gossamer.services.frontier.tables.hosts import HostRow, HostTotals, RobotsRow
from gossamer.services.frontier.tables.plans import DueRow, PlanRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import HistoryRow, Origin, QueuedUrl, UrlRow, VerdictRow
from gossamer.settings import Settings
from gossamer.settings.servers import CassandraSettings, KafkaSettings
from gossamer.sqlite import Database
from gossamer.store import Row, Store
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.store import CassandraStore
from gossamer.store.cassandra.tables import create_tables
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import parse_robots
from gossamer.web.url import HostKey, fingerprint, site_of
from gossamer.web.validators import Validators
from tests.servers import Server

ROOT = Path(__file__).resolve().parents[1]
NODETOOL = ROOT / "scripts/servers/cassandra/nodetool"
KEYSPACE, STEP, A_HOST, TEXT, LEFT_OUT, VISITS = "sizes", 500, 50, 3000, 10, 6
NOW = 1_790_000_000.123456
ROBOTS = (
    b"User-agent: *\nDisallow: /admin/\nDisallow: /search\nAllow: /search/about\nCrawl-delay: 2\n"
)


def urls(count: int) -> Iterator[tuple[str, str]]:
    """Yield *count* hosts and URLs, fifty of a host."""
    random = Random(1)
    words = [
        "".join(random.choices("abcdeghilmnoprstu", k=random.randint(3, 9))) for _ in range(4000)
    ]
    for n in range(count):
        if n % A_HOST == 0:
            host = f"https://www.{''.join(random.choices(words, k=2))}.example"
        slug = "-".join(random.choices(words, k=4))
        yield host, f"{host}/{random.choice(words)}/{random.randint(2005, 2026)}/{slug}.html"


def rows(count: int) -> Iterator[Row]:
    """Yield the rows of *count* URLs, each a page with a next visit."""
    via, before = "1790000000123456.812.0@", "https://www.first.example/"
    states = list(urls(count))
    for n, (host, url) in enumerate(states):
        at, trace, digest = NOW + n * 0.7, fingerprint(url), sha256(url.encode()).hexdigest()[:40]
        depth = n % 7
        if n % A_HOST == 0:
            yield HostRow(
                site_of(url),
                HostKey(host),
                ready_at=at,
                totals=HostTotals(admitted=A_HOST, visits=A_HOST, seconds=at % 60),
            )
            yield SiteRow(site_of(url), 1)
            yield RobotsRow(HostKey(host), parse_robots(ROBOTS, "gossamer", at, 86400.0).rules)
        yield UrlRow(
            DEFAULT_CRAWL,
            HostKey(host),
            url,
            "page",
            at,
            200,
            origin=Origin(depth, via=via + before, trace=trace),
            attempt=1,
        )
        yield VerdictRow(DEFAULT_CRAWL, HostKey(host), url, "first", at, digest, links=n % 90)
        yield HistoryRow(
            DEFAULT_CRAWL, url, at, "page", 200, size=n % 90_000, verdict="first", digest=digest
        )
        file = f"archive-0/gossamer-default-20260922{n // 5000:06}-{n // 5000:05}-archive-0.warc.gz"
        sha1 = "sha1:" + digest[:32].upper()
        yield CaptureRow(DEFAULT_CRAWL, url, at, 200, file, n * 9000, 8000 + n % 3000, sha1)
        yield DigestRow(DEFAULT_CRAWL, digest, url, digest, at)
        yield DigestRow(DEFAULT_CRAWL, digest[::-1], url, at=at)
        yield DocumentRow(DEFAULT_CRAWL, url, at, digest)
        simhash = digest[:16]
        for band in bands(site_of(url), simhash):
            yield NearRow(DEFAULT_CRAWL, band, (NearCandidate(url, simhash, at),))
        yield QueuedUrl(
            DEFAULT_CRAWL,
            f"{host} new/0/0",
            n % A_HOST,
            url,
            int(at * 1e6),
            Origin(depth, via=via + before, trace=trace),
        )
        yield from plans(HostKey(host), url, trace, Random(n))
        left_out = (states[(n * 11 + k) % count][1] for k in range(LEFT_OUT))
        links = tuple(Discovery(link, depth, trace=fingerprint(link)) for link in left_out)
        yield ParkedRow(DEFAULT_CRAWL, f"0/out_of_scope/{n // 100}", n % 100, via + url, links)
        before = url


def plans(host: HostKey, url: str, trace: str, random: Random) -> Iterator[Row]:
    """Yield the plan of a page after some visits."""
    policy, site = make_policy("optimal"), site_of(url)
    states = States(PageState(weight=0.3), SiteState(), CrawlState(budget=1000.0))
    at, every = NOW, 86400 * random.uniform(0.5, 30)
    for _ in range(VISITS):
        before, at = at, at + every * random.uniform(0.9, 1.1)
        changed = random.random() < 0.3
        states, plan = policy.record_visit(states, Visit(url, before, changed))
    next_at, basis, state = plan.at or at, plan.basis or "", pack(states.page)
    validators = Validators(f'"{trace[:20]}"', "Tue, 22 Sep 2026 10:00:00 GMT")
    yield PlanRow(
        DEFAULT_CRAWL,
        host, url, next_at, reason=plan.reason, basis=basis, policy="optimal", visited_at=before,
        origin=Origin(3, via="1790000000123456.812.0@https://www.first.example/", trace=trace),
        earlier=VISITS, validators=validators, statistics=state,
    )  # fmt: skip
    bucket = f"{DEFAULT_CRAWL}/{crc32(site.encode()) % 12}/1/{int(next_at // 600)}"
    yield DueRow(bucket, f"{next_at:021.7f} {url}", next_at, site, host, DEFAULT_CRAWL, url)


def fill(store: Store, count: int) -> None:
    """Write the rows, with a flush after each step."""
    for n, row in enumerate(rows(count)):
        store.table(type(row)).put(row)
        if n % STEP == STEP - 1:
            store.flush()
    store.flush()


def cassandra(folder: Path, count: int) -> dict[str, float]:
    """Return the bytes of a row of each table."""
    server = Server("cassandra", folder / "node")
    server.start()
    try:
        found = CassandraSettings(
            hosts=("127.0.0.1",), port=server.port, keyspace=KEYSPACE, timeout=60.0
        )
        with closing(Cassandra(found)) as nodes:
            list(create_tables(nodes, found, tables(Settings())))
        with closing(CassandraStore(found)) as store:
            fill(store, count)
        for words in (("flush", KEYSPACE), ("compact", KEYSPACE)):
            nodetool(server.port, *words)
        stats = nodetool(server.port, "tablestats", KEYSPACE)
    finally:
        server.kill()
    sizes: dict[str, float] = {}
    for line in stats.splitlines():
        name, _, value = line.strip().partition(": ")
        if name == "Table":
            table = value
        elif name == "Space used (live)" and int(value):
            sizes[table] = int(value)
    return sizes


def nodetool(port: int, *words: str) -> str:
    """Return the output of nodetool."""
    done = subprocess.run(
        [NODETOOL, *words],
        env={"PORT": str(port), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def sqlite(folder: Path, count: int) -> dict[str, float]:
    """Return the bytes of a row of each table in a crawl's SQLite file."""
    database = Database(folder / "crawl.db")
    fill(SqliteStore(database), count)
    with database.reading() as db:
        return dict(db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))


def seen_bytes(folder: Path, count: int) -> float:
    """Return the bytes of the URL-seen set on dedup's disk."""
    table = rocksdict.Rdict(str(folder / "seen"), rocksdict.Options(raw_mode=True))
    for _, url in urls(count):
        table[mapping_key(DEFAULT_CRAWL, fingerprint(url)).encode()] = hash_finder(url).encode()
    table.flush()
    table.compact_range(None, None)
    table.close()
    return sum(file.stat().st_size for file in (folder / "seen").glob("*.sst"))


def documents(count: int) -> Iterator[tuple[Event, Event]]:
    """Yield the published records of each page: the document, and the place of its capture."""
    prose = " ".join(topics.values())
    states = list(urls(count + 60))
    for n, (_, url) in enumerate(states[:count]):
        at, digest = NOW + n, sha256(url.encode()).hexdigest()
        start = n * TEXT % (len(prose) - TEXT)
        links = tuple(link for _, link in states[n : n + 60])
        yield (
            Page(
                at=at, url=url, site=site_of(url), status=200, fetched_at=at,
                content_type="text/html; charset=utf-8",
                title=prose[start:][:60], description=prose[start:][:150],
                language="en", text=prose[start:][:TEXT], links=links, verdict=Verdict.FIRST,
                duplicate_of="", digest=digest[:40], depth=n % 7, via="1790000000123456.8.0@" + url,
                canonical=url, noindex=False, truncated=False, hazards=(), trace=fingerprint(url),
            ),
            PageArchived(
                at=at, url=url, site=site_of(url), fetched_at=at, status=200,
                content_type="text/html; charset=utf-8", digest="sha1:" + digest[:32].upper(),
                file=f"archive-0/gossamer-default-20260922000000-{n // 5000:05}-archive-0.warc.gz",
                offset=n * 9000, length=8000 + n % 3000, trace=fingerprint(url),
            ),
        )  # fmt: skip


def kafka(folder: Path, count: int) -> dict[str, float]:
    """Return the bytes of each retained topic, and of dedup's changelog."""
    server = Server("kafka", folder / "kafka")
    server.start()
    try:
        found = KafkaSettings(servers=f"127.0.0.1:{server.port}", partitions=1, replication=1)
        list(Topics(found).apply())
        with closing(KafkaLog(found)) as log:
            batch: list[Message] = []
            for document, archived in documents(count):
                batch += [encode(document), encode(archived)]
                if len(batch) >= 200:
                    log.append(batch)
                    batch = []
            log.append(batch)
            changes = [
                (mapping_key(DEFAULT_CRAWL, fingerprint(url)), hash_finder(url))
                for _, url in urls(count)
            ]
            # Any topic is suitable that is not compacted before the measurement.
            for start in range(0, count, 100):
                log.append(
                    Message("visits.ended", key, value.encode(), "")
                    for key, value in changes[start : start + 100]
                )
        named = {"pages": "pages", "pages.archived": "pages.archived", "visits.ended": "changelog"}
        return {
            name: sum(file.stat().st_size for file in folder.rglob(f"{topic}-0/*.log"))
            for topic, name in named.items()
        }
    finally:
        server.kill()


def main() -> None:
    """Measure, and print the bytes for each URL that is visited once as a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--urls", type=int, default=50_000)
    count = parser.parse_args().urls
    lengths = [len(url) for _, url in urls(count)]
    print(
        f"{count:,} URLs of {sum(lengths) / count:.0f} characters, {A_HOST} of a host; bytes a URL"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, sizes in (
            ("Cassandra", cassandra(folder, count)),
            ("SQLite", sqlite(folder, count)),
            ("Kafka", kafka(folder, min(count, 20_000))),
            ("RocksDB", {"seen": seen_bytes(folder, count)}),
        ):
            of = min(count, 20_000) if what == "Kafka" else count
            for table, size in sorted(sizes.items()):
                print(f"{what:10} {table:18} {size / of:10.1f}")


if __name__ == "__main__":
    main()
