"""Evaluation of a crawler's recorded requests, and of the verdicts that it published."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.synthweb import RunningWeb, measure
from tests.synthweb.measure import PROBE
from tests.synthweb.record import Request
from tests.synthweb.robots import ROBOTS as ROBOTS_PATH

from .signatures import BAD, SIGNED
from .statements import PATHS
from .truth import ALLOWED, CATEGORIES, DISALLOWED, UNKNOWN
from .walls import Kind
from .web import USAGE_PATHS, ConsentWeb, Hosts

WORDS = {True: ALLOWED, False: DISALLOWED, None: UNKNOWN}


@dataclass
class Conduct:
    """How a crawler behaved. All lists and counts of a good crawler are empty, but `pages`,
    `files`, `robots`, `signed` and `gaps`."""

    pages: set[str] = field(default_factory=set)
    """The pages with statements that were requested."""
    files: Counter[str] = field(default_factory=Counter)
    """The URL of each usage file → requests."""
    robots: Counter[str] = field(default_factory=Counter)
    """Host → requests for its robots.txt."""
    gaps: dict[str, float] = field(default_factory=dict)
    """Host → the shortest time between the starts of two requests, in seconds."""
    overlaps: int = 0
    """Pairs of concurrent requests to one host."""
    late_files: list[str] = field(default_factory=list)
    """Usage files that were requested only after a page of their host."""
    missing_files: list[str] = field(default_factory=list)
    """Usage files of hosts with requested pages that were not requested themselves."""
    pursued: dict[str, int] = field(default_factory=dict)
    """URLs of any kind, but no robots.txt, that were requested after the final refusal of a wall →
    requests."""
    repeated: dict[str, int] = field(default_factory=dict)
    """URLs without a wall, but no robots.txt, that were requested more than once → requests."""
    unruled: list[str] = field(default_factory=list)
    """Pages that were requested although a wall stands in place of the robots.txt, so that nobody
    knows its rules."""
    signed: Counter[str] = field(default_factory=Counter)
    """Host → requests with a valid signature."""
    admitted: set[str] = field(default_factory=set)
    """URLs behind a wall that a signed request passed."""
    badly_signed: list[str] = field(default_factory=list)
    """URL and reason of each request with an invalid signature."""
    signed_unasked: list[str] = field(default_factory=list)
    """URLs that were requested with a signature at hosts that never asked for one."""

    def as_json(self) -> dict[str, Any]:
        return {
            name: sorted(value) if isinstance(value, set) else value
            for name, value in vars(self).items()
        }


def conduct_of(requests: Iterable[Request], hosts: Hosts) -> Conduct:
    """Evaluate requests in the order in which they started."""
    found = list(requests)
    conduct = Conduct(overlaps=len(measure.overlaps(found)) if found else 0)
    conduct.gaps = {
        host: gaps.start_to_start for host, gaps in measure.shortest_gaps(found).items()
    }
    counts = Counter(request.url for request in found)
    for request in found:
        _count(request, hosts, conduct)
    for url, host in {r.url: r.host for r in found if r.path != ROBOTS_PATH}.items():
        walled = hosts.walled.get(host)
        is_behind = walled is not None and not walled.at_robots
        limit = walled.wall.max_requests if walled and is_behind else 1
        if counts[url] > limit:
            (conduct.pursued if is_behind else conduct.repeated)[url] = counts[url]
    conduct.missing_files = _missing_files(conduct, hosts)
    return conduct


def _count(request: Request, hosts: Hosts, conduct: Conduct) -> None:
    url, walled = request.url, hosts.walled.get(request.host)
    if request.path == ROBOTS_PATH:
        conduct.robots[request.host] += 1
    elif request.path in USAGE_PATHS and request.host in hosts.combinations:
        is_late = any(hosts.url(request.host, path) in conduct.pages for path in PATHS)
        conduct.late_files += [url] if is_late and not conduct.files[url] else []
        conduct.files[url] += 1
    elif url in hosts.pages:
        conduct.pages.add(url)
    elif walled and walled.at_robots and walled.wall.kind is not Kind.SIGNATURE:
        conduct.unruled += [] if PROBE.fullmatch(request.path) else [url]
    if request.note == SIGNED:
        conduct.signed[request.host] += 1
        if walled is None or walled.wall.kind is not Kind.SIGNATURE:
            conduct.signed_unasked.append(url)
        elif request.status == 200 and url in hosts.walled_urls:
            conduct.admitted.add(url)
    elif request.note.startswith(BAD):
        conduct.badly_signed.append(f"{url}: {request.note}")


def _missing_files(conduct: Conduct, hosts: Hosts) -> list[str]:
    """Return the usage files that were never requested, of hosts whose pages were."""
    visited = {
        host: one
        for host, one in hosts.combinations.items()
        if any(hosts.url(host, path) in conduct.pages for path in PATHS)
    }
    named = (
        hosts.url(host, path)
        for host, one in visited.items()
        for path, is_there in zip(USAGE_PATHS, (one.tdmrep, one.license), strict=True)
        if is_there
    )
    return [url for url in named if not conduct.files[url]]


class RunningConsent(RunningWeb[ConsentWeb]):
    """A running web of consent."""

    @cached_property
    def hosts(self) -> Hosts:
        """Return the web without its process: answers and truth."""
        return Hosts(self.web, self.port)

    def conduct(self) -> Conduct:
        """Evaluate all finished requests."""
        return conduct_of(self.requests(), self.hosts)


def verdicts_of_page(page: Mapping[str, Any]) -> dict[str, str]:
    """Return category → verdict of a page as `gossamer pages` prints it.

    A category that is missing, or lacks `allowed`, is unknown.
    """
    usage = page.get("usage") or {}
    return {category: WORDS[(usage.get(category) or {}).get("allowed")] for category in CATEGORIES}


def wrong_verdicts(
    pages: Iterable[Mapping[str, Any]], truth: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Return URL → the categories with a wrong verdict, as `category: verdict, not truth`."""
    wrong = dict[str, str]()
    for page in pages:
        if expected := truth.get(page["url"]):
            found = verdicts_of_page(page)
            odd = [one for one in CATEGORIES if found[one] != expected[one]]
            if odd:
                wrong[page["url"]] = "; ".join(
                    f"{one}: {found[one]}, not {expected[one]}" for one in odd
                )
    return wrong
