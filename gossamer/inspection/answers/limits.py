"""What limits the throughput of a crawl now, as a sentence."""

from enum import StrEnum

from msgspec import Struct

from gossamer.inspection.basics.figures import about, number, plural
from gossamer.inspection.hosts.hosts import Host
from gossamer.inspection.progress.progress import Progress
from gossamer.inspection.progress.workload import MAX_READ_HOSTS, Workload
from gossamer.services.frontier.partition.politeness import format_delay
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.web.url import HostKey

MIN_PARSER_LAG = 50
"""Minimum lag of a parser that limits the crawl, in fetched pages."""
MIN_NAMED_WAIT = 60.0
"""Minimum time of the longest queue, in seconds, to name its host."""


class LimitKind(StrEnum):
    """The part of the crawl that limits its throughput."""

    NOTHING = "nothing"
    """Nothing is queued, or no crawl is active."""
    STANDSTILL = "standstill"
    """The speed of the crawl is 0 now."""
    BUDGET = "budget"
    """New URLs wait for the budget of visits, or the page limit is reached."""
    HOST = "host"
    """One host has by far the longest queue."""
    PARSER = "parser"
    SPEED = "speed"
    """The speed that an operator set."""
    FETCHER = "fetcher"
    """Hosts are ready, and no fetcher takes them."""
    DELAYS = "delays"
    """All hosts are in their courtesy delay, or being fetched: delays or response times limit."""


class Limit(Struct, frozen=True):
    """The limit of a crawl's throughput."""

    kind: LimitKind
    text: str = ""
    """The limit in words; "" if nothing is queued."""
    host: HostKey | None = None
    """The key of the host with the longest queue; null for other kinds."""


def find_limit(progress: Progress, workload: Workload) -> Limit:
    """Return what limits a crawl with this *progress* and *workload*."""
    hosts, waiting = workload.hosts, progress.revisiting.waiting
    if workload.is_standstill:
        return Limit(LimitKind.STANDSTILL, "standstill: gossamer speed is 0 now")
    if not hosts and waiting:
        budget = f"budget of {number(progress.revisiting.budget)} visits a day"
        text = f"limited by the {budget}: {plural(waiting, 'new URL')} waiting"
        return Limit(LimitKind.BUDGET, text)
    if not hosts:
        return Limit(LimitKind.NOTHING)
    if len(hosts) == 1 and hosts[0].seconds_left >= MIN_NAMED_WAIT:
        return _wait_for_host(hosts[0], progress)
    if (pages := progress.lags.get("parser", {}).get("pages.fetched", 0)) >= MIN_PARSER_LAG:
        text = f"limited by the parser: {plural(pages, 'fetched page')} to parse"
        return Limit(LimitKind.PARSER, text)
    if not workload.is_waiting_for_delays:
        if workload.speed:
            text = f"limited by gossamer speed: {number(workload.speed)} pages/s"
            return Limit(LimitKind.SPEED, text)
        ready = plural(progress.conditions[Condition.READY], "host")
        return Limit(LimitKind.FETCHER, f"limited by the fetcher: {ready} ready to be fetched")
    left = hosts[0].seconds_left
    if left >= MIN_NAMED_WAIT and left > 2 * hosts[1].seconds_left:
        return _wait_for_host(hosts[0], progress)
    queued = [host for host in hosts if host.queued]
    if not queued:
        return Limit(LimitKind.NOTHING)  # The last URLs were skipped or visited.
    if all(not host.visits and host.condition is Condition.CHECKED_OUT for host in queued):
        text = f"waiting for the first response of {plural(len(queued), 'host')}"
        return Limit(LimitKind.DELAYS, text)
    text = f"limited by {_pace_text(queued)} at {plural(len(queued), 'host')}"
    return Limit(LimitKind.DELAYS, text)


def seconds_left(progress: Progress, workload: Workload, rate: float) -> float:
    """Return an estimate of the seconds until all queued URLs are visited, without those of hosts
    that back off, if none is added; 0 without such URLs, and at a standstill. *rate*: pages a
    second."""
    if not progress.queued or workload.is_standstill:
        return 0.0
    left = workload.seconds_left
    if workload.speed:
        left = max(left, sum(host.queued for host in workload.hosts) / workload.speed)
    is_partial = len(workload.hosts) == MAX_READ_HOSTS
    return max(left, progress.queued / rate) if is_partial and rate > 0 else left


def _wait_for_host(host: Host, progress: Progress) -> Limit:
    whose = " of all crawls" if host.queued > progress.queued else ""
    parts = [
        f"{plural(host.queued, 'URL')}{whose}",
        host.delay_text or f"one each {format_delay(host.pace)}",
    ]
    if host.seconds_left:
        parts.append(about(host.seconds_left))
    return Limit(LimitKind.HOST, f"waiting for {host.host}: {', '.join(parts)}", host.host)


def _pace_text(hosts: list[Host]) -> str:
    """Return what most of the time between the visits to *hosts* is spent on: delays, or waiting
    for responses."""
    delays = [host.delay for host in hosts if host.delay]
    waits = [host.pace - host.delay for host in hosts]
    if sum(waits) > sum(delays):
        return f"response times of {_range(waits)}"
    if not delays:
        return "response times"
    if len({*delays}) == 1:
        return f"the {_range(delays)} delay"
    return f"delays of {_range(delays)}"


def _range(values: list[float]) -> str:
    shortest, longest = format_delay(min(values)), format_delay(max(values))
    if shortest == longest:
        return longest
    # A unit that both have is named once.
    number, unit = shortest.split(" ", 1)
    return f"{number if longest.endswith(f' {unit}') else shortest} to {longest}"
