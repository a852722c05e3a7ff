"""Connections, as far as aiohttp leaves it to us to say in which phase one fails, and why.

aiohttp tells no connection that was refused from a TLS handshake that timed out, and loses a page
for a head that its parser does not like. So connecting is two steps here with a limit for each, and
a head is read by `services/fetcher/head.py`: aiohttp's parser is told how the body is framed, and
nothing else.

What aiohttp calls private, and this module uses all the same, is named in
`tests/fetcher/test_wire.py`.

Connections that nobody uses, kept open for the next request to their host.

One is kept where that request may come before its server hangs up: servers close what is idle after
five seconds to two minutes, and many say when. Its address must still be one that may be visited.
"""

import asyncio
import socket
import ssl
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Container
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import aiohappyeyeballs
import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from python_socks.async_.asyncio import Proxy

from services.fetcher.head import Head, Malformed, end_of_head, parse_head
from services.fetcher.http.tls import Context, remember_session
from services.fetcher.rate_limits import crowd_of


class Through(NamedTuple):
    """A SOCKS proxy, by its URL, and the server that it is to connect to."""

    proxy: str
    server: str
    port: int


SOCKS: ContextVar[Through | None] = ContextVar("SOCKS", default=None)
"""Through what the request under way connects; aiohttp knows no such proxies."""


LOOK: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar("LOOK", default=None)
"""Awaited between the connection and the request under way, which is not sent if it raises."""


class NoConnection(Exception):
    """Nobody took the connection; *error* says why, unless it was for the time."""

    def __init__(self, text: str, error: OSError | None = None) -> None:
        super().__init__(text)
        self.error = error


class TlsFailure(Exception):
    """The connection was taken, and TLS did not come about."""


class Silent(Exception):
    """The request was sent, and not a byte came back in time."""


class NoHead(Exception):
    """The server hung up before the end of a head, or what it said is none.

    *stale*: the connection had been kept, and was closed before a byte of the answer came.
    """

    def __init__(self, text: str, stale: bool = False) -> None:
        super().__init__(text)
        self.stale = stale


