"""Notifications: the channels and rules of the settings, the newest notices, and tests."""

from typing import Annotated, Any

from litestar import Request, post
from litestar.datastructures import State
from litestar.params import PathParameter

from gossamer import clock
from gossamer.console.api.changing import changing
from gossamer.console.api.gate import actor_in
from gossamer.console.api.parameters import SHARED_READER, FromCrawl, Limit, reading
from gossamer.console.notifications.runner import Notifier
from gossamer.console.notifications.view import (
    NotificationsView,
    Tested,
    check_channel,
    make_test,
    read_view,
    record_test,
    send_test,
)

ChannelName = Annotated[str, PathParameter(description="The name of a channel.", max_length=40)]


@reading("/v1/notifications", "Notifications", SHARED_READER, is_shared=True)
async def get_notifications(
    state: State, reader: FromCrawl, limit: Limit = 50
) -> NotificationsView:
    """Channels and rules of the settings, and the newest notices with their deliveries."""
    notifier: Notifier = state.notifier
    settings, channels = notifier.settings, notifier.channels
    return await reader.scan(lambda crawl: read_view(crawl.log, settings, channels, limit))


@changing(
    post, "/v1/notifications/{name:str}/test", "Test a channel", role="admin", of=SHARED_READER
)
async def test_channel(
    request: Request[Any, Any, Any], state: State, reader: FromCrawl, name: ChannelName
) -> Tested:
    """Send a notice to one channel, and return whether the channel accepted it."""
    notifier: Notifier = state.notifier
    check_channel(notifier.settings, notifier.channels, name)
    notice = make_test(name, actor_in(request.scope).name, clock.now())
    source = await reader.read(lambda crawl: crawl.name)
    error = await send_test(notifier.channels.get(name), notice, source)
    now = clock.now()
    return await reader.read(lambda crawl: record_test(crawl.log, notice, name, error, now))
