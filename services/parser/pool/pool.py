"""The pool of children that read pages.

Each child has its own connection and shares nothing with the others, so a failure at any instant
costs one page. A page is read a second time if its child ended for another reason than the time
limit: an operator or the OOM killer may have killed the child. If a reader fails on a part of the
page (`parts`), the page is read once more without this part. A page over the time limit is not:
that costs more than the part is worth. But a rule of its crawl (`rules`) that fails, or takes too
long, never costs more than its own answer.

A page may have taken control of its child. So the identity of a page comes from the request and
never from the reply, a child that does not reply is killed whatever it did to its alarms, and a
child is replaced after MAX_PAGES_PER_CHILD pages, so that it can forge the contents of few others.

The fork server forks children that are ready to read pages. Loading the native parsers takes most
of a second of CPU. The fork server does that once. It then forks a child in milliseconds, shares
the memory of the loaded modules, and knows no page of other children, because it never receives
one.
"""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from contextlib import suppress
from functools import cache
from types import TracebackType

import structlog
from msgspec import DecodeError
from msgspec.structs import replace

from gossamer import clock
from gossamer.errors import GossamerError, Poison
from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.services.parser.display import Display
from gossamer.services.parser.parts import rule_of
from gossamer.services.parser.pool.messages import (
    ALARMS,
    CLOCK_TIME_FACTOR,
    LENGTH,
    NUMBER,
    STATUS,
    Reply,
    Request,
    decode_ready,
    decode_reply,
    encode,
    frame,
)
from gossamer.services.parser.pool.sandbox import child_environment
from gossamer.services.parser.result import add_failures, add_hazards, restore_identity
from gossamer.telemetry import count
from gossamer.telemetry.timing import observe_duration
from gossamer.text.blocks import words_of

MAX_TRIES = 2
MAX_PAGES_PER_CHILD = 50
"""Pages after which a child is replaced. A new child costs 13 ms of CPU, or 0.3 ms per page. An
ordinary page takes 4 ms without its main text."""
REPLY_GRACE = 30.0
"""Seconds beyond its own time limit in which a child must reply."""
MAX_IDLE_SECONDS = 30.0
"""Seconds after which a child without pages is stopped."""
MAX_REPLY_SIZE = 64 << 20
"""Bytes, more than any page needs. The author of a page may control the child."""
ARGUMENTS = words_of("-P -W ignore -m gossamer.services.parser.pool")
"""Arguments of Python for the fork server. -P prevents imports from the working directory."""
logger = structlog.get_logger()

Rules = tuple[tuple[str, str], ...]
"""Names and digests of the rules files of all crawls."""


class ChildDied(Exception):
    """A child ended before it replied. *code* is its exit status, negative for a signal.

    *part* is the part of the page that it was reading, or "".
    """

    def __init__(self, code: int, ready: bool, part: str = "") -> None:
        super().__init__(signal.Signals(-code).name if code < 0 else f"exit status {code}")
        self.code, self.ready, self.part = code, ready, part


class ReaderFailed(Poison):
    """A reader failed on a page, with an exception or the end of its process.

    The page did not exceed a limit: Gossamer or a library has a bug, or something outside killed
    the process. *part* is the part of the page that was being read, or "".
    """

    def __init__(self, reason: str, part: str = "") -> None:
        super().__init__(f"the page cannot be read: {reason}")
        self.reason, self.part = reason, part


class PageTooLarge(ReaderFailed):
    """A page exceeds the memory limit."""


