"""Promises of every change: dry runs write nothing, a record comes first, reversal restores."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.changes.blocking import plan_block, plan_unblock
from gossamer.changes.commit import commit, preview
from gossamer.changes.plan import ChangeRequest, Plan
from gossamer.changes.sites import plan_host, plan_site
from gossamer.changes.speeds import plan_speed
from gossamer.events import Event, HostOverridden, SiteOverridden, Speed, SpeedSet
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log.codec import encode
from gossamer.log.control import newest_events
from gossamer.web.url import Site
from tests.changes.opened import START, Opened

ANN = ChangeRequest(actor="ann@example.org", source="api", reason="ticket 7")
Planner = Callable[[OpenCrawl, float], Plan]

RULES = ("www.a.example", "*.b.example", "c.example/x")


def blocks(rules: list[str]) -> Planner:
    return lambda crawl, now: plan_block(crawl, rules, now)


def unblocks(rules: list[str]) -> Planner:
    return lambda crawl, now: plan_unblock(crawl, rules, now)


def speeds(limit: Speed) -> Planner:
    return lambda crawl, now: plan_speed(crawl, limit, now)


def sites(values: dict[str, Any]) -> Planner:
    return lambda crawl, now: plan_site(crawl, Site("a.example"), values, now)


def hosts(values: dict[str, Any], as_site: bool) -> Planner:
    return lambda crawl, now: plan_host(crawl, "www.a.example", values, now, as_site)


rates = st.none() | st.sampled_from([0.0, 2.5, 20.0])
limits = st.builds(Speed, st.sampled_from(["", "sat,sun", "mon 08:00-18:00"]), rates, rates)
overrides = st.fixed_dictionaries(
    {},
    optional={
        "delay": rates,
        "off": st.booleans(),
        "ours": st.booleans(),
        "budget": st.integers(0, 9),
    },
)
rules = st.lists(st.sampled_from(RULES), min_size=1, unique=True)
setting_changes = st.one_of(
    rules.map(blocks),
    rules.map(unblocks),
    limits.map(speeds),
    overrides.map(sites),
    st.builds(hosts, overrides, st.booleans()),
)


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Opened(tmp_path)


def settings_of(opened: Opened) -> dict[str, Event]:
    """Return the settings in force, without their times and without defaults."""
    found = {key: replace(event, at=0.0) for key, event in newest_events(opened.log).items()}
    return {key: event for key, event in found.items() if not is_default(event)}


def is_default(event: Event) -> bool:
    match event:
        case SiteOverridden(site=site):
            return event == SiteOverridden(at=0.0, site=site)
        case HostOverridden(host=host):
            return event == HostOverridden(at=0.0, host=host)
    return getattr(event, "lifted", False) or event == SpeedSet(at=0.0)


numbers = count()


@given(st.lists(setting_changes, min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_reversal_restores_the_settings(tmp_path: Path, changes: list[Planner]) -> None:
    folder = tmp_path / str(next(numbers))
    folder.mkdir()
    opened = Opened(folder)
    *earlier, last = changes
    for number, planner in enumerate(earlier):
        commit(opened.log, planner(opened.crawl, START + number), ANN, START + number)
    before = settings_of(opened)
    plan = last(opened.crawl, START + 100)
    commit(opened.log, plan, ANN, START + 100)
    restoring = (replace(before, at=START + 200) for before, _ in plan.settings if before)
    opened.log.append(map(encode, restoring))
    assert settings_of(opened) == before


@given(st.lists(setting_changes, min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_each_change_has_one_record_and_the_record_comes_first(
    tmp_path: Path, changes: list[Planner]
) -> None:
    folder = tmp_path / str(next(numbers))
    folder.mkdir()
    opened = Opened(folder)
    for number, planner in enumerate(changes):
        now, opened.appended = START + number, []
        before = opened.records()
        effect = preview(planner(opened.crawl, now))
        assert opened.records() == before and not opened.appended
        plan = planner(opened.crawl, now)
        committed = commit(opened.log, plan, ANN, now)
        assert committed.effect == replace(effect, estimate=())
        if not effect.count:
            assert committed.id is None and not opened.appended
            continue
        assert opened.appended[0] == "audit" and "audit" not in opened.appended[1:]
        record = opened.audit()[-1]
        assert (record.id, record.actor, record.reason) == (committed.id, ANN.actor, ANN.reason)
        assert (record.at, record.action, record.effect) == (now, plan.action, effect.text)
        assert len(record.settings) == len(opened.appended) - 1
    ids = [record.id for record in opened.audit()]
    assert ids == sorted(set(ids))


def test_record_names_the_settings_before_and_after(opened: Opened) -> None:
    commit(opened.log, plan_block(opened.crawl, RULES[:1], START), ANN, START)
    (record,) = opened.audit()
    assert record.subject == "www.a.example"
    (setting,) = record.settings
    assert setting.key == "blocklist_changed/www.a.example"
    assert setting.before and setting.before["lifted"] and not setting.after["lifted"]


def test_record_of_a_large_change_lists_a_part(opened: Opened) -> None:
    many = [f"*.{number}.example" for number in range(9000)]
    committed = commit(opened.log, plan_block(opened.crawl, many, START), ANN, START)
    assert committed.effect.count == 9000
    (record,) = opened.audit()
    assert record.subject == "*.0.example, *.1.example, *.2.example and 8997 more"
    assert 1000 < len(record.settings) < 9000
    assert len(settings_of(opened)) == 9000
