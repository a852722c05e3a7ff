"""What limits the throughput of a crawl now, as a sentence."""

from enum import StrEnum

from msgspec import Struct

from gossamer.web.url import HostKey
from inspection.basics.figures import about, number, plural
from inspection.hosts.hosts import Host
from inspection.progress.progress import Progress
from inspection.progress.workload import Workload
from services.frontier.tables.conditions import Condition

MIN_PARSER_LAG = 50
"""Minimum lag of a parser that limits the crawl, in fetched pages."""
MIN_NAMED_WAIT = 60.0
"""Minimum time of the longest queue, in seconds, to name its host."""


class LimitKind(StrEnum):
    """The part of the crawl that limits its throughput."""

    NOTHING = "nothing"
    """Nothing is queued."""
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
    """All hosts are in their courtesy delay, or being fetched."""


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
    text = f"limited by the {_delays(hosts)} at {plural(len(hosts), 'host')}"
    return Limit(LimitKind.DELAYS, text)


def seconds_left(progress: Progress, workload: Workload, rate: float) -> float:
    """Return an estimate of the seconds until nothing is queued, if no URL is added; 0 if nothing
    is. *rate*: pages a second."""
    if not progress.queued:
        return 0.0
    known = sum(host.queued for host in workload.hosts)
    rest = progress.queued / rate if progress.queued > known and rate > 0 else 0.0
    return max(workload.seconds_left, rest)


def _wait_for_host(host: Host, progress: Progress) -> Limit:
    whose = " of all crawls" if host.queued > progress.queued else ""
    parts = [
        f"{plural(host.queued, 'URL')}{whose}",
        host.delay_text or f"one each {host.pace:.3g} s",
    ]
    if host.seconds_left:
        parts.append(about(host.seconds_left))
    return Limit(LimitKind.HOST, f"waiting for {host.host}: {', '.join(parts)}", host.host)


def _delays(hosts: tuple[Host, ...]) -> str:
    delays = [host.delay for host in hosts if host.delay]
    if not delays:
        return "response times"
    shortest, longest = f"{min(delays):.3g}", f"{max(delays):.3g}"
    return f"{longest} s delay" if shortest == longest else f"delays of {shortest} to {longest} s"
