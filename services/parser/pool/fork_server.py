"""The parent's side of the fork server, which forks children that are ready to read pages.

Loading the native parsers takes most of a second of CPU. The fork server does that once. It then
forks a child in milliseconds, shares the memory of the loaded modules, and knows no page of other
children, because it never receives one.
"""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from contextlib import suppress

from gossamer.errors import GossamerError
from services.parser.pool.messages import NUMBER
from services.parser.pool.sandbox import child_environment


class ChildDied(Exception):
    """A child ended before it replied. *code* is its exit status, negative for a signal."""

    def __init__(self, code: int, ready: bool) -> None:
        super().__init__(signal.Signals(-code).name if code < 0 else f"exit status {code}")
        self.code, self.ready = code, ready


class ForkServer:
    """Starts its process for the first child, and again after the process has ended."""

    def __init__(self, page_limit: float, memory_limit: int) -> None:
        self._arguments = (str(page_limit), str(memory_limit))
        self._process: Process | None = None
        self._control: socket.socket | None = None
        self._lock = asyncio.Lock()

    async def fork(self, connection: socket.socket) -> int:
        """Start a child with *connection*; return its process id.

        Raise ChildDied if the fork server ends first, GossamerError if it cannot be started.
        """
        async with self._lock:
            control = self._control or await self._start()
            return await self._ask(control, 0, connection.fileno())

    async def end(self, pid: int) -> int:
        """Kill the child *pid* if it runs; return its exit status, negative for a signal."""
        async with self._lock:
            # The children of a crashed fork server end with their connections.
            with suppress(ChildDied):
                if self._control:
                    return await self._ask(self._control, pid)
            return -signal.SIGKILL

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
        parent_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent_end.setblocking(False)
        with child_end:
            try:
                # In a session of its own, because Ctrl-C is for the parent. -P prevents imports
                # from the working directory.
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-W", "ignore", "-m", "services.parser.pool.child"),
                    *self._arguments,
                    stdin=child_end.fileno(),
                    start_new_session=True,
                    env=child_environment(os.environ),
                )
            except OSError as error:
                parent_end.close()
                raise GossamerError(f"cannot start a parser process: {error}") from error
        self._control = parent_end
        return parent_end

    async def _ask(self, control: socket.socket, pid: int, *descriptors: int) -> int:
        reply = b""
        try:
            with suppress(OSError):
                socket.send_fds(control, [NUMBER.pack(pid)], descriptors)
                reply = await asyncio.get_running_loop().sock_recv(control, NUMBER.size)
        except BaseException:
            # After a cancellation, the reply would be read as the reply to the next request.
            await self.stop()
            raise
        if not reply:
            raise ChildDied(await self.stop(), ready=False)
        (number,) = NUMBER.unpack(reply)
        return int(number)
