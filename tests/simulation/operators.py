"""Actions of operators and sites in a simulated crawl, and whether the servers see that operators'
instructions hold."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    BlocklistChanged,
    ChangeHint,
    ChangesHinted,
    ErasureRequested,
    Event,
    EvidenceKind,
    FetchRequested,
    ReleaseRequested,
    SiteOverridden,
)
from gossamer.events.topics import SEEDS, TOPICS
from gossamer.web.url import HostKey, host_key, host_name, site_of
from tests.simulation.broker import At, Broker
from tests.simulation.crawls import Crawl
from tests.simulation.kernel import START
from tests.simulation.versions import upgrade
from tests.simulation.web import Request

if TYPE_CHECKING:
    from tests.simulation.run import Run

IN_FORCE = 10.0
"""Seconds after which an instruction must hold: twice the promised time, since requests are slower
here and clocks differ."""
SLOWER = 6.0
"""The delay of a site that is made slower, in seconds."""
JITTER = 0.001
LISTED, HINTED = 50_000, 1000
"""Pages in the largest sitemap that sitemaps.org allows, and hints in one event."""


@dataclass(frozen=True)
class Instruction:
    """An instruction of an operator about some URLs, and the true times at which it begins and ends
    to hold."""

    text: str
    begins: float
    ends: float
    concerns: Callable[[str], bool]
    delay: float | None = None
    """The minimum seconds between two requests to a host; None: there must be no requests."""


def _instruct(run: "Run", instruction: Instruction, event: Event, lifting: Event) -> None:
    if any(
        one.text == instruction.text and one.ends > instruction.begins for one in run.instructions
    ):
        return
    run.note(f"{instruction.text} until {instruction.ends - START:.0f}")
    run.instructions.append(instruction)
    run.append(event)

    def lift() -> None:
        run.append(replace(lifting, at=run.sim.now))

    run.sim.later(instruction.ends - instruction.begins, lift)


def _draw_host_and_times(run: "Run") -> tuple[str, float, float]:
    """Return a host, and the begin and end of an instruction."""
    now = run.sim.now
    host = run.sim.random.choice(sorted(run.sites.sites))
    return host, now, now + run.sim.random.choice([10.0, 30.0, 60.0])


def _stop_site(run: "Run") -> None:
    host, now, ends = _draw_host_and_times(run)
    site = site_of(f"{host}/")
    instruction = Instruction(f"{site} off", now, ends, lambda url: site_of(url) == site)
    event = SiteOverridden(at=now, site=site, off=True)
    if not _is_overridden(run, site):
        _instruct(run, instruction, event, SiteOverridden(at=now, site=site))


def _slow_site(run: "Run") -> None:
    host, now, ends = _draw_host_and_times(run)
    site = site_of(f"{host}/")
    instruction = Instruction(f"{site} slower", now, ends, lambda url: site_of(url) == site, SLOWER)
    event = SiteOverridden(at=now, site=site, delay=SLOWER)
    if not _is_overridden(run, site):
        _instruct(run, instruction, event, SiteOverridden(at=now, site=site))


def _is_overridden(run: "Run", site: str) -> bool:
    """Return whether an override holds for *site*, which another would replace."""
    return any(
        one.text.startswith(f"{site} ") and one.ends > run.sim.now for one in run.instructions
    )


def _block_host(run: "Run") -> None:
    host, now, ends = _draw_host_and_times(run)
    name = host.partition("://")[2]
    rule = name if ":" in name or run.sim.chance(0.5) else f"{name}/p*"

    def concerns(url: str) -> bool:
        authority, _, path = url.partition("://")[2].partition("/")
        if rule.endswith("*"):
            return authority == name and path.startswith("p")
        return authority == name or (":" not in name and host_name(host_key(url)) == name)

    event = BlocklistChanged(at=now, rule=rule)
    _instruct(
        run, Instruction(f"{rule} blocked", now, ends, concerns), event, replace(event, lifted=True)
    )


def _pause_crawl(run: "Run") -> None:
    _, now, ends = _draw_host_and_times(run)
    crawls = [*run.crawls.values()]
    crawl = run.sim.random.choice(crawls) if len(crawls) > 1 else crawls[0]
    going_on = run.definition(crawl)

    def concerns(url: str) -> bool:
        """Return whether no other crawl may request *url*, nor any robots.txt on its behalf."""
        of_others = any(one.includes(url) for one in crawls if one != crawl)
        return len(crawls) == 1 or not (of_others or url.endswith("/robots.txt"))

    instruction = Instruction(f"{crawl.id} paused", now, ends, concerns)
    run.pauses.append((now, ends + IN_FORCE))
    _instruct(run, instruction, replace(going_on, paused=True), going_on)


def _define_crawl(run: "Run") -> None:
    """Define another crawl, of one site."""
    site = site_of(f"{_draw_host_and_times(run)[0]}/")
    seeds = tuple(url for url in run.sites.home_pages() if site_of(url) == site)
    crawl = Crawl(f"crawl-{len(run.crawls)}", 1.0, f"domain('{site}')", seeds)
    run.note(f"{crawl.id} defined, of {site}")
    run.crawls[crawl.id] = crawl
    run.add_crawl(crawl)


def _redefine_crawl(run: "Run") -> None:
    """Exclude a site from the scope of the crawl `default` for a minute, once all seeds were read:
    a seed that is out of the scope becomes a dead letter."""
    if not run.broker.has_consumed("dedup", SEEDS.name):
        run.sim.later(1.0, _redefine_crawl, run)
        return
    others = [crawl for crawl in run.crawls.values() if crawl.id != DEFAULT_CRAWL]
    alone = [url for url in run.sites.home_pages() if not any(one.includes(url) for one in others)]
    if not alone or _is_overridden(run, DEFAULT_CRAWL):
        return
    site, now, before = site_of(run.sim.random.choice(alone)), run.sim.now, run.definition()
    ends, without = now + 60.0, replace(before, scope=f"{before.scope} and not domain('{site}')")

    def concerns(url: str) -> bool:
        """Return whether no crawl that was defined since may request *url*, nor any robots.txt on
        its behalf."""
        crawls = [crawl for crawl in run.crawls.values() if crawl.id != DEFAULT_CRAWL]
        is_robots = url.endswith("/robots.txt")
        return site_of(url) == site and not (is_robots or any(one.includes(url) for one in crawls))

    run.pauses.append((now, ends + IN_FORCE))
    text = f"{DEFAULT_CRAWL} without {site}"
    _instruct(run, Instruction(text, now, ends, concerns), without, before)


def _lower_depth(run: "Run") -> None:
    """Exclude all pages but the seeds and their links from the crawl `default` for a while."""
    if not run.broker.has_consumed("dedup", SEEDS.name):
        run.sim.later(1.0, _lower_depth, run)
        return
    _, now, ends = _draw_host_and_times(run)
    if _is_overridden(run, DEFAULT_CRAWL):
        return
    before = run.definition()
    # Links are counted from any seed, so a server cannot tell which of its pages are excluded.
    instruction = Instruction(f"{DEFAULT_CRAWL} with depth 1", now, ends, lambda url: False)
    _instruct(run, instruction, replace(before, max_depth=1), before)


def _release(run: "Run") -> None:
    """Release the parked parts of all sites."""
    run.note("all parked parts released")
    for site in sorted({site_of(url) for url in run.sites.home_pages()}):
        run.append(ReleaseRequested(at=run.sim.now, site=site))


def _fetch(run: "Run") -> None:
    """Request two URLs of a host: a page that was visited, if there is one, and any other."""
    host, now, _ = _draw_host_and_times(run)
    pages = [f"{host}{path}" for path in (*run.sites.sites[host].paths, "/unlinked")]
    asked = {request.url for request in run.sites.requests if request.is_received}
    known, others = (
        [url for url in pages if (url in asked) is is_known] for is_known in (True, False)
    )
    urls = tuple(
        url
        for some in (known, others)
        if some and not run.sites.forbids(url := run.sim.random.choice(some))
    )
    if not urls:
        return
    run.note(f"{' and '.join(urls)} requested")
    run.fetched += [(now, (DEFAULT_CRAWL, url)) for url in urls]
    run.append(FetchRequested(at=now, site=site_of(f"{host}/"), host=HostKey(host), urls=urls))


def _remove_crawl(run: "Run") -> None:
    """Remove a crawl, or repeat the removal: one crawl goes on."""
    crawl = next(
        (one for one in run.crawls.values() if one.id in run.removed),
        run.sim.random.choice([*run.crawls.values()]),
    )
    run.note(f"{crawl.id} removed")
    run.removed.setdefault(crawl.id, run.sim.now)
    run.append(replace(run.definition(crawl), paused=True, removed=True))


def _append_hints(run: "Run") -> None:
    """Append hints that many pages of a host have changed, as dedup does for a sitemap."""
    host, now, _ = _draw_host_and_times(run)
    run.note(f"a sitemap of {host} lists {LISTED} pages")
    for start in range(0, LISTED, HINTED):
        urls = (f"{host}/listed/{number}" for number in range(start, start + HINTED))
        hints = tuple(ChangeHint(url, EvidenceKind.SITEMAP, now) for url in urls)
        run.append(ChangesHinted(at=now, site=site_of(f"{host}/"), host=HostKey(host), hints=hints))


def _change_robots(run: "Run") -> None:
    """Let the robots.txt of a host change, once some of its pages were visited."""
    visited = {one.host for one in run.sites.requests if not one.url.endswith("/robots.txt")}
    # While the file cannot be read, the last rules stay in force.
    hosts = [
        host
        for host, site in sorted(run.sites.sites.items())
        if site.always_answers
        and not (site.forbidden or site.reserved_since)
        and site.robots[0] != 301
    ]
    if not visited.intersection(hosts):
        if hosts and run.over_at is None:
            run.sim.later(1.0, _change_robots, run)
        return
    host = run.sim.random.choice([host for host in hosts if host in visited])
    run.note(f"the robots.txt of {host} changes")
    run.sites.change_robots(host)


@dataclass(frozen=True)
class Deleted:
    """Records that were deleted before a group consumed them."""

    group: str
    at: At
    missing: list[int]
    """Their offsets."""


def _erase(run: "Run") -> None:
    """Erase a host, while every process of the fleet is killed."""
    host, now, _ = _draw_host_and_times(run)
    run.note(f"{host} is erased")
    run.erased[host] = now
    away = run.sim.random.choice([0.5, 15.0])
    for name in [*run.fleet.running]:
        run.losses += name.startswith("fetcher")
        run.fleet.kill(name, away + run.sim.random.random())
    run.append(ErasureRequested(at=now, site=site_of(f"{host}/"), host=HostKey(host)))


def _delete_unread(run: "Run") -> None:
    broker, random = run.broker, run.sim.random
    unconsumed = [
        (at, missing)
        for at in broker.logs
        if at[0] in TOPICS
        for group in TOPICS[at[0]].consumers
        if (missing := broker.unconsumed_offsets(group, at))
    ]
    if not unconsumed:
        run.sim.later(1.0, _delete_unread, run)
        return
    at, missing = random.choice(unconsumed)
    end = random.choice(missing) + 1
    run.note(f"{at[0]}, partition {at[1]}: all before {end} is deleted")
    for group in TOPICS[at[0]].consumers:
        if lost := [offset for offset in broker.unconsumed_offsets(group, at) if offset < end]:
            run.deleted.append(Deleted(group, at, lost))
    broker.starts[at] = end


ACTIONS: dict[str, Callable[["Run"], None]] = {
    "site off": _stop_site,
    "site slower": _slow_site,
    "blocked": _block_host,
    "paused": _pause_crawl,
    "defined": _define_crawl,
    "redefined": _redefine_crawl,
    "shallower": _lower_depth,
    "released": _release,
    "fetch": _fetch,
    "removed": _remove_crawl,
    "long sitemap": _append_hints,
    "robots changed": _change_robots,
    "erased": _erase,
    "records deleted": _delete_unread,
    "upgraded": upgrade,
}


def check_gaps(deleted: Iterable[Deleted], broker: Broker, gaps: Iterable[str]) -> Iterator[str]:
    """Yield each deletion of unconsumed records that did not stop the group."""
    for one in deleted:
        text = f"records of {one.at[0]}, partition {one.at[1]}, that nobody had consumed"
        if broker.group(one.group).offsets[one.at] > one.missing[0]:
            yield f"{one.group} has skipped {text}"
        # A gap keeps a group from reaching the next one.
        elif not any(f"{one.group} has not consumed: " in gap for gap in gaps):
            yield f"{one.group} was not stopped at {text}"


def check_instructions(
    requests: Iterable[Request], instructions: list[Instruction]
) -> Iterator[str]:
    """Yield each request that an instruction of an operator forbids."""
    by_name: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(requests, key=lambda request: request.start):
        by_name[host_name(request.host)].append(request)
        for one in instructions:
            if one.delay is None and _holds(one, request):
                after = request.start - one.begins
                yield f"{request.url} requested {after:.1f} s after: {one.text} ({request.process})"
    for of_host in by_name.values():
        for one in (one for one in instructions if one.delay is not None):
            concerned = [request for request in of_host if _holds(one, request)]
            for earlier, later in pairwise(concerned):
                if later.start - earlier.end < (one.delay or 0.0) - JITTER:
                    yield f"{later.url} requested too soon after {earlier.url}: {one.text}"


def _holds(one: Instruction, request: Request) -> bool:
    return one.begins + IN_FORCE < request.start < one.ends and one.concerns(request.url)