class Pool:
    """Up to *size* children. A page may take *page_limit* seconds of CPU and *memory_limit* bytes.

    A child is started when a page arrives and all others are busy. It is stopped after
    MAX_IDLE_SECONDS without pages. The fork server stays, so the next page waits milliseconds.
    """

    def __init__(self, size: int, page_limit: float, memory_limit: int) -> None:
        self._page_limit = page_limit
        self._server = ForkServer(page_limit, memory_limit)
        timeout = CLOCK_TIME_FACTOR * page_limit + REPLY_GRACE
        self._children = [Child(self._server, timeout) for _ in range(size)]
        # The child that was used last comes first, because it is running.
        self._free: asyncio.LifoQueue[Child] = asyncio.LifoQueue()

    async def __aenter__(self) -> "Pool":
        """Accept pages."""
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
        """Kill all children."""
        self._ending.cancel()
        # Wait for it: a cancelled request stops the fork server.
        await asyncio.gather(self._ending, return_exceptions=True)
        await asyncio.gather(*(child.stop() for child in self._children))
        await self._server.stop()

    def use_rules(self, rules: Rules) -> None:
        """Have pages read by children that have imported *rules*."""
        self._server.rules = rules

    @property
    def pids(self) -> list[int]:
        """The process ids of the running children."""
        return [child.pid for child in self._children if child.pid]

    async def parse(self, request: Request) -> PageParsed:
        """Return the contents of a page.

        Raise Poison if the page cannot be read, ReaderFailed if a reader is to blame, GossamerError
        if no page can be read. A page is read without the part on which a reader fails, and without
        each rule that ends its process.
        """
        failures = dict[str, str]()
        while True:
            try:
                return add_failures(await self._parse_without_part(request), failures)
            except ReaderFailed as failure:
                rule = rule_of(failure.part)
                if not rule or rule in failures:
                    raise
                failures[rule] = f"{rule} {failure.reason}"
                without = (*request.options.without, failure.part)
                request = replace(request, options=replace(request.options, without=without))

    async def _parse_without_part(self, request: Request) -> PageParsed:
        try:
            return await self._parse(request)
        except ReaderFailed as failure:
            if not failure.part or rule_of(failure.part):
                raise
            options = replace(request.options, without=(*request.options.without, failure.part))
            try:
                parsed = await self._parse(replace(request, options=options))
            except Poison:
                raise failure from None
            logger.warning(
                "page is read without a part",
                url=request.page.visit.url,
                part=failure.part,
                reason=failure.reason,
            )
            return add_hazards(parsed, [Hazard.READER_FAILED])

    async def _parse(self, request: Request) -> PageParsed:
        reply, seconds = await self._read(request)
        if reply.parsed is None:
            raise (PageTooLarge if reply.is_costly else ReaderFailed)(reply.fault, reply.part)
        parsed = restore_identity(request.page, reply.parsed, request.now)
        return replace(parsed, parse_seconds=seconds)

    async def read_display(self, request: Request) -> Display:
        """Return the elements of a page that a frame may show.

        Raise Poison if the page cannot be read, GossamerError if no page can be. A page may have
        controlled its child, so the caller must check every element.
        """
        reply, _ = await self._read(replace(request, for_display=True))
        if reply.display is None:
            raise Poison(f"the page cannot be read: {reply.fault}")
        return reply.display

    async def _read(self, request: Request) -> tuple[Reply, float]:
        """Return the reply to *request*, and the seconds that it took."""
        message = frame(encode(request))
        child = await self._free.get()
        begun_at = clock.steady()
        try:
            with observe_duration("gossamer_parse_seconds"):
                reply = await self._ask(child, message)
            seconds = clock.steady() - begun_at
            if reply.leaving or child.pages >= MAX_PAGES_PER_CHILD:
                await child.stop()
        finally:
            child.used_at = clock.steady()
            self._free.put_nowait(child)
        return reply, seconds

    async def _ask(self, child: "Child", message: bytes) -> Reply:
        tries = 0
        while True:
            try:
                return await child.ask(message)
            except ChildDied as death:
                tries += 1
                count("gossamer_parser_replaced_total")
                if error := self._find_fault(death, tries):
                    raise error from death

    async def _end_idle_children(self) -> None:
        while True:
            await asyncio.sleep(MAX_IDLE_SECONDS)
            # Children outside the queue receive no pages.
            free = [self._free.get_nowait() for _ in range(self._free.qsize())]
            for child in free:
                if clock.steady() - child.used_at >= MAX_IDLE_SECONDS:
                    await child.stop()
            for child in reversed(free):
                self._free.put_nowait(child)

    def _find_fault(self, death: ChildDied, tries: int) -> GossamerError | None:
        """Return the error to raise after the *death* of a child; None to try again."""
        if -death.code in ALARMS and rule_of(death.part):
            return ReaderFailed("takes longer than parser.rules_limit", death.part)
        if -death.code in ALARMS:
            return Poison(f"reading the page takes longer than {self._page_limit:g} s")
        if tries < MAX_TRIES:
            return None
        if not death.ready:
            return GossamerError(f"a parser process ended before it was ready: {death}")
        return ReaderFailed(f"the parser process ended {MAX_TRIES} times: {death}", death.part)


