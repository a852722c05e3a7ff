"""Connections: which phase of a connection fails and why, and idle connections for reuse.

aiohttp does not distinguish a refused connection from a TLS handshake that timed out, and loses a
page if its parser rejects the head. So connecting has two steps here, with a timeout each, and
`services/fetcher/head.py` reads the head. aiohttp's parser receives only the framing of the body.
`tests/fetcher/test_connections.py` lists the private names of aiohttp that this module uses.

An idle connection is kept if the next request to its host may come before the server closes it.
Servers close idle connections after five seconds to two minutes, and many state their timeout. The
address of a reused connection must still be permitted.
"""

import asyncio
import socket
import ssl
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import aiohappyeyeballs
import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from python_socks.async_.asyncio import Proxy

from gossamer.events.hazards import UNTRUSTED_CERTIFICATE
from gossamer.services.fetcher.head import Head, Malformed, end_of_head, parse_head
from gossamer.services.fetcher.http.chunks import ChunkLines
from gossamer.services.fetcher.http.issuers import MISSING_ISSUER, Issuers
from gossamer.services.fetcher.http.tls import Context, describe_tls, store_session
from gossamer.services.fetcher.outcome import Tls
from gossamer.services.fetcher.rate_limits import address_key


class SocksRoute(NamedTuple):
    """The URL of a SOCKS proxy, and the server that it connects to."""

    proxy: str
    server: str
    port: int


SOCKS_ROUTE: ContextVar[SocksRoute | None] = ContextVar("SOCKS_ROUTE", default=None)
"""The SOCKS proxy of the current request. aiohttp does not support SOCKS."""


BEFORE_SEND: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar(
    "BEFORE_SEND", default=None
)
"""Awaited after the current request has a connection. If it raises, the request is not sent."""


class ExactUrl(NamedTuple):
    """The URL of a request and its target, both as they are sent; the names are aiohttp's."""

    url: str
    scheme: str
    raw_path_qs: str
    """The target."""

    def __str__(self) -> str:
        return self.url


EXACT_URL: ContextVar[ExactUrl | None] = ContextVar("EXACT_URL", default=None)
"""The URL of the current request. aiohttp's URL has lost an empty query."""


OPEN_HEADERS = {
    "host", "user-agent", "from", "accept", "accept-encoding", "accept-language", "cache-control",
    "pragma", "dnt", "sec-gpc", "if-none-match", "if-modified-since", "range", "connection",
}  # fmt: skip
"""The headers that are sent to a server whose certificate is invalid. All others may be secrets, or
prove our identity to a stranger in between."""


class ExactRequest(aiohttp.ClientRequest):
    """A request whose target and cookies are sent byte for byte, also through a proxy.

    A server with an invalid certificate receives no secrets. This is decided when the connection is
    known, because an idle connection may be reused.
    """

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """Send the request."""
        if isinstance(conn.protocol, ResponseProtocol) and conn.protocol.certificate_fault:
            for name in [name for name in self.headers if name.lower() not in OPEN_HEADERS]:
                self.headers.popall(name, None)
        url: Any = EXACT_URL.get()
        parsed, self.url = self.url, url or self.url
        try:
            with _exact_cookies(conn, self.headers.get("Cookie", "")):
                return await super().send(conn)
        finally:
            self.url = parsed


@contextmanager
def _exact_cookies(conn: Connection, cookies: str) -> Iterator[None]:
    """Send *cookies*, octets as Latin-1, byte for byte. aiohttp sends all headers in UTF-8."""
    protocol: Any = conn.protocol
    if cookies.isascii() or protocol is None:
        yield
        return
    transport = protocol.transport
    protocol.transport = _ExactTransport(transport, cookies)
    try:
        # A request without a body is written at once.
        yield
    finally:
        if protocol.transport is not None:
            protocol.transport = transport


class _ExactTransport:
    """A transport that sends *cookies* as their octets."""

    def __init__(self, transport: Any, cookies: str) -> None:
        self._transport = transport
        self._before, self._after = cookies.encode(), cookies.encode("latin-1")

    def write(self, data: bytes) -> None:
        """Write the head of a request."""
        self._transport.write(data.replace(self._before, self._after, 1))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class NoConnection(Exception):
    """The connection was not accepted; *error* is the reason, or None after a timeout."""

    def __init__(self, text: str, error: OSError | None = None) -> None:
        super().__init__(text)
        self.error = error


class TlsFailure(Exception):
    """The connection was accepted, and the TLS handshake failed.

    *fault*: OpenSSL's code of the certificate's fault; None if the certificate was not verified.
    """

    def __init__(self, text: str, fault: int | None = None) -> None:
        super().__init__(text)
        self.fault = fault


