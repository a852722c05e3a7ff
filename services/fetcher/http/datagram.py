"""Questions to a name server over UDP, for answers that c-ares does not pass on."""

import asyncio
import secrets
from urllib.parse import urlsplit

from services.fetcher.dns_message import AAAA, A, Answer, is_answer, question, usable

PORT = 53


class _Asker(asyncio.DatagramProtocol):
    """Waits for the first datagram that has the number of the question."""

    def __init__(self, asked: bytes) -> None:
        self._number = asked[:2]
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self.answer.done() and data[:2] == self._number:
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


async def sound_records(server: str, name: str, seconds: float) -> list[Answer]:
    """Return the addresses in the sound records of what *server* answers within *seconds*; none if
    it does not."""
    answers = await asyncio.gather(
        *(_sound(server, question(name, kind, secrets.randbelow(1 << 16)), seconds)
          for kind in (A, AAAA)),
        return_exceptions=True,
    )  # fmt: skip
    return [record for one in answers if isinstance(one, list) for record in one]


async def _sound(server: str, asked: bytes, seconds: float) -> list[Answer]:
    parts = urlsplit(
        f"//[{server}]" if server.count(":") > 1 and "[" not in server else f"//{server}"
    )
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: _Asker(asked),
        remote_addr=(parts.hostname or "", parts.port or PORT),
    )
    try:
        transport.sendto(asked)
        async with asyncio.timeout(seconds):
            answer = await protocol.answer
        return usable(answer, asked) if is_answer(answer, asked) else []
    finally:
        transport.close()
