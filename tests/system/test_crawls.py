"""Two crawls with overlapping hosts on one fleet, as the web server and consumers see them."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from cassandra.cluster import Cluster, Session
from confluent_kafka import Consumer, Message, TopicPartition

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World, measure
from tests.synthweb.record import Request

from .assertions import CLOCKS
from .by_hand import of_servers
from .fleet import MAX_EXPLAINED, Fleet, fleet

WORLD = World.plain(seed=21, hosts=8, pages=1, seeds=8)
DELAY = 0.5
OF_BOTH = 3
"""Pages of a host that both crawls want."""
AT_REMOVAL = 45
"""Visits of the heavy crawl to a host after which the other crawl is removed, on average."""
SETTINGS = {
    "GOSSAMER_FRONTIER__DELAY": str(DELAY),
    "GOSSAMER_FRONTIER__BATCH": "1",
    "GOSSAMER_FRONTIER__LEASE_SLACK": "2",
    "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
    "GOSSAMER_FETCHER__ADDRESS_AT_ONCE": "8",
    "GOSSAMER_FETCHER__ADDRESS_GAP": "0",
}


@dataclass(frozen=True)
class Planned:
    """A crawl of the test: each page is a seed, and no link is followed."""

    id: str
    weight: float
    topic: str
    """The topic of its pages, without a prefix."""
    pages: int
    """Pages of a host that only this crawl wants."""

    def own(self, web: SynthWeb) -> set[str]:
        """Return the URLs that only this crawl visits."""
        return _urls(web, self.id, self.pages)

    def urls(self, web: SynthWeb) -> set[str]:
        """Return all its URLs. At each host, those of both crawls come first."""
        return self.own(web) | _urls(web, "both", OF_BOTH)

    def write(self, web: SynthWeb, folder: Path) -> Path:
        """Write the crawl as a file."""
        path = folder / f"{self.id}.toml"
        seeds = [*sorted(_urls(web, "both", OF_BOTH)), *sorted(self.own(web))]
        lines = [
            f"seeds = {json.dumps(seeds)}",
            f"weight = {self.weight}",
            f"""scope = 'pattern("/beyond/({self.id}|both)/")'""",
            '[revisit]\npolicy = "none"',
            f"[output]\ntopic = {json.dumps('shared' if self.topic == 'pages' else 'own')}",
        ]
        path.write_text("\n".join(lines))
        return path


LIGHT = Planned("light", 1.0, "pages.light", 200)
HEAVY = Planned("heavy", 3.0, "pages", 70)


def _urls(web: SynthWeb, kind: str, count: int) -> set[str]:
    hosts, numbers = range(web.world.hosts), range(count)
    return {web.atlas.url((host, f"/beyond/{kind}/{n}")) for host in hosts for n in numbers}


def crawl_of(request: Request) -> str:
    """Return the only crawl that visits a URL; "" for robots.txt and the pages of both crawls."""
    kind = request.path.removeprefix("/beyond/").partition("/")[0]
    return kind if kind in (LIGHT.id, HEAVY.id) else ""


class Rows:
    """The tables of a fleet."""

    def __init__(self, session: Session, keyspace: str) -> None:
        self._session, self._keyspace = session, keyspace

    def of_crawl(self, crawl: str) -> Counter[str]:
        """Return the number of rows about *crawl* in each table, but its definition. The tables
        with a column of all crawls count the rows that name it."""
        found = Counter[str]()
        columns = self._session.execute(
            "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = %s",
            [self._keyspace],
        )
        for table, column in columns:
            if table != "control" and column in ("crawl", "crawls"):
                rows = self._session.execute(f'SELECT "{column}" FROM {self._keyspace}."{table}"')
                found[table] += sum(
                    crawl == value or f'"{crawl}"' in (value or "") for (value,) in rows
                )
        return +found


@contextmanager
def rows_of_fleet(port: int, keyspace: str) -> Iterator[Rows]:
    cluster = Cluster(["127.0.0.1"], port)
    try:
        yield Rows(cluster.connect(), keyspace)
    finally:
        cluster.shutdown()


def records(servers: str, topic: str) -> list[Message]:
    """Return all records of *topic*, as any other program reads them."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "test"})
    numbers = consumer.list_topics(topic, 10).topics[topic].partitions
    found, left = list[Message](), 0
    for number in numbers:
        left += consumer.get_watermark_offsets(TopicPartition(topic, number), 10)[1]
    consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
    while len(found) < left:
        found += consumer.consume(left, 1.0)
    consumer.close()
    return found


