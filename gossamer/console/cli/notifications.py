"""`gossamer notifications`: the channels, the rules and the newest notices, and a test."""

import argparse
import asyncio
from collections.abc import Iterator

from gossamer import clock
from gossamer.console.cli.changing import user_name
from gossamer.console.cli.options import add_listing, add_place, open_from, settings_of
from gossamer.console.notifications.channels import open_channels
from gossamer.console.notifications.view import (
    NotificationsView,
    check_channel,
    make_test,
    read_view,
    record_test,
    send_test,
)
from gossamer.console.output import BOLD, RED, Line, print_items, print_json, print_lines, say
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.notices import Sent


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    show = actions.add_parser("list", help="list channels, rules and the newest notices")
    add_listing(show, "notices, the newest ones")
    test = actions.add_parser("test", help="send a notice to one channel")
    test.add_argument("name", metavar="NAME", help="the channel: a webhook's name, mail or topic")
    for action in (show, test):
        add_place(action)


def run(options: argparse.Namespace) -> int:
    """List the notices, or test a channel."""
    return _list(options) if options.action == "list" else _test(options)


def _list(options: argparse.Namespace) -> int:
    settings = settings_of(options).notify
    channels = open_channels(settings)
    with open_from(options) as crawl:
        view = read_view(crawl.log, settings, channels, options.limit)
    if options.json:
        for notice in view.notices:
            print_json(notice)
        return 0
    say(_summary(view))
    print_lines(_settings_lines(view))
    for notice in reversed(view.notices):
        say(f"{instant(notice.at)}  {notice.rule}", BOLD)
        print_items([notice.text, *map(_sent_line, notice.sent)])
    return 0


def _summary(view: NotificationsView) -> str:
    if not view.channels:
        return (
            "Nothing is sent: set notify.webhooks, notify.mail_to or notify.topic, and run "
            "gossamer console, or gossamer crawl --console."
        )
    names = ", ".join(channel.name for channel in view.channels)
    return f"Notices go to {names}, while gossamer console or gossamer crawl --console runs."


def _settings_lines(view: NotificationsView) -> Iterator[Line]:
    for channel in view.channels:
        yield Line(channel.name, f"{channel.kind}, {channel.target}")
    if on := [rule.title for rule in view.rules if rule.is_on]:
        yield Line("rules", "; ".join(on))
    if view.report != "off":
        yield Line("report", f"{view.report}, at {view.report_hour:02}:00 UTC")


def _sent_line(sent: Sent) -> str:
    if sent.at is None:
        return f"{sent.channel}: not sent yet"
    if sent.error:
        return f"{sent.channel}: not sent, given up at {instant(sent.at)}: {sent.error}"
    return f"{sent.channel}: sent at {instant(sent.at)}"


def _test(options: argparse.Namespace) -> int:
    settings = settings_of(options).notify
    channels = open_channels(settings)
    check_channel(settings, channels, options.name)
    notice = make_test(options.name, user_name(), clock.now())
    with open_from(options) as crawl:
        channel = channels.get(options.name)
        error = asyncio.run(send_test(channel, notice, crawl.name))
        record_test(crawl.log, notice, options.name, error, clock.now())
    if error:
        say(f"The test was not delivered: {error}", RED)
        return 1
    target = channel.target if channel else "the topic notifications"
    say(f"The test was delivered to {target}.")
    return 0
