"""The process in which pages are read, one after another: `python -m services.parser.pool.child`.

Requests come on standard input, replies go to standard output, each as MessagePack preceded by its
length in four bytes. The kernel enforces the limits: an unhandled alarm ends the process when a
page takes too long, in native code as well, and a limit on its address space refuses it more memory
than a page may take. No process is left behind: when the parent dies the input ends, and the child
exits, at the latest when the page that it is reading is done or the alarm goes off.
"""

import contextlib
import logging
import os
import resource
import signal
import sys
from typing import BinaryIO

from msgspec.structs import replace

from gossamer.events import PageFetched, Visit
from services.parser.options import Options
from services.parser.page import parse
from services.parser.pool.messages import LENGTH, READY, Reply, Request, encode, framed, request_in

KEPT = 0.25
"""A child that still holds more than this part of a page's memory is replaced by a fresh one."""


def main() -> None:
    """Read pages until the input ends; arguments: seconds and bytes that a page may take."""
    page_limit, memory_limit = float(sys.argv[1]), int(sys.argv[2])
    inbox, outbox = _pipes()
    logging.disable(logging.CRITICAL)
    _warm_up()
    baseline = _limit_memory(memory_limit)
    _allow_alarms()
    _send(outbox, READY)
    while request := _receive(inbox):
        signal.setitimer(signal.ITIMER_REAL, page_limit)
        reply = _reply(request_in(request))
        leaving = _memory() > baseline + KEPT * memory_limit
        message = encode(replace(reply, leaving=leaving))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(outbox, message)
        if leaving:
            return


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    # What a library prints must not be taken for a reply.
    outbox = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, outbox


def _warm_up() -> None:
    body = b"<title>A page</title><p>" + b"Some words to read, and some more. " * 20
    headers = (("Content-Type", "text/html"),)
    visit = Visit("", "http://localhost/")
    page = PageFetched(
        at=0, site="", host="", visit=visit, started_at=0, took=0, status=200, headers=headers,
        body=body,
    )  # fmt: skip
    options = Options(
        product="", want_text=True, simhash_words=1, decoded_limit=len(body), ratio_limit=1,
        links_limit=1, links_bytes=1000,
    )  # fmt: skip
    encode(_reply(Request(page, options, 0)))


def _reply(request: Request) -> Reply:
    try:
        return Reply(parse(request.page, request.options, request.now))
    except MemoryError:
        return Reply(fault="it takes more memory than a page may")
    except Exception as error:
        return Reply(fault=f"{type(error).__name__}: {error}"[:1000])


def _limit_memory(limit: int) -> int:
    baseline = _memory()
    if baseline:
        resource.setrlimit(resource.RLIMIT_AS, (baseline + limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return baseline


def _memory() -> int:
    # Without Linux's /proc memory cannot be measured, so it is not limited.
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


def _allow_alarms() -> None:
    # Handler and mask are inherited from the parent; here the alarm must end the process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])


def _receive(inbox: BinaryIO) -> bytes:
    length = inbox.read(LENGTH.size)
    return inbox.read(*LENGTH.unpack(length)) if len(length) == LENGTH.size else b""


def _send(outbox: BinaryIO, message: bytes) -> None:
    outbox.write(framed(message))
    outbox.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
