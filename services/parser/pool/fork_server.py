"""The fork server as the pool sees it: one process that is ready to read, and forks the children.

To load all that reading takes costs most of a second of CPU. The fork server does it once. A child
is then there within milliseconds, shares the memory of what was loaded, and knows nothing of the
pages that other children have read: the fork server never sees one.
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
    """A child ended before it replied; *code* is its exit status, negative for a signal."""

    def __init__(self, code: int, ready: bool) -> None:
        super().__init__(signal.Signals(-code).name if code < 0 else f"exit status {code}")
        self.code, self.ready = code, ready


class ForkServer:
    """Starts its process when the first child is wanted, and again when it has died."""

    def __init__(self, page_limit: float, memory_limit: int) -> None:
        self._arguments = (str(page_limit), str(memory_limit))
        self._process: Process | None = None
        self._control: socket.socket | None = None
        self._lock = asyncio.Lock()

    async def fork(self, connection: socket.socket) -> int:
        """Start a child at the other end of *connection*; return its process id.

        Raise Died if the fork server ends first, GossamerError if it cannot be started.
        """
        async with self._lock:
            control = self._control or await self._start()
            return await self._ask(control, 0, connection.fileno())

    async def end(self, pid: int) -> int:
        """Kill the child *pid* if it still runs; return its exit status, negative for a signal."""
        async with self._lock:
            # The children of a fork server that died end with their connections.
            with suppress(ChildDied):
                if self._control:
                    return await self._ask(self._control, pid)
            return -signal.SIGKILL

    async def stop(self) -> int:
        """Kill the fork server, if there is one; return its exit status."""
        process, control = self._process, self._control
        self._process = self._control = None
        if not process or not control:
            return 0
        control.close()
        with suppress(ProcessLookupError):
            process.kill()
        return await process.wait()

    async def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            try:
                # A session of its own: Ctrl-C is for the parent. -P: no module is imported from
                # the working directory.
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-W", "ignore", "-m", "services.parser.pool.child"),
                    *self._arguments,
                    stdin=theirs.fileno(),
                    start_new_session=True,
                    env=child_environment(os.environ),
                )
            except OSError as error:
                ours.close()
                raise GossamerError(f"a parser process cannot be started: {error}") from error
        self._control = ours
        return ours

    async def _ask(self, control: socket.socket, pid: int, *descriptors: int) -> int:
        answer = b""
        try:
            with suppress(OSError):
                socket.send_fds(control, [NUMBER.pack(pid)], descriptors)
                answer = await asyncio.get_running_loop().sock_recv(control, NUMBER.size)
        except BaseException:
            # Cancelled: the answer would be taken for the next one's.
            await self.stop()
            raise
        if not answer:
            raise ChildDied(await self.stop(), ready=False)
        (number,) = NUMBER.unpack(answer)
        return int(number)
