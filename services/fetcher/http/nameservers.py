"""Queries name servers through c-ares: the system's servers and hosts file, or one named server.

c-ares reports some errors for the wrong name, so these are verified by a second query. An answer
that c-ares rejects as malformed is queried again over UDP, and its valid records are used.
"""

import asyncio
import secrets
import socket
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import aiodns
import pycares

from gossamer.services.fetcher.dns_message import (
    AAAA,
    A,
    AddressRecord,
    extract_addresses,
    is_answer,
    make_query,
)
from gossamer.services.fetcher.limitations import NO_NAME_SERVER, LocalFault
from gossamer.telemetry.timing import observe_duration

LOOKUP_TIMEOUT, LOOKUP_TRIES = 5.0, 2
"""Seconds for one try, and tries for a query."""
NO_ADDRESS_ERRORS = (
    aiodns.error.ARES_ENOTFOUND,
    aiodns.error.ARES_ENODATA,
    aiodns.error.ARES_EBADNAME,
    aiodns.error.ARES_ENONAME,
)
"""Errors that mean that the name has no address. After any other error, it is unknown whether the
name has one."""
UNREACHABLE_ERRORS = (aiodns.error.ARES_ECONNREFUSED, aiodns.error.ARES_ENOTINITIALIZED)
"""Errors that mean that no name server could be queried."""
UNRELIABLE_ERRORS = (aiodns.error.ARES_ENODATA, aiodns.error.ARES_EBADRESP)
"""Errors that may belong to another name. c-ares drops a connection after one malformed answer, and
ends all other lookups on it with the same error. On a busy machine it has reported that a name with
an address has none, and then caches that for an hour."""
ADDRESS = pycares.ARecordData | pycares.AAAARecordData
PORT = 53


class DnsFailure(OSError):
    """The name does not exist, or has no address."""


class DnsUnanswered(OSError):
    """It is unknown whether the name exists: no name server answers, or all fail."""


class NameServers:
    """The name servers of the system, or *nameserver*.

    *report_malformed* receives each name with a malformed answer.
    """

    def __init__(self, nameserver: str, report_malformed: Callable[[str], None]) -> None:
        self._nameserver, self._report_malformed = nameserver, report_malformed
        self._cares: aiodns.DNSResolver | None = None

    async def resolve(
        self, name: str, seconds: float, bypass_cache: bool = False
    ) -> list[AddressRecord]:
        """Return the addresses of *name*, with their TTLs; *bypass_cache*: query a name server.

        Raise DnsFailure, DnsUnanswered, LocalFault if no name server can be queried, or
        TimeoutError after *seconds*.
        """
        try:
            with observe_duration("gossamer_dns_seconds"):
                async with asyncio.timeout(seconds):
                    return await (self._query_uncached(name) if bypass_cache else self._query(name))
        except (aiodns.error.DNSError, UnicodeError) as error:
            if error.args[0] in UNREACHABLE_ERRORS:
                raise LocalFault(f"{NO_NAME_SERVER} ({error.args[-1]})") from error
            has_none = isinstance(error, UnicodeError) or error.args[0] in NO_ADDRESS_ERRORS
            failure = DnsFailure if has_none else DnsUnanswered
            raise failure(f"{name} does not resolve: {error.args[-1]}") from error

    async def _query(self, name: str) -> list[AddressRecord]:
        if self._cares is None:
            self._cares = self._new_channel()
        try:
            return await self._query_channel(self._cares, name)
        except aiodns.error.DNSError as error:
            if error.args[0] not in UNRELIABLE_ERRORS:
                raise
        return await self._query_uncached(name)

    async def _query_uncached(self, name: str) -> list[AddressRecord]:
        # An error is believed only if a new channel, without cache and other queries, repeats it.
        channel = self._new_channel()
        try:
            return await self._query_channel(channel, name)
        except aiodns.error.DNSError as error:
            if error.args[0] != aiodns.error.ARES_EBADRESP:
                raise
            self._report_malformed(name)
            server = self._nameserver or next(iter(channel.nameservers), "")
            if answers := await query_addresses(server, name, LOOKUP_TIMEOUT):
                return answers
            raise
        finally:
            await channel.close()

    async def _query_channel(self, channel: aiodns.DNSResolver, name: str) -> list[AddressRecord]:
        if not self._nameserver:
            found = await channel.getaddrinfo(name, type=socket.SOCK_STREAM)
            return [(_text(node.addr[0]), node.ttl) for node in found.nodes]
        # c-ares has an option to skip the hosts file (`lookups`), but pycares frees its value
        # before c-ares reads it, and then sometimes no name resolves any more. A query for records
        # goes to name servers only.
        results = await asyncio.gather(
            *(channel.query_dns(name, kind) for kind in ("A", "AAAA")), return_exceptions=True
        )
        return _addresses(results)

    def _new_channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(
            nameservers=[self._nameserver] if self._nameserver else None,
            # The search list of this machine must not turn one name into another.
            flags=pycares.ARES_FLAG_NOSEARCH,
            timeout=LOOKUP_TIMEOUT,
            tries=LOOKUP_TRIES,
        )

    async def close(self) -> None:
        """Cancel all lookups."""
        if self._cares is not None:
            await self._cares.close()


def _addresses(results: Iterable[pycares.DNSResult | BaseException]) -> list[AddressRecord]:
    """Return the addresses in *results*; if there are none, raise one of the errors.

    An error that means "unknown" takes precedence over one that means "no address".
    """
    complete = [result for result in results if not isinstance(result, BaseException)]
    records = [record for result in complete for record in result.answer]
    found = [(one.data.addr, one.ttl) for one in records if isinstance(one.data, ADDRESS)]
    errors = [result for result in results if isinstance(result, BaseException)]
    if errors and not found:
        raise max(errors, key=lambda error: error.args[0] not in NO_ADDRESS_ERRORS)
    return found


def _text(address: str | bytes) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


class _QueryProtocol(asyncio.DatagramProtocol):
    """Waits for the first datagram with the number of the query."""

    def __init__(self, query: bytes) -> None:
        self._number = query[:2]
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self.answer.done() and data[:2] == self._number:
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


async def query_addresses(server: str, name: str, seconds: float) -> list[AddressRecord]:
    """Query *server* over UDP; return the addresses in the valid records of its answers.

    Return an empty list if no answer comes within *seconds*.
    """
    results = await asyncio.gather(
        *(_query_udp(server, make_query(name, kind, secrets.randbelow(1 << 16)), seconds)
          for kind in (A, AAAA)),
        return_exceptions=True,
    )  # fmt: skip
    return [record for result in results if isinstance(result, list) for record in result]


async def _query_udp(server: str, query: bytes, seconds: float) -> list[AddressRecord]:
    parts = urlsplit(
        f"//[{server}]" if server.count(":") > 1 and "[" not in server else f"//{server}"
    )
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: _QueryProtocol(query),
        remote_addr=(parts.hostname or "", parts.port or PORT),
    )
    try:
        transport.sendto(query)
        async with asyncio.timeout(seconds):
            answer = await protocol.answer
        return extract_addresses(answer, query) if is_answer(answer, query) else []
    finally:
        transport.close()
