"""The children that read pages, and what becomes of a page whose child dies.

Each child has a connection of its own and shares nothing with the others, so that whatever happens
to one, at whatever instant, happens to one page. A page is tried a second time when its child died
of anything but the time limit: an operator may have killed it, or a kernel that was short of
memory.

A page may have taken its child over. So the identity of a page is that of the request and never of
the reply; a child that does not answer is killed, whatever has become of its own alarms; and a
child is replaced after PAGES pages, so that it can misreport the contents of few others.
"""

import asyncio
import socket
from functools import cache
from types import TracebackType

import structlog
from msgspec import DecodeError

from gossamer import clock
from gossamer.errors import GossamerError, Poison
from gossamer.events import PageParsed
from gossamer.telemetry import count
from gossamer.telemetry.timing import timed
from services.parser.pool.fork_server import ChildDied, ForkServer
from services.parser.pool.messages import (
    ALARMS,
    CLOCK_TIME_FACTOR,
    LENGTH,
    Reply,
    Request,
    decode_ready,
    decode_reply,
    encode,
    frame,
)
from services.parser.result import restore_identity

MAX_TRIES = 2
MAX_PAGES_PER_CHILD = 50
"""Pages that a child reads before it is replaced: a fresh one costs 13 ms of CPU, which is 0.3 ms a
page, where an ordinary page takes 4 ms without its main text."""
REPLY_GRACE = 30.0
"""Seconds that a child may stay silent beyond the time limit that it keeps by itself."""
MAX_IDLE_SECONDS = 30.0
"""Seconds after which a child without pages ends."""
MAX_REPLY_SIZE = 64 << 20
"""Bytes: more than any page makes. A child may be in the hands of whoever wrote the page."""
logger = structlog.get_logger()


class Pool:
    """Up to *size* children; a page may take *page_limit* seconds of CPU, *memory_limit* bytes.

    A child is started when a page comes and all others are at work. One that has had none for
    IDLE_LIMIT ends; the fork server stays, so that the next page waits for milliseconds only.
    """

    def __init__(self, size: int, page_limit: float, memory_limit: int) -> None:
        self._page_limit = page_limit
        self._server = ForkServer(page_limit, memory_limit)
        silence = CLOCK_TIME_FACTOR * page_limit + REPLY_GRACE
        self._children = [Child(self._server, silence) for _ in range(size)]
        # The last used one first: it runs already.
        self._free: asyncio.LifoQueue[Child] = asyncio.LifoQueue()

    async def __aenter__(self) -> "Pool":
        """Be ready for pages."""
        for child in self._children:
            self._free.put_nowait(child)
        self._ending = asyncio.create_task(self._end_idle_children())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Kill all children, whatever they are doing."""
        self._ending.cancel()
        # It may be stopping the fork server, which it takes with it when it is cancelled.
        await asyncio.gather(self._ending, return_exceptions=True)
        await asyncio.gather(*(child.stop() for child in self._children))
        await self._server.stop()

    @property
    def pids(self) -> list[int]:
        """The process ids of the children that run."""
        return [child.pid for child in self._children if child.pid]

    async def parse(self, request: Request) -> PageParsed:
        """Return what a page says; raise Poison if it cannot be read, GossamerError if none can."""
        message = frame(encode(request))
        child = await self._free.get()
        try:
            with timed("gossamer_parse_seconds"):
                reply = await self._ask(child, message)
            if reply.leaving or child.pages >= MAX_PAGES_PER_CHILD:
                await child.stop()
        finally:
            child.used_at = clock.steady()
            self._free.put_nowait(child)
        if reply.parsed is None:
            raise Poison(f"the parser cannot read this page: {reply.fault}")
        return restore_identity(request.page, reply.parsed, request.now)

    async def _ask(self, child: "Child", message: bytes) -> Reply:
        tried = 0
        while True:
            try:
                return await child.ask(message)
            except ChildDied as death:
                tried += 1
                count("gossamer_parser_replaced_total")
                if error := self._blame(death, tried):
                    raise error from death

    async def _end_idle_children(self) -> None:
        while True:
            await asyncio.sleep(MAX_IDLE_SECONDS)
            # While they are taken no page comes to them.
            taken = [self._free.get_nowait() for _ in range(self._free.qsize())]
            for child in taken:
                if clock.steady() - child.used_at >= MAX_IDLE_SECONDS:
                    await child.stop()
            for child in reversed(taken):
                self._free.put_nowait(child)

    def _blame(self, death: ChildDied, tried: int) -> GossamerError | None:
        if -death.code in ALARMS:
            return Poison(f"the page takes longer than {self._page_limit:g} s")
        if tried < MAX_TRIES:
            return None
        if not death.ready:
            return GossamerError(f"a parser process ended before it was ready: {death}")
        return Poison(f"the parser died of this page, {MAX_TRIES} times: {death}")


class Child:
    """One child and its successors: a new process whenever a page comes and the last is gone.

    One that says nothing for *silence* seconds is killed.
    """

    def __init__(self, server: ForkServer, silence: float) -> None:
        self.used_at = 0.0
        self.pages = 0
        """How many pages the running process was asked to read."""
        self._server, self._silence = server, silence
        self._pid = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._ready = False

    @property
    def pid(self) -> int:
        """The id of the running process; 0 if there is none."""
        return self._pid

    async def ask(self, message: bytes) -> Reply:
        """Return the reply to a framed *message*.

        Raise Died if the process ends first, Poison if it does not answer.
        """
        reader, writer = self._streams or await self._start()
        self.pages += 1
        try:
            async with asyncio.timeout(self._silence):
                return await self._exchange(message, reader, writer)
        except TimeoutError as error:
            code = await self.stop()
            if not self._ready:
                raise ChildDied(code, ready=False) from error
            count("gossamer_parser_replaced_total")
            raise Poison(f"the parser did not answer for {self._silence:g} s") from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ChildDied(await self.stop(), self._ready) from error
        except BaseException:
            # Cancelled in the middle of a page: the reply would be taken for the next page's.
            await self.stop()
            raise

    async def _start(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        ours, theirs = socket.socketpair()
        self._ready, self.pages = False, 0
        with theirs:
            try:
                self._pid = await self._server.fork(theirs)
            except BaseException:
                ours.close()
                raise
        self._streams = streams = await asyncio.open_connection(sock=ours)
        return streams

    async def _exchange(
        self, message: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Reply:
        if not self._ready:
            _log_missing_restrictions(**decode_ready(await _receive(reader)).missing)
            self._ready = True
        writer.write(message)
        await writer.drain()
        try:
            return decode_reply(await _receive(reader))
        except DecodeError as error:
            raise Poison(f"the parser's reply to this page is none: {error}") from error

    async def stop(self) -> int:
        """Kill the process, if there is one; return its exit status."""
        pid, streams = self._pid, self._streams
        self._pid, self._streams = 0, None
        if streams:
            streams[1].close()
        return await self._server.end(pid) if pid else 0


@cache
def _log_missing_restrictions(**missing: str) -> None:
    """Log what the children's sandbox lacks, once."""
    if missing:
        logger.warning("the sandbox of the parser's processes is not whole", missing=missing)


async def _receive(reader: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    if length > MAX_REPLY_SIZE:
        raise Poison(f"the parser's reply to this page is {length} bytes long")
    return await reader.readexactly(length)
