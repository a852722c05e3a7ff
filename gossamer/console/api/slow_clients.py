"""Time limits for clients that send or read slowly, so that a few of them cannot use up all
connections or the memory."""

import asyncio
from typing import Any, cast

from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Receive, ReceiveMessage, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 10.0
"""Seconds from the connection, or a response, to the end of the head of the next request."""
BODY_SECONDS = 15.0
"""Seconds for the body of a request. It has a megabyte at most."""
READ_SECONDS = 15.0
"""Seconds in which a client must read MIN_READ_BYTES of the response that waits for it."""
MIN_READ_BYTES = 16 << 10


class BodyTimeout:
    """Middleware that ends requests whose bodies take too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a limit for its body."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        ends_at: float | None = asyncio.get_running_loop().time() + BODY_SECONDS

        async def receive_in_time() -> ReceiveMessage:
            nonlocal ends_at
            try:
                async with asyncio.timeout_at(ends_at):
                    message = await receive()
            except TimeoutError as error:
                # Without `Connection: close` the server would wait for the rest of the body.
                detail = "the body took too long"
                headers = {"Connection": "close"}
                raise HTTPException(detail, status_code=408, headers=headers) from error
            if message["type"] == "http.request" and not message["more_body"]:
                ends_at = None  # The next message is the end of the connection.
            return message

        await self._app(scope, receive_in_time, send)


class _CountedTransport:
    """A transport that counts the bytes that its client has read."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._written = transport, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send *data*."""
        self._written += len(data)
        self._transport.write(data)

    @property
    def waiting(self) -> int:
        """Bytes that wait for the client."""
        return self._transport.get_write_buffer_size()

    @property
    def read(self) -> int:
        """Bytes that the client, or the system for it, has taken."""
        return self._written - self.waiting


class Protocol(H11Protocol):
    """HTTP that ends connections on which no request begins, or whose client does not read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        self._counted = _CountedTransport(transport)
        super().connection_made(cast(asyncio.Transport, self._counted))
        self.loop.call_later(HEAD_SECONDS, self._close_without_request, self.cycle)
        self._reading = self.loop.call_later(READ_SECONDS, self._check_reading, 0, False)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the checks."""
        self._reading.cancel()
        super().connection_lost(exc)

    def _check_reading(self, read_before: int, has_waited: bool) -> None:
        """Abort the connection if its client has read too little since the last check."""
        is_waiting, read = self._counted.waiting > 0, self._counted.read
        if is_waiting and has_waited and read - read_before < MIN_READ_BYTES:
            self._counted.abort()
            return
        self._reading = self.loop.call_later(READ_SECONDS, self._check_reading, read, is_waiting)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        last = self.cycle
        super().on_response_complete()
        self.loop.call_later(HEAD_SECONDS, self._close_without_request, last)

    def _close_without_request(self, last: RequestResponseCycle | None) -> None:
        if self.cycle is last and not self.transport.is_closing():
            self.transport.close()
