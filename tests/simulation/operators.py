"""What operators and sites do to a simulated crawl while it runs, and whether operators are obeyed
at the servers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.events import (
    BlocklistChanged,
    ChangeHint,
    ChangesHinted,
    ErasureRequested,
    Event,
    EvidenceKind,
    SiteOverridden,
)
from gossamer.events.topics import TOPICS
from gossamer.web.url import host_key, host_name, site_of
from tests.simulation.broker import At, Broker
from tests.simulation.kernel import START
from tests.simulation.versions import upgrade
from tests.simulation.web import Request

if TYPE_CHECKING:
    from tests.simulation.run import Run

IN_FORCE = 10.0
"""Seconds after which everybody goes by what was said: twice what is promised, since what takes
milliseconds takes seconds here, and clocks differ."""
SLOWER = 6.0
"""The delay of a site that is to be slower, in seconds."""
JITTER = 0.001
LISTED, HINTED = 50_000, 1000
"""Pages of the longest sitemap that sitemaps.org allows, and how many of them one event names."""


@dataclass(frozen=True)
class Said:
    """What an operator has said of some URLs, and from when until when it holds, in true time."""

    what: str
    begins: float
    ends: float
    concerns: Callable[[str], bool]
    delay: float | None = None
    """What is least between two requests to a host; None: there are to be none."""


def _say(run: "Run", said: Said, event: Event, lifting: Event) -> None:
    if any(one.what == said.what and one.ends > said.begins for one in run.said):
        return
    run.note(f"{said.what} until {said.ends - START:.0f}")
    run.said.append(said)
    run.append(event)

    def lift() -> None:
        run.append(replace(lifting, at=run.sim.now))

    run.sim.later(said.ends - said.begins, lift)


def _drawn(run: "Run") -> tuple[str, float, float]:
    """Return a host, and from when until when something is to hold."""
    now = run.sim.now
    host = run.sim.random.choice(sorted(run.sites.sites))
    return host, now, now + run.sim.random.choice([10.0, 30.0, 60.0])


def _site_off(run: "Run") -> None:
    host, now, ends = _drawn(run)
    site = site_of(f"{host}/")
    said = Said(f"{site} off", now, ends, lambda url: site_of(url) == site)
    event = SiteOverridden(at=now, site=site, off=True)
    if not _overridden(run, site):
        _say(run, said, event, SiteOverridden(at=now, site=site))


def _site_slower(run: "Run") -> None:
    host, now, ends = _drawn(run)
    site = site_of(f"{host}/")
    said = Said(f"{site} slower", now, ends, lambda url: site_of(url) == site, SLOWER)
    event = SiteOverridden(at=now, site=site, delay=SLOWER)
    if not _overridden(run, site):
        _say(run, said, event, SiteOverridden(at=now, site=site))


def _overridden(run: "Run", site: str) -> bool:
    """Return whether something is set for *site*, which the next would replace."""
    return any(one.what.startswith(f"{site} ") and one.ends > run.sim.now for one in run.said)


def _blocked(run: "Run") -> None:
    host, now, ends = _drawn(run)
    name = host.partition("://")[2]
    rule = name if ":" in name or run.sim.chance(0.5) else f"{name}/p*"

    def concerns(url: str) -> bool:
        authority, _, path = url.partition("://")[2].partition("/")
        if rule.endswith("*"):
            return authority == name and path.startswith("p")
        return authority == name or (":" not in name and host_name(host_key(url)) == name)

    event = BlocklistChanged(at=now, rule=rule)
    _say(run, Said(f"{rule} blocked", now, ends, concerns), event, replace(event, lifted=True))


def _paused(run: "Run") -> None:
    _, now, ends = _drawn(run)
    going_on = run.definition()
    said = Said("the crawl paused", now, ends, lambda url: True)
    _say(run, said, replace(going_on, paused=True), going_on)


def _long_sitemap(run: "Run") -> None:
    """Say of many pages of a host, as dedup does of a sitemap's, that they have changed."""
    host, now, _ = _drawn(run)
    run.note(f"a sitemap of {host} lists {LISTED} pages")
    for start in range(0, LISTED, HINTED):
        urls = (f"{host}/listed/{number}" for number in range(start, start + HINTED))
        hints = tuple(ChangeHint(url, EvidenceKind.SITEMAP, now) for url in urls)
        run.append(ChangesHinted(at=now, site=site_of(f"{host}/"), host=host, hints=hints))


