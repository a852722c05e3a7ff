"""The children that read pages, and what becomes of a page whose child does not come back.

Each child has pipes of its own and shares nothing with the others, so that whatever happens to
one, at whatever instant, happens to one page. A page is tried a second time when its child died of
anything but the time limit: what the machine's lack of memory or an operator killed need not have
been at fault.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from types import TracebackType

from gossamer.errors import GossamerError, Poison
from gossamer.events import PageParsed
from gossamer.telemetry import count
from services.parser.messages import LENGTH, READY, Request, encode, framed, reply_in

TRIES = 2


class Died(Exception):
    """A child ended before it answered; *code* is as subprocess has it, negative for a signal."""

    def __init__(self, code: int, ready: bool) -> None:
        super().__init__(signal.Signals(-code).name if code < 0 else f"exit status {code}")
        self.code, self.ready = code, ready


class Pool:
    """*size* children; *page_limit* seconds and *memory_limit* bytes are what a page may take."""

    def __init__(self, size: int, page_limit: float, memory_limit: int) -> None:
        self._page_limit = page_limit
        self._children = [Child(page_limit, memory_limit) for _ in range(size)]
        self._free: asyncio.Queue[Child] = asyncio.Queue()

    async def __aenter__(self) -> "Pool":
        """Start all children; they get ready while the first page is on its way."""
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
        """Stop all children, whatever they are at."""
        await asyncio.gather(*(child.stop() for child in self._children))

    @property
    def pids(self) -> list[int]:
        """The children's process ids."""
        return [child.pid for child in self._children if child.pid]

    async def parse(self, request: Request) -> PageParsed:
        """Read a page; raise Poison if it cannot be read, GossamerError if none can."""
        message = framed(encode(request))
        child = await self._free.get()
        try:
            reply = reply_in(await self._answered(child, message))
            if reply.leaving:
                await child.start()
        finally:
            self._free.put_nowait(child)
        if reply.parsed is None:
            raise Poison(f"the parser cannot read this page: {reply.fault}")
        return reply.parsed

    async def _answered(self, child: "Child", message: bytes) -> bytes:
        tried = 0
        while True:
            try:
                return await child.ask(message)
            except Died as death:
                tried += 1
                count("gossamer_parser_replaced_total")
                await child.start()
                if verdict := self._verdict(death, tried):
                    raise verdict from death

    def _verdict(self, death: Died, tried: int) -> GossamerError | None:
        if death.code == -signal.SIGALRM:
            return Poison(f"the page takes longer than {self._page_limit:g} s")
        if tried < TRIES:
            return None
        if not death.ready:
            return GossamerError(f"a parser process ended before it was ready: {death}")
        return Poison(f"the parser died of this page, {TRIES} times: {death}")


class Child:
    """One child and its successors: a new process whenever the last is gone."""

    def __init__(self, page_limit: float, memory_limit: int) -> None:
        self._arguments = (str(page_limit), str(memory_limit))
        self._process: Process | None = None
        self._ready = False

    @property
    def pid(self) -> int:
        """Of the process there is now; 0 if there is none."""
        return self._process.pid if self._process and self._process.returncode is None else 0

    async def start(self) -> None:
        """Start a process, in place of the one there was; it gets ready by itself."""
        await self.stop()
        self._ready = False
        try:
            # A session of its own: Ctrl-C is for the parent. -P: no module out of the folder that
            # somebody happens to be in. One thread: more would cost memory and gain nothing.
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-W", "ignore", "-m", "services.parser.child"),
                *self._arguments,
                stdin=PIPE,
                stdout=PIPE,
                start_new_session=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        except OSError as error:
            raise GossamerError(f"a parser process cannot be started: {error}") from error

    async def ask(self, message: bytes) -> bytes:
        """Return the answer to a framed *message*; raise Died if none comes."""
        if not self.pid:
            await self.start()
        try:
            return await self._asked(message)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Died(await self._buried(), self._ready) from error
        except BaseException:
            # Cancelled in the midst of a page: what it says next would answer somebody else.
            await self.stop()
            raise

    async def _asked(self, message: bytes) -> bytes:
        process = self._process
        assert process and process.stdin and process.stdout
        if not self._ready:
            self._ready = await _received(process.stdout) == READY
        process.stdin.write(message)
        await process.stdin.drain()
        return await _received(process.stdout)

    async def stop(self) -> None:
        """Kill the process, if there is one, and let nothing of it remain."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._buried()

    async def _buried(self) -> int:
        process, self._process = self._process, None
        assert process and process.stdin and process.stdout
        process.stdin.close()
        # To the end of what it said: only then asyncio lets go of its pipes.
        await process.stdout.read()
        return await process.wait()


async def _received(stdout: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
    return await stdout.readexactly(length)
