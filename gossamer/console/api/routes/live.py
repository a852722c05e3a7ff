"""The stream of live data."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from litestar import Request
from litestar.datastructures import State
from litestar.params import QueryParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage
from msgspec.structs import replace

from gossamer.console.api.gate import Gate, actor_in
from gossamer.console.api.lags import LagSampler
from gossamer.console.api.live import FLEET_SECONDS, FOLDER_SECONDS, Live, encode
from gossamer.console.api.parameters import BY_QUERY, FromCrawl, reading
from gossamer.inspection.answers.overview import read_overview
from gossamer.inspection.crawls.crawl import OpenCrawl

Topics = Annotated[
    Literal["overview"], QueryParameter(description="The data that is sent when it changes.")
]


@reading("/v1/live", "Live data", BY_QUERY)
async def get_live(
    request: Request[Any, Any, Any], state: State, reader: FromCrawl, topics: Topics = "overview"
) -> ServerSentEvent:
    """Server-sent events: the overview of a crawl whenever it changes, sampled each second in a
    folder and each five seconds in a fleet."""
    live: Live = state.live
    gate: Gate = state.gate
    lags: LagSampler = state.lags
    actor = actor_in(request.scope)
    is_fleet = await reader.read(lambda crawl: crawl.fleet)

    def read(crawl: OpenCrawl) -> tuple[bytes, bytes]:
        overview = read_overview(crawl, lags.times)
        return encode(replace(overview, at=0.0)), encode(overview)

    async def sample() -> tuple[bytes, bytes]:
        await lags.sample(reader)
        return await reader.read(read)

    interval = FLEET_SECONDS if is_fleet else FOLDER_SECONDS
    key = f"{topics}/{reader.crawl or ''}"

    def is_valid() -> bool:
        return gate.may_still_read(request, reader.crawl)

    stream = live.follow(actor, key, topics, sample, interval, is_valid)
    # Awaited here, so that an error becomes the status of the response.
    first = await anext(stream, None)
    return ServerSentEvent(_prepend(first, stream))


async def _prepend(
    first: ServerSentEventMessage | None, stream: AsyncGenerator[ServerSentEventMessage, None]
) -> AsyncIterator[ServerSentEventMessage]:
    async with aclosing(stream):
        if first is not None:
            yield first
        async for message in stream:
            yield message
