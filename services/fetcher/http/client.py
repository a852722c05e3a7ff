"""aiohttp, made strict: one request at a time to a host, for exactly the URL, and nothing else.

No redirects, no cookies, no proxies from the environment, no decoding, and no second attempt: a
request that the server may have seen is never repeated without the frontier's knowing.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
from aiohttp.connector import Connection
from yarl import URL

from gossamer.blacklist import Blacklist
from gossamer.clock import Clock
from gossamer.events import Outcome
from gossamer.events.hazards import Hazard
from gossamer.settings import FetcherSettings
from gossamer.telemetry.timing import timed
from gossamer.web.http import Headers
from gossamer.web.url import host_key, host_name
from services.fetcher.faults import OwnFault, own_fault
from services.fetcher.http.gaps import Gaps
from services.fetcher.http.resolver import (
    Blacklisted,
    DnsFailure,
    DnsUnanswered,
    PrivateAddress,
    Resolver,
)
from services.fetcher.identity import request_headers
from services.fetcher.outcome import Failure, Reply
from services.fetcher.reading import Reading
from services.fetcher.steps import Fetch

HEADER_LIMIT = 64 << 10
"""Bytes of one header line."""


class Stalled(OSError):
    """The body stopped coming."""


FAILURES: tuple[tuple[type[Exception], Outcome, Hazard | None], ...] = (
    (PrivateAddress, Outcome.PRIVATE_ADDRESS, Hazard.PRIVATE_ADDRESS),
    (Blacklisted, Outcome.BLACKLISTED, Hazard.BLACKLISTED),
    (DnsFailure, Outcome.DNS_FAILURE, Hazard.DNS_FAILURE),
    (DnsUnanswered, Outcome.DNS_UNANSWERED, None),
    (aiohttp.ClientConnectorError, Outcome.HOST_DOWN, Hazard.HOST_DOWN),
    (aiohttp.ConnectionTimeoutError, Outcome.HOST_DOWN, Hazard.HOST_DOWN),
    (aiohttp.ClientResponseError, Outcome.BROKEN, Hazard.MISSING_HEADERS),
    (aiohttp.ServerDisconnectedError, Outcome.BROKEN, Hazard.MISSING_HEADERS),
    (Stalled, Outcome.BROKEN, Hazard.SLOW_TRANSFER),
    (TimeoutError, Outcome.SILENT_SERVER, Hazard.SILENT_SERVER),
    (aiohttp.ClientError, Outcome.BROKEN, None),
    (OSError, Outcome.BROKEN, None),
)
"""Exception → outcome and hazard; the first that fits counts. Any other is a mistake of ours."""


class Web:
    """What all visits share: who we are, the limits, what is forbidden, the resolver, the gaps
    between requests."""

    def __init__(self, settings: FetcherSettings, clock: Clock) -> None:
        self.settings, self.clock = settings, clock
        self.headers = request_headers(settings)
        time = asyncio.get_running_loop().time
        self.blacklist, self.gaps = Blacklist(), Gaps(time)
        self.resolver = Resolver(settings, time, self.blacklist)

    @asynccontextmanager
    async def host(self) -> AsyncIterator["HostClient"]:
        """Open a client for one order; its connection is closed with it."""
        connector = aiohttp.TCPConnector(
            resolver=self.resolver, use_dns_cache=False, limit_per_host=1, keepalive_timeout=None
        )
        session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            headers=self.headers,
            timeout=self._timeout(),
            response_class=_Response,
            max_line_size=HEADER_LIMIT,
            max_field_size=HEADER_LIMIT,
        )
        # aiohttp repeats a request whose connection closes before an answer; see the package.
        session._retry_connection = False
        async with session:
            yield HostClient(self, session)

    def _timeout(self) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(
            total=None,
            sock_connect=self.settings.connect_limit,
            sock_read=self.settings.first_byte_limit,
        )

    async def close(self) -> None:
        """Close the resolver."""
        await self.resolver.close()


class HostClient:
    """Makes the requests of one order."""

    def __init__(self, web: Web, session: aiohttp.ClientSession) -> None:
        self._web, self._session = web, session
        self._time = asyncio.get_running_loop().time

    async def fetch(self, step: Fetch, delay: float, patience: float) -> Reply | Failure | None:
        """Return the response, or the failure: nothing that the Web does raises here.

        Raise OwnFault if no request could be made, and no host is to blame. None if nothing was
        asked, because after *patience* seconds the name was still waiting for its lookup. *delay*
        is the host's, for the measure of the gap before the request.
        """
        try:
            async with asyncio.timeout(patience):
                addresses = await self._web.resolver.addresses(host_name(step.url))
        except TimeoutError:
            return None
        except (PrivateAddress, Blacklisted, DnsFailure, DnsUnanswered) as error:
            return _failure(error)
        started_at, begun = self._web.clock(), self._time()
        deadline = begun + self._web.settings.visit_limit
        try:
            with self._web.gaps.request(host_key(step.url), delay), timed("gossamer_fetch_seconds"):
                reply = await self._exchange(step, deadline)
        except (aiohttp.ClientError, OSError) as error:
            if fault := _own_fault(error, addresses):
                raise fault from error
            failure = _failure(error)
            return replace(failure, started_at=started_at, took=self._time() - begun)
        return replace(reply, started_at=started_at, took=self._time() - begun)

    async def _exchange(self, step: Fetch, deadline: float) -> Reply:
        async with asyncio.timeout_at(deadline):
            response = await self._session.get(
                URL(step.url, encoded=True), headers=step.conditions, allow_redirects=False
            )
        try:
            headers = _latin(response.raw_headers)
            reading = Reading(step, response.status, headers)
            truncated = await self._body(response, reading, deadline)
            return _reply(response, headers, reading.body, truncated)
        finally:
            # Does nothing where the body was read to its end: the connection is kept then.
            response.close()

    async def _body(
        self, response: aiohttp.ClientResponse, reading: Reading, deadline: float
    ) -> str:
        """Read the body; return why it is not whole, in WARC's words, or ""."""
        _allow_between_bytes(response, self._web.settings.between_bytes_limit)
        try:
            async with asyncio.timeout_at(deadline):
                await _read(response, reading)
        except aiohttp.SocketTimeoutError as error:
            raise Stalled(f"the body stopped after {len(reading.body)} bytes") from error
        except TimeoutError:
            return "time"
        return reading.truncated


