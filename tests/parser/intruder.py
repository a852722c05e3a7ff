"""A child of the parser that a page controls: it attempts what each page requests.

The real pool starts it in place of the real child. It attempts what a page requests, and returns
the result as the title of the page. The arguments before the child's own name the restrictions that
it omits.
"""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from gossamer.events import PageFetched, PageParsed
from gossamer.services.parser.options import Options
from gossamer.services.parser.pool import child, sandbox
from gossamer.services.parser.pool.messages import LENGTH
from gossamer.services.parser.result import start_result
from gossamer.web.url import HostKey, Site

_libc = ctypes.CDLL(None, use_errno=True)
BLANK = ctypes.create_string_buffer(128)
SOME = (ctypes.c_size_t * 2)(ctypes.addressof(BLANK), 1)


def _call(name: str, *arguments: object) -> str:
    result = getattr(_libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return str(result)


def _connect(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(port)), 5).close()


def _announce(length: str) -> None:
    for descriptor in range(3, 10):
        with contextlib.suppress(OSError):
            os.write(descriptor, LENGTH.pack(int(length)))


def _stay(_: str) -> None:
    """Disable the alarms and never reply."""
    for alarm in (signal.ITIMER_PROF, signal.ITIMER_REAL):
        signal.setitimer(alarm, 0)
    while True:
        signal.pause()


def forge_reply(page: PageFetched, url: HostKey, now: float) -> PageParsed:
    """Return a reply with the identity of another page, crawl and time."""
    return PageParsed(
        crawl="another",
        at=now + 1,
        site=Site("bank.example"),
        host=url,
        visit=replace(page.visit, id=f"9.9.9@{url}", url=url),
        fetched_at=page.started_at + 1,
        status=203,
        title="forged",
    )


def _thread(_: str) -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


ATTEMPTS: dict[str, Callable[[str], object]] = {
    "connect": _connect,
    "send a datagram": lambda port: socket.socket(type=socket.SOCK_DGRAM).sendto(
        b"x", ("127.0.0.1", int(port))
    ),
    "listen": lambda _: socket.create_server(("127.0.0.1", 0)).close(),
    "read": lambda path: Path(path).read_bytes(),
    "look at": os.listdir,
    "write": lambda path: Path(path).write_text("x"),
    "delete": os.unlink,
    "rename": lambda path: os.rename(path, path + "x"),
    "link": lambda path: os.symlink("/etc/passwd", path + "link"),
    "make a folder": lambda path: os.mkdir(path + "folder"),
    "change mode": lambda path: os.chmod(path, 0o777),
    "execute": lambda path: os.execv(path, [path]),
    "fork": lambda _: os.fork() or os._exit(0),
    "spawn": lambda path: os.posix_spawn(path, [path], {}),
    "start a thread": _thread,
    "signal": lambda pid: os.kill(int(pid), signal.SIGUSR1),
    "trace": lambda pid: _call("ptrace", 0x4206, int(pid), 0, 0),
    "read the memory of": lambda pid: _call("process_vm_readv", int(pid), SOME, 1, SOME, 1, 0),
    "take a descriptor of": lambda pid: _call("syscall", 434, int(pid), 0),
    "set a limit": lambda _: _call("setrlimit", resource.RLIMIT_NOFILE, BLANK),
    "become": lambda number: os.setuid(int(number)),
    "ask for privileges": lambda _: _call("prctl", 38, 0, 0, 0, 0),
    "open a namespace": lambda _: _call("unshare", 0x10000000),
    "make an io_uring": lambda _: _call("syscall", 425, 1, BLANK),
    "announce": _announce,
    "stay": _stay,
    "use the descriptor": lambda number: os.read(int(number), 1),
    "say the environment": lambda _: dict(os.environ),
    "count the threads": lambda _: len(os.listdir("/proc/self/task")),
}
"""Attempts by name. Their argument follows a colon in the page."""


def attempt(page: PageFetched, options: Options, now: float) -> PageParsed:
    """Attempt what *page* requests instead of reading it."""
    name, _, argument = page.body.decode().partition(": ")
    if name == "forge":
        return forge_reply(page, HostKey(argument), now)
    try:
        result = f"done: {ATTEMPTS[name](argument)}"
    except OSError as error:
        result = os.strerror(error.errno or 0)
    except RuntimeError as error:
        result = str(error)
    return replace(start_result(page, now), title=result)


def main() -> None:
    """Run a child without the restrictions that are named before its own arguments."""
    for name in sys.argv[1:-2]:
        del sandbox.RESTRICTIONS[name]
    del sys.argv[1:-2]
    child.parse = attempt  # type: ignore[attr-defined]
    child.main()


if __name__ == "__main__":
    main()
