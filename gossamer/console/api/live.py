"""Live data as server-sent events.

One sampler for each crawl reads for all of its clients, and only while there is one. A client that
reads slowly gets the newest data, and not the data in between.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress

import msgspec
from litestar.response import ServerSentEventMessage
from msgspec import Struct

from gossamer import clock
from gossamer.console.api.identity import Actor
from gossamer.console.api.readers import Busy

FOLDER_SECONDS, FLEET_SECONDS = 1.0, 5.0
"""Seconds between two samples."""
HEARTBEAT_SECONDS = 15.0
"""Seconds without data after which a comment is sent, so that proxies keep the connection."""
RETRY_MILLISECONDS = 3000
MAX_ACTOR_STREAMS, MAX_STREAMS = 10, 100
Sample = Callable[[], Awaitable[tuple[bytes, bytes]]]
"""Returns the present data of a crawl as JSON twice: without its time, and with it. It is sent only
if the data without the time has changed."""


class Live:
    """The streams of an application."""

    def __init__(self) -> None:
        self._feeds: dict[str, _Feed] = {}
        self._streams = Counter[str]()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End all streams, because the server stops. They would last for ever."""
        self._stopping.set()

    def _check(self, actor: Actor) -> None:
        if self._streams[actor.name] >= MAX_ACTOR_STREAMS or self._streams.total() >= MAX_STREAMS:
            raise Busy("too many streams of live data at once; close another page")

    async def follow(
        self,
        actor: Actor,
        key: str,
        topic: str,
        sample: Sample,
        interval: float,
        is_valid: Callable[[], bool] = lambda: True,
    ) -> AsyncGenerator[ServerSentEventMessage, None]:
        """Yield the data of *sample* whenever it changes, as events of *topic*.

        Streams with the same *key* share one sampler, which reads every *interval* seconds. The
        stream ends when *is_valid* does not hold for the *actor* any more, and at `stop`. Raise
        Busy if the actor, or all actors together, have too many streams.
        """
        self._check(actor)
        self._streams[actor.name] += 1
        feed = self._feeds.setdefault(key, _Feed(sample, interval, self._stopping))
        feed.clients += 1
        try:
            async for data in feed.changes():
                if not is_valid():
                    return
                if data is None:
                    yield ServerSentEventMessage(comment="alive")
                else:
                    yield ServerSentEventMessage(
                        data=data.decode(),
                        event=topic,
                        id=str(feed.version),
                        retry=RETRY_MILLISECONDS,
                    )
        finally:
            feed.clients -= 1
            if not feed.clients:
                self._feeds.pop(key, None)
            self._streams[actor.name] -= 1
            self._streams += Counter()  # `+=` drops names with a count of 0.


class _Feed:
    """The newest data of a crawl. The client that finds it old reads it for all."""

    def __init__(self, sample: Sample, interval: float, stopping: asyncio.Event) -> None:
        self._sample, self._interval, self._stopping = sample, interval, stopping
        self._lock = asyncio.Lock()
        self._data = self._compared = b""
        self._read_at = float("-inf")
        self.clients = 0
        self.version = 0

    async def changes(self) -> AsyncIterator[bytes | None]:
        """Yield the data whenever it has changed, and None if it has not for a while."""
        seen, sent_at = 0, clock.steady()
        while not self._stopping.is_set():
            await self._refresh()
            now = clock.steady()
            if self.version != seen:
                seen, sent_at = self.version, now
                yield self._data
            elif now - sent_at >= HEARTBEAT_SECONDS:
                sent_at = now
                yield None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._interval)

    async def _refresh(self) -> None:
        async with self._lock:
            if clock.steady() - self._read_at < self._interval / 2:
                return
            compared, self._data = await self._sample()
            self._read_at = clock.steady()
            if compared != self._compared:
                self._compared, self.version = compared, self.version + 1


def encode(data: Struct) -> bytes:
    """Return *data* as JSON in one line."""
    return msgspec.json.encode(data)