async def _read(response: aiohttp.ClientResponse, reading: Reading) -> None:
    if not reading.take(b""):
        return
    async for piece in response.content.iter_any():
        if not reading.take(piece):
            return


class _Response(aiohttp.ClientResponse):
    """Remembers the server's address: the connection may be gone when it is needed."""

    address = ""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        if connection.transport is not None:
            self.address = connection.transport.get_extra_info("peername")[0]
        return await super().start(connection)


def _allow_between_bytes(response: aiohttp.ClientResponse, seconds: float) -> None:
    # The session's limit was for the first byte. Once the body has come there is no connection.
    if response.connection is not None and (protocol := response.connection.protocol) is not None:
        protocol.read_timeout = seconds
        protocol.start_timeout()


def _reply(
    response: aiohttp.ClientResponse, headers: Headers, body: bytes, truncated: str
) -> Reply:
    version = response.version or aiohttp.HttpVersion11
    reason = (response.reason or "").encode("utf-8", "surrogateescape").decode("latin-1")
    return Reply(
        status=response.status,
        reason=reason,
        http_version=f"{version.major}.{version.minor}",
        headers=headers,
        body=body,
        truncated=truncated,
        address=getattr(response, "address", ""),
        request_headers=tuple((str(k), v) for k, v in response.request_info.headers.items()),
    )


def _latin(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _own_fault(error: Exception, addresses: tuple[str, ...]) -> OwnFault | None:
    if isinstance(error, aiohttp.ClientConnectorError):
        return own_fault(error.os_error, addresses)
    return None


def _failure(error: Exception) -> Failure:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        error = error.os_error
    outcome, hazard = next(
        (outcome, hazard) for kind, outcome, hazard in FAILURES if isinstance(error, kind)
    )
    # aiohttp tells how it would have trusted a certificate, also where there was to be none.
    text = str(error).replace(" ssl:default", "").encode("utf-8", "replace").decode()
    return Failure(outcome=outcome, reason=(text or type(error).__name__)[:500], hazard=hazard)