class Connector(aiohttp.TCPConnector):
    """Connects in two steps, each within the session's `sock_connect` limit."""

    def __init__(self, head_limit: int, **options: Any) -> None:
        super().__init__(**options)
        make: Any = partial(AnswerProtocol, loop=self._loop, head_limit=head_limit)
        self._factory = make

    async def connect(
        self, req: aiohttp.ClientRequest, traces: Any, timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Connect, or take a kept connection; look once more before anything is sent on it."""
        connection = await super().connect(req, traces, timeout)
        if look := LOOK.get():
            try:
                await look()
            except BaseException:
                connection.close()
                raise
        return connection

    def drop(self, key: ConnectionKey) -> None:
        """Close what is idle of the connections of *key*."""
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
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        limit = timeout.sock_connect or 0.0
        sock = await self._socket(addr_infos, limit)
        if ssl is None:
            return await self._loop.create_connection(factory, sock=sock)
        try:
            made = await self._loop.create_connection(
                factory,
                sock=sock,
                ssl=ssl,
                server_hostname=server_hostname,
                ssl_handshake_timeout=limit,
            )
        except OSError as error:
            raise TlsFailure(tls_fault(error)) from error
        if isinstance(ssl, Context) and ssl.refuses(made[0].get_extra_info("ssl_object")):
            made[0].close()
            raise TlsFailure("the certificate is another one than was set for the site")
        return made

    async def _socket(self, addr_infos: Any, limit: float) -> socket.socket:
        try:
            async with asyncio.timeout(limit):
                if through := SOCKS.get():
                    proxy = Proxy.from_url(through.proxy, rdns=True)
                    return await proxy.connect(through.server, through.port, limit)
                return await aiohappyeyeballs.start_connection(
                    addr_infos, happy_eyeballs_delay=self._happy_eyeballs_delay
                )
        except TimeoutError as error:
            raise NoConnection(f"no connection in {limit:g} s") from error
        except OSError as error:
            raise NoConnection(str(error), error) from error


def tls_fault(error: OSError) -> str:
    """Return what is wrong with the certificate, or with TLS itself."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS: {(error.reason or str(error)).replace('_', ' ').lower()}"
    return f"the TLS handshake broke off: {error}"


class AnswerProtocol(ResponseHandler):
    """Reads the head of each answer itself."""

    def __init__(self, loop: asyncio.AbstractEventLoop, head_limit: int) -> None:
        super().__init__(loop)
        self._head_limit = head_limit
        self._collected: bytearray | None = None
        self.requests = 0
        """How many were sent over this connection."""
        self.received = 0
        """Bytes of the head that the last one was answered with."""
        self.head: Head | None = None

    def set_response_params(self, **params: Any) -> None:
        """Expect the head of an answer from now on."""
        self._collected, self.received, self.head = bytearray(), 0, None
        self.requests += 1
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Take in what the server sends."""
        if self._collected is not None:
            self._collect(self._collected, data)
        elif data and (self._payload is None or self._payload.is_eof()):
            # Nobody asked. It must not be taken for the answer to the next request.
            self._hang_up()
        else:
            self._pass_on(self._payload, data)

    def _pass_on(self, payload: aiohttp.StreamReader | None, data: bytes) -> None:
        # Without data it is aiohttp itself, which reads on.
        super().data_received(data)
        if payload is not None and not payload.is_eof() and self.exception() is not None:
            # A chunk that is none ends the connection, and aiohttp lets the reader wait for more.
            payload.set_exception(aiohttp.ClientPayloadError("the body has no sound chunks"))

    def _collect(self, collected: bytearray, data: bytes) -> None:
        looked = len(collected)
        collected += data
        self.received += len(data)
        try:
            while end := end_of_head(collected, looked):
                head, looked = parse_head(collected[:end]), 0
                del collected[:end]
                if not head.interim:
                    self._begin_body(head, bytes(collected))
                    return
            if self.received > self._head_limit:
                raise Malformed(f"a head of more than {self._head_limit} bytes")
        except Malformed as error:
            self.set_exception(error)
            self._hang_up()

    def _begin_body(self, head: Head, body: bytes) -> None:
        self.head, self._collected = head, None
        # The limit was for the head; whoever waits for more of the body sets another.
        self.read_timeout = None
        self.start_timeout()
        if head.length is not None and len(body) <= head.length:
            super().data_received(_framing(head) + body)
            return
        # By itself: what is wrong behind it must not spoil it.
        super().data_received(_framing(head))
        if body:
            self.data_received(body)

    def _hang_up(self) -> None:
        self.force_close()
        if self.transport is not None:
            self.transport.close()


def _framing(head: Head) -> bytes:
    """Return a head that says where the body ends, for a parser that knows one way to say it."""
    lines = [b"HTTP/1.1 %d X" % (head.status if 200 <= head.status < 600 else 200)]
    if head.chunked:
        lines.append(b"Transfer-Encoding: chunked")
    elif head.length is not None:
        lines.append(b"Content-Length: %d" % head.length)
    if not head.keeps:
        lines.append(b"Connection: close")
    return b"\r\n".join([*lines, b"", b""])


class Answer(aiohttp.ClientResponse):
    """Remembers the head as it came and the server's address: the connection may be gone when they
    are needed."""

    address = ""
    head: Head
    key: ConnectionKey

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head; raise Silent or NoHead."""
        protocol = connection.protocol
        assert isinstance(protocol, AnswerProtocol)
        transport, self.key = protocol.transport, connection._key
        if transport is not None:
            self.address = transport.get_extra_info("peername")[0]
        try:
            await super().start(connection)
        except Malformed as error:
            raise NoHead(str(error)) from error
        except TimeoutError as error:
            if protocol.received:
                raise NoHead(f"the head stopped after {protocol.received} bytes") from error
            raise Silent("nothing came back in time") from error
        except (aiohttp.ClientError, OSError) as error:
            text = f"the connection was closed after {protocol.received} bytes of the head"
            stale = protocol.requests > 1 and not protocol.received
            raise NoHead(text, stale) from error
        assert protocol.head is not None
        self.head = protocol.head
        if transport is not None and protocol.requests == 1:
            remember_session(transport.get_extra_info)
        return self


def rest_of_body(response: Answer) -> bytes:
    """Return what has come of a body and was not read when the connection broke."""
    return response.content._read_nowait(-1)


MARGIN = 1.0
"""Seconds by which we hang up before the server does: a request that it no longer reads is lost."""


SWEEP = 1.0
"""Seconds between two looks for what has been idle for too long."""


class Idle(NamedTuple):
    """A connection that is open: what aiohttp calls it, where it leads, until when it is used."""

    key: ConnectionKey
    address: str
    crowd: str
    """See `crowd_of`."""
    until: float


class Kept:
    """At most *most* idle connections, one a host, each for at most *seconds*."""

    def __init__(self, drop: Callable[[ConnectionKey], None], seconds: float, most: int) -> None:
        self._drop, self._seconds, self._most = drop, seconds, most
        self._idle: OrderedDict[str, Idle] = OrderedDict()
        self._loop = asyncio.get_running_loop()
        self._sweeping = False
        self._at = Counter[str]()
        """How many there are at each address, by crowd."""

    def take(self, host: str, addresses: Container[str]) -> None:
        """Let the next request to *host* have its connection, if that leads to one of *addresses*;
        close it otherwise."""
        idle = self._pop(host) if host in self._idle else None
        if idle and (idle.address not in addresses or idle.until < self._loop.time()):
            self._drop(idle.key)

    def keep(
        self, host: str, key: ConnectionKey, address: str, delay: float, patience: float
    ) -> None:
        """Keep a connection to *host*, of which the next request comes after *delay* seconds at the
        earliest and which its server keeps for *patience* seconds; close it if that is too long."""
        seconds = min(self._seconds, patience - MARGIN)
        if delay >= seconds:
            self._drop(key)
            return
        crowd = crowd_of(address)
        self._idle[host] = Idle(key, address, crowd, self._loop.time() + seconds)
        self._at[crowd] += 1
        if len(self._idle) > self._most:
            self._close(next(iter(self._idle)))
        if not self._sweeping:
            self._sweep()

    def _sweep(self) -> None:
        now = self._loop.time()
        for host in [host for host, idle in self._idle.items() if idle.until < now]:
            self._close(host)
        # A timer for each request would cost more than all of this.
        self._sweeping = bool(self._idle)
        if self._sweeping:
            self._loop.call_later(min(SWEEP, self._seconds), self._sweep)

    def at(self, crowd: str) -> int:
        """Return how many there are at an address."""
        return self._at[crowd]

    def drop_one(self, crowd: str) -> None:
        """Close the oldest at an address."""
        self._close(next(host for host, idle in self._idle.items() if idle.crowd == crowd))

    def _close(self, host: str) -> None:
        self._drop(self._pop(host).key)

    def _pop(self, host: str) -> Idle:
        idle = self._idle.pop(host)
        self._at[idle.crowd] -= 1
        if not self._at[idle.crowd]:
            del self._at[idle.crowd]
        return idle
