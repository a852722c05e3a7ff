"""Settings that expire: the owner of partition 0 restores them, and no other frontier."""

from pathlib import Path

import pytest
from msgspec import to_builtins

from gossamer.events import ChangeExpires, ChangeRecorded, Event, SiteOverridden
from gossamer.services.frontier.service import Frontier
from gossamer.settings import FrontierSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site

START = 1_800_000_000.0
OFF = SiteOverridden(at=START, site=Site("a.test"), off=True)
EXPIRY = ChangeExpires(
    at=START,
    setting="site_overridden/a.test",
    set_at=START,
    expires_at=START + 60,
    before=to_builtins(SiteOverridden(at=0.0, site=Site("a.test"), delay=9.0)),
    after=to_builtins(OFF),
    actor="ann@laptop",
    change="01a3185c5000-5f3a9c21",
)


def frontier(path: Path, *partitions: int) -> Frontier:
    store = SqliteStore(Database(path / "gossamer.db"))
    made = Frontier(FrontierSettings(), store, 60.0, 4, alone=False)
    made.assign(frozenset(partitions), START)
    return made


def settings_in(events: list[Event]) -> list[SiteOverridden]:
    return [event for event in events if isinstance(event, SiteOverridden)]


def handle(made: Frontier, *events: Event) -> None:
    for event in events:
        assert not [*made.handle(event, START)]


def test_owner_of_partition_0_restores_the_setting_once(tmp_path: Path) -> None:
    made = frontier(tmp_path, 0, 2)
    handle(made, EXPIRY, OFF)
    assert made.due() == START + 60
    assert settings_in([*made.wake(START + 59)]) == []
    events = [*made.wake(START + 61)]
    assert settings_in(events) == [SiteOverridden(at=START + 61, site=Site("a.test"), delay=9.0)]
    (record,) = [event for event in events if isinstance(event, ChangeRecorded)]
    assert (record.source, record.actor, record.subject) == ("expiry", "ann@laptop", "a.test")
    assert settings_in([*made.wake(START + 62)]) == []


def test_owners_of_other_partitions_restore_nothing(tmp_path: Path) -> None:
    made = frontier(tmp_path, 1, 2)
    handle(made, EXPIRY, OFF)
    assert settings_in([*made.wake(START + 61)]) == []
    made.assign(frozenset({0, 1}), START + 62)
    assert len(settings_in([*made.wake(START + 62)])) == 1


@pytest.mark.parametrize("newer_first", [False, True])
def test_newer_setting_ends_the_expiry(tmp_path: Path, newer_first: bool) -> None:
    made = frontier(tmp_path, 0)
    newer = SiteOverridden(at=START + 1, site=Site("a.test"), delay=2.0)
    handle(made, *([OFF, newer, EXPIRY] if newer_first else [EXPIRY, OFF, newer]))
    events = [*made.wake(START + 61)]
    assert settings_in(events) == []
    (ended,) = [event for event in events if isinstance(event, ChangeExpires)]
    assert ended.expires_at is None