def assert_only_pages_of(crawl: Planned, read: Iterable[Message]) -> None:
    """Assert that a consumer of a topic receives the pages of one crawl, and no others."""
    for record in read:
        assert (record.key() or b"").startswith(f"{crawl.id}/".encode()), record.key()
        assert dict(record.headers() or ())["crawl"] == crawl.id.encode(), record.key()


def published(live_fleet: Fleet, crawl: Planned) -> set[str]:
    """Return the URLs of the pages of *crawl*, as its operator reads them."""
    done = live_fleet.gossamer("pages", "--crawl", crawl.id)
    assert done.code == 0, done
    return {json.loads(line)["url"] for line in done.out.splitlines()}


def await_pages(live_fleet: Fleet, crawl: Planned, urls: set[str]) -> None:
    """Wait until *urls* are on the topic of *crawl*; a failure explains the missing ones."""
    servers = live_fleet.settings["GOSSAMER_KAFKA__SERVERS"]
    topic = live_fleet.settings["GOSSAMER_KAFKA__PREFIX"] + crawl.topic

    def missing() -> set[str]:
        found = {(record.key() or b"").decode() for record in records(servers, topic)}
        return {url for url in urls if f"{crawl.id}/{url}" not in found}

    try:
        until(lambda: not missing(), f"pages of {crawl.id}")
    except AssertionError:
        left = sorted(missing())
        commands = [("why", "--crawl", crawl.id, url) for url in left[:MAX_EXPLAINED]]
        why = [live_fleet.gossamer(*command).out for command in commands]
        hosts = live_fleet.gossamer("hosts").out
        raise AssertionError("\n".join([*left, *why, hosts, live_fleet.states()])) from None


def apply(live_fleet: Fleet, web: SynthWeb, folder: Path, crawl: Planned) -> None:
    done = live_fleet.gossamer("crawls", "apply", str(crawl.write(web, folder)))
    assert done.code == 0, done


@pytest.mark.long
@pytest.mark.parametrize("engine", ["own", "faust"])
def test_two_crawls_of_the_same_hosts_while_one_is_removed(
    engine: str, tmp_path: Path, kafka: str, cassandra: int
) -> None:
    servers = of_servers(kafka, cassandra)
    settings = {**servers, **SETTINGS, "GOSSAMER_DEDUP__ENGINE": engine}
    keyspace, prefix = servers["GOSSAMER_CASSANDRA__KEYSPACE"], servers["GOSSAMER_KAFKA__PREFIX"]
    with (
        SynthWeb(WORLD) as web,
        rows_of_fleet(cassandra, keyspace) as rows,
        fleet(web, tmp_path, 1, **settings) as live_fleet,
    ):
        for service in ("frontier", "fetcher"):
            live_fleet.add(service, 2)
        live_fleet.await_ready()

        def visits(crawl: Planned) -> int:
            return sum(crawl_of(one) == crawl.id for one in web.requests())

        with ThreadPoolExecutor() as threads:
            [*threads.map(partial(apply, live_fleet, web, tmp_path), (LIGHT, HEAVY))]
        until(lambda: visits(HEAVY) >= AT_REMOVAL * WORLD.hosts / 2, "half of the visits")
        frontier = live_fleet.of("frontier")[0]
        frontier.kill()
        frontier.start()
        until(lambda: visits(HEAVY) >= AT_REMOVAL * WORLD.hosts, "the visits")
        until(lambda: rows.of_crawl(LIGHT.id), "rows of the crawl")

        done = live_fleet.gossamer("crawls", "remove", LIGHT.id, "--yes")
        assert done.code == 0, done
        until(lambda: not rows.of_crawl(LIGHT.id), "all rows of the removed crawl are gone")
        visited = visits(LIGHT)
        await_pages(live_fleet, HEAVY, HEAVY.urls(web))
        until(live_fleet.idle, "all topics are consumed")

        requests = web.requests()
        print(f"{visited} visits of the removed crawl, {visits(HEAVY)} of the other")
        assert visits(LIGHT) == visited < len(LIGHT.own(web))
        assert measure.overlaps(requests) == []
        for host, gaps in measure.shortest_gaps(requests).items():
            assert gaps.start_to_start >= DELAY - CLOCKS, (host, gaps)
        assert published(live_fleet, HEAVY) == HEAVY.urls(web)
        assert not rows.of_crawl(LIGHT.id)
        for crawl in (LIGHT, HEAVY):
            assert_only_pages_of(crawl, records(kafka, f"{prefix}{crawl.topic}"))
        letters = live_fleet.gossamer("dead-letters", "list")
        assert (letters.code, letters.out) == (0, ""), letters
