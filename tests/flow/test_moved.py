"""A crawl that is moved from a folder to a fleet with more partitions, and back, measured at its
web server."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from unittest import mock

import pytest

from gossamer.blocklist import parse_rule
from gossamer.crawl import blocklist_of, definitions_of
from gossamer.errors import GossamerError
from gossamer.events import BlocklistChanged, CrawlDefined, DeadLetter, FleetPaused, SeedAdded
from gossamer.events.topics import DEAD_LETTERS, PAGES, PAGES_ARCHIVED
from gossamer.log import Ends, Message, Record
from gossamer.log.codec import dead_letter, decode, encode, split_key
from gossamer.procedures.copying import Side
from gossamer.procedures.move import move
from gossamer.runtime.identity import check_identity, identify
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.store.sqlite import SqliteStore
from tests.flow.virtual import VirtualCrawl, gaps_between

HOSTS, PAGES_EACH, DELAY = 12, 6, 2.0
BUSY = "https://busy.example/"
RETRY_AFTER = 20_000.0
HTML = (("Content-Type", "text/html; charset=utf-8"),)


def url(host: int, page: int) -> str:
    return f"https://site{host}.example/{page}" if page else f"https://site{host}.example/"


def links(address: str) -> list[str]:
    """Return links to the next two pages of the host and to pages of later hosts."""
    found = [url(host, page) for host in range(HOSTS) for page in range(PAGES_EACH)]
    at = found.index(address)
    return [found[(at + step) % len(found)] for step in (1, 2, PAGES_EACH, 3 * PAGES_EACH)]


ALL = {url(host, page) for host in range(HOSTS) for page in range(PAGES_EACH)} | {BUSY}


class Web:
    """Answers with pages; one host answers once with a Retry-After of hours."""

    def __init__(self) -> None:
        self.busy_until = 0.0

    def __call__(self, address: str, now: float) -> tuple[float, Reply]:
        if address.endswith("/robots.txt"):
            return 0.1, Reply(status=404)
        if address == BUSY and not self.busy_until:
            self.busy_until = now + RETRY_AFTER
            after = (("Retry-After", f"{RETRY_AFTER:.0f}"),)
            return 0.1, Reply(status=503, headers=after)
        body = b"<html><title>BUSY</title><body><h1>busy</h1>"
        if address != BUSY:
            anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in links(address))
            body = f"<html><title>{address}</title><h1>This is {address}</h1>{anchors}".encode()
        return 0.1, Reply(status=200, headers=HTML, body=body)


def side(name: str, crawl: VirtualCrawl) -> Side:
    store, is_folder = SqliteStore(crawl.database), not crawl.has_changelog
    return Side(name, crawl.log, store, is_folder, crawl.log.partitions)


def crawl_in(folder: Path, web: Web, partitions: int | None = None) -> VirtualCrawl:
    return VirtualCrawl(folder, web, partitions=partitions, delay=DELAY)


def start_crawl(folder: Path, web: Web) -> VirtualCrawl:
    """Return a crawl that has just started."""
    crawl = crawl_in(folder, web)
    identify(crawl.log, SqliteStore(crawl.database), crawl.now)
    crawl.define(url(0, 0), BUSY)
    return crawl


def crawl_pages(crawl: VirtualCrawl, count: int) -> None:
    """Crawl until there are *count* more requests, then pause."""
    wanted = len(crawl.requests) + count
    while len(crawl.requests) < wanted:
        assert not crawl.run(1)
    crawl.log.append([encode(FleetPaused(at=crawl.now, paused=True))])
    crawl.run(until=crawl.now + 60.0)
    assert crawl.lag() == 0


def move_crawl(source: VirtualCrawl, target: VirtualCrawl, name: str, behind: float = 0.0) -> None:
    """Move the crawl, and start the services of *target*, whose clock is *behind* seconds late."""
    target.now = source.now - behind
    for _ in move(side("the former place", source), side(name, target), source.now):
        pass
    identify(target.log, SqliteStore(target.database), target.now)
    target.start()


def request_counts(*crawls: VirtualCrawl) -> Counter[str]:
    """Return the number of requests for each URL, without robots.txt."""
    return Counter(address for crawl in crawls for address in crawl.requested())


def test_crawl_moves_to_a_fleet_and_back_without_a_lost_or_repeated_request(
    tmp_path: Path,
) -> None:
    web = Web()
    laptop = start_crawl(tmp_path / "laptop", web)
    fleet, later = crawl_in(tmp_path / "fleet", web, 12), crawl_in(tmp_path / "later", web)
    crawl_pages(laptop, 20)
    rule = BlocklistChanged(at=laptop.now, rule=parse_rule("nobody.example"))
    laptop.log.append([encode(rule)])
    fleet_id = check_identity(laptop.log, SqliteStore(laptop.database))
    move_crawl(laptop, fleet, "the fleet")
    crawl_pages(fleet, 20)
    move_crawl(fleet, later, "the folder")
    assert later.run()

    assert check_identity(later.log, SqliteStore(later.database)) == fleet_id
    assert [*blocklist_of(later.log).rules] == [rule.rule]
    requested = request_counts(laptop, fleet, later)
    assert requested == Counter([*ALL, BUSY]), "every page once, the busy one twice"
    requests = [*laptop.requests, *fleet.requests, *later.requests]
    assert len(requests) == requested.total() + HOSTS + 1, "each robots.txt once"
    assert min(at for at, _, address in later.requests if address == BUSY) >= web.busy_until
    assert min(gaps_between(requests)) >= DELAY - 1e-6
    assert {split_key(record.key)[1] for record in later.records(PAGES.name)} >= ALL - {BUSY}
    archived = Counter(split_key(one.key)[1] for one in later.records(PAGES_ARCHIVED.name))
    assert archived == requested
    outcomes = later.rows(UrlRow)
    assert {row.url for row in outcomes} == ALL


def test_all_crawls_of_a_folder_move_and_continue(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = start_crawl(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    other = CrawlDefined(crawl="b", at=laptop.now, scope="any()", max_depth=16)
    paused = CrawlDefined(crawl="c", at=laptop.now, scope="any()", max_depth=16, paused=True)
    seeds = (SeedAdded(crawl=name, url=url(0, 0)) for name in ("b", "c"))
    laptop.log.append([encode(event) for event in (other, paused, *seeds)])
    crawl_pages(laptop, 30)
    move_crawl(laptop, fleet, "the fleet")
    fleet.run()
    requested = request_counts(laptop, fleet)
    assert {address for address, count in requested.items() if count == 2} >= ALL - {BUSY}
    found = definitions_of(fleet.log)
    assert (found["b"], found["c"]) == (other, paused), "an operator has paused the other one"
    assert min(gaps_between([*laptop.requests, *fleet.requests])) >= DELAY - 1e-6
    rows = fleet.rows(UrlRow)
    assert {row.url for row in rows if row.crawl == "b"} == ALL - {BUSY}


def test_moved_crawl_cannot_be_started_or_moved_at_its_former_place(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = start_crawl(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    crawl_pages(laptop, 5)
    move_crawl(laptop, fleet, "the fleet")
    for again in (
        lambda: identify(laptop.log, SqliteStore(laptop.database), laptop.now),
        lambda: move_crawl(laptop, crawl_in(tmp_path / "other", web, 4), "another fleet"),
    ):
        with pytest.raises(GossamerError, match="was moved to the fleet: continue it there"):
            again()


def test_failed_move_is_repeated_and_the_target_does_not_start_before(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = start_crawl(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    crawl_pages(laptop, 10)
    steps = move(side("the laptop", laptop), side("the fleet", fleet), laptop.now)
    assert len([*islice(steps, 8)]) == 8
    with pytest.raises(GossamerError, match="from the laptop is not finished: run gossamer move"):
        identify(fleet.log, SqliteStore(fleet.database), fleet.now)

    # The crawl may continue in the folder after a failed move.
    laptop.log.append([encode(FleetPaused(at=laptop.now, paused=False))])
    crawl_pages(laptop, 10)
    move_crawl(laptop, fleet, "the fleet")
    assert fleet.run()
    assert request_counts(laptop, fleet) == Counter([*ALL, BUSY])
    assert not any(row.queued or row.condition == "checked out" for row in fleet.rows(HostRow))


def test_move_that_failed_at_its_last_step_is_completed(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = start_crawl(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    crawl_pages(laptop, 10)
    append = fleet.log.append

    def fail_at_the_end(messages: Iterable[Message]) -> Ends:
        found = [*messages]
        if any(b'"fleet_begun"' in one.value and b'"moving_from":""' in one.value for one in found):
            raise GossamerError("Kafka is away")
        return append(found)

    away = pytest.raises(GossamerError, match="Kafka is away")
    with mock.patch.object(fleet.log, "append", fail_at_the_end), away:
        move_crawl(laptop, fleet, "the fleet")
    with pytest.raises(GossamerError, match="was moved to the fleet"):
        identify(laptop.log, SqliteStore(laptop.database), laptop.now)
    move_crawl(laptop, fleet, "the fleet")
    assert fleet.run()
    assert request_counts(laptop, fleet) == Counter([*ALL, BUSY])


def test_move_to_a_fleet_with_late_clocks_loses_no_url(tmp_path: Path) -> None:
    web = Web()
    laptop, fleet = crawl_in(tmp_path / "laptop", web), crawl_in(tmp_path / "fleet", web, 12)
    laptop.now += 600.0
    identify(laptop.log, SqliteStore(laptop.database), laptop.now)
    laptop.define(url(0, 0), BUSY)
    crawl_pages(laptop, 20)
    move_crawl(laptop, fleet, "the fleet", behind=600.0)
    assert fleet.run()
    assert request_counts(laptop, fleet) == Counter([*ALL, BUSY])


def test_moved_dead_letter_is_kept_beside_a_new_one_with_the_same_offset(tmp_path: Path) -> None:
    laptop, fleet = (
        start_crawl(tmp_path / "laptop", web := Web()),
        crawl_in(tmp_path / "f", web, 12),
    )
    crawl_pages(laptop, 5)

    def letter(reason: str) -> Message:
        record = Record("seeds", 0, 7, "", b"nonsense")
        return encode(dead_letter(record, "dedup", reason, laptop.now))

    laptop.log.append([letter("in the folder")])
    move_crawl(laptop, fleet, "the fleet")
    fleet.log.append([letter("in the fleet")])
    found = [decode(record) for record in fleet.records(DEAD_LETTERS.name)]
    assert [one.reason for one in found if isinstance(one, DeadLetter)] == [
        "in the folder",
        "in the fleet",
    ]


def test_move_is_refused_unless_the_source_is_paused_and_the_target_empty(tmp_path: Path) -> None:
    web = Web()
    laptop, other = start_crawl(tmp_path / "laptop", web), start_crawl(tmp_path / "other", web)
    with pytest.raises(GossamerError, match="records of seeds not consumed yet by dedup"):
        move_crawl(laptop, crawl_in(tmp_path / "fleet", web, 12), "the fleet")
    crawl_pages(laptop, 5)
    with pytest.raises(GossamerError, match="the other one is not empty"):
        move_crawl(laptop, other, "the other one")
    added = crawl_in(tmp_path / "added", web, 12)
    added.define(url(3, 3))
    with pytest.raises(GossamerError, match="a fleet with seeds is not empty"):
        move_crawl(laptop, added, "a fleet with seeds")
    empty = crawl_in(tmp_path / "empty", web, 12)
    with pytest.raises(GossamerError, match="has no crawl"):
        move_crawl(empty, crawl_in(tmp_path / "fleet", web), "the folder")
