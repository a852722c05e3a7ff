"""Names to addresses: few lookups at a time, answers cached, and only addresses we may visit.

A name that does not resolve costs no other name more than a little time (`lanes.py`), and an error
that may be another name's is looked into. Of an answer that is malformed what is sound is taken.

c-ares asks the system's name servers and the hosts file, or only the one server that the settings
name. aiohttp connects to exactly the addresses that this returns, so what was checked is what is
connected to. It passes no literal address through a resolver, so the client calls `addresses` for
every host before a request.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from ipaddress import IPv6Network

import aiodns
import pycares
from aiohttp.abc import AbstractResolver, ResolveResult

from gossamer.blacklist import Blacklist, forbidden_by
from gossamer.settings import FetcherSettings
from gossamer.telemetry.timing import timed
from gossamer.web.url import is_address
from services.fetcher.addresses import NAT64_NAME, Network, forbidding, may_connect, nat64_prefixes
from services.fetcher.dns_message import Answer
from services.fetcher.faults import NO_NAME_SERVER, OwnFault
from services.fetcher.http.datagram import sound_records
from services.fetcher.http.lanes import Lanes

FLOOR, CEILING = 60.0, 86400.0
"""How long an answer is cached at least and at most, whatever its TTL."""
PREFIXES_KEPT = 3600.0
"""How long it is known how the network translates to IPv4."""
ENTRIES = 65536
LOOKUP_LIMIT, LOOKUP_TRIES = 5.0, 2
FIRST_TRY = 1.0
"""Seconds after which a lookup goes on beside those of other names that are not answered soon."""
DEFINITE = (
    aiodns.error.ARES_ENOTFOUND,
    aiodns.error.ARES_ENODATA,
    aiodns.error.ARES_EBADNAME,
    aiodns.error.ARES_ENONAME,
)
"""Errors that mean that there is no address; any other means that nobody knows."""
UNREACHED = (aiodns.error.ARES_ECONNREFUSED, aiodns.error.ARES_ENOTINITIALIZED)
"""Errors that mean that nobody could be asked at all."""
SUSPECT = (aiodns.error.ARES_ENODATA, aiodns.error.ARES_EBADRESP)
"""Errors that may be of another name's making. c-ares drops a connection on which one malformed
answer has come, and ends all other lookups on it with the same error; and on a busy machine it has
reported of names that have an address that they have none, which it then caches for an hour."""
ADDRESS = pycares.ARecordData | pycares.AAAARecordData
NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class DnsFailure(OSError):
    """The name does not exist, or has no address."""


class DnsUnanswered(OSError):
    """No name server says whether the name exists: none answers, or all fail."""


class PrivateAddress(OSError):
    """The name has addresses, but none that may be connected to."""


class Blacklisted(OSError):
    """One of the addresses is in a network on the blacklist."""


class Resolver(AbstractResolver):
    """One for the whole process. *clock* is monotonic; the *blacklist* is looked at each time."""

    def __init__(
        self,
        settings: FetcherSettings,
        clock: Callable[[], float],
        blacklist: Blacklist,
        entries: int = ENTRIES,
    ) -> None:
        self._blacklist = blacklist
        self._clock, self._entries = clock, entries
        self._allowed: Collection[Network] = settings.allow_networks
        self._nameserver = settings.nameserver
        self._lanes = Lanes(settings.lookups_limit)
        self._unanswered: OrderedDict[str, None] = OrderedDict()
        self._limit = settings.visit_limit
        self._known: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._cares: aiodns.DNSResolver | None = None
        self._prefixes: tuple[float, tuple[IPv6Network, ...]] = (0.0, ())
        """Until when they are believed, and those of NAT64."""

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of *host* that may be connected to, at least one.

        Raise DnsFailure, DnsUnanswered or PrivateAddress if there is none, Blacklisted if one of
        them is in a network that is, and OwnFault if nobody can be asked.
        """
        bare = host.strip("[]")
        found = (bare,) if is_address(host) else await self._remembered(bare)
        prefixes = await self._prefixes_for(found)
        usable = tuple(one for one in found if may_connect(one, self._allowed, prefixes))
        if not usable:
            raise PrivateAddress(f"{host} is {', '.join(found)}: not of the public Internet")
        for address in usable:
            if rule := forbidding(address, self._blacklist, prefixes):
                raise Blacklisted(f"{host} is {address}: {forbidden_by(rule)}")
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
        answer = None if name in self._unanswered else await self._first_try(name)
        if answer is None:
            answer = await self._patiently(name)
        found = tuple(dict.fromkeys(address for address, _ttl in answer))
        if not found:
            raise DnsFailure(f"{name} has no address")
        self._remember(name, found, min(ttl for _address, ttl in answer))
        return found

    async def _first_try(self, name: str) -> list[Answer] | None:
        """Return the answer, or None if it does not come soon."""
        async with self._lanes.room(name, doubtful=False):
            try:
                return await self._answered_in_time(name, min(FIRST_TRY, self._limit))
            except TimeoutError:
                return None

    async def _patiently(self, name: str) -> list[Answer]:
        async with self._lanes.room(name, doubtful=True):
            try:
                answer = await self._answered_in_time(name, self._limit)
            except (TimeoutError, DnsUnanswered) as error:
                self._unanswered[name] = None
                if len(self._unanswered) > self._entries:
                    self._unanswered.popitem(last=False)
                if isinstance(error, DnsUnanswered):
                    raise
                raise DnsUnanswered(f"{name} does not resolve in time") from error
        self._unanswered.pop(name, None)
        return answer

    async def _answered_in_time(self, name: str, seconds: float) -> list[Answer]:
        try:
            with timed("gossamer_dns_seconds"):
                async with asyncio.timeout(seconds):
                    return await self._ask(name)
        except (aiodns.error.DNSError, UnicodeError) as error:
            if error.args[0] in UNREACHED:
                raise OwnFault(f"{NO_NAME_SERVER} ({error.args[-1]})") from error
            definite = isinstance(error, UnicodeError) or error.args[0] in DEFINITE
            kind = DnsFailure if definite else DnsUnanswered
            raise kind(f"{name} does not resolve: {error.args[-1]}") from error

    async def _ask(self, name: str) -> list[Answer]:
        if self._cares is None:
            self._cares = self._channel()
        try:
            return await self._answer(self._cares, name)
        except aiodns.error.DNSError as error:
            if error.args[0] not in SUSPECT:
                raise
        # Believed only when a channel repeats it that has no cache and asks for this name alone.
        fresh = self._channel()
        try:
            return await self._answer(fresh, name)
        except aiodns.error.DNSError as error:
            malformed = error.args[0] == aiodns.error.ARES_EBADRESP
            server = self._nameserver or next(iter(fresh.nameservers), "")
            found = await sound_records(server, name, LOOKUP_LIMIT) if malformed else []
            if not found:
                raise
            return found
        finally:
            await fresh.close()

    async def _answer(self, cares: aiodns.DNSResolver, name: str) -> list[Answer]:
        if not self._nameserver:
            found = await cares.getaddrinfo(name, type=socket.SOCK_STREAM)
            return [(_text(node.addr[0]), node.ttl) for node in found.nodes]
        # c-ares has an option to skip the hosts file (`lookups`), but pycares frees its value
        # before c-ares reads it, and now and then nothing resolves any more. A query for records
        # goes to name servers only.
        answers = await asyncio.gather(
            *(cares.query_dns(name, kind) for kind in ("A", "AAAA")), return_exceptions=True
        )
        return _addresses(answers)

    def _remember(self, name: str, found: tuple[str, ...], ttl: float) -> None:
        self._known[name] = (self._clock() + kept_for(ttl), found)
        self._known.move_to_end(name)
        if len(self._known) > self._entries:
            self._known.popitem(last=False)

    def _channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(
            nameservers=[self._nameserver] if self._nameserver else None,
            # The search list of this machine must not turn one name into another.
            flags=pycares.ARES_FLAG_NOSEARCH,
            timeout=LOOKUP_LIMIT,
            tries=LOOKUP_TRIES,
        )

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
        """Cancel all lookups and close c-ares."""
        for task in tuple(self._asking.values()):
            task.cancel()
        if self._cares is not None:
            await self._cares.close()


def kept_for(ttl: float) -> float:
    """Return for how many seconds an answer with *ttl* is cached."""
    return min(max(ttl, FLOOR), CEILING)


def _any_of_v6(addresses: Iterable[str]) -> bool:
    return any(":" in address for address in addresses)


def _addresses(answers: Iterable[pycares.DNSResult | BaseException]) -> list[Answer]:
    """Return the addresses in *answers*; if there are none, raise an error among them.

    One that means that nobody knows goes before one that means that there is no address.
    """
    complete = [one for one in answers if not isinstance(one, BaseException)]
    records = [record for one in complete for record in one.answer]
    found = [(one.data.addr, one.ttl) for one in records if isinstance(one.data, ADDRESS)]
    wrong = [one for one in answers if isinstance(one, BaseException)]
    if wrong and not found:
        raise max(wrong, key=lambda error: error.args[0] not in DEFINITE)
    return found


def _text(address: str | bytes) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address
