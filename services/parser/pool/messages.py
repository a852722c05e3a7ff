"""The messages between parent and child: MessagePack, preceded by its length in four bytes.

The fork server receives a number. 0, with the descriptor of a connection, requests a new child, and
the reply is its process id. Another number is the process id of a child to end, and the reply is
its exit status with the part of a document that it was reading. A negative number is the process id
of a child that is ending by itself.
"""

import signal
import struct
from typing import Any

from msgspec import Struct, msgpack, to_builtins

from gossamer.events import PageFetched, PageParsed
from gossamer.services.parser.display import Display
from gossamer.services.parser.options import Options

ALARMS = (signal.SIGPROF, signal.SIGALRM)
"""Signals that end a child whose page takes too long: by CPU time, and by the clock."""
CLOCK_TIME_FACTOR = 10
"""Ratio of the limit by the clock to the limit of CPU time. A child on a busy machine, or in a
throttled container, waits most of the time."""
LENGTH = struct.Struct(">I")
NUMBER = struct.Struct(">i")
STATUS = struct.Struct(">i16s")
"""The exit status of a child, negative for a signal, and the part of a document that it read."""


class Ready(Struct, frozen=True):
    """A child's first message: it is ready to read pages."""

    missing: dict[str, str]
    """The restrictions of the sandbox that this system lacks, and the reasons."""


class Request(Struct, frozen=True):
    """A page to read: the arguments of `page.parse`."""

    page: PageFetched
    options: Options
    now: float
    rules: str = ""
    """The rules file or module of the page's crawl, or ""."""
    for_display: bool = False
    """Whether the elements that a frame may show are wanted, and not the contents."""


class Reply(Struct, frozen=True):
    """The contents of a page, or the reason for which it cannot be read."""

    parsed: PageParsed | None = None
    display: Display | None = None
    fault: str = ""
    part: str = ""
    """The part of the page that was being read at the fault, or ""."""
    is_costly: bool = False
    """Whether the fault is that the page exceeds the memory limit."""
    leaving: bool = False
    """Whether the child exits now, because it retains too much memory."""


encode = msgpack.Encoder().encode
decode_request = msgpack.Decoder(Request).decode
decode_ready = msgpack.Decoder(Ready).decode
decode_reply = msgpack.Decoder(Reply).decode


def encode_reply(reply: Reply) -> bytes:
    """Return *reply* as a message. Characters that cannot be encoded become U+FFFD: JSON, XML and
    PDF can express halves of a pair of surrogates, and no text may end a child."""
    try:
        return encode(reply)
    except UnicodeEncodeError:
        return encode(_replace_surrogates(to_builtins(reply, builtin_types=(bytes,))))


def _replace_surrogates(value: Any) -> Any:
    """Return *value* with all pairs of surrogates joined, and with U+FFFD for each other one."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {
                _replace_surrogates(key): _replace_surrogates(one) for key, one in value.items()
            }
        case list() | tuple():
            return [_replace_surrogates(one) for one in value]
    return value


def frame(message: bytes) -> bytes:
    """Return *message* preceded by its length."""
    return LENGTH.pack(len(message)) + message
