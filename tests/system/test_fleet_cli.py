"""A local fleet: started, seeded, read, killed, started again and stopped, on real servers."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.support.waiting import HANG_TIMEOUT, until
from tests.synthweb import SynthWeb, World

from .assertions import assert_polite, assert_thorough, no_url_twice, readable
from .by_hand import SCRIPT, ByHand, by_hand, for_world, of_servers
from .crawl import CONTACT, Fields

TINY = World(seed=3, hosts=6, pages=3, retries=0, transfers=0, silent=0, stuck=0)
DELAY = 0.1


async def produce(one: ByHand, topic: str, *values: bytes) -> None:
    """Append records, as any other program would."""
    servers, name = at(one, topic)
    async with AIOKafkaProducer(bootstrap_servers=servers, compression_type="gzip") as producer:
        for value in values:
            await producer.send_and_wait(name, value)


def at(one: ByHand, topic: str) -> tuple[str, str]:
    """Return the address of the fleet's Kafka, and the full name of a topic."""
    clients = one.clients()
    return clients["GOSSAMER_KAFKA__SERVERS"], clients.get("GOSSAMER_KAFKA__PREFIX", "") + topic


async def consume(one: ByHand, topic: str, enough: int) -> dict[str, Fields]:
    """Return the newest value of each key, read from the beginning until there are *enough*."""
    found: dict[str, Fields] = {}
    servers, name = at(one, topic)
    async with (
        asyncio.timeout(HANG_TIMEOUT),
        AIOKafkaConsumer(name, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer,
    ):
        while len(found) < enough:
            record = await consumer.getone()
            if record.value:
                found[record.key.decode()] = json.loads(record.value)
            else:
                found.pop(record.key.decode(), None)
    return found


@pytest.mark.long
def test_local_fleet_from_start_to_end(tmp_path: Path) -> None:
    with start_fleet(tmp_path) as (one, web):
        use(one, web)
        add_and_lose_instances(one)
        lose_everything(one)
        output = end(one)
        assert "fetcher-2 stopped" in output and "kafka stopped" in output
        assert_as_it_should(web)


@pytest.mark.slow
def test_local_fleet_on_existing_servers(tmp_path: Path, kafka: str, cassandra: int) -> None:
    with start_fleet(tmp_path, **of_servers(kafka, cassandra)) as (one, web):
        use(one, web)
        lose_one(one)
        assert "fetcher-1 stopped" in end(one)
        assert_as_it_should(web)


@contextmanager
def start_fleet(tmp_path: Path, **settings: str) -> Iterator[tuple[ByHand, SynthWeb]]:
    """Return a fleet that logs every event; it has no seeds."""
    with SynthWeb(TINY) as web:
        settings = {**for_world(web, DELAY), **settings, "GOSSAMER_LOGS__LEVEL": "debug"}
        with by_hand(tmp_path / "fleet", **settings) as one:
            output = one.up()
            assert "All are ready" in output and "gossamer seed" in output
            frontier = one.status()["frontier-1"]
            assert frontier["ready"] and "no crawl is defined" in frontier["reason"]
            yield one, web


def use(one: ByHand, web: SynthWeb) -> None:
    """Crawl a web to its end, and run commands that read it."""
    seed_with_any_client(one, web)
    read_with_any_client(one, web)
    explain(one, web)
    follow_one_url_through_the_logs(one, web)


def assert_as_it_should(web: SynthWeb) -> None:
    assert_polite(web.requests(), web.truth, DELAY)
    assert_thorough(web.requests(), web.truth)


def seed_with_any_client(one: ByHand, web: SynthWeb) -> None:
    by_command, plain, tagged = web.seeds
    done = one.gossamer("seed", by_command, "--scope", "any", "--depth", "0")
    assert (done.code, done.err) == (0, "") and "any()" in done.out
    until(one.pages, "the page of a seed")
    # Its links were parked, and are released.
    assert "16 links deep" in one.gossamer("seed", by_command, "--depth", "16").out
    seed = json.dumps({"url": tagged, "priority": 1, "by": "another program"}).encode()
    values = (plain.encode(), seed, b"neither \xff", b'{"url": 7}')
    asyncio.run(produce(one, "seeds", *values))


def read_with_any_client(one: ByHand, web: SynthWeb) -> None:
    wanted = readable(web.truth)
    by_consumer = asyncio.run(consume(one, "pages", len(wanted)))
    assert set(by_consumer) == {f"default/{url}" for url in wanted}
    by_command = {f"default/{page['url']}": page for page in no_url_twice(one.pages())}
    assert by_command == by_consumer
    letters = asyncio.run(consume(one, "dead.letters", 1))
    assert {letter["topic"] for letter in letters.values()} == {"seeds"}


def explain(one: ByHand, web: SynthWeb) -> None:
    assert not one.status()["frontier-1"]["reason"]
    stands = json.loads(one.gossamer("status", "--json").out)
    assert stands["definition"]["max_depth"] == 16 and stands["pages"] and stands["dead_letters"]
    ask_again(one, web)
    why = one.gossamer("why", "--verbose", web.seeds[0]).out
    assert "as a seed" in why and "page (200)" in why and "verdict: first" in why
    found = re.search(r"captured: .*: (1/\S+\.warc\.gz), offset (\d+), ([\d,]+) bytes", why)
    assert found, why
    file = one.folder / "warc" / found[1]
    until(lambda: any(file.parent.glob(f"{file.name}*")), f"{file}")
    for url in sorted(web.truth.forbidden)[:1]:
        assert "excluded by robots.txt" in one.gossamer("why", "--verbose", url).out
    unknown = one.gossamer("why", "--verbose", web.seeds[0] + "no/such/page").out
    assert "not known to the frontier" in unknown and "not seen" not in unknown


def ask_again(one: ByHand, web: SynthWeb) -> None:
    done = one.gossamer("retry", web.seeds[0])
    assert done.code == 1 and "is not a failure" in done.out
    done = one.gossamer("retry", "--outcome", "dns_unanswered")
    assert (done.code, done.out) == (
        1,
        "No URL has the last outcome dns-unanswered: nothing to retry.\n",
    )


def follow_one_url_through_the_logs(one: ByHand, web: SynthWeb) -> None:
    trace = re.search(r"trace: (\w+)", one.gossamer("why", "--verbose", web.seeds[0]).out)
    assert trace
    for member in ("frontier-1", "fetcher-1", "parser-1", "archive-1"):
        assert any(trace[1] in json.dumps(line) for line in one.log_lines(member)), member
        assert {(line["service"], line["instance"]) for line in one.log_lines(member)} == {
            tuple(member.split("-"))
        }


def add_and_lose_instances(one: ByHand) -> None:
    assert "started fetcher-2" in one.up("fetcher=2", "archive=2")
    before = one.status()
    assert before["fetcher-2"]["ready"] and before["archive-2"]["ready"]
    again = one.up()
    assert "started" not in again and "stopped" not in again, "all is as it should be"
    assert {name: m["pid"] for name, m in one.status().items()} == {
        name: m["pid"] for name, m in before.items()
    }
    assert "archive-2 stopped" in lose_one(one, "archive=1")
    assert "archive-2" not in one.status()


def lose_one(one: ByHand, *words: str) -> str:
    """Kill a fetcher; return the output of the `up` that restarts it."""
    one.kill("fetcher-1")
    assert one("status").code == 1
    assert one.status()["fetcher-1"]["health"] == "stopped"
    output = one.up(*words)
    assert "started fetcher-1" in output
    return output


def lose_everything(one: ByHand) -> None:
    pages = one.pages()
    one.kill()
    assert {member["health"] for member in one.status().values()} == {"stopped"}
    one.up()
    assert one("status").code == 0
    by_url = {page["url"]: page for page in one.pages()}
    assert by_url == {page["url"]: page for page in pages}


def end(one: ByHand) -> str:
    """Stop the fleet; return the output."""
    output = one.down()
    assert "killed" not in output
    assert not [m for m in one.status().values() if m["health"] != "stopped"]
    assert one.down() == ""
    for member in ("dedup-1", "frontier-1", "fetcher-1", "parser-1", "archive-1"):
        assert one.log_lines(member)[-1]["event"] == "service stopped", member
    return output


# --- errors are reported


@pytest.mark.long
def test_invalid_arguments_start_nothing(tmp_path: Path) -> None:
    one = ByHand(tmp_path / "fleet")
    for words, named in (
        (["up"], "contact"),
        (["up", "--contact", CONTACT, "fetchers=2"], "fetchers=2"),
        (["up", "--contact", CONTACT, "fetcher=many"], "fetcher=many"),
        (["up", "--contact", CONTACT, "--config", "/no/such.toml"], "/no/such.toml"),
        (["down"], "has no fleet"),
        (["status"], "has no fleet"),
        (["logs"], "has no fleet"),
    ):
        done = one(*words)
        assert done.code in (1, 2) and named in done.err and "Traceback" not in done.err, done
    assert not (tmp_path / "fleet" / "fleet.json").exists()


@pytest.mark.slow
def test_missing_java_is_reported_with_a_remedy(tmp_path: Path) -> None:
    one = ByHand(tmp_path / "fleet", PATH=str(Path(SCRIPT[0]).parent))
    done = one("up", "--contact", CONTACT)
    assert done.code == 1 and "Java" in done.err and "GOSSAMER_KAFKA__SERVERS" in done.err
