"""Time limits for clients that send slowly, so that a few of them cannot use up all connections."""

import asyncio

from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, Receive, ReceiveMessage, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 10.0
"""Seconds from the connection, or a response, to the end of the head of the next request."""
BODY_SECONDS = 15.0
"""Seconds for the body of a request. It has a megabyte at most."""


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
                # Without it the server would wait for the rest of the body after the response.
                detail = "the body took too long"
                headers = {"Connection": "close"}
                raise HTTPException(detail, status_code=408, headers=headers) from error
            if message["type"] == "http.request" and not message["more_body"]:
                ends_at = None  # The next message is the end of the connection.
            return message

        await self._app(scope, receive_in_time, send)


class Protocol(H11Protocol):
    """HTTP that ends connections on which no request begins."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._close_without_request, self.cycle)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        last = self.cycle
        super().on_response_complete()
        self.loop.call_later(HEAD_SECONDS, self._close_without_request, last)

    def _close_without_request(self, last: RequestResponseCycle | None) -> None:
        if self.cycle is last and not self.transport.is_closing():
            self.transport.close()
