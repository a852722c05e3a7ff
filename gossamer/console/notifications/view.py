"""Channels, rules and notices as data, and the test of a channel, for the API and the command."""

from collections.abc import Mapping

from msgspec import Struct

from gossamer.console.notifications.channels import Channel, NotDelivered
from gossamer.console.notifications.messages import content_of
from gossamer.console.notifications.rules import RULES, TEST, notice_id
from gossamer.events import FLEET, NoticeRaised, NoticeSent
from gossamer.inspection.crawls.crawl import NotFound
from gossamer.inspection.crawls.notices import Notice, read_notices
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.settings import NotifySettings
from gossamer.settings.notify import TOPIC


class ChannelView(Struct, frozen=True):
    """A channel of the settings."""

    name: str
    kind: str
    """`webhook`, `mail` or `topic`."""
    target: str
    """The receiver, without secrets: the origin of a URL, mail addresses, or the topic."""


class RuleView(Struct, frozen=True):
    """A rule of the settings."""

    name: str
    title: str
    is_on: bool


class NotificationsView(Struct, frozen=True, kw_only=True):
    """The settings of notifications, and the newest notices."""

    channels: tuple[ChannelView, ...]
    rules: tuple[RuleView, ...]
    report: str
    """`off`, `daily` or `weekly`."""
    report_hour: int
    """The hour in UTC at which the report is sent."""
    notices: tuple[Notice, ...]
    """The newest first."""


class Tested(Struct, frozen=True, kw_only=True):
    """The result of the test of a channel."""

    channel: str
    is_delivered: bool
    error: str = ""
    """Why the channel did not accept the notice."""


def read_view(
    log: Log, settings: NotifySettings, channels: Mapping[str, Channel], limit: int
) -> NotificationsView:
    """Return the channels and rules of *settings*, and the newest *limit* notices on *log*."""
    views = [ChannelView(name, one.kind, one.target) for name, one in channels.items()]
    if settings.is_enabled:
        views.append(ChannelView(TOPIC, TOPIC, "notifications"))
    return NotificationsView(
        channels=tuple(views),
        rules=tuple(
            RuleView(name, rule.title, settings.is_enabled and name in settings.rules)
            for name, rule in RULES.items()
        ),
        report=settings.report,
        report_hour=settings.report_hour,
        notices=tuple(read_notices(log, limit)),
    )


def check_channel(settings: NotifySettings, channels: Mapping[str, Channel], name: str) -> None:
    """Raise NotFound if the settings have no channel *name*."""
    names = [*channels, *([TOPIC] if settings.is_enabled else [])]
    if name not in names:
        remedy = ", ".join(names) or "set notify.webhooks, notify.mail_to or notify.topic"
        raise NotFound(f"the settings have no channel {name[:80]!r}: {remedy}")


def make_test(name: str, actor: str, now: float) -> NoticeRaised:
    """Return the notice that tests the channel *name*. It has no channels, so that the notifier
    does not send it again."""
    number = round(now * 1000)
    return NoticeRaised(
        at=now,
        id=notice_id(TEST, FLEET, number, now),
        crawl=FLEET,
        rule=TEST,
        number=number,
        text=f"This is a test of the channel {name}, by {actor}.",
        begun_at=now,
    )


async def send_test(channel: Channel | None, notice: NoticeRaised, source: str) -> str:
    """Send the test *notice* to *channel*, None for the topic; return the error, or ""."""
    if channel is None:
        return ""
    try:
        await channel.send(notice, content_of(notice, source), source)
    except NotDelivered as error:
        return str(error)
    return ""


def record_test(log: Log, notice: NoticeRaised, name: str, error: str, now: float) -> Tested:
    """Append the test *notice* and its result to *log*."""
    sent = NoticeSent(at=now, crawl=FLEET, id=notice.id, channel=name, error=error)
    log.append([encode(notice), encode(sent)])
    return Tested(channel=name, is_delivered=not error, error=error)