@dataclass(frozen=True)
class Deleted:
    """Records that an operator, or a broker that lost its disk, has deleted unread."""

    group: str
    at: At
    missing: list[int]
    """Their offsets."""


def _forget(run: "Run") -> None:
    """Have a host forgotten, while every process of the fleet is killed."""
    host, now, _ = _drawn(run)
    run.note(f"{host} is forgotten")
    run.forgotten[host] = now
    away = run.sim.random.choice([0.5, 15.0])
    for name in [*run.fleet.running]:
        run.losses += name.startswith("fetcher")
        run.fleet.kill(name, away + run.sim.random.random())
    run.append(ErasureRequested(at=now, site=site_of(f"{host}/"), host=host))


def _delete_unread(run: "Run") -> None:
    broker, random = run.broker, run.sim.random
    unread = [
        (at, missing)
        for at in broker.logs
        if at[0] in TOPICS
        for group in TOPICS[at[0]].consumers
        if (missing := broker.unread(group, at))
    ]
    if not unread:
        run.sim.later(1.0, _delete_unread, run)
        return
    at, missing = random.choice(unread)
    end = random.choice(missing) + 1
    run.note(f"{at[0]}, partition {at[1]}: all before {end} is deleted")
    for group in TOPICS[at[0]].consumers:
        if lost := [offset for offset in broker.unread(group, at) if offset < end]:
            run.deleted.append(Deleted(group, at, lost))
    broker.starts[at] = end


DEEDS: dict[str, Callable[["Run"], None]] = {
    "site off": _site_off,
    "site slower": _site_slower,
    "blocked": _blocked,
    "paused": _paused,
    "long sitemap": _long_sitemap,
    "forgotten": _forget,
    "records deleted": _delete_unread,
    "upgraded": upgrade,
}


def missed(deleted: Iterable[Deleted], broker: Broker, gaps: Iterable[str]) -> Iterator[str]:
    """Yield each deletion of unread records that did not stop the group that lacks them."""
    for one in deleted:
        what = f"records of {one.at[0]}, partition {one.at[1]}, that were deleted unread"
        if broker.group(one.group).offsets[one.at] > one.missing[0]:
            yield f"{one.group} has jumped over {what}"
        # One gap keeps a group from meeting the next.
        elif not any(f"{one.group} has not consumed: " in gap for gap in gaps):
            yield f"{one.group} was not stopped at {what}"


def obeyed(requests: Iterable[Request], said: list[Said]) -> Iterator[str]:
    """Yield each request that was made although an operator had said otherwise."""
    by_name: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(requests, key=lambda request: request.start):
        by_name[host_name(request.host)].append(request)
        for one in said:
            if one.delay is None and _holds(one, request):
                after = request.start - one.begins
                yield f"{request.url} asked {after:.1f} s after: {one.what} ({request.process})"
    for of_host in by_name.values():
        for one in (one for one in said if one.delay is not None):
            concerned = [request for request in of_host if _holds(one, request)]
            for earlier, later in pairwise(concerned):
                if later.start - earlier.end < (one.delay or 0.0) - JITTER:
                    yield f"{later.url} asked too soon after {earlier.url}: {one.what}"


def _holds(one: Said, request: Request) -> bool:
    return one.begins + IN_FORCE < request.start < one.ends and one.concerns(request.url)
