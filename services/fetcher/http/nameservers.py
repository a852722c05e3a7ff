"""Name servers, asked through c-ares: the system's and the hosts file, or the one that is named.

An error that may be another name's is looked into, and of an answer that is malformed what is sound
is taken.

Questions to a name server over UDP, for answers that c-ares does not pass on.
"""

import asyncio
import secrets
import socket
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import aiodns
import pycares

from gossamer.telemetry.timing import timed
from services.fetcher.dns_message import AAAA, A, Answer, is_answer, question, usable
from services.fetcher.limitations import NO_NAME_SERVER, OwnFault

LOOKUP_LIMIT, LOOKUP_TRIES = 5.0, 2
DEFINITE = (
    aiodns.error.ARES_ENOTFOUND,
    aiodns.error.ARES_ENODATA,
    aiodns.error.ARES_EBADNAME,
    aiodns.error.ARES_ENONAME,
)
"""Errors that mean that there is no address; any other means that nobody knows."""
UNREACHED = (aiodns.error.ARES_ECONNREFUSED, aiodns.error.ARES_ENOTINITIALIZED)
"""Errors that mean that nobody could be asked at all."""
SUSPECT = (aiodns.error.ARES_ENODATA, aiodns.error.ARES_EBADRESP)
"""Errors that may be of another name's making. c-ares drops a connection on which one malformed
answer has come, and ends all other lookups on it with the same error; and on a busy machine it has
reported of names that have an address that they have none, which it then caches for an hour."""
ADDRESS = pycares.ARecordData | pycares.AAAARecordData


class DnsFailure(OSError):
    """The name does not exist, or has no address."""


class DnsUnanswered(OSError):
    """No name server says whether the name exists: none answers, or all fail."""


class NameServers:
    """Those of the system, or *nameserver*; *malformed* is told of names with a broken answer."""

    def __init__(self, nameserver: str, malformed: Callable[[str], None]) -> None:
        self._nameserver, self._malformed = nameserver, malformed
        self._cares: aiodns.DNSResolver | None = None

    async def answered_in_time(self, name: str, seconds: float, anew: bool = False) -> list[Answer]:
        """Return the addresses of *name*; *anew*: whatever was answered before.

        Raise DnsFailure, DnsUnanswered, or OwnFault if nobody can be asked; TimeoutError after
        *seconds*.
        """
        try:
            with timed("gossamer_dns_seconds"):
                async with asyncio.timeout(seconds):
                    return await (self._ask_anew(name) if anew else self._ask(name))
        except (aiodns.error.DNSError, UnicodeError) as error:
            if error.args[0] in UNREACHED:
                raise OwnFault(f"{NO_NAME_SERVER} ({error.args[-1]})") from error
            definite = isinstance(error, UnicodeError) or error.args[0] in DEFINITE
            kind = DnsFailure if definite else DnsUnanswered
            raise kind(f"{name} does not resolve: {error.args[-1]}") from error

    async def _ask(self, name: str) -> list[Answer]:
        if self._cares is None:
            self._cares = self._channel()
        try:
            return await self._answer(self._cares, name)
        except aiodns.error.DNSError as error:
            if error.args[0] not in SUSPECT:
                raise
        return await self._ask_anew(name)

    async def _ask_anew(self, name: str) -> list[Answer]:
        # Believed only when a channel repeats it that has no cache and asks for this name alone.
        fresh = self._channel()
        try:
            return await self._answer(fresh, name)
        except aiodns.error.DNSError as error:
            if error.args[0] != aiodns.error.ARES_EBADRESP:
                raise
            self._malformed(name)
            server = self._nameserver or next(iter(fresh.nameservers), "")
            if found := await sound_records(server, name, LOOKUP_LIMIT):
                return found
            raise
        finally:
            await fresh.close()

    async def _answer(self, cares: aiodns.DNSResolver, name: str) -> list[Answer]:
        if not self._nameserver:
            found = await cares.getaddrinfo(name, type=socket.SOCK_STREAM)
            return [(_text(node.addr[0]), node.ttl) for node in found.nodes]
        # c-ares has an option to skip the hosts file (`lookups`), but pycares frees its value
        # before c-ares reads it, and now and then nothing resolves any more. A query for records
        # goes to name servers only.
        answers = await asyncio.gather(
            *(cares.query_dns(name, kind) for kind in ("A", "AAAA")), return_exceptions=True
        )
        return _addresses(answers)

    def _channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(
            nameservers=[self._nameserver] if self._nameserver else None,
            # The search list of this machine must not turn one name into another.
            flags=pycares.ARES_FLAG_NOSEARCH,
            timeout=LOOKUP_LIMIT,
            tries=LOOKUP_TRIES,
        )

    async def close(self) -> None:
        """Cancel all lookups."""
        if self._cares is not None:
            await self._cares.close()


def _addresses(answers: Iterable[pycares.DNSResult | BaseException]) -> list[Answer]:
    """Return the addresses in *answers*; if there are none, raise an error among them.

    One that means that nobody knows goes before one that means that there is no address.
    """
    complete = [one for one in answers if not isinstance(one, BaseException)]
    records = [record for one in complete for record in one.answer]
    found = [(one.data.addr, one.ttl) for one in records if isinstance(one.data, ADDRESS)]
    wrong = [one for one in answers if isinstance(one, BaseException)]
    if wrong and not found:
        raise max(wrong, key=lambda error: error.args[0] not in DEFINITE)
    return found


def _text(address: str | bytes) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


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
