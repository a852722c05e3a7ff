"""`gossamer hosts`: the hosts of a crawl, the longest queue first."""

import argparse
from collections.abc import Iterator

import msgspec

from console.cli.options import add_listing, add_place, open_from
from console.output import RED, YELLOW, say
from gossamer import clock
from gossamer.terminal import json_line
from inspection.figures import about, moment, plural
from inspection.hosts import Host, read_hosts
from services.frontier.conditions import Condition


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("--site", default="", metavar="SITE", help="only the hosts of this site")
    command.add_argument(
        "--condition",
        choices=[condition.value for condition in Condition],
        help="only hosts in this condition",
    )
    add_listing(command, "hosts")
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """List the hosts. Return 1 if the list is empty."""
    condition = Condition(options.condition) if options.condition else None
    with open_from(options) as crawl:
        hosts = read_hosts(crawl, condition, options.site, options.limit)
    now = clock.now()
    for host in hosts:
        if options.json:
            print(json_line(msgspec.json.encode(host)))
        else:
            say(
                f"{host.host}  {', '.join(_parts(host, now))}",
                RED if host.backoff_reason else "",
            )
    if not hosts and not options.json:
        say("No host matches.", YELLOW)
    return 0 if hosts else 1


def _parts(host: Host, now: float) -> Iterator[str]:
    if host.condition is Condition.BACKING_OFF:
        yield f"backing off until {moment(host.ready_at, now)} ({host.backoff_reason})"
    else:
        yield str(host.condition)
    left = f" ({about(host.seconds_left)})" if host.seconds_left else ""
    yield f"{plural(host.queued, 'URL')} queued{left}"
    yield plural(host.pages, "page")
    for name, count in sorted(host.walls.items()):
        yield f"{plural(count, 'wall')} ({name})"
    if text := host.delay_text:
        yield text
    if host.signing:
        yield host.signing
