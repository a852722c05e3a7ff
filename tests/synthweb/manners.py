"""Ways to send an answer: whole, in chunks, slowly, too short, too long, or without end.

Each function returns whether the connection may be used again.
"""

import asyncio
from collections.abc import Awaitable, Callable

from .answers import Answer, reason

CHUNK = 700
TORRENT = 16384
DRIP_PIECES, DRIP_PAUSE = 10, 0.1
"""The pieces of a body that drips, and the seconds before each."""


async def send(answer: Answer, method: str, writer: asyncio.StreamWriter) -> bool:
    sender = _SENDERS.get(answer.manner, _send_whole)
    if method == "HEAD" or _bodiless(answer.status):
        sender = _send_head
    return await sender(answer, writer)


def _bodiless(status: int) -> bool:
    return status in {204, 304}


def _head(answer: Answer, **framing: str | int) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {reason(answer.status)}"]
    headers = answer.headers | {key.replace("_", "-"): str(it) for key, it in framing.items()}
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _out(writer: asyncio.StreamWriter, data: bytes, keep: bool) -> bool:
    writer.write(data)
    await writer.drain()
    return keep


async def _send_head(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    return await _out(writer, _head(answer), True)


async def _send_whole(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    head = _head(answer, Content_Length=len(answer.body))
    return await _out(writer, head + answer.body, True)


async def _send_raw(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Send the body as the whole answer, and close the connection."""
    return await _out(writer, answer.body, False)


async def _send_chunked(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    body = answer.body
    data = b"".join(_chunk(body[at : at + CHUNK]) for at in range(0, len(body), CHUNK))
    head = _head(answer, Transfer_Encoding="chunked")
    return await _out(writer, head + data + _chunk(b""), True)


async def _send_drip(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Send the body in small pieces."""
    body = answer.body
    await _out(writer, _head(answer, Content_Length=len(body)), True)
    size = -(-len(body) // DRIP_PIECES)
    for at in range(0, len(body), size):
        await asyncio.sleep(DRIP_PAUSE)
        await _out(writer, body[at : at + size], True)
    return True


async def _send_cut(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Close the connection half way through the announced length."""
    head = _head(answer, Content_Length=len(answer.body))
    return await _out(writer, head + answer.body[: len(answer.body) // 2], False)


async def _send_short(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Close the connection between chunks, before the last one."""
    head = _head(answer, Transfer_Encoding="chunked")
    return await _out(writer, head + _chunk(answer.body[: len(answer.body) // 2]), False)


async def _send_overlong(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Send more bytes than announced."""
    head = _head(answer, Content_Length=len(answer.body) // 2)
    return await _out(writer, head + answer.body, False)


async def _send_endlessly(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Send until the client disconnects, which raises ConnectionError."""
    await _out(writer, _head(answer) + answer.body, False)
    while True:
        await _out(writer, (b"and so on " * TORRENT)[:TORRENT], False)
        await asyncio.sleep(0)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_Sender = Callable[[Answer, asyncio.StreamWriter], Awaitable[bool]]
_SENDERS: dict[str, _Sender] = {
    "raw": _send_raw,
    "chunked": _send_chunked,
    "drip": _send_drip,
    "cut": _send_cut,
    "short": _send_short,
    "overlong": _send_overlong,
    "endless": _send_endlessly,
}
