"""The Web, simulated: hosts with their failures, and the record of all requests.

The record is the server's: true times of all requests. The fetcher receives an answer later, or not
at all, and has a clock of its own.
"""

import asyncio
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

from gossamer.blocklist import Blocklist
from gossamer.events import Outcome
from gossamer.events.hazards import Hazard
from gossamer.services.fetcher.http.limiters import Admission, Stage, request_limiters
from gossamer.services.fetcher.http.limiters import Request as Asked
from gossamer.services.fetcher.http.tls import TlsTrust
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.fetcher.rate_limits import AddressLimits, LocalSlots
from gossamer.services.fetcher.steps import Fetch
from gossamer.settings import FetcherSettings
from gossamer.web.robots import REDIRECTS
from gossamer.web.url import host_key
from tests.simulation.kernel import START, Process, Sim
from tests.simulation.scenarios import Scenario

EXCLUDES = (200, "User-agent: *\nDisallow: /p1\n")
EXCLUDES_ALL = (200, "User-agent: *\nDisallow: /p\n")
RESERVES = (200, "User-agent: *\nContent-Usage: train-ai=n\n")
FORBIDDEN_PATHS = {EXCLUDES: "/p1", EXCLUDES_ALL: "/p"}
"""The robots.txt of a host → the path that it disallows."""
CRAWL_DELAY = 3.0
SLOWER = (200, f"User-agent: *\nCrawl-delay: {CRAWL_DELAY:g}\n")
CROWD = "crowd.example"
"""The site with many hosts."""
Window = tuple[float, float]
"""Begin and end, in true time."""


@dataclass
class Request:
    """A request as its server sees it. It lasts until it is answered or aborted."""

    host: str
    url: str
    start: float
    end: float
    status: int
    process: str
    retry_after: float = 0.0
    tag: str = ""
    """The entity tag of the answer."""
    sent_at: float = 0.0
    by: Process | None = None
    """The process that sent it. A restarted process is another one."""
    leased_slots: int = 0
    """The slots of its address that its fetcher had leased when it was sent."""
    is_received: bool = False
    """Whether the fetcher received the answer."""

    def break_off(self, sim: Sim) -> None:
        """Abort the request."""
        self.end = min(self.end, max(self.start, sim.now))


