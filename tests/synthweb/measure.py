"""Evaluation of a crawler's recorded requests, politeness and completeness: pure functions."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from .record import Request
from .robots import MOVED, ROBOTS
from .truth import Truth

PROBE = re.compile("/[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Gaps:
    """The shortest gaps at a host: between two starts, and from an end to the next start.

    The latter is negative if requests overlapped.
    """

    start_to_start: float
    end_to_start: float


def overlaps(requests: Iterable[Request]) -> list[tuple[Request, Request]]:
    """Return pairs of concurrent requests to a host: each request with the longest one still
    open."""
    found = []
    for of_host in by_host(requests).values():
        longest = of_host[0]
        for request in of_host[1:]:
            if request.at < longest.ended:
                found.append((longest, request))
            longest = max(longest, request, key=lambda one: one.ended)
    return found


def most_at_once(requests: Iterable[Request]) -> int:
    """Return the largest number of concurrent requests to an address."""
    steps = sorted(
        step
        for request in requests
        for step in ((request.at, 1, request.address), (request.ended, -1, request.address))
    )
    now, most = Counter[str](), 0
    for _, change, address in steps:
        now[address] += change
        most = max(most, now[address])
    return most


def shortest_gaps(requests: Iterable[Request]) -> dict[str, Gaps]:
    """Return the shortest gaps at each host with more than one request."""
    return {host: _gaps(own) for host, own in by_host(requests).items() if own[1:]}


def repeated_requests(requests: Iterable[Request]) -> dict[str, int]:
    """Return URLs that were requested more than once, and how often, without robots.txt."""
    counts = Counter(request.url for request in requests if request.path not in (ROBOTS, MOVED))
    return {url: times for url, times in counts.items() if times > 1}


def requested_urls(requests: Iterable[Request]) -> set[str]:
    return {request.url for request in requests}


def forbidden_requests(requests: Iterable[Request], truth: Truth) -> set[str]:
    """Return requested URLs that robots.txt forbids."""
    return requested_urls(requests) & truth.forbidden


def unlinked_requests(requests: Iterable[Request], truth: Truth) -> set[str]:
    """Return requested URLs to which nothing links that a crawler should read.

    A probe for the answer to missing pages is allowed.
    """
    called_for = (request for request in requests if not PROBE.fullmatch(request.path))
    return requested_urls(called_for) - truth.allowed


def by_host(requests: Iterable[Request]) -> dict[str, list[Request]]:
    """Return each host's requests in the order in which they started."""
    hosts: dict[str, list[Request]] = {}
    for request in sorted(requests, key=lambda one: one.at):
        hosts.setdefault(request.host, []).append(request)
    return hosts


def _gaps(of_host: list[Request]) -> Gaps:
    starts = min(later.at - earlier.at for earlier, later in pairwise(of_host))
    ends = []
    latest = of_host[0].ended
    for request in of_host[1:]:
        ends.append(request.at - latest)
        latest = max(latest, request.ended)
    return Gaps(starts, min(ends))
