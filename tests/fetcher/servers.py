"""Servers on loopback that answer as a test defines, and record their requests."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = Callable[["Server", asyncio.StreamWriter], Awaitable[bool]]
"""Writes to the client; returns whether the connection can be reused."""


@dataclass
class Request:
    path: str
    head: str
    connection: int
    received_at: float
    answered_at: float = 0.0
    resumed: bool = False
    """Whether the request came over a resumed TLS session."""

    def header(self, name: str) -> str:
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(": ")
            if key.lower() == name.lower():
                return value
        return ""


@dataclass
class Server:
    answers: dict[str, Answer]
    scheme: str = "http"
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    open: set["asyncio.Task[None]"] = field(default_factory=set)

    @property
    def root(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        try:
            with contextlib.suppress(
                ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
            ):
                while await self._one(reader, writer, number):
                    pass
        finally:
            self.open.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def close(self) -> None:
        handlers = tuple(self.open)
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers)

    async def _one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        now = asyncio.get_running_loop().time
        request = Request(head.split(" ")[1], head, number, now())
        if secured := writer.get_extra_info("ssl_object"):
            request.resumed = secured.session_reused
        self.requests.append(request)
        self.asked.set()
        keep = await self.answers.get(request.path, page(b"nothing", 404))(self, writer)
        await writer.drain()
        request.answered_at = now()
        return keep


@asynccontextmanager
async def serving(**answers: Answer) -> AsyncIterator[Server]:
    """Serve each answer at the path of its name; `robots` is /robots.txt."""
    async with serving_over(None, **answers) as server:
        yield server


@asynccontextmanager
async def serving_over(tls: ssl.SSLContext | None, **answers: Answer) -> AsyncIterator[Server]:
    """Serve *answers* by name, over TLS if a context is given."""
    named = {f"/{name}": answer for name, answer in answers.items()}
    if "/robots" in named:
        named["/robots.txt"] = named.pop("/robots")
    server = Server(named, scheme="https" if tls else "http")
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await server.close()


def page(body: bytes = b"<p>hello", status: int = 200, **headers: str) -> Answer:
    """Answer correctly."""
    given = {"Content-Type": "text/html"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = [f"HTTP/1.1 {status} Said So", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in given.items() if value]
    return raw("\r\n".join([*lines, "", ""]).encode("latin-1") + body, keep=True)


def conditional_page(body: bytes, etag: str = "", modified: str = "") -> Answer:
    """Answer 304 to a client that has this version (RFC 9110, 13.2.2)."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        asked = server.requests[-1]
        tags, since = asked.header("If-None-Match"), asked.header("If-Modified-Since")
        weakly = etag.removeprefix("W/") == tags.removeprefix("W/")
        known = weakly if tags else bool(since) and since == modified
        if not known:
            return await page(body, ETag=etag, Last_Modified=modified)(server, writer)
        # The length of the body that is not sent (8.6).
        lines = ["HTTP/1.1 304 Not Modified", f"Content-Length: {len(body)}"]
        lines += [f"ETag: {etag}"] if etag else []
        return await raw("\r\n".join([*lines, "", ""]).encode("latin-1"), keep=True)(server, writer)

    return answer


def raw(data: bytes, keep: bool = False) -> Answer:
    """Answer exactly these bytes; then close, unless *keep*."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        return keep

    return answer


def hanging(data: bytes = b"") -> Answer:
    """Send *data*, then nothing, and never close."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        await asyncio.Event().wait()
        return False

    return answer


def endless(head: bytes, chunk: bytes, every: float = 0.0) -> Answer:
    """Send *chunk* repeatedly until the client closes the connection."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        while True:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(every)

    return answer