@dataclass
class Site:
    """A host with the answers of its paths and its failures."""

    host: str
    paths: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Path → status, and body or Location."""
    robots: tuple[int, str] = (404, "")
    forbidden: str = ""
    """The path that its robots.txt disallows. The file may be on another host."""
    forbidden_since: float = 0.0
    """The true time at which its robots.txt began to disallow that path."""
    reserved_since: float = 0.0
    """The true time at which its robots.txt began to reserve the use of its pages; 0: it does not.
    """
    down: Window = (0.0, 0.0)
    nameless: Window = (0.0, 0.0)
    """When its name does not resolve in time."""
    failing: Window = (0.0, 0.0)
    """When it answers 500 to all requests."""
    flaky: Window = (0.0, 0.0)
    """When it answers 500 to about every third request."""
    busy: Window = (0.0, 0.0)
    """When it answers 429."""
    retry_after: int = 0
    silent: Window = (0.0, 0.0)
    speed: float = 0.05
    """Mean seconds of an answer."""
    changes: dict[str, float] = field(default_factory=dict)
    """Path → seconds between two versions, for pages that change."""

    @property
    def always_answers(self) -> bool:
        """Whether it shows no failure, at any time."""
        windows = self.down, self.nameless, self.failing, self.flaky, self.busy, self.silent
        return not any(map(any, windows))

    def tag(self, path: str, now: float) -> str:
        """Return the entity tag of *path* at a true time."""
        period = self.changes.get(path, 0.0)
        return f'"{int((now - START) // period) if period else 0}"'


def within(window: Window, now: float) -> bool:
    """Return whether the current time is in the window, in seconds since the start."""
    return window[0] <= now - START < window[1]


class Sites:
    """All hosts, and the record of requests."""

    def __init__(self, sim: Sim, sites: list[Site], delay: float) -> None:
        self.sim, self.delay = sim, delay
        self.sites = {site.host: site for site in sites}
        self.requests: list[Request] = []
        self.outage: Window = (0.0, 0.0)
        """When no name resolves."""
        self.addresses = 0
        """The number of addresses that all hosts share; 0: requests have no address."""
        self.count_leased: Callable[[str, str], int]
        """Returns the slots of an address that a process has leased."""
        self.at_connect: Callable[[Process], None] | None = None
        """Called when a process has connected, before it sends the request."""

    def home_pages(self) -> list[str]:
        """Return the home pages of all hosts."""
        return [f"{host}/" for host in sorted(self.sites)]

    def seeds(self) -> list[str]:
        """Return the home pages to start from."""
        return self.home_pages()[::3]

    def all_urls(self) -> list[str]:
        """Return the URLs of all pages, in a random order."""
        return [f"{host}{path}" for host, site in sorted(self.sites.items()) for path in site.paths]

    def address_of(self, host: str) -> str:
        """Return the address of *host*; "" if addresses do not matter."""
        return f"192.0.2.{crc32(host.encode()) % self.addresses}" if self.addresses else ""

    def forbids(self, url: str) -> bool:
        """Return whether the robots.txt of its host excludes *url*."""
        host = host_key(url)
        forbidden = self.sites[host].forbidden
        return bool(forbidden) and url.removeprefix(host).startswith(forbidden)

    def change_robots(self, host: str) -> None:
        """Let the robots.txt of *host* exclude all pages but the home page from now on, or reserve
        the use of pages; also for hosts that redirect to it."""
        self.sites[host].robots = self.sim.random.choice([EXCLUDES_ALL, RESERVES])
        for site in self.sites.values():
            if (forbidden := _forbidden_path(site, self.sites)) != site.forbidden:
                site.forbidden, site.forbidden_since = forbidden, self.sim.now
            if _robots_of(site, self.sites) is RESERVES and not site.reserved_since:
                site.reserved_since = self.sim.now

    def required_urls(
        self,
        read: Container[str],
        seeds: Iterable[str] | None = None,
        includes: Callable[[str], bool] = lambda url: True,
    ) -> set[str]:
        """Return the URLs that a crawl from *seeds* must visit: linked, in its scope, which
        *includes* them, and not forbidden. None: from the seeds of all hosts.

        Only links of pages that were *read* count: some hosts are away for longer than the retries.
        """
        found, coming = set[str](), [*(self.seeds() if seeds is None else seeds)]
        while coming:
            url = coming.pop()
            host, path = host_key(url), url.removeprefix(host_key(url))
            site = self.sites.get(host)
            if url in found or site is None or self.forbids(url) or not includes(url):
                continue
            found.add(url)
            if url not in read:
                continue
            status, body = site.paths.get(path, (404, ""))
            if status in (301, 302):
                coming.append(body)
            elif status == 200:
                coming += links_of(body)
        return found

    def request(self, url: str, process: Process, condition: str = "") -> Request:
        """Send a request, which arrives and is answered even if the sender is killed.

        *condition* is the entity tag of If-None-Match.
        """
        now, host = self.sim.now + self.sim.between(0.002, 0.05), host_key(url)
        site = self.sites[host]
        path = url.removeprefix(host)
        end = now + site.speed * self.sim.between(0.5, 2.0)
        if within(site.silent, now):
            made = Request(host, url, now, now + 3600.0, 0, process.name)
        elif within(site.failing, now) or (within(site.flaky, now) and self.sim.chance(0.35)):
            made = Request(host, url, now, end, 500, process.name)
        elif within(site.busy, now):
            made = Request(host, url, now, end, 429, process.name, site.retry_after)
        else:
            status = site.robots[0] if path == "/robots.txt" else site.paths.get(path, (404, ""))[0]
            tag = site.tag(path, now) if status == 200 and site.changes else ""
            status = 304 if tag and tag == condition else status
            made = Request(host, url, now, end, status, process.name, tag=tag)
        made.sent_at, made.by = self.sim.now, process
        if self.addresses:
            made.leased_slots = self.count_leased(self.address_of(host), process.name)
        self.requests.append(made)
        process.at_death.append(partial(made.break_off, self.sim))
        return made

    def answer(self, made: Request) -> tuple[tuple[tuple[str, str], ...], bytes]:
        """Return headers and body of the answer to *made*."""
        site = self.sites[made.host]
        path = made.url.removeprefix(made.host)
        body = site.robots[1] if path == "/robots.txt" else site.paths.get(path, (404, ""))[1]
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
        if made.status in (301, 302):
            headers = (("Location", body),)
        if made.status == 429:
            headers = (("Retry-After", str(int(made.retry_after))),)
        if path == "/robots.txt":
            headers = (*headers, ("Content-Type", "text/plain"))
        if made.tag:
            headers = (*headers, ("ETag", made.tag))
            body += f"<p>Edition {made.tag}.</p>"
        return headers, body.encode() if made.status == 200 else b""


def links_of(body: str) -> list[str]:
    """Return the links of a simulated page."""
    return [part.split('"', 1)[0] for part in body.split('href="')[1:]]


class SimWeb:
    """Replaces `gossamer.services.fetcher.http.client.Web` in one process."""

    def __init__(
        self, sites: Sites, settings: FetcherSettings, clock: Any, slots: Any = None
    ) -> None:
        self.sites, self.settings, self.clock = sites, settings, clock
        self.blocklist, self.trust = Blocklist(), TlsTrust()
        at_once, time = settings.address_at_once, asyncio.get_running_loop().time
        limits = AddressLimits(at_once, settings.address_gap, settings.visit_limit)
        self.limiters = request_limiters(settings, limits, slots or LocalSlots(at_once), time)
        self.process = self.sites.sim.process

    def pop_hazards(self, name: str, site: str) -> tuple[Hazard, ...]:
        """Return nothing: no name is looked up."""
        return ()

    def host(self) -> "SimHostClient":
        """Return a client for one order."""
        return SimHostClient(self)

    async def close(self) -> None:
        """Nothing is open."""


class SimHostClient:
    """Makes the requests of one order."""

    def __init__(self, web: SimWeb) -> None:
        self._web, self._sites = web, web.sites

    async def fetch(self, step: Fetch, admission: Admission[Asked]) -> Reply | Failure:
        """Return the response, or the failure."""
        sites, sim = self._sites, self._sites.sim
        site = sites.sites[host_key(step.url)]
        if within(sites.outage, sim.now) or within(site.nameless, sim.now):
            await asyncio.sleep(2.0)
            return Failure(outcome=Outcome.DNS_UNANSWERED, reason="its name does not resolve")
        admission.request.address = sites.address_of(site.host)
        await admission.reach(Stage.CONNECT)
        started_at, begun = self._web.clock(), sim.now
        if within(site.down, sim.now):
            await asyncio.sleep(sim.between(0.002, 0.05))
            return _failure(Outcome.HOST_DOWN, Hazard.HOST_DOWN, started_at, sim.now - begun)
        # Seconds of the lookup and the connection, in which the fetcher may be stopped or slow.
        slow = sim.chance(0.1)
        await asyncio.sleep(sim.between(0.3, 3.0) if slow else sim.between(0.002, 0.05))
        if sites.at_connect:
            sites.at_connect(self._web.process)
            await asyncio.sleep(0.0)
        await admission.reach(Stage.SEND)
        # Sent at once, since the limiters have just let it pass.
        condition = dict(step.headers).get("If-None-Match", "")
        made = sites.request(step.url, self._web.process, condition)
        limit = self._web.settings.first_byte_limit
        try:
            if made.end - begun > limit:
                await asyncio.sleep(limit)
                made.break_off(sim)
                return _failure(
                    Outcome.SILENT_SERVER, Hazard.SILENT_SERVER, started_at, sim.now - begun
                )
            await asyncio.sleep(made.end - sim.now + sim.between(0.002, 0.05))
        except asyncio.CancelledError:
            made.break_off(sim)
            raise
        made.is_received = True
        headers, body = sites.answer(made)
        return Reply(
            status=made.status,
            headers=headers,
            body=body,
            address="192.0.2.1",
            started_at=started_at,
            took=sim.now - begun,
        )


def _failure(outcome: Outcome, hazard: Hazard, started_at: float, took: float) -> Failure:
    return Failure(
        outcome=outcome, reason=str(outcome), hazard=hazard, started_at=started_at, took=took
    )


def make_sites(sim: Sim, hosts: int, pages: int, delay: float, scenario: Scenario) -> Sites:
    """Draw hosts and their pages, each with `fan` children. Half of the hosts show the failure
    `mood`."""
    random = sim.random
    names = []
    for number in range(hosts):
        sub = random.choice(["", "a.", "b.", "www."])
        scheme = random.choice(["http", "http", "https"])
        names.append(f"{scheme}://{sub}s{number - random.randrange(2)}.example")
        if not random.randrange(4):
            names.append(names[-1].replace("https", "http") + ":8080")
    names = sorted(set(names))
    fan, mood = scenario.fan, scenario.mood
    made = {host: _site(sim, host, names, pages, fan, mood) for host in names}
    for number in range(scenario.crowd):
        host = f"http://h{number}.{CROWD}"
        made[host] = _site(sim, host, [host], pages, fan, mood)
    for site in made.values():
        site.forbidden = _forbidden_path(site, made)
    return Sites(sim, [*made.values()], delay)


def _forbidden_path(site: Site, sites: dict[str, Site]) -> str:
    """Return the path that the robots.txt of *site* disallows."""
    return FORBIDDEN_PATHS.get(_robots_of(site, sites), "")


def _robots_of(site: Site, sites: dict[str, Site]) -> tuple[int, str]:
    """Return the robots.txt of *site*, on any host after redirects."""
    for _ in range(REDIRECTS + 1):
        if site.robots[0] != 301:
            return site.robots
        site = sites[host_key(site.robots[1])]
    return (404, "")


def _site(sim: Sim, host: str, names: list[str], pages: int, fan: int, mood: str) -> Site:
    random = sim.random
    site = Site(host, speed=random.choice([0.02, 0.05, 0.3]))
    paths = ["/", *(f"/p{n}" for n in range(random.randrange(1, pages)))]
    for place, path in enumerate(paths):
        children = paths[place * fan + 1 : place * fan + 1 + fan]
        links = [host + other for other in children or paths[place + 1 : place + 3]]
        links += [f"{random.choice(names)}/" for _ in range(random.randrange(3))]
        links += [f"{random.choice(names)}/p{random.randrange(pages)}"]
        body = f"<title>{host}{path}</title><p>The page {path} of {host}.</p>" + "".join(
            f'<a href="{link}">{link}</a>' for link in links
        )
        status = random.choices([200, 301, 404], [20, 1, 1])[0] if place else 200
        site.paths[path] = (status, random.choice(links) if status == 301 else body)
    _change_moods(sim, site, names, mood)
    return site


def change(sim: Sim, sites: Sites) -> None:
    """Let some pages change, often, rarely or never, with new entity tags."""
    for site in sites.sites.values():
        for path in site.paths:
            site.changes[path] = sim.random.choice([0.0, 45.0, 200.0, 600.0])


def _change_moods(sim: Sim, site: Site, names: list[str], likely: str) -> None:
    random = sim.random
    elsewhere = (301, f"{random.choice(names)}/robots.txt")
    site.robots = random.choice([(404, "")] * 4 + [elsewhere, elsewhere, EXCLUDES, SLOWER])
    start = random.uniform(0, 60)
    window = (start, start + random.uniform(5, 60))
    site.retry_after = random.choice([20, 90, 300])
    moods = ["down", "nameless", "failing", "flaky", "busy", "busy", "silent", *[""] * 6]
    mood = likely if likely and random.random() < 0.5 else random.choice(moods)
    if mood:
        setattr(site, mood, (0.0, 100.0) if mood == "flaky" else window)
