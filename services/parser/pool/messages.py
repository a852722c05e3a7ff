"""The messages between parent and child: MessagePack, preceded by its length in four bytes.

The fork server is sent a number: 0, with the descriptor of a connection, for a new child, whose
process id it answers; or a child's process id to end that child, whose exit status it answers.
"""

import signal
import struct

from msgspec import Struct, msgpack

from gossamer.events import PageFetched, PageParsed
from services.parser.options import Options

ALARMS = (signal.SIGPROF, signal.SIGALRM)
"""Signals by which a child ends whose page takes too long: of the CPU, by the clock."""
CLOCK_TIME_FACTOR = 10
"""How many times as long as it may take of the CPU a page may take by the clock: on a machine that
is busy, or in a container that is throttled, it waits most of the time."""
LENGTH = struct.Struct(">I")
NUMBER = struct.Struct(">i")


class Ready(Struct, frozen=True):
    """A child's first message: from now on it reads pages."""

    missing: dict[str, str]
    """The walls of its sandbox that this system does not have, and why."""


class Request(Struct, frozen=True):
    """A page to read: the arguments of `page.parse`."""

    page: PageFetched
    options: Options
    now: float


class Reply(Struct, frozen=True):
    """What was read, or why nothing could be."""

    parsed: PageParsed | None = None
    fault: str = ""
    leaving: bool = False
    """Whether the child exits now: it holds on to too much memory to read another page."""


encode = msgpack.Encoder().encode
decode_request = msgpack.Decoder(Request).decode
decode_ready = msgpack.Decoder(Ready).decode
decode_reply = msgpack.Decoder(Reply).decode


def frame(message: bytes) -> bytes:
    """Return *message* preceded by its length."""
    return LENGTH.pack(len(message)) + message
