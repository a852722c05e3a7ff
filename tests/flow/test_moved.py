"""A crawl that is moved from a folder to a fleet of more partitions, and back, as its web sees
it."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from unittest import mock

import pytest

from console.moving import Side, move
from gossamer.blocklist import parse_rule
from gossamer.crawl import blocklist_of
from gossamer.errors import GossamerError
from gossamer.events import BlocklistChanged, DeadLetter
from gossamer.events.topics import DEAD_LETTERS, PAGES, PAGES_ARCHIVED
from gossamer.log import Ends, Message, Record
from gossamer.log.codec import dead_letter, decode, encode
from gossamer.runtime.identity import check_identity, identify
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import host_key
from services.fetcher.outcome import Reply
from services.frontier.rows import HostRow, UrlRow
from tests.flow.virtual import VirtualCrawl

HOSTS, PAGES_EACH, DELAY = 12, 6, 2.0
BUSY = "https://busy.example/"
BUSY_FOR = 20_000.0
HTML = (("Content-Type", "text/html; charset=utf-8"),)


def url(host: int, page: int) -> str:
    return f"https://site{host}.example/{page}" if page else f"https://site{host}.example/"


def links(address: str) -> list[str]:
    """Each page leads to the next one of its host, and to those of the next host."""
    found = [url(host, page) for host in range(HOSTS) for page in range(PAGES_EACH)]
    at = found.index(address)
    return [found[(at + step) % len(found)] for step in (1, 2, PAGES_EACH, 3 * PAGES_EACH)]


ALL = {url(host, page) for host in range(HOSTS) for page in range(PAGES_EACH)} | {BUSY}


class Web:
    """Answers with pages; one host asks to be left alone for hours, once."""

    def __init__(self) -> None:
        self.busy_until = 0.0

    def __call__(self, address: str, now: float) -> tuple[float, Reply]:
        if address.endswith("/robots.txt"):
            return 0.1, Reply(status=404, started_at=now, took=0.1)
        if address == BUSY and not self.busy_until:
            self.busy_until = now + BUSY_FOR
            after = (("Retry-After", f"{BUSY_FOR:.0f}"),)
            return 0.1, Reply(status=503, headers=after, started_at=now, took=0.1)
        body = b"<html><title>BUSY</title><body><h1>busy</h1>"
        if address != BUSY:
            anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in links(address))
            body = f"<html><title>{address}</title><h1>This is {address}</h1>{anchors}".encode()
        return 0.1, Reply(status=200, headers=HTML, body=body, started_at=now, took=0.1)


def side(name: str, crawl: VirtualCrawl) -> Side:
    return Side(name, crawl.log, SqliteStore(crawl.database), not crawl.has_changelog)


def crawl_in(folder: Path, web: Web, partitions: int | None = None) -> VirtualCrawl:
    return VirtualCrawl(folder, web, partitions=partitions, delay=DELAY)


def begun(folder: Path, web: Web) -> VirtualCrawl:
    """Return a crawl that has just begun."""
    crawl = crawl_in(folder, web)
    identify(crawl.log, SqliteStore(crawl.database), crawl.now)
    crawl.sow(url(0, 0), BUSY)
    return crawl


def pages_after(crawl: VirtualCrawl, count: int) -> None:
    """Crawl until there are *count* more requests, and come to rest."""
    wanted = len(crawl.requests) + count
    while len(crawl.requests) < wanted:
        assert not crawl.run(1)
    crawl.sow(paused=True)
    crawl.run(until=crawl.now + 60.0)
    assert crawl.lag() == 0


def moved(source: VirtualCrawl, target: VirtualCrawl, name: str, behind: float = 0.0) -> None:
    """Move the crawl, and start the services of *target*, whose clock is *behind* by seconds."""
    target.now = source.now - behind
    for _ in move(side("the former place", source), side(name, target), source.now):
        pass
    identify(target.log, SqliteStore(target.database), target.now)
    target.start()


def pages_of(*crawls: VirtualCrawl) -> Counter[str]:
    """Return how often each URL was asked for, but for robots.txt."""
    addresses = (address for crawl in crawls for _, _, address in crawl.requests)
    return Counter(address for address in addresses if not address.endswith("/robots.txt"))


def test_a_crawl_is_moved_to_a_fleet_and_back_without_a_lost_or_repeated_request(
    tmp_path: Path,
) -> None:
    web = Web()
    laptop = begun(tmp_path / "laptop", web)
    fleet, later = crawl_in(tmp_path / "fleet", web, 12), crawl_in(tmp_path / "later", web)
    pages_after(laptop, 20)
    rule = BlocklistChanged(at=laptop.now, rule=parse_rule("nobody.example"))
    laptop.log.append([encode(rule)])
    fleet_id = check_identity(laptop.log, SqliteStore(laptop.database))
    moved(laptop, fleet, "the fleet")
    pages_after(fleet, 20)
    moved(fleet, later, "the folder")
    assert later.run()

    assert check_identity(later.log, SqliteStore(later.database)) == fleet_id
    assert [*blocklist_of(later.log).rules] == [rule.rule]
    asked = pages_of(laptop, fleet, later)
    assert asked == Counter([*ALL, BUSY]), "every page once, and the busy one after its wait"
    requests = [*laptop.requests, *fleet.requests, *later.requests]
    assert len(requests) == asked.total() + HOSTS + 1, "each robots.txt once"
    assert min(at for at, _, address in later.requests if address == BUSY) >= web.busy_until
    _check_delays(requests)
    assert {record.key for record in _records(later, PAGES.name)} >= ALL - {BUSY}
    archived = Counter(record.key for record in _records(later, PAGES_ARCHIVED.name))
    assert archived == asked
    outcomes = SqliteStore(later.database).table(UrlRow).everything()
    assert {row.url for row in outcomes} == ALL


def _check_delays(requests: list[tuple[float, float, str]]) -> None:
    last = dict[str, float]()
    for start, end, address in sorted(requests):
        host = host_key(address)
        assert start >= last.get(host, 0.0) + DELAY, address
        last[host] = end


def _records(crawl: VirtualCrawl, topic: str) -> list[Record]:
    found, tail = list[Record](), crawl.log.tail([topic])
    while records := tail.poll(0):
        found += records
    return found


def test_a_crawl_that_was_moved_is_refused_where_it_was(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = begun(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    pages_after(laptop, 5)
    moved(laptop, fleet, "the fleet")
    for again in (
        lambda: identify(laptop.log, SqliteStore(laptop.database), laptop.now),
        lambda: moved(laptop, crawl_in(tmp_path / "other", web, 4), "another fleet"),
    ):
        with pytest.raises(GossamerError, match="was moved to the fleet: continue it there"):
            again()


def test_a_move_that_failed_is_repeated_and_nobody_starts_meanwhile(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = begun(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    pages_after(laptop, 10)
    steps = move(side("the laptop", laptop), side("the fleet", fleet), laptop.now)
    assert len([*islice(steps, 8)]) == 8
    with pytest.raises(GossamerError, match="from the laptop is not finished: run gossamer move"):
        identify(fleet.log, SqliteStore(fleet.database), fleet.now)

    # Meanwhile, the crawl may go on where it is.
    laptop.sow()
    pages_after(laptop, 10)
    moved(laptop, fleet, "the fleet")
    assert fleet.run()
    assert pages_of(laptop, fleet) == Counter([*ALL, BUSY])
    assert not any(
        row.queued or row.condition == "checked out"
        for row in SqliteStore(fleet.database).table(HostRow).everything()
    )


def test_a_move_that_failed_at_its_end_is_completed(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = begun(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    pages_after(laptop, 10)
    append = fleet.log.append

    def fail_at_the_end(messages: Iterable[Message]) -> Ends:
        found = [*messages]
        if any(b'"fleet_begun"' in one.value and b'"moving_from":""' in one.value for one in found):
            raise GossamerError("Kafka is away")
        return append(found)

    away = pytest.raises(GossamerError, match="Kafka is away")
    with mock.patch.object(fleet.log, "append", fail_at_the_end), away:
        moved(laptop, fleet, "the fleet")
    with pytest.raises(GossamerError, match="was moved to the fleet"):
        identify(laptop.log, SqliteStore(laptop.database), laptop.now)
    moved(laptop, fleet, "the fleet")
    assert fleet.run()
    assert pages_of(laptop, fleet) == Counter([*ALL, BUSY])


def test_a_fleet_whose_clocks_are_behind_loses_no_url(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = crawl_in(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    laptop.now += 600.0
    identify(laptop.log, SqliteStore(laptop.database), laptop.now)
    laptop.sow(url(0, 0), BUSY)
    pages_after(laptop, 20)
    moved(laptop, fleet, "the fleet", behind=600.0)
    assert fleet.run()
    assert pages_of(laptop, fleet) == Counter([*ALL, BUSY])


def test_dead_letters_stay_beside_new_ones_of_the_same_offset(tmp_path: Path) -> None:
    laptop, fleet = begun(tmp_path / "laptop", web := Web()), crawl_in(tmp_path / "f", web, 12)
    pages_after(laptop, 5)

    def letter(reason: str) -> Message:
        record = Record("seeds", 0, 7, "", b"nonsense")
        return encode(dead_letter(record, "dedup", reason, laptop.now))

    laptop.log.append([letter("in the folder")])
    moved(laptop, fleet, "the fleet")
    fleet.log.append([letter("in the fleet")])
    found = [decode(record) for record in _records(fleet, DEAD_LETTERS.name)]
    assert [one.reason for one in found if isinstance(one, DeadLetter)] == [
        "in the folder",
        "in the fleet",
    ]


def test_what_is_not_empty_or_not_at_rest_is_refused(tmp_path: Path) -> None:
    web = Web()
    laptop, other = begun(tmp_path / "laptop", web), begun(tmp_path / "other", web)
    with pytest.raises(GossamerError, match="records of seeds not consumed yet by dedup"):
        moved(laptop, crawl_in(tmp_path / "fleet", web, 12), "the fleet")
    pages_after(laptop, 5)
    with pytest.raises(GossamerError, match="the other one is not empty"):
        moved(laptop, other, "the other one")
    added = crawl_in(tmp_path / "added", web, 12)
    added.sow(url(3, 3))
    with pytest.raises(GossamerError, match="a fleet with seeds is not empty"):
        moved(laptop, added, "a fleet with seeds")
    empty = crawl_in(tmp_path / "empty", web, 12)
    with pytest.raises(GossamerError, match="has no crawl"):
        moved(empty, crawl_in(tmp_path / "fleet", web), "the folder")
