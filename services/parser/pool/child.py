"""The fork server and its children, whose program is `python -m gossamer.services.parser.pool`.

The fork server (`pool.ForkServer` explains it) reads the connections of new children from a socket,
its standard input. It reads no pages, has one thread, and starts with an environment without
secrets, so its children inherit none.

A child receives requests and sends replies over its connection, as MessagePack preceded by its
length in four bytes. The kernel enforces the limits: an unhandled alarm ends the process when a
page takes too much CPU time, in native code as well, and a limit on the address space refuses
memory. Before the first page the child enters the sandbox, where it cannot open files, not even
modules. No process is left behind: when the parent ends, the connections end, and every process
exits, at the latest after its page or its alarm.
"""

import contextlib
import gc
import logging
import mmap
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import BinaryIO

from msgspec.structs import replace

from gossamer.services.parser.html.display import read_display
from gossamer.services.parser.page import parse
from gossamer.services.parser.parts import begin_document, current_part, share_progress
from gossamer.services.parser.pool.messages import (
    ALARMS,
    CLOCK_TIME_FACTOR,
    LENGTH,
    NUMBER,
    STATUS,
    Ready,
    Reply,
    Request,
    decode_request,
    encode,
    encode_reply,
    frame,
)
from gossamer.services.parser.pool.sandbox import enter_sandbox
from gossamer.services.parser.pool.warm_up import warm_up
from gossamer.services.parser.rules import apply_rules, load_all

EXIT_GRACE = 1.0
"""Seconds in which a child that closed its connection may end by itself."""
MAX_RETAINED_SHARE = 0.25
"""A child that retains more than this share of a page's memory limit is replaced."""


def main() -> None:
    """Fork children until the input ends. Arguments: seconds and bytes that a page may take,
    and the rules of crawls."""
    page_limit, memory_limit = float(sys.argv[1]), int(sys.argv[2])
    logging.disable(logging.CRITICAL)
    warm_up()
    load_all(sys.argv[3:])
    # Loaded modules stay in memory, so the garbage collector need not scan them.
    gc.freeze()
    gc.enable()
    if connection := _fork_children():
        _read_pages(connection, page_limit, memory_limit)


def _fork_children() -> int | None:
    """Fork until the input ends, then return None. In each child, return its connection."""
    parts = dict[int, mmap.mmap]()
    """The shared memory of each child, which holds the part of a document that it reads."""
    with socket.socket(fileno=0) as control:
        while True:
            order, descriptors, *_ = socket.recv_fds(control, NUMBER.size, 1)
            if not order:
                return None
            (pid,) = NUMBER.unpack(order)
            if not descriptors:
                code, part = _end_child(abs(pid), pid < 0), ""
                if memory := parts.pop(abs(pid), None):
                    part = current_part(memory)
                    memory.close()
                control.send(STATUS.pack(code, part.encode()))
                continue
            (connection,) = descriptors
            memory = mmap.mmap(-1, 1)
            if (pid := os.fork()) == 0:
                for other in parts.values():
                    other.close()
                share_progress(memory)
                return connection
            parts[pid] = memory
            # A copy of the connection, here or in later children, would hide the end of this one.
            os.close(connection)
            control.send(NUMBER.pack(pid))


def _end_child(pid: int, is_ending: bool) -> int:
    """Kill a child if it runs; return its exit status, negative for a signal.

    A child that *is_ending* has closed its connection. It gets a moment, because its own exit
    status says more than that it was killed.
    """
    given_up_at = time.monotonic() + EXIT_GRACE * is_ending
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
        while not ended and time.monotonic() < given_up_at:
            time.sleep(0.002)
            ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return -signal.SIGKILL  # A child of an earlier fork server.
    if not ended:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _read_pages(connection: int, page_limit: float, memory_limit: int) -> None:
    inbox, outbox = os.fdopen(connection, "rb"), os.fdopen(os.dup(connection), "wb")
    # Output that a library prints must not reach the connection.
    os.dup2(2, 1)
    memory = _MemoryMeter()
    baseline = _limit_memory(memory, memory_limit)
    _allow_alarms()
    _send(outbox, encode(Ready(enter_sandbox())))

    def is_leaving() -> bool:
        return memory.bytes() > baseline + MAX_RETAINED_SHARE * memory_limit

    while request := _receive(inbox):
        _set_alarms(page_limit)
        message, leaving = _answer(request, is_leaving)
        _set_alarms(0)
        _send(outbox, message)
        if leaving:
            return


def _answer(message: bytes, is_leaving: Callable[[], bool]) -> tuple[bytes, bool]:
    """Return the reply to *message*, encoded, and whether the child leaves after it.

    Whatever is raised, also while the reply is encoded, is a fault of the page: the child stays.
    """
    begin_document()
    try:
        reply = _make_reply(decode_request(message))
        leaving = is_leaving()
        return encode_reply(replace(reply, leaving=leaving)), leaving
    except MemoryError:
        fault = Reply(fault="reading it exceeds the memory limit", is_costly=True)
    except BaseException as error:
        # Also a library's exit or the panic of its native code.
        fault = Reply(fault=f"{type(error).__name__}: {error}"[:1000])
    leaving = is_leaving()
    return encode_reply(replace(fault, part=current_part(), leaving=leaving)), leaving


def _make_reply(request: Request) -> Reply:
    if request.for_display:
        return Reply(display=read_display(request.page, request.options))
    parsed = parse(request.page, request.options, request.now)
    return Reply(apply_rules(parsed, request.page, request.rules, request.options, _set_alarms))


class _MemoryMeter:
    """Measures the memory of this process. Its file is opened before the sandbox."""

    def __init__(self) -> None:
        self._statm = -1
        # Without /proc memory cannot be measured, so it is not limited.
        with contextlib.suppress(OSError):
            self._statm = os.open("/proc/self/statm", os.O_RDONLY)

    def bytes(self) -> int:
        """Return the size of the address space; 0 if it is unknown."""
        if self._statm < 0:
            return 0
        return int(os.pread(self._statm, 20, 0).split()[0]) * resource.getpagesize()


def _limit_memory(memory: _MemoryMeter, limit: int) -> int:
    baseline = memory.bytes()
    if baseline:
        resource.setrlimit(resource.RLIMIT_AS, (baseline + limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return baseline


def _allow_alarms() -> None:
    # The parent's handlers and mask are inherited. Here the alarms must end the process.
    for alarm in ALARMS:
        signal.signal(alarm, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ALARMS)


def _set_alarms(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, CLOCK_TIME_FACTOR * seconds)


def _receive(inbox: BinaryIO) -> bytes:
    length = inbox.read(LENGTH.size)
    return inbox.read(*LENGTH.unpack(length)) if len(length) == LENGTH.size else b""


def _send(outbox: BinaryIO, message: bytes) -> None:
    outbox.write(frame(message))
    outbox.flush()
