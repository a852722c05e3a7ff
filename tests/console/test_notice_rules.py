"""The rules of notices: they begin and end once, and never repeat too soon."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.console.notifications.digest import Period, due_period
from gossamer.console.notifications.rules import RULES, Sample, evaluate
from gossamer.console.notifications.sampling import CrawlState, Situation, measure, state_of
from gossamer.events import CrawlDefined, NoticeRaised
from gossamer.inspection.progress.freshness import DayFreshness
from gossamer.inspection.progress.progress import CrawlTotals
from gossamer.services.frontier.totals.tally import RevisitTotals
from gossamer.settings import NotifySettings
from gossamer.settings.notify import RULE_NAMES, RuleName
from tests.support.transcripts import Transcript

HOUR, DAY = 3600.0, 86400.0
PLANNED = RevisitTotals(planned=3)
FRIDAY = 1_795_737_600.0
"""2026-11-27T00:00:00Z."""
SETTINGS = NotifySettings(webhooks=["ops=https://hooks.example.org/"])  # type: ignore[arg-type]


def sample(value: float, rule: RuleName = "host_lost", subjects: tuple[str, ...] = ()) -> Sample:
    """Return a sample of a condition that begins at 10 and ends below 5."""
    return Sample(
        rule=rule,
        crawl="-",
        value=value,
        begin=10.0,
        end=5.0,
        subjects=subjects,
        text="It is bad.",
        text_over="It is good.",
    )


def notices(
    samples: list[tuple[float, Sample]], settings: NotifySettings = SETTINGS
) -> list[NoticeRaised]:
    """Return the notices of samples at times."""
    found = list[NoticeRaised]()
    for now, one in samples:
        if notice := evaluate(one, found[-1] if found else None, now, settings):
            found.append(notice)
    return found


def texts(samples: list[tuple[float, Sample]]) -> list[str]:
    """Return the texts of the notices that are sent."""
    return [notice.text for notice in notices(samples) if notice.channels]


def test_value_that_varies_around_the_limit_is_one_notice() -> None:
    values = [9, 10, 9, 11, 6, 10, 5, 12]
    assert texts([(60.0 * i, sample(value)) for i, value in enumerate(values)]) == ["It is bad."]


def test_end_is_reported_at_once_and_the_next_beginning_after_the_pause() -> None:
    found = notices(
        [
            (0, sample(10)),
            (60, sample(4)),
            (120, sample(10)),
            (HOUR + 59, sample(10)),
            (HOUR + 60, sample(10)),
        ]
    )
    assert [(one.at, one.is_over) for one in found] == [
        (0, False), (60, True), (HOUR + 60, False),
    ]  # fmt: skip
    assert [one.begun_at for one in found] == [0, 0, HOUR + 60]


def test_lasting_condition_is_repeated_daily() -> None:
    found = notices([(HOUR * i, sample(10)) for i in range(49)])
    assert [one.at for one in found] == [0, DAY, 2 * DAY]
    never = NotifySettings(**{**SETTINGS.model_dump(), "repeat": 0})
    assert len(notices([(HOUR * i, sample(10)) for i in range(49)], never)) == 1


def test_further_host_is_a_notice_after_the_pause() -> None:
    one, two = sample(10, subjects=("a",)), sample(20, subjects=("a", "b"))
    found = notices([(0, one), (60, two), (HOUR, two), (2 * HOUR, one), (3 * HOUR, two)])
    assert [(notice.at, notice.subjects) for notice in found] == [
        (0, ("a",)), (HOUR, ("a", "b")),
    ]  # fmt: skip


def test_end_of_a_finished_crawl_is_recorded_and_not_sent() -> None:
    found = notices([(0, sample(10, "crawl_finished")), (60, sample(0, "crawl_finished"))])
    assert [(one.is_over, one.channels) for one in found] == [(False, ("ops",)), (True, ())]


@given(
    st.sampled_from(RULE_NAMES),
    st.lists(st.tuples(st.floats(1, 20_000), st.floats(0, 20)), max_size=60),
)
def test_notices_alternate_and_keep_the_pause(
    rule: RuleName, steps: list[tuple[float, float]]
) -> None:
    now, samples = 0.0, list[tuple[float, Sample]]()
    for seconds, value in steps:
        now += seconds
        samples.append((now, sample(value, rule)))
    found = notices(samples)
    assert [one.number for one in found] == [*range(1, len(found) + 1)]
    assert len({one.id for one in found}) == len(found)
    for before, after in itertools.pairwise(found):
        assert after.is_over or after.at - before.at >= SETTINGS.pause
        assert not (before.is_over and after.is_over)
        if after.is_over:
            assert after.value < 5 and RULES[rule].has_end
        elif before.is_over or not RULES[rule].has_end:
            assert after.value >= 10
        else:
            assert RULES[rule].repeats and after.at - before.at >= SETTINGS.repeat


def state(**changed: object) -> CrawlState:
    fields = {
        "crawl": "shop", "pages": 7, "is_finished": False, "due_at": None, "page_limit": 0,
    } | changed  # fmt: skip
    return CrawlState(**fields)  # type: ignore[arg-type]


def raised(situations: list[Situation], step: float = DAY) -> list[tuple[str, str]]:
    """Return rule and text of the notices about situations that are *step* seconds apart."""
    last, found = dict[tuple[str, str], NoticeRaised](), list[tuple[str, str]]()
    for i, situation in enumerate(situations):
        samples = [*measure(situation, SETTINGS, lambda rule, crawl: last.get((rule, crawl)))]
        for one in samples:
            key = (one.rule, one.crawl)
            if notice := evaluate(one, last.get(key), step * i, SETTINGS):
                last[key] = notice
                found.append((notice.rule, notice.text))
    return found


def test_each_condition_is_reported_in_words(transcript: Transcript) -> None:
    fine = Situation(crawls=(state(freshness=(0.8, 0.85)),))
    bad = Situation(
        crawls=(state(is_finished=True, page_limit=7, freshness=(0.8, 0.85, 0.7)),),
        dead_letters=12,
        lost=("https://a.example",),
    )
    assert raised([fine]) == []
    found = raised([fine, bad])
    assert [rule for rule, _ in found] == [
        "host_lost",
        "dead_letters",
        "crawl_finished",
        "freshness_dropped",
        "budget_spent",
    ]
    transcript.add("a crawl in trouble", [text for _, text in found])


def test_dead_letters_are_counted_since_the_last_notice(transcript: Transcript) -> None:
    counts = (9, 10, 19, 20, 20)
    found = raised([Situation(dead_letters=count) for count in counts])
    transcript.add("9, 10, 19, 20 and 20 dead letters", [text for _, text in found])


def test_dropped_freshness_is_compared_with_the_time_before_the_drop(
    transcript: Transcript,
) -> None:
    levels = [(0.9, 0.9), (0.9, 0.75), (0.75, 0.75), (0.75, 0.84), (0.75, 0.86)]
    found = raised([Situation(crawls=(state(freshness=one),)) for one in levels], step=HOUR)
    transcript.add("a drop and a recovery", [text for _, text in found])


def test_rule_that_is_off_raises_nothing() -> None:
    settings = NotifySettings(**{**SETTINGS.model_dump(), "rules": ("host_lost",)})
    bad = Situation(crawls=(state(is_finished=True),), dead_letters=99)
    assert [one.rule for one in measure(bad, settings, lambda *_: None)] == ["host_lost"]


@pytest.mark.parametrize(
    ("totals", "is_still", "due_in", "revisit", "expected"),
    [
        (CrawlTotals(admitted=3, pages=2), True, None, "none", True),
        (CrawlTotals(admitted=3, pages=2), False, None, "none", False),
        (CrawlTotals(admitted=3, queued=1), True, None, "none", False),
        (CrawlTotals(), True, None, "none", False),
        (CrawlTotals(admitted=3), True, 600.0, "none", False),
        (CrawlTotals(admitted=3), True, DAY, "none", True),
        (CrawlTotals(admitted=3, revisiting=RevisitTotals(planned=3)), True, None, "none", True),
        (
            CrawlTotals(admitted=3, revisiting=RevisitTotals(planned=3)),
            True,
            DAY,
            "fixed:1d",
            False,
        ),
        (CrawlTotals(admitted=3, revisiting=RevisitTotals(waiting=1)), True, None, "none", False),
    ],
)
def test_crawl_is_finished_if_nothing_is_queued_in_flight_or_due_soon(
    totals: CrawlTotals, is_still: bool, due_in: float | None, revisit: str, expected: bool
) -> None:
    definition = CrawlDefined(at=0.0, scope="any()", max_depth=1, revisit=revisit)
    due_at = None if due_in is None else FRIDAY + due_in
    assert state_of(definition, totals, due_at, is_still, [], FRIDAY).is_finished is expected


def test_freshness_is_compared_within_a_week_and_without_unknown_days() -> None:
    days = [("2026-11-18", 0.99), ("2026-11-20", 0.9), ("2026-11-26", None), ("2026-11-27", 0.7)]
    rows = [
        DayFreshness(
            day=day, expected_freshness=level, expected_age=None, planned=1, pages=1, new_texts=0,
            unchanged=0,
        )
        for day, level in days
    ]  # fmt: skip
    definition = CrawlDefined(at=0.0, scope="any()", max_depth=1)
    found = state_of(definition, CrawlTotals(), None, True, rows, FRIDAY)
    assert found.freshness == (0.9, 0.7)


def report(at: float) -> NoticeRaised:
    return NoticeRaised(at=at, id="", rule="report", number=1, text="", begun_at=at)


@pytest.mark.parametrize(
    ("kind", "last", "started", "now", "expected"),
    [
        ("off", None, 0.0, FRIDAY, None),
        ("daily", None, FRIDAY + HOUR, FRIDAY + 5 * HOUR, None),
        ("daily", None, FRIDAY + HOUR, FRIDAY + 6 * HOUR, ("2026-11-26", "2026-11-26")),
        ("daily", FRIDAY + 6 * HOUR, 0.0, FRIDAY + 29 * HOUR, None),
        ("daily", FRIDAY + 6 * HOUR, 0.0, FRIDAY + 30 * HOUR, ("2026-11-27", "2026-11-27")),
        ("daily", FRIDAY + 6 * HOUR, 0.0, FRIDAY + 9 * DAY, ("2026-12-04", "2026-12-04")),
        ("weekly", None, FRIDAY, FRIDAY + 3 * DAY + 5 * HOUR, None),
        ("weekly", None, FRIDAY, FRIDAY + 3 * DAY + 6 * HOUR, ("2026-11-23", "2026-11-29")),
        ("weekly", FRIDAY + 3 * DAY + 6 * HOUR, 0.0, FRIDAY + 9 * DAY, None),
    ],
)
def test_report_is_due_once_a_period(
    kind: str,
    last: float | None,
    started: float,
    now: float,
    expected: tuple[str, str] | None,
) -> None:
    settings = NotifySettings(**{**SETTINGS.model_dump(), "report": kind})
    before = None if last is None else report(last)
    assert due_period(settings, before, started, now) == (expected and Period(*expected))
