"""Resolves names: few lookups at a time, cached answers, and only addresses that may be visited.

A name that does not resolve costs other names little time (`lookup_limiters`). If most names do not
resolve, the fault is on this side (`Outage`). A domain in which every name resolves is reported as
a hazard (`Wildcards`).

aiohttp connects to exactly the addresses that this resolver returns, so the checked address is the
connected address. aiohttp does not pass literal addresses through a resolver, so the client calls
`addresses` for every host before a request.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from ipaddress import IPv6Network
from itertools import islice
from uuid import uuid4

from aiohttp.abc import AbstractResolver, ResolveResult

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.cache import RecentlyUsed
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.services.fetcher.addresses import (
    NAT64_NAME,
    Network,
    find_blocklist_rule,
    may_connect,
    nat64_prefixes,
)
from gossamer.services.fetcher.dns_message import AddressRecord
from gossamer.services.fetcher.http.limiters import Admission, Lookup, Stage, lookup_limiters
from gossamer.services.fetcher.http.nameservers import (
    LOOKUP_TIMEOUT,
    DnsFailure,
    DnsUnanswered,
    NameServers,
)
from gossamer.services.fetcher.limitations import LocalFault, Outage
from gossamer.settings import FetcherSettings
from gossamer.web.suffixes import registrable_domain
from gossamer.web.url import is_address, site_of_host, suffix_of

MIN_TTL, MAX_TTL = 60.0, 86400.0
"""Seconds for which an answer is cached at least and at most, whatever its TTL."""
PREFIX_TTL = 3600.0
"""Seconds for which the NAT64 prefixes of the network are cached."""
CACHE_SIZE = 65536
"""Names whose addresses are cached."""
FIRST_TRY_TIMEOUT = 1.0
"""Seconds after which a lookup continues among those of slow names."""
NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


LOOKUPS_FAIL = "most names do not resolve, nor do names that resolved before"
CHECK_NAMES, CHECK_TTL = 2, 10.0
"""Names that resolved before and are looked up to check an outage; seconds for which the result of
the check counts."""


class PrivateAddress(OSError):
    """The name has addresses, but none that may be connected to."""


class Blocklisted(OSError):
    """One of the addresses is in a network on the blocklist."""


PROBED = ""


class Wildcards:
    """Finds domains and public suffixes in which every name resolves (hazards `dns_wildcard` and
    `dns_wildcard_suffix`).

    Such a domain has host names without end, which all belong to one host. A domain is checked
    once, by a lookup of a random name, when a second host of it is seen, and a suffix when a second
    site of it is. Most domains have one host, and cost nothing. At most *size* of them are cached.
    """

    def __init__(self, size: int) -> None:
        self._first_names = RecentlyUsed[str, str](size)
        """Domain or suffix → the first name in it that was seen, or PROBED."""

    def record_host(self, name: str) -> list[str]:
        """Record that *name* has an address; return its domain, and its suffix, if these are to be
        checked now."""
        if is_address(name):
            return []
        site = site_of_host(name)
        found = [(site, name), (suffix_of(site), site)]
        return [zone for zone, below in found if zone and self._record(zone, below)]

    def _record(self, zone: str, name: str) -> bool:
        first = self._first_names.setdefault(zone, name)
        if first in (name, PROBED):
            return False
        self._first_names[zone] = PROBED
        return True


class Resolver(AbstractResolver):
    """The resolver of the process. *clock* is monotonic. *blocklist* is checked at each use."""

    def __init__(
        self,
        settings: FetcherSettings,
        clock: Callable[[], float],
        blocklist: Blocklist,
        cache_size: int = CACHE_SIZE,
    ) -> None:
        self._blocklist = blocklist
        self._clock = clock
        self._allowed: Collection[Network] = settings.allow_networks
        self._servers = NameServers(settings.nameserver, self._record_malformed)
        self._limiters = lookup_limiters(settings.lookups_limit)
        self._slow_names = RecentlyUsed[str, None](cache_size)
        self._timeout = settings.visit_limit
        self._cache = RecentlyUsed[str, tuple[float, tuple[str, ...]]](cache_size)
        self._lookups: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._prefixes: tuple[float, tuple[IPv6Network, ...]] = (0.0, ())
        """When the NAT64 prefixes expire, and the prefixes."""
        self._outage, self._wildcards = Outage(settings.outage_share), Wildcards(cache_size)
        self._check: asyncio.Task[bool] | None = None
        self._checked_at = 0.0
        self._wildcard_probes = set[asyncio.Task[None]]()
        self._wildcard_suffixes = set[str]()
        self._hazards = RecentlyUsed[str, set[Hazard]](cache_size)
        """Name or domain → hazards that its next visit reports."""

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of *host* that may be connected to, at least one.

        Raise DnsFailure, DnsUnanswered or PrivateAddress if there is none, Blocklisted if one of
        them is in a blocklisted network, and LocalFault if no name server can be queried.
        """
        found = await self._look_up_cached(host)
        prefixes = await self._prefixes_for(found)
        permitted = tuple(one for one in found if may_connect(one, self._allowed, prefixes))
        if not permitted:
            addresses = "" if is_address(host) else f" is {', '.join(found)}"
            raise PrivateAddress(f"{host}{addresses}: not a public address")
        for address in permitted:
            if rule := find_blocklist_rule(address, self._blocklist, prefixes):
                raise Blocklisted(f"{host} is {address}: {forbidden_by(rule)}")
        return permitted

    def has_cached(self, host: str) -> bool:
        """Return whether `addresses` answers without a lookup."""
        found = self._get_cached(host)
        return bool(found) and (self._clock() < self._prefixes[0] or not _any_ipv6(found))

    def _get_cached(self, host: str) -> tuple[str, ...]:
        """Return the cached addresses of *host*, or itself if it is an address; () without any."""
        if is_address(host):
            return (host.strip("[]"),)
        if host not in self._cache:
            return ()
        until, found = self._cache[host]
        return found if self._clock() < until else ()

    async def _prefixes_for(self, found: Iterable[str]) -> tuple[IPv6Network, ...]:
        """Return the NAT64 prefixes of the network, if *found* has an IPv6 address.

        The name server of the network shows the prefixes (RFC 7050), and may answer with an address
        that it made from an IPv4 address and a prefix.
        """
        until, prefixes = self._prefixes
        if self._clock() < until or not _any_ipv6(found):
            return prefixes
        try:
            answer = await self._look_up_cached(NAT64_NAME)
            until = self._clock() + PREFIX_TTL
        except OSError:
            answer, until = (), self._clock() + MIN_TTL
        prefixes = nat64_prefixes(address for address in answer if ":" in address)
        self._prefixes = until, prefixes
        return prefixes

    async def _look_up_cached(self, name: str) -> tuple[str, ...]:
        if found := self._get_cached(name):
            return found
        task = self._lookups.get(name)
        if task is None:
            task = self._lookups[name] = asyncio.create_task(self._look_up(name))
            task.add_done_callback(lambda done: self._finish_lookup(name, done))
        # A caller that stops waiting must not cancel the lookup for other callers.
        return await asyncio.shield(task)

    def _finish_lookup(self, name: str, done: asyncio.Task[tuple[str, ...]]) -> None:
        del self._lookups[name]
        if not done.cancelled():
            done.exception()

    async def _look_up(self, name: str) -> tuple[str, ...]:
        try:
            answer = None if name in self._slow_names else await self._first_try(name)
            if answer is None:
                answer = await self._second_try(name)
        except DnsUnanswered as error:
            if await self._is_outage(name):
                raise LocalFault(LOOKUPS_FAIL) from error
            raise
        except DnsFailure:
            self._outage.record(site_of_host(name), failed=False, now=self._clock())
            raise
        self._outage.record(site_of_host(name), failed=False, now=self._clock())
        found = tuple(dict.fromkeys(address for address, _ttl in answer))
        if not found:
            raise DnsFailure(f"{name} has no address")
        self._check_for_wildcard(name)
        ttl = min(ttl for _address, ttl in answer)
        self._cache[name] = self._clock() + clamp_ttl(ttl), found
        return found

    async def _is_outage(self, name: str) -> bool:
        """Record that *name* is unanswered; return whether most names are."""
        now = self._clock()
        if self._outage.record(site_of_host(name), failed=True, now=now):
            count_hazards("fetcher", [Hazard.DNS_OUTAGE])
        if not self._outage.is_active:
            return False
        if self._check is None or now >= self._checked_at + CHECK_TTL:
            self._checked_at, self._check = now, asyncio.create_task(self._any_resolves())
        return not await asyncio.shield(self._check)

    async def _any_resolves(self) -> bool:
        """Return whether a lookup of a name that resolved before, or of NAT64_NAME, is answered."""
        before = [*islice(reversed(self._cache), CHECK_NAMES)]
        for name in (*before, NAT64_NAME):
            try:
                await self._servers.resolve(name, LOOKUP_TIMEOUT, bypass_cache=True)
            except DnsFailure:
                return True
            except OSError:  # TimeoutError, too.
                continue
            return True
        return False

    def _check_for_wildcard(self, name: str) -> None:
        for zone in self._wildcards.record_host(name):
            task = asyncio.create_task(self._probe_wildcard(zone))
            self._wildcard_probes.add(task)
            task.add_done_callback(self._wildcard_probes.discard)

    async def _probe_wildcard(self, zone: str) -> None:
        random_name = f"{uuid4().hex[:16]}.{zone}"
        async with self._permit(random_name, is_slow=True):
            try:
                await self._servers.resolve(random_name, self._timeout)
            except OSError:
                return
        if registrable_domain(zone):
            self._add_hazard(zone, Hazard.DNS_WILDCARD)
        else:
            self._wildcard_suffixes.add(zone)

    def _record_malformed(self, name: str) -> None:
        self._add_hazard(name, Hazard.DNS_MALFORMED)

    def _add_hazard(self, name: str, hazard: Hazard) -> None:
        self._hazards.setdefault(name, set()).add(hazard)

    def pop_hazards(self, *names: str) -> tuple[Hazard, ...]:
        """Return and forget the hazards of *names* and domains. That of a wildcard suffix is not
        forgotten: each site below it has it."""
        if not self._hazards and not self._wildcard_suffixes:
            return ()
        found = set[Hazard]().union(*(self._hazards.pop(name, ()) for name in names))
        if self._wildcard_suffixes.intersection(map(suffix_of, names)):
            found.add(Hazard.DNS_WILDCARD_SUFFIX)
        return tuple(sorted(found))

    @asynccontextmanager
    async def _permit(self, name: str, is_slow: bool) -> AsyncIterator[None]:
        async with Admission(self._limiters, Lookup(name, is_slow)) as admission:
            await admission.reach(Stage.LOOKUP)
            yield

    async def _first_try(self, name: str) -> list[AddressRecord] | None:
        """Return the answer, or None if it does not come within FIRST_TRY_TIMEOUT."""
        async with self._permit(name, is_slow=False):
            try:
                return await self._servers.resolve(name, min(FIRST_TRY_TIMEOUT, self._timeout))
            except TimeoutError:
                return None

    async def _second_try(self, name: str) -> list[AddressRecord]:
        async with self._permit(name, is_slow=True):
            try:
                answer = await self._servers.resolve(name, self._timeout)
            except (TimeoutError, DnsUnanswered) as error:
                self._slow_names[name] = None
                if isinstance(error, DnsUnanswered):
                    raise
                raise DnsUnanswered(f"{name} does not resolve in time") from error
        self._slow_names.pop(name, None)
        return answer

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of *host* in aiohttp's form; raise as `addresses` does."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=NUMERIC,
            )
            for address in await self.addresses(host)
        ]

    async def close(self) -> None:
        """Cancel all lookups."""
        check = () if self._check is None else (self._check,)
        for task in (*self._lookups.values(), *self._wildcard_probes, *check):
            task.cancel()
        await self._servers.close()


def clamp_ttl(ttl: float) -> float:
    """Return the seconds for which an answer with *ttl* is cached."""
    return min(max(ttl, MIN_TTL), MAX_TTL)


def _any_ipv6(addresses: Iterable[str]) -> bool:
    return any(":" in address for address in addresses)
