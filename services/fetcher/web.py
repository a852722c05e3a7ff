"""aiohttp, made strict: one request at a time to a host, exactly the URL, nothing done for us.

No redirects, no cookies, no proxies from the environment, no decoding, and no second attempt: a
request that the server may have seen is never repeated behind the frontier's back.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
from aiohttp.connector import Connection
from yarl import URL

from gossamer.clock import Clock
from gossamer.config import FetcherSettings
from gossamer.events import Headers, Outcome
from gossamer.url import host_name
from services.fetcher.identity import request_headers
from services.fetcher.outcome import Failure, Reply
from services.fetcher.resolver import DnsFailure, DnsUnanswered, PrivateAddress, Resolver
from services.fetcher.steps import Ask

HEADER_LIMIT = 64 << 10
"""Bytes of one header line."""


class Stalled(OSError):
    """The body stopped coming."""


FATES: tuple[tuple[type[Exception], Outcome, str], ...] = (
    (PrivateAddress, Outcome.PRIVATE_ADDRESS, "private_address"),
    (DnsFailure, Outcome.DNS_FAILURE, "dns_failure"),
    (DnsUnanswered, Outcome.DNS_UNANSWERED, ""),
    (aiohttp.ClientConnectorError, Outcome.HOST_DOWN, "host_down"),
    (aiohttp.ConnectionTimeoutError, Outcome.HOST_DOWN, "host_down"),
    (aiohttp.ClientResponseError, Outcome.BROKEN, "missing_headers"),
    (aiohttp.ServerDisconnectedError, Outcome.BROKEN, "missing_headers"),
    (Stalled, Outcome.BROKEN, "slow_transfer"),
    (TimeoutError, Outcome.SILENT_SERVER, "silent_server"),
    (aiohttp.ClientError, Outcome.BROKEN, ""),
    (OSError, Outcome.BROKEN, ""),
)
"""What an exception says about the visit, the first that fits. Any other is a mistake of ours."""


class Web:
    """What all visits share: who we are, the limits, and the resolver."""

    def __init__(self, settings: FetcherSettings, clock: Clock) -> None:
        self.settings, self.clock = settings, clock
        self.headers = request_headers(settings)
        self.resolver = Resolver(settings, asyncio.get_running_loop().time)

    @asynccontextmanager
    async def host(self) -> AsyncIterator["HostClient"]:
        """One connection, kept alive while it is open here."""
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
        # aiohttp would send a request again when the connection closes before an answer.
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
        """Let go of the resolver."""
        await self.resolver.close()


class HostClient:
    """Makes the requests of one order."""

    def __init__(self, web: Web, session: aiohttp.ClientSession) -> None:
        self._web, self._session = web, session
        self._time = asyncio.get_running_loop().time

    async def fetch(self, ask: Ask) -> Reply | Failure:
        """Return what the Web says; whatever it does, that is no exception."""
        deadline = self._time() + self._web.settings.visit_limit
        try:
            await self._check(host_name(ask.url), deadline)
        except (PrivateAddress, DnsFailure, DnsUnanswered) as error:
            return _failure(error)
        started_at, begun = self._web.clock(), self._time()
        try:
            reply = await self._exchange(ask, deadline)
        except (aiohttp.ClientError, OSError) as error:
            failure = _failure(error)
            return replace(failure, started_at=started_at, took=self._time() - begun)
        return replace(reply, started_at=started_at, took=self._time() - begun)

    async def _check(self, host: str, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await self._web.resolver.addresses(host)
        except TimeoutError as error:
            raise DnsUnanswered(f"{host} does not resolve in time") from error

    async def _exchange(self, ask: Ask, deadline: float) -> Reply:
        async with asyncio.timeout_at(deadline):
            response = await self._session.get(URL(ask.url, encoded=True), allow_redirects=False)
        try:
            headers = _latin(response.raw_headers)
            body, truncated = b"", ""
            if ask.wanted(response.status, headers):
                body, truncated = await self._body(response, ask.limit, deadline)
            return _reply(response, headers, body, truncated)
        finally:
            # Does nothing where the body was read to its end: the connection is kept then.
            response.close()

    async def _body(
        self, response: aiohttp.ClientResponse, limit: int, deadline: float
    ) -> tuple[bytes, str]:
        """Return at most *limit* bytes, and why not all in WARC's words."""
        _allow_between_bytes(response, self._web.settings.between_bytes_limit)
        body = bytearray()
        try:
            async with asyncio.timeout_at(deadline):
                await _read(response, body, limit)
        except aiohttp.SocketTimeoutError as error:
            raise Stalled(f"the body stopped after {len(body)} bytes") from error
        except TimeoutError:
            return bytes(body[:limit]), "time"
        return bytes(body[:limit]), "length" if len(body) > limit else ""


async def _read(response: aiohttp.ClientResponse, body: bytearray, limit: int) -> None:
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            return


class _Response(aiohttp.ClientResponse):
    """Remembers who answered: the connection may be gone before anybody asks."""

    address = ""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        if connection.transport is not None:
            self.address = connection.transport.get_extra_info("peername")[0]
        return await super().start(connection)


def _allow_between_bytes(response: aiohttp.ClientResponse, seconds: float) -> None:
    # The session's limit was for the first byte; none is left to wait for if all came at once.
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


def _failure(error: Exception) -> Failure:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        error = error.os_error
    outcome, hazard = next(
        (outcome, hazard) for kind, outcome, hazard in FATES if isinstance(error, kind)
    )
    said = str(error).encode("utf-8", "replace").decode()
    return Failure(outcome=outcome, reason=(said or type(error).__name__)[:500], hazard=hazard)