class Child:
    """A child and its successors: a page starts a new process if the previous one has ended.

    A process that does not reply within *timeout* seconds is killed.
    """

    def __init__(self, server: "ForkServer", timeout: float) -> None:
        self.rules: Rules = ()
        """The rules that the running process has imported."""
        self.used_at = 0.0
        self.pages = 0
        """Pages that the running process has received."""
        self._server, self._timeout = server, timeout
        self._pid = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._ready = False

    @property
    def pid(self) -> int:
        """The id of the running process; 0 if none is running."""
        return self._pid

    async def ask(self, message: bytes) -> Reply:
        """Return the reply to a framed *message*.

        Raise ChildDied if the process ends first, Poison if it does not reply.
        """
        if self._streams and self.rules != self._server.rules:
            await self.stop()
        reader, writer = self._streams or await self._start()
        self.pages += 1
        try:
            async with asyncio.timeout(self._timeout):
                return await self._exchange(message, reader, writer)
        except TimeoutError as error:
            code, _ = await self.stop()
            if not self._ready:
                raise ChildDied(code, ready=False) from error
            count("gossamer_parser_replaced_total")
            raise Poison(f"the parser process did not reply within {self._timeout:g} s") from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code, part = await self.stop(is_ending=True)
            raise ChildDied(code, self._ready, part) from error
        except BaseException:
            # After a cancellation, the reply would be read as the reply to the next page.
            await self.stop()
            raise

    async def _start(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parent_end, child_end = socket.socketpair()
        self._ready, self.pages, self.rules = False, 0, self._server.rules
        with child_end:
            try:
                self._pid = await self._server.fork(child_end)
            except BaseException:
                parent_end.close()
                raise
        self._streams = streams = await asyncio.open_connection(sock=parent_end)
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
            raise Poison(f"invalid reply from the parser process: {error}") from error

    async def stop(self, is_ending: bool = False) -> tuple[int, str]:
        """Kill the process if it runs; return its exit status, and the part that it was reading.

        A process that *is_ending* has closed its connection, and gets a moment to end by itself.
        """
        pid, streams = self._pid, self._streams
        self._pid, self._streams = 0, None
        if streams:
            streams[1].close()
        return await self._server.end(pid, is_ending) if pid else (0, "")


@cache
def _log_missing_restrictions(**missing: str) -> None:
    """Log once which restrictions the sandbox lacks."""
    if missing:
        logger.warning("sandbox restrictions are missing", missing=missing)


async def _receive(reader: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    if length > MAX_REPLY_SIZE:
        raise Poison(f"invalid reply from the parser process: {length} bytes long")
    return await reader.readexactly(length)


class ForkServer:
    """Starts its process for the first child, and again after the process has ended."""

    def __init__(self, page_limit: float, memory_limit: int) -> None:
        self.rules: Rules = ()
        """The rules that children import, as names and digests."""
        self._loaded: Rules = ()
        self._arguments = (str(page_limit), str(memory_limit))
        self._process: Process | None = None
        self._control: socket.socket | None = None
        self._lock = asyncio.Lock()

    async def fork(self, connection: socket.socket) -> int:
        """Start a child with *connection*; return its process id.

        Raise ChildDied if the fork server ends first, GossamerError if it cannot be started.
        """
        async with self._lock:
            if self._control and self._loaded != self.rules:
                # Its children end with their connections, when their page is read.
                await self.stop()
            control = self._control or await self._start()
            (pid,) = NUMBER.unpack(await self._ask(control, 0, connection.fileno()))
            return int(pid)

    async def end(self, pid: int, is_ending: bool = False) -> tuple[int, str]:
        """Kill the child *pid* if it runs; return its exit status, negative for a signal, and the
        part that it was reading. A child that *is_ending* gets a moment to end by itself."""
        async with self._lock:
            # The children of a crashed fork server end with their connections.
            with suppress(ChildDied):
                if self._control:
                    reply = await self._ask(self._control, -pid if is_ending else pid)
                    code, part = STATUS.unpack(reply)
                    return code, part.rstrip(b"\0").decode("ascii", "replace")
            return -signal.SIGKILL, ""

    async def stop(self) -> int:
        """Kill the fork server if it runs; return its exit status."""
        process, control = self._process, self._control
        self._process = self._control = None
        if not process or not control:
            return 0
        control.close()
        with suppress(ProcessLookupError):
            process.kill()
        return await process.wait()

    async def _start(self) -> socket.socket:
        self._loaded = self.rules
        # Messages of a few bytes take turns, so a stream needs no frames. macOS has no
        # SOCK_SEQPACKET.
        parent_end, child_end = socket.socketpair()
        parent_end.setblocking(False)
        with child_end:
            try:
                # In a session of its own, because Ctrl-C is for the parent.
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *ARGUMENTS,
                    *self._arguments,
                    *dict(self.rules),
                    stdin=child_end.fileno(),
                    start_new_session=True,
                    env=child_environment(os.environ),
                )
            except OSError as error:
                parent_end.close()
                raise GossamerError(f"cannot start a parser process: {error}") from error
        self._control = parent_end
        return parent_end

    async def _ask(self, control: socket.socket, pid: int, *descriptors: int) -> bytes:
        reply = b""
        try:
            with suppress(OSError):
                socket.send_fds(control, [NUMBER.pack(pid)], descriptors)
                reply = await asyncio.get_running_loop().sock_recv(control, STATUS.size)
        except BaseException:
            # After a cancellation, the reply would be read as the reply to the next request.
            await self.stop()
            raise
        if not reply:
            raise ChildDied(await self.stop(), ready=False)
        return reply
