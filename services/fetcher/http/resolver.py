"""Names to addresses: few lookups at a time, answers cached, and only addresses we may visit.

A name that does not resolve costs no other name more than a little time (`lookup_limiters`). Where
most names do not resolve, it is not they who are to blame (`outages.py`). A domain in which any
name resolves is told of (`wildcards.py`).

aiohttp connects to exactly the addresses that this returns, so what was checked is what is
connected to. It passes no literal address through a resolver, so the client calls `addresses` for
every host before a request.

Domains in which any name resolves (hazard `dns_wildcard`): hosts without end that are one.

Whether a domain is one is found out with a name that nobody has, once, when a second host of it is
met: most domains have one host, and cost nothing.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from ipaddress import IPv6Network
from itertools import islice
from uuid import uuid4

from aiohttp.abc import AbstractResolver, ResolveResult

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.settings import FetcherSettings
from gossamer.web.url import is_address, site_of
from services.fetcher.addresses import NAT64_NAME, Network, forbidding, may_connect, nat64_prefixes
from services.fetcher.dns_message import Answer
from services.fetcher.http.limiters import Admission, Lookup, Stage, lookup_limiters
from services.fetcher.http.nameservers import LOOKUP_LIMIT, DnsFailure, DnsUnanswered, NameServers
from services.fetcher.limitations import Outage, OwnFault

FLOOR, CEILING = 60.0, 86400.0
"""How long an answer is cached at least and at most, whatever its TTL."""
PREFIXES_KEPT = 3600.0
"""How long it is known how the network translates to IPv4."""
ENTRIES = 65536
FIRST_TRY = 1.0
"""Seconds after which a lookup goes on beside those of other names that are not answered soon."""
NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


LOOKUPS_FAIL = "most names do not resolve, nor do those that did before"
PROOFS, PROVEN_FOR = 2, 10.0
"""How many names are asked for that did resolve, to prove that names do; and for how many seconds
that proves anything."""


class PrivateAddress(OSError):
    """The name has addresses, but none that may be connected to."""


class Blocklisted(OSError):
    """One of the addresses is in a network on the blocklist."""


class Resolver(AbstractResolver):
    """One for the whole process. *clock* is monotonic; the *blocklist* is looked at each time."""

    def __init__(
        self,
        settings: FetcherSettings,
        clock: Callable[[], float],
        blocklist: Blocklist,
        entries: int = ENTRIES,
    ) -> None:
        self._blocklist = blocklist
        self._clock, self._entries = clock, entries
        self._allowed: Collection[Network] = settings.allow_networks
        self._servers = NameServers(settings.nameserver, self._malformed)
        self._limiters = lookup_limiters(settings.lookups_limit)
        self._unanswered: OrderedDict[str, None] = OrderedDict()
        self._limit = settings.visit_limit
        self._known: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._prefixes: tuple[float, tuple[IPv6Network, ...]] = (0.0, ())
        """Until when they are believed, and those of NAT64."""
        self._outage, self._wildcards = Outage(settings.outage_share), Wildcards(entries)
        self._proof: asyncio.Task[bool] | None = None
        self._proven_at = 0.0
        self._probing = set[asyncio.Task[None]]()
        self._noticed: OrderedDict[str, set[Hazard]] = OrderedDict()
        """By name or domain, what the next visit there is to tell of it."""

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of *host* that may be connected to, at least one.

        Raise DnsFailure, DnsUnanswered or PrivateAddress if there is none, Blocklisted if one of
        them is in a network that is, and OwnFault if nobody can be asked.
        """
        bare = host.strip("[]")
        found = (bare,) if is_address(host) else await self._remembered(bare)
        prefixes = await self._prefixes_for(found)
        usable = tuple(one for one in found if may_connect(one, self._allowed, prefixes))
        if not usable:
            raise PrivateAddress(f"{host} is {', '.join(found)}: not of the public Internet")
        for address in usable:
            if rule := forbidding(address, self._blocklist, prefixes):
                raise Blocklisted(f"{host} is {address}: {forbidden_by(rule)}")
        return usable

    def knows(self, host: str) -> bool:
        """Return whether `addresses` answers without a lookup."""
        found = self._at_once(host)
        return bool(found) and (self._clock() < self._prefixes[0] or not _any_of_v6(found))

    def _at_once(self, host: str) -> tuple[str, ...]:
        if is_address(host):
            return (host.strip("[]"),)
        until, found = self._known.get(host, (0.0, ()))
        return found if self._clock() < until else ()

    async def _prefixes_for(self, found: Iterable[str]) -> tuple[IPv6Network, ...]:
        """Return by which prefixes the network translates to IPv4, if *found* may have such a one:
        its name server shows them (RFC 7050), and may make an address of any other up by them."""
        until, prefixes = self._prefixes
        if self._clock() < until or not _any_of_v6(found):
            return prefixes
        try:
            answer = await self._remembered(NAT64_NAME)
            until = self._clock() + PREFIXES_KEPT
        except OSError:
            answer, until = (), self._clock() + FLOOR
        prefixes = nat64_prefixes(address for address in answer if ":" in address)
        self._prefixes = until, prefixes
        return prefixes

    async def _remembered(self, name: str) -> tuple[str, ...]:
        until, found = self._known.get(name, (0.0, ()))
        if found and self._clock() < until:
            self._known.move_to_end(name)
            return found
        task = self._asking.get(name)
        if task is None:
            task = self._asking[name] = asyncio.create_task(self._look_up(name))
            task.add_done_callback(lambda done: self._asked(name, done))
        # One caller that stops waiting must not cancel the lookup that others wait for.
        return await asyncio.shield(task)

    def _asked(self, name: str, done: asyncio.Task[tuple[str, ...]]) -> None:
        del self._asking[name]
        if not done.cancelled():
            done.exception()

    async def _look_up(self, name: str) -> tuple[str, ...]:
        try:
            answer = None if name in self._unanswered else await self._first_try(name)
            if answer is None:
                answer = await self._patiently(name)
        except DnsUnanswered as error:
            if await self._are_out(name):
                raise OwnFault(LOOKUPS_FAIL) from error
            raise
        except DnsFailure:
            self._outage.tried(site_of(f"http://{name}/"), failed=False, now=self._clock())
            raise
        self._outage.tried(site_of(f"http://{name}/"), failed=False, now=self._clock())
        found = tuple(dict.fromkeys(address for address, _ttl in answer))
        if not found:
            raise DnsFailure(f"{name} has no address")
        self._look_for_wildcard(name)
        self._remember(name, found, min(ttl for _address, ttl in answer))
        return found

    async def _are_out(self, name: str) -> bool:
        """Take in that nobody knows *name*; return whether that is so of most names everywhere."""
        now = self._clock()
        if self._outage.tried(site_of(f"http://{name}/"), failed=True, now=now):
            count_hazards("fetcher", [Hazard.DNS_OUTAGE])
        if not self._outage.is_out:
            return False
        if self._proof is None or now >= self._proven_at + PROVEN_FOR:
            self._proven_at, self._proof = now, asyncio.create_task(self._prove())
        return not await asyncio.shield(self._proof)

    async def _prove(self) -> bool:
        """Return whether a name resolves that did before, or that always does."""
        before = [*islice(reversed(self._known), PROOFS)]
        for name in (*before, NAT64_NAME):
            try:
                await self._servers.answered_in_time(name, LOOKUP_LIMIT, anew=True)
            except DnsFailure:
                return True
            except OSError:  # TimeoutError, too.
                continue
            return True
        return False

    def _look_for_wildcard(self, name: str) -> None:
        if site := self._wildcards.met(name):
            task = asyncio.create_task(self._probe(site))
            self._probing.add(task)
            task.add_done_callback(self._probing.discard)

    async def _probe(self, site: str) -> None:
        nobody = f"{uuid4().hex[:16]}.{site}"
        async with self._place(nobody, doubtful=True):
            try:
                await self._servers.answered_in_time(nobody, self._limit)
            except OSError:
                return
        self._notice(site, Hazard.DNS_WILDCARD)

    def _malformed(self, name: str) -> None:
        self._notice(name, Hazard.DNS_MALFORMED)

    def _notice(self, about: str, hazard: Hazard) -> None:
        self._noticed.setdefault(about, set()).add(hazard)
        if len(self._noticed) > self._entries:
            self._noticed.popitem(last=False)

    def noticed(self, *about: str) -> tuple[Hazard, ...]:
        """Return, once, what was noticed of names and domains."""
        if not self._noticed:
            return ()
        found = set[Hazard]().union(*(self._noticed.pop(one, ()) for one in about))
        return tuple(sorted(found))

    @asynccontextmanager
    async def _place(self, name: str, doubtful: bool) -> AsyncIterator[None]:
        async with Admission(self._limiters, Lookup(name, doubtful)) as admission:
            await admission.reach(Stage.LOOKUP)
            yield

    async def _first_try(self, name: str) -> list[Answer] | None:
        """Return the answer, or None if it does not come soon."""
        async with self._place(name, doubtful=False):
            try:
                return await self._servers.answered_in_time(name, min(FIRST_TRY, self._limit))
            except TimeoutError:
                return None

    async def _patiently(self, name: str) -> list[Answer]:
        async with self._place(name, doubtful=True):
            try:
                answer = await self._servers.answered_in_time(name, self._limit)
            except (TimeoutError, DnsUnanswered) as error:
                self._unanswered[name] = None
                if len(self._unanswered) > self._entries:
                    self._unanswered.popitem(last=False)
                if isinstance(error, DnsUnanswered):
                    raise
                raise DnsUnanswered(f"{name} does not resolve in time") from error
        self._unanswered.pop(name, None)
        return answer

    def _remember(self, name: str, found: tuple[str, ...], ttl: float) -> None:
        self._known[name] = (self._clock() + kept_for(ttl), found)
        self._known.move_to_end(name)
        if len(self._known) > self._entries:
            self._known.popitem(last=False)

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
        proof = () if self._proof is None else (self._proof,)
        for task in (*self._asking.values(), *self._probing, *proof):
            task.cancel()
        await self._servers.close()


def kept_for(ttl: float) -> float:
    """Return for how many seconds an answer with *ttl* is cached."""
    return min(max(ttl, FLOOR), CEILING)


def _any_of_v6(addresses: Iterable[str]) -> bool:
    return any(":" in address for address in addresses)


PROBED = ""


class Wildcards:
    """What is known of domains: of *most* of them, those that were met last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._met: OrderedDict[str, str] = OrderedDict()
        """By domain, the host that was met, or that it has been probed."""

    def met(self, name: str) -> str:
        """Take in that *name* has an address; return its domain if that is to be probed now."""
        if is_address(name):
            return ""
        site = site_of(f"http://{name}/")
        first = self._met.setdefault(site, name)
        self._met.move_to_end(site)
        if len(self._met) > self._most:
            self._met.popitem(last=False)
        if first in (name, PROBED):
            return ""
        self._met[site] = PROBED
        return site
