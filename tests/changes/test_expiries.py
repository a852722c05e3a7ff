"""Changes that expire: the earlier setting returns at the time, once, unless it was changed."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.changes.blocking import plan_block
from gossamer.changes.commit import commit
from gossamer.changes.plan import ChangeRequest, Plan
from gossamer.changes.sites import plan_site
from gossamer.crawl import blocklist_of, overrides_of
from gossamer.expiries import Expiries, expiries_of
from gossamer.log.codec import encode
from gossamer.log.control import ControlRow, control_events, control_row, newest_events
from gossamer.web.url import Site
from tests.changes.opened import START, Opened

RULE = "www.a.example"


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return Opened(tmp_path)


def change(opened: Opened, plan: Plan, now: float, expires_at: float | None = None) -> None:
    commit(opened.log, plan, ChangeRequest(actor="ann@laptop", expires_at=expires_at), now)


def pass_time(opened: Opened, now: float) -> float | None:
    """Restore what has expired until *now*, as an owner that has just started does.

    Return when the next expiry is due.
    """
    expiries = Expiries()
    for event in newest_events(opened.log).values():
        expiries.apply(event)
    opened.log.append(map(encode, expiries.pop_due(now)))
    return expiries.due()


def delay_of(opened: Opened) -> float | None:
    found = overrides_of(opened.log).get(Site("a.example"))
    return found.delay if found else None


def test_block_for_a_minute_ends_by_itself_and_is_recorded(opened: Opened) -> None:
    change(opened, plan_block(opened.crawl, [RULE], START), START, START + 60)
    assert opened.appended == ["audit", "control", "control"]
    assert pass_time(opened, START + 59) == START + 60
    assert RULE in blocklist_of(opened.log).rules
    assert expiries_of(opened.log)[f"blocklist_changed/{RULE}"].expires_at == START + 60
    assert pass_time(opened, START + 60) is None
    assert RULE not in blocklist_of(opened.log).rules and not expiries_of(opened.log)
    block, end = opened.audit()
    assert (end.source, end.action, end.subject, end.actor) == (
        "expiry",
        "expire",
        RULE,
        "ann@laptop",
    )
    assert block.id in end.reason and end.id > block.id
    opened.appended.clear()
    pass_time(opened, START + 120)
    assert not opened.appended


def test_setting_that_was_changed_again_does_not_expire(opened: Opened) -> None:
    change(
        opened, plan_site(opened.crawl, Site("a.example"), {"delay": 9.0}, START), START, START + 60
    )
    change(opened, plan_site(opened.crawl, Site("a.example"), {"delay": 5.0}, START + 1), START + 1)
    assert pass_time(opened, START + 100) is None
    assert delay_of(opened) == 5.0
    assert len(opened.audit()) == 2


def test_temporary_change_of_a_temporary_change_restores_the_lasting_one(opened: Opened) -> None:
    for number, (delay, expires_at) in enumerate(((2.0, None), (9.0, 50.0), (30.0, 80.0))):
        now = START + number
        plan = plan_site(opened.crawl, Site("a.example"), {"delay": delay}, now)
        change(opened, plan, now, None if expires_at is None else START + expires_at)
    assert pass_time(opened, START + 60) == START + 80
    assert delay_of(opened) == 30.0
    pass_time(opened, START + 80)
    assert delay_of(opened) == 2.0


def test_block_without_end_makes_a_temporary_block_last(opened: Opened) -> None:
    change(opened, plan_block(opened.crawl, [RULE], START), START, START + 60)
    change(opened, plan_block(opened.crawl, [RULE], START + 1), START + 1)
    pass_time(opened, START + 60)
    assert RULE in blocklist_of(opened.log).rules


def test_expiries_survive_in_the_copy_of_control(opened: Opened) -> None:
    change(opened, plan_block(opened.crawl, [RULE], START), START, START + 60)
    table = opened.store.table(ControlRow)
    for event in newest_events(opened.log).values():
        table.put(control_row(event))
    opened.store.flush()
    expiries = Expiries()
    for event in control_events(opened.store):  # In the order of their keys.
        expiries.apply(event)
    assert expiries.due() == START + 60


numbers = count()
delays = st.sampled_from([None, 1.0, 2.0, 3.0])
steps = st.lists(st.tuples(delays, st.integers(0, 40), st.none() | st.integers(1, 60)), max_size=10)


@given(steps)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_setting_is_the_temporary_one_until_its_end_and_then_the_lasting_one(
    tmp_path: Path, steps: list[tuple[float | None, int, int | None]]
) -> None:
    folder = tmp_path / str(next(numbers))
    folder.mkdir()
    opened, now = Opened(folder), START
    lasting: float | None = None
    temporary: tuple[float | None, float] | None = None
    for delay, seconds, lasts in [*steps, (None, 200, None)]:
        now += seconds + 1
        pass_time(opened, now)
        if temporary and temporary[1] <= now:
            temporary = None
        assert delay_of(opened) == (temporary[0] if temporary else lasting)
        plan = plan_site(opened.crawl, Site("a.example"), {"delay": delay}, now)
        change(opened, plan, now, None if lasts is None else now + lasts)
        if lasts is None:
            lasting, temporary = delay, None
        elif temporary or delay != lasting:
            temporary = delay, now + lasts