class SilentServer(Exception):
    """The request was sent, and no byte came back in time."""


class BadHead(Exception):
    """The server closed the connection before the end of the head, or the head is malformed.

    *stale*: the connection was reused, and was closed before a byte of the response came.
    """

    def __init__(self, text: str, stale: bool = False) -> None:
        super().__init__(text)
        self.stale = stale


Connected = tuple[asyncio.Transport, ResponseHandler]
Connect = Callable[[Context], Awaitable[Connected]]
"""Makes a connection with a context; raises TlsFailure."""


class Connector(aiohttp.TCPConnector):
    """Connects in two steps, each within the session's `sock_connect` timeout."""

    def __init__(self, head_limit: int, issuers: Issuers, **options: Any) -> None:
        super().__init__(**options)
        self._issuers = issuers
        make: Any = partial(ResponseProtocol, loop=self._loop, head_limit=head_limit)
        self._factory = make

    async def connect(
        self, req: aiohttp.ClientRequest, traces: Any, timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Connect or reuse an idle connection, then await BEFORE_SEND."""
        connection = await super().connect(req, traces, timeout)
        if before_send := BEFORE_SEND.get():
            try:
                await before_send()
            except BaseException:
                connection.close()
                raise
        return connection

    def drop(self, key: ConnectionKey) -> None:
        """Close the idle connections of *key*."""
        for protocol, _ in self._conns.pop(key, ()):
            protocol.close()

    async def _wrap_create_connection(  # type: ignore[override]
        self,
        factory: Any,
        *,
        addr_infos: Any,
        timeout: aiohttp.ClientTimeout,
        ssl: ssl.SSLContext | None,
        server_hostname: str | None,
        **rest: Any,
    ) -> Connected:
        limit = timeout.sock_connect or 0.0
        if ssl is None:
            sock = await self._open_socket(addr_infos, limit)
            return await self._loop.create_connection(factory, sock=sock)
        assert isinstance(ssl, Context)

        async def connect(context: Context) -> Connected:
            sock = await self._open_socket(addr_infos, limit)
            try:
                created = await self._loop.create_connection(
                    factory,
                    sock=sock,
                    ssl=context,
                    server_hostname=server_hostname,
                    ssl_handshake_timeout=limit,
                )
            except OSError as error:
                raise _tls_failure(error) from error
            _check_pin(context, created[0])
            return created

        return await self._connect_tls(ssl, str(server_hostname), connect)

    async def _create_proxy_connection(
        self, req: aiohttp.ClientRequest, traces: Any, timeout: aiohttp.ClientTimeout
    ) -> Any:
        create = partial(super()._create_proxy_connection, req, traces, timeout)
        if not isinstance(req.ssl, Context):
            return await create()

        async def connect(context: Context) -> Connected:
            chosen, req._ssl = req._ssl, context
            try:
                created: Connected = await create()  # type: ignore[assignment]
            except aiohttp.ClientConnectorCertificateError as error:
                raise _tls_failure(error.certificate_error) from error
            finally:
                req._ssl = chosen
            _check_pin(context, created[0])
            return created

        return await self._connect_tls(req.ssl, req.host, connect)

    async def _connect_tls(self, context: Context, host: str, connect: Connect) -> Connected:
        """Return a verified connection, or if *context* records faults, perhaps one with a fault.

        1. The certificate is verified, with the chain that was completed before if there is one.
        2. If an issuer is missing, the chain is completed, and verified again.
        3. If the certificate still has a fault, a connection without trust is made.

        Raise TlsFailure if no connection is made.
        """
        if context.has_system_trust and (completed := self._issuers.context_for(host)):
            try:
                return await connect(completed)
            except TlsFailure:
                self._issuers.forget(host)
        try:
            return await connect(context)
        except TlsFailure as error:
            failure = error
        is_incomplete = context.has_system_trust and failure.fault in MISSING_ISSUER
        if failure.fault is None or not (is_incomplete or context.records_faults):
            raise failure
        try:
            untrusted = await connect(context.unverified)
        except (TlsFailure, NoConnection):
            raise failure from None
        if is_incomplete and (chain := await self._chain_behind(untrusted)):
            untrusted[0].close()
            completed = await self._issuers.context_with(chain)
            if completed is not None:
                try:
                    connected = await connect(completed)
                except TlsFailure as error:
                    failure = error
                else:
                    self._issuers.confirm(host, chain, completed)
                    return connected
            if failure.fault is None or not context.records_faults:
                raise failure
            untrusted = await connect(context.unverified)
        if not context.records_faults:
            untrusted[0].close()
            raise failure
        assert isinstance(untrusted[1], ResponseProtocol)
        untrusted[1].certificate_fault = str(failure)
        return untrusted

    async def _chain_behind(self, connected: Connected) -> tuple[bytes, ...]:
        """Return the issuers of the certificate of a connection, without its authority."""
        leaf = connected[0].get_extra_info("ssl_object").getpeercert(binary_form=True)
        try:
            return await self._issuers.chain_of(leaf or b"")
        except BaseException:
            connected[0].close()
            raise

    async def _open_socket(self, addr_infos: Any, limit: float) -> socket.socket:
        try:
            async with asyncio.timeout(limit):
                if route := SOCKS_ROUTE.get():
                    proxy = Proxy.from_url(route.proxy, rdns=True)
                    return await proxy.connect(route.server, route.port, limit)
                return await aiohappyeyeballs.start_connection(
                    addr_infos, happy_eyeballs_delay=self._happy_eyeballs_delay
                )
        except TimeoutError as error:
            raise NoConnection(f"no connection within {limit:g} s") from error
        except OSError as error:
            raise NoConnection(str(error), error) from error


def _check_pin(context: ssl.SSLContext, transport: asyncio.BaseTransport) -> None:
    """Close *transport* and raise TlsFailure if its certificate is not the pinned one."""
    if isinstance(context, Context) and context.refuses(transport.get_extra_info("ssl_object")):
        transport.close()
        raise TlsFailure("the certificate is not the one that is pinned for the site")


def _tls_failure(error: Exception) -> TlsFailure:
    fault = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else None
    return TlsFailure(describe_tls_error(error), fault)


def describe_tls_error(error: Exception) -> str:
    """Return a sentence about the failed certificate or handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{UNTRUSTED_CERTIFICATE}: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return f"the TLS handshake was aborted: {error}"


class ResponseProtocol(ResponseHandler):
    """Reads the head of each response itself, and leaves the body to aiohttp."""

    def __init__(self, loop: asyncio.AbstractEventLoop, head_limit: int) -> None:
        super().__init__(loop)
        self._head_limit = head_limit
        self._head_data: bytearray | None = None
        self.requests = 0
        """Requests that were sent over this connection."""
        self.received = 0
        """Bytes of the current head that were received."""
        self.head: Head | None = None
        self._chunks: ChunkLines | None = None
        """The lines of the current body, if it is chunked."""
        self.certificate_fault = ""
        """Why the certificate of the connection is invalid; "" if it is not."""

    def set_response_params(self, **params: Any) -> None:
        """Expect the head of a response from now on."""
        self._head_data, self.received, self.head = bytearray(), 0, None
        self.requests += 1
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Handle data from the server."""
        if self._head_data is not None:
            self._read_head(self._head_data, data)
        elif data and (self._payload is None or self._payload.is_eof()):
            # Data without a request must not be treated as the response to the next request.
            self._close_connection()
        else:
            self._pass_on(self._payload, data)

    def _pass_on(self, payload: aiohttp.StreamReader | None, data: bytes) -> None:
        # aiohttp calls this without data to continue reading.
        super().data_received(self._chunks.feed(data) if self._chunks else data)
        if payload is not None and not payload.is_eof() and self.exception() is not None:
            # After an invalid chunk aiohttp closes the connection, but lets the reader wait.
            payload.set_exception(aiohttp.ClientPayloadError("the body has an invalid chunk"))

    def _read_head(self, data_so_far: bytearray, data: bytes) -> None:
        searched = len(data_so_far)
        data_so_far += data
        self.received += len(data)
        try:
            while end := end_of_head(data_so_far, searched):
                head, searched = parse_head(data_so_far[:end]), 0
                del data_so_far[:end]
                if not head.interim:
                    self._begin_body(head, bytes(data_so_far))
                    return
            if self.received > self._head_limit:
                raise Malformed(f"the head is longer than {self._head_limit} bytes")
        except Malformed as error:
            self.set_exception(error)
            self._close_connection()

    def _begin_body(self, head: Head, body: bytes) -> None:
        self.head, self._head_data = head, None
        self._chunks = ChunkLines() if head.chunked else None
        # The timeout was for the head. The reader of the body sets another one.
        self.read_timeout = None
        self.start_timeout()
        if head.length is not None and len(body) <= head.length:
            super().data_received(_framing_head(head) + body)
            return
        # The body is passed on separately, so that an error after the head does not lose the head.
        super().data_received(_framing_head(head))
        if body:
            self.data_received(body)

    def _close_connection(self) -> None:
        self.force_close()
        if self.transport is not None:
            self.transport.close()


def _framing_head(head: Head) -> bytes:
    """Return a head for aiohttp's parser that contains only the framing of the body."""
    lines = [b"HTTP/1.1 %d X" % (head.status if 200 <= head.status < 600 else 200)]
    if head.chunked:
        lines.append(b"Transfer-Encoding: chunked")
    elif head.length is not None:
        lines.append(b"Content-Length: %d" % head.length)
    if not head.keep_alive:
        lines.append(b"Connection: close")
    return b"\r\n".join([*lines, b"", b""])


class RawResponse(aiohttp.ClientResponse):
    """A response that stores the original head, the server's address and the TLS in use.

    They are stored because the connection may be closed before they are needed.
    """

    address = ""
    tls = Tls()
    head: Head
    key: ConnectionKey

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head; raise SilentServer or BadHead."""
        protocol = connection.protocol
        assert isinstance(protocol, ResponseProtocol)
        transport, self.key = protocol.transport, connection._key
        if transport is not None:
            self.address = transport.get_extra_info("peername")[0]
            tls = describe_tls(transport.get_extra_info("ssl_object"))
            self.tls = tls._replace(fault=protocol.certificate_fault)
        try:
            await super().start(connection)
        except Malformed as error:
            raise BadHead(str(error)) from error
        except TimeoutError as error:
            if protocol.received:
                raise BadHead(f"the head stopped after {protocol.received} bytes") from error
            raise SilentServer("the server sent nothing in time") from error
        except (aiohttp.ClientError, OSError) as error:
            text = f"the connection was closed after {protocol.received} bytes of the head"
            stale = protocol.requests > 1 and not protocol.received
            raise BadHead(text, stale) from error
        assert protocol.head is not None
        self.head = protocol.head
        if transport is not None and protocol.requests == 1:
            store_session(transport.get_extra_info)
        return self


def read_rest(response: RawResponse) -> bytes:
    """Return the bytes of a body that were received and not read when the connection failed."""
    return response.content._read_nowait(-1)


CLOSE_MARGIN = 1.0
"""Seconds by which we close a connection before the server does, so that no request is lost."""


SWEEP_INTERVAL = 1.0
"""Seconds between two checks for expired connections."""


class IdleConnection(NamedTuple):
    """An open connection without a request."""

    key: ConnectionKey
    """aiohttp's key of the connection."""
    address: str
    address_key: str
    until: float
    """When it expires, in the time of the event loop."""


class IdleConnections:
    """At most *limit* idle connections, one for each host, each for at most *seconds*."""

    def __init__(self, drop: Callable[[ConnectionKey], None], seconds: float, limit: int) -> None:
        self._drop, self._seconds, self._limit = drop, seconds, limit
        self._idle: OrderedDict[str, IdleConnection] = OrderedDict()
        self._loop = asyncio.get_running_loop()
        self._sweeping = False
        self._counts = Counter[str]()
        """Address key → number of idle connections."""

    def reuse(self, host: str, addresses: Container[str]) -> None:
        """Let the next request to *host* use its idle connection, unless it must be closed.

        *addresses* are the permitted addresses of the host. The connection is closed if it has
        another address, or if it has expired.
        """
        idle = self._pop(host) if host in self._idle else None
        if idle and (idle.address not in addresses or idle.until < self._loop.time()):
            self._drop(idle.key)

    def keep(
        self, host: str, key: ConnectionKey, address: str, delay: float, timeout: float
    ) -> None:
        """Keep an idle connection to *host*; close it if it would expire before the next request.

        The next request comes after *delay* seconds at the earliest, and the server closes the
        connection after *timeout* seconds.
        """
        seconds = min(self._seconds, timeout - CLOSE_MARGIN)
        if delay >= seconds:
            self._drop(key)
            return
        group = address_key(address)
        self._idle[host] = IdleConnection(key, address, group, self._loop.time() + seconds)
        self._counts[group] += 1
        if len(self._idle) > self._limit:
            self._close(next(iter(self._idle)))
        if not self._sweeping:
            self._sweep()

    def _sweep(self) -> None:
        now = self._loop.time()
        for host in [host for host, idle in self._idle.items() if idle.until < now]:
            self._close(host)
        # A timer for each connection would cost more.
        self._sweeping = bool(self._idle)
        if self._sweeping:
            self._loop.call_later(min(SWEEP_INTERVAL, self._seconds), self._sweep)

    def count_at(self, group: str) -> int:
        """Return the number of idle connections to an address key."""
        return self._counts[group]

    def close_oldest_at(self, group: str) -> None:
        """Close the oldest idle connection to an address key."""
        self._close(next(host for host, idle in self._idle.items() if idle.address_key == group))

    def _close(self, host: str) -> None:
        self._drop(self._pop(host).key)

    def _pop(self, host: str) -> IdleConnection:
        idle = self._idle.pop(host)
        self._counts[idle.address_key] -= 1
        if not self._counts[idle.address_key]:
            del self._counts[idle.address_key]
        return idle
