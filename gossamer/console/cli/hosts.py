"""`gossamer hosts`: the hosts, the longest queue first, or the explanation of one."""

import argparse
from collections.abc import Iterator

from gossamer import clock
from gossamer.console.cli.options import add_crawl, add_listing, add_search, open_from
from gossamer.console.output import GREEN, RED, print_json, print_list, say
from gossamer.errors import BadSettings
from gossamer.inspection.answers.host_details import HostExplanation, explain_host
from gossamer.inspection.basics.figures import about, moment, plural, until
from gossamer.inspection.hosts.hosts import Host, HostQuery, HostSort, read_hosts
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.web.url import Site


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "host",
        nargs="?",
        metavar="HOST",
        help="explain this host: what it waits for and until when, and what is next",
    )
    command.add_argument("--site", default="", metavar="SITE", help="only the hosts of this site")
    command.add_argument(
        "--condition",
        choices=[condition.value for condition in Condition],
        help="only hosts in this condition",
    )
    add_search(command, HostSort, HostSort.QUEUED)
    add_listing(command, "hosts")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """List the hosts, or explain one. Return 1 if the list is empty."""
    if options.host:
        return _explain(options)
    query = HostQuery(
        search=options.search,
        condition=Condition(options.condition) if options.condition else None,
        site=Site(options.site) if options.site else None,
        crawl=options.crawl,
        sort=HostSort(options.sort),
        is_ascending=options.ascending,
    )
    with open_from(options) as crawl:
        hosts = read_hosts(crawl, query, options.limit)
    now = clock.now()

    def show(host: Host) -> None:
        text = f"{host.host}  {', '.join(_parts(host, now))}"
        say(text, RED if host.backoff_reason else "")

    return print_list(hosts, options.json, show, "No host matches.")


def _explain(options: argparse.Namespace) -> int:
    if options.site or options.condition or options.search:
        raise BadSettings("--site, --condition and --search choose from a list: leave out HOST")
    with open_from(options) as crawl:
        found = explain_host(crawl, options.host)
    if options.json:
        print_json(found)
        return 0
    say(found.answer, RED if found.blocked_by or found.host.backoff_reason else GREEN)
    for title, text in _details(found):
        say(f"  {title:<9} {text}")
    return 0


def _details(found: HostExplanation) -> Iterator[tuple[str, str]]:
    yield "host", f"{found.host.host}  {', '.join(_parts(found.host, found.at))}"
    for gate in found.closed_gates:
        until = f" until {moment(gate.until, found.at)}" if gate.until else ""
        yield "waits", f"{gate.gate}{until}: {gate.reason}"
    if found.original:
        yield "mirror", f"of {found.original}, which is visited instead"
    if robots := found.robots:
        rules = robots.forbidden or plural(robots.rules, "rule")
        yield "robots", f"{rules}, fetched {moment(robots.fetched_at, found.at)}"
    for item in found.queue:
        yield "next", item.url


def _parts(host: Host, now: float) -> Iterator[str]:
    if host.condition is Condition.BACKING_OFF:
        yield f"backing off {until(host.ready_at, now)} ({host.backoff_reason})"
    else:
        yield host.shown_condition
    left = f" ({about(host.seconds_left)})" if host.seconds_left else ""
    yield f"{plural(host.queued, 'URL')} queued{left}"
    yield plural(host.pages, "page")
    for name, count in sorted(host.walls.items()):
        yield f"{plural(count, 'wall')} ({name})"
    if text := host.delay_text:
        yield text
    if host.certificate_fault:
        yield f"visited although {host.certificate_fault}"
    if host.signing:
        yield host.signing
