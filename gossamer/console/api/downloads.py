"""Bodies that are sent as files to save.

A body is checked and decoded as a whole, and then waits for its client in a temporary file. So a
client that reads slowly holds neither memory nor a thread that reads the crawl.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile
from typing import IO, Any

from litestar import Response
from litestar.exceptions import TooManyRequestsException
from litestar.types import ASGIApp, Receive, Scope, Send

from gossamer.console.api.identity import Actor

MAX_ACTOR_DOWNLOADS, MAX_DOWNLOADS = 2, 8
CHUNK_BYTES = 64 << 10


class Downloads:
    """The downloads of an application that have not ended."""

    def __init__(self) -> None:
        self._actors = Counter[str]()

    @property
    def count(self) -> int:
        """The number of downloads."""
        return self._actors.total()

    @contextmanager
    def counted(self, actor: Actor) -> Iterator[None]:
        """Count a download of *actor* in the block. Raise TooManyRequestsException if the actor,
        or all actors together, have too many."""
        if self._actors[actor.name] >= MAX_ACTOR_DOWNLOADS or self.count >= MAX_DOWNLOADS:
            raise TooManyRequestsException(
                "too many downloads at once; repeat it when another one has ended",
                headers={"Retry-After": "5"},
            )
        self._actors[actor.name] += 1
        try:
            yield
        finally:
            self._actors[actor.name] -= 1
            self._actors += Counter()  # `+=` drops names with a count of 0.


def spool(data: bytes) -> IO[bytes]:
    """Return a temporary file with *data*."""
    with ExitStack() as opened:
        file = opened.enter_context(TemporaryFile())
        file.write(data)
        file.seek(0)
        opened.pop_all()
        return file


class Download(Response[bytes]):
    """A response with the content of *file*, which ends *counted* and closes the file."""

    def __init__(
        self, file: IO[bytes], size: int, headers: Mapping[str, str], counted: ExitStack
    ) -> None:
        super().__init__(b"", media_type="application/octet-stream")
        self._file, self._counted = file, counted
        named = {"Content-Type": "application/octet-stream", **headers}
        named["Content-Length"] = str(size)
        self._head = [(name.lower().encode(), value.encode()) for name, value in named.items()]

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIApp:  # type: ignore[override]
        """Return the application that sends the response."""
        return self._send

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._counted, self._file:
            await send({"type": "http.response.start", "status": 200, "headers": self._head})
            is_last = False
            while not is_last:
                chunk = await asyncio.to_thread(self._file.read, CHUNK_BYTES)
                is_last = len(chunk) < CHUNK_BYTES
                await send({"type": "http.response.body", "body": chunk, "more_body": not is_last})
