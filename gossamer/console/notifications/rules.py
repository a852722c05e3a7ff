"""The rules: when a measured condition is worth a notice.

A condition begins at one value and ends below a lower one, so that a value which varies around a
limit raises one notice. A rule reads no clock and no crawl: it is told a sample, the last notice,
and the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from gossamer.events import NoticeRaised
from gossamer.settings import NotifySettings
from gossamer.settings.notify import MAIL, RULE_NAMES, RuleName

MAX_SUBJECTS = 100
"""Subjects of a notice."""
REPORT, TEST = "report", "test"
"""The rules of notices that no condition raises."""


class Sample(Struct, frozen=True, kw_only=True):
    """A measured condition of a crawl, or of all crawls."""

    rule: RuleName
    crawl: str
    value: float
    begin: float
    """The condition begins at this value."""
    end: float | None = None
    """The condition ends below this value, at most `begin`. None: below `begin`."""
    subjects: tuple[str, ...] = ()
    """The concerned hosts. A further one is worth a notice of its own."""
    baseline: float = 0.0
    """The value that the next samples are compared with, if this one raises a notice."""
    text: str
    """The condition in one sentence."""
    text_over: str = ""
    """The sentence at its end."""


@dataclass(frozen=True)
class Rule:
    """How the notices of one kind begin, continue and end."""

    title: str
    has_end: bool = True
    """Whether the condition ends. Otherwise each sample at its limit is a further notice."""
    reports_end: bool = False
    """Whether the end of the condition is sent. It is on the topic in any case."""
    repeats: bool = False
    """Whether the notice is repeated while the condition lasts."""

    def evaluate(
        self, sample: Sample, before: NoticeRaised | None, now: float, settings: NotifySettings
    ) -> NoticeRaised | None:
        """Return the notice that *sample*, measured at *now*, is worth; None for none.

        *before* is the last notice of the rule about the crawl, None if there was none.
        """
        is_paused = before is not None and now - before.at < settings.pause
        may_raise = sample.value >= sample.begin and not is_paused
        if before is None or before.is_over or not self.has_end:
            return _notice(sample, before, now, begun_at=now) if may_raise else None
        if sample.value < (sample.begin if sample.end is None else sample.end):
            return _notice(sample, before, now, begun_at=before.begun_at, is_over=True)
        is_due = self.repeats and settings.repeat and now - before.at >= settings.repeat
        has_more = set(sample.subjects[:MAX_SUBJECTS]) - set(before.subjects)
        if may_raise and (is_due or has_more):
            return _notice(sample, before, now, begun_at=before.begun_at)
        return None


RULES: Mapping[RuleName, Rule] = {
    "crawl_finished": Rule("a crawl is finished"),
    "host_lost": Rule("a host is lost", reports_end=True, repeats=True),
    "freshness_dropped": Rule("the freshness of a crawl drops", reports_end=True, repeats=True),
    "dead_letters": Rule("dead letters grow in number", has_end=False),
    "budget_spent": Rule("the page limit of a crawl is reached"),
}
"""All rules."""
assert tuple(RULES) == RULE_NAMES, "gossamer.settings.notify and RULES differ"


def evaluate(
    sample: Sample, before: NoticeRaised | None, now: float, settings: NotifySettings
) -> NoticeRaised | None:
    """Return the notice that *sample* is worth, with the channels that receive it."""
    rule = RULES[sample.rule]
    notice = rule.evaluate(sample, before, now, settings)
    if notice is None or (notice.is_over and not rule.reports_end):
        return notice
    return replace(notice, channels=channels_of(settings))


def channels_of(settings: NotifySettings) -> tuple[str, ...]:
    """Return the names of the channels that notices are sent to. The topic has them all."""
    return (*settings.webhook_urls(), *([MAIL] if settings.mail_to else []))


def _notice(
    sample: Sample,
    before: NoticeRaised | None,
    now: float,
    *,
    begun_at: float,
    is_over: bool = False,
) -> NoticeRaised:
    number = before.number + 1 if before else 1
    return NoticeRaised(
        at=now,
        crawl=sample.crawl,
        id=notice_id(sample.rule, sample.crawl, number, now),
        rule=sample.rule,
        number=number,
        text=sample.text_over if is_over else sample.text,
        subjects=() if is_over else sample.subjects[:MAX_SUBJECTS],
        value=sample.value,
        baseline=sample.baseline,
        is_over=is_over,
        begun_at=begun_at,
    )


def notice_id(rule: str, crawl: str, number: int, now: float) -> str:
    """Return the id of the notice with this *number*, which is raised at *now*, in epoch
    seconds. Numbers alone would begin again if the topic lost its old records."""
    return f"{rule}/{crawl}/{number}-{round(now * 1000):012x}"
