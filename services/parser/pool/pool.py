"""The children that read pages, and what becomes of a page whose child dies.

Each child has pipes of its own and shares nothing with the others, so that whatever happens to
one, at whatever instant, happens to one page. A page is tried a second time when its child died of
anything but the time limit: an operator may have killed it, or a kernel that was short of memory.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from functools import cache
from types import TracebackType

import structlog
from msgspec import DecodeError

from gossamer.errors import GossamerError, Poison
from gossamer.events import PageParsed
from gossamer.telemetry import count
from gossamer.telemetry.timing import timed
from services.parser.pool.messages import (
    ALARMS,
    LENGTH,
    Reply,
    Request,
    encode,
    framed,
    ready_in,
    reply_in,
)
from services.parser.sandbox.entering import environment

TRIES = 2
REPLY_LIMIT = 64 << 20
"""Bytes: more than any page makes. A child may be in the hands of whoever wrote the page."""
logger = structlog.get_logger()


class Died(Exception):
    """A child ended before it replied; *code* is its exit status, negative for a signal."""

    def __init__(self, code: int, ready: bool) -> None:
        super().__init__(signal.Signals(-code).name if code < 0 else f"exit status {code}")
        self.code, self.ready = code, ready


class Pool:
    """*size* children; a page may take *page_limit* seconds of CPU, and *memory_limit* bytes."""

    def __init__(self, size: int, page_limit: float, memory_limit: int) -> None:
        self._page_limit = page_limit
        self._children = [Child(page_limit, memory_limit) for _ in range(size)]
        self._free: asyncio.Queue[Child] = asyncio.Queue()

    async def __aenter__(self) -> "Pool":
        """Start all children; they warm up while the first page is on its way."""
        for child in self._children:
            await child.start()
            self._free.put_nowait(child)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Kill all children, whatever they are doing."""
        await asyncio.gather(*(child.stop() for child in self._children))

    @property
    def pids(self) -> list[int]:
        """The children's process ids."""
        return [child.pid for child in self._children if child.pid]

    async def parse(self, request: Request) -> PageParsed:
        """Return what a page says; raise Poison if it cannot be read, GossamerError if none can."""
        message = framed(encode(request))
        child = await self._free.get()
        try:
            with timed("gossamer_parse_seconds"):
                reply = await self._ask(child, message)
            if reply.leaving:
                await child.start()
        finally:
            self._free.put_nowait(child)
        if reply.parsed is None:
            raise Poison(f"the parser cannot read this page: {reply.fault}")
        return reply.parsed

    async def _ask(self, child: "Child", message: bytes) -> Reply:
        tried = 0
        while True:
            try:
                return await child.ask(message)
            except Died as death:
                tried += 1
                count("gossamer_parser_replaced_total")
                await child.start()
                if error := self._blame(death, tried):
                    raise error from death

    def _blame(self, death: Died, tried: int) -> GossamerError | None:
        if -death.code in ALARMS:
            return Poison(f"the page takes longer than {self._page_limit:g} s")
        if tried < TRIES:
            return None
        if not death.ready:
            return GossamerError(f"a parser process ended before it was ready: {death}")
        return Poison(f"the parser died of this page, {TRIES} times: {death}")


class Child:
    """One child and its successors: a new process whenever the last one is gone."""

    def __init__(self, page_limit: float, memory_limit: int) -> None:
        self._arguments = (str(page_limit), str(memory_limit))
        self._process: Process | None = None
        self._ready = False

    @property
    def pid(self) -> int:
        """The id of the running process; 0 if there is none."""
        return self._process.pid if self._process and self._process.returncode is None else 0

    async def start(self) -> None:
        """Start a process in place of the last one, without waiting until it is ready."""
        await self.stop()
        self._ready = False
        try:
            # A session of its own: Ctrl-C is for the parent. -P: no module is imported from the
            # working directory.
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-W", "ignore", "-m", "services.parser.pool.child"),
                *self._arguments,
                stdin=PIPE,
                stdout=PIPE,
                start_new_session=True,
                env=environment(os.environ),
            )
        except OSError as error:
            raise GossamerError(f"a parser process cannot be started: {error}") from error

    async def ask(self, message: bytes) -> Reply:
        """Return the reply to a framed *message*; raise Died if the process ends first."""
        if not self.pid:
            await self.start()
        try:
            return await self._exchange(message)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Died(await self._reaped(), self._ready) from error
        except BaseException:
            # Cancelled in the middle of a page: the reply would be taken for the next page's.
            await self.stop()
            raise

    async def _exchange(self, message: bytes) -> Reply:
        process = self._process
        assert process and process.stdin and process.stdout
        if not self._ready:
            _tell(**ready_in(await _received(process.stdout)).missing)
            self._ready = True
        process.stdin.write(message)
        await process.stdin.drain()
        try:
            return reply_in(await _received(process.stdout))
        except DecodeError as error:
            raise Poison(f"the parser's reply to this page is none: {error}") from error

    async def stop(self) -> None:
        """Kill the process, if there is one, and wait until it is gone."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._reaped()

    async def _reaped(self) -> int:
        process, self._process = self._process, None
        assert process and process.stdin and process.stdout
        process.stdin.close()
        # Read to the end: only then does asyncio close the pipes.
        await process.stdout.read()
        return await process.wait()


@cache
def _tell(**missing: str) -> None:
    """Log what the children's sandbox lacks, once."""
    if missing:
        logger.warning("the sandbox of the parser's processes is not whole", missing=missing)


async def _received(stdout: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
    if length > REPLY_LIMIT:
        raise Poison(f"the parser's reply to this page is {length} bytes long")
    return await stdout.readexactly(length)
