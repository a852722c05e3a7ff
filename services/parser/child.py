"""The process in which pages are read, one after another: `python -m services.parser.child`.

It takes requests on standard input and answers on standard output, each a length in four bytes
and as many bytes of MessagePack. It is the kernel that ends it when a page takes too long (an
alarm, which stops native code as well) and that refuses it more memory than a page may take.
Nobody need look after it: when its parent dies, its input ends, and so does it; in the midst of
a page, when the page does or the alarm comes.
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
from services.parser.messages import LENGTH, READY, Reply, Request, encode, framed, request_in
from services.parser.page import parse

KEPT = 0.25
"""A child that keeps more than this part of a page's memory makes room for a fresh one."""


def main() -> None:
    """Read pages until the input ends; arguments: seconds and bytes that a page may take."""
    page_limit, memory_limit = float(sys.argv[1]), int(sys.argv[2])
    inbox, outbox = _pipes()
    logging.disable(logging.CRITICAL)
    _warm_up()
    begun_with = _limit_memory(memory_limit)
    _allow_alarms()
    _send(outbox, READY)
    while request := _receive(inbox):
        signal.setitimer(signal.ITIMER_REAL, page_limit)
        answer = _answer(request_in(request))
        leaving = _memory() > begun_with + KEPT * memory_limit
        reply = encode(replace(answer, leaving=leaving))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(outbox, reply)
        if leaving:
            return


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    # A library that prints must not be taken for us.
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
    encode(_answer(Request(page, True, len(body), 0)))


def _answer(request: Request) -> Reply:
    try:
        return Reply(parse(request.page, request.want_text, request.decoded_limit, request.now))
    except MemoryError:
        return Reply(fault="it takes more memory than a page may")
    except Exception as error:
        return Reply(fault=f"{type(error).__name__}: {error}"[:1000])


def _limit_memory(limit: int) -> int:
    begun_with = _memory()
    if begun_with:
        resource.setrlimit(resource.RLIMIT_AS, (begun_with + limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return begun_with


def _memory() -> int:
    # Without Linux's /proc memory cannot be measured, and is not limited.
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


def _allow_alarms() -> None:
    # Both are inherited, and the alarm must end us.
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
