"""What recorded requests say about a crawler's manners and thoroughness: pure functions."""

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
    """The shortest pauses at a host: between two starts, and from an end to the next start.

    The latter is negative where requests overlapped.
    """

    start_to_start: float
    end_to_start: float


def overlaps(requests: Iterable[Request]) -> list[tuple[Request, Request]]:
    """Pairs that a host had to serve at once: each request with the longest still open."""
    found = []
    for of_host in by_host(requests).values():
        longest = of_host[0]
        for request in of_host[1:]:
            if request.at < longest.ended:
                found.append((longest, request))
            longest = max(longest, request, key=lambda one: one.ended)
    return found


def most_at_once(requests: Iterable[Request]) -> int:
    """The most requests that any address had to serve at once."""
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


def soonest(requests: Iterable[Request]) -> dict[str, Gaps]:
    """The shortest pauses at each host that was asked more than once."""
    return {host: _gaps(own) for host, own in by_host(requests).items() if own[1:]}


def twice(requests: Iterable[Request]) -> dict[str, int]:
    """URLs asked for more than once, and how often; robots.txt may be."""
    counts = Counter(request.url for request in requests if request.path not in (ROBOTS, MOVED))
    return {url: times for url, times in counts.items() if times > 1}


def asked(requests: Iterable[Request]) -> set[str]:
    return {request.url for request in requests}


def forbidden_asked(requests: Iterable[Request], truth: Truth) -> set[str]:
    """URLs asked for although robots.txt bars them."""
    return asked(requests) & truth.forbidden


def uncalled_for(requests: Iterable[Request], truth: Truth) -> set[str]:
    """URLs asked for although nothing that a crawler should read leads there.

    It may ask a host what that says where it has no page.
    """
    called_for = (request for request in requests if not PROBE.fullmatch(request.path))
    return asked(called_for) - truth.allowed


def by_host(requests: Iterable[Request]) -> dict[str, list[Request]]:
    """Each host's requests in the order in which they began."""
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
