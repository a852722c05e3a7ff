"""Alignment: lost parts of a fleet are written from the rest."""

import pytest

from gossamer.blocklist import parse_rule
from gossamer.crawl import blocklist_of, last_definition
from gossamer.errors import GossamerError
from gossamer.events import BlocklistChanged, CrawlDefined
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.procedures.align import align
from gossamer.runtime.identity import identify
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.frontier.service import Frontier
from gossamer.settings import FrontierSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore


def new_log() -> SqliteLog:
    return SqliteLog(Database(":memory:"))


def new_store() -> SqliteStore:
    return SqliteStore(Database(":memory:"))


def begin(log: SqliteLog, store: SqliteStore) -> str:
    """Start a fleet with settings of operators; return its id."""
    fleet = identify(log, store, 1.0)
    rules = (parse_rule("a.example"), parse_rule("b.example"))
    blocked = [BlocklistChanged(at=2.0, rule=rule) for rule in rules]
    lifted = BlocklistChanged(at=3.0, rule=rules[1], lifted=True)
    crawl = CrawlDefined(at=1.0, scope="any()", max_depth=3)
    log.append(map(encode, (crawl, *blocked, lifted)))
    frontier = Frontier(FrontierSettings(), store, 60.0, log.partitions, alone=True)
    loop = sequential_loop(frontier, log, store, lambda: 5.0)
    while loop.step():
        pass
    store.flush()
    return fleet


def test_lost_control_topic_is_written_from_the_store() -> None:
    store = new_store()
    fleet, log = begin(new_log(), store), new_log()
    assert next(align(log, store, 9.0)) == "control: written from the store, 4 records"
    assert identify(log, store, 10.0) == fleet
    assert [*blocklist_of(log).rules] == ["a.example"]
    crawl = last_definition(log)
    assert crawl and crawl.max_depth == 3


def test_new_store_gets_the_identity_and_operator_settings() -> None:
    log, store = new_log(), new_store()
    fleet = begin(log, new_store())
    first, *_ = align(log, store, 9.0)
    assert first == f"store: belongs to the fleet {fleet} now"
    assert identify(log, store, 10.0) == fleet
    store.flush()
    assert next(align(new_log(), store, 11.0)) == "control: written from the store, 4 records"


def test_aligned_fleet_is_left_unchanged() -> None:
    log, store = new_log(), new_store()
    begin(log, store)
    in_step = "log and store agree"
    assert [*align(log, store, 9.0)] == [
        f"{group}: {in_step}" for group in ("frontier", "dedup", "archive")
    ]


def test_align_without_a_fleet_is_refused() -> None:
    with pytest.raises(GossamerError, match="nothing to restore"):
        list(align(new_log(), new_store(), 9.0))
