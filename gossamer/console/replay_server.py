"""pywb as a process: `python -m gossamer.console.replay_server`, with the options of pywb.

pywb imports its proxy mode at the start, and with it pyOpenSSL, whose releases without an upper
bound for cryptography fail with the current one. The proxy mode is never used here, so an empty
module replaces it. The process ends when its standard input does, so it never outlives the command
that has started it.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, product
from types import ModuleType
from typing import Any

import gevent
from warcio.bufferedreaders import BufferedReader

from gossamer.web.coding import INFLATERS, DamagedStream, Inflater
from gossamer.web.url import BadUrl, canonicalize

READ_BY_WARCIO = {"gzip", "deflate"}


class Decompressor:
    """A decoder of content codings, with the methods that warcio calls."""

    unused_data = b""
    """The bytes behind the end of the body. The decoder has skipped them."""

    def __init__(self, *makers: Callable[[], Inflater]) -> None:
        """*makers* in the order in which the codings are removed."""
        self._inflaters = [make() for make in makers]
        self._begun = set[Inflater]()

    def decompress(self, data: bytes) -> bytes:
        """Return the decoded bytes of *data*, a part of a body. Raise DamagedStream.

        A second coding that the server has named and not applied is skipped.
        """
        for inflater in [*self._inflaters]:
            try:
                decoded = _inflate(inflater, data)
            except DamagedStream:
                if inflater in self._begun or inflater is self._inflaters[0]:
                    raise
                self._inflaters.remove(inflater)
                continue
            data = decoded
            if data:
                self._begun.add(inflater)
        return data

    def flush(self) -> bytes:
        """Return nothing: no decoded byte waits."""
        return b""


def _inflate(inflater: Inflater, data: bytes) -> bytes:
    found = list[bytes]()
    while piece := inflater.inflate(data):
        found.append(piece)
        data = b""
    return b"".join(found)


def add_decompressors() -> None:
    """Let warcio decode all codings of the fetcher, and each two of them."""
    for coding, (make, *_) in INFLATERS.items():
        if coding not in READ_BY_WARCIO:
            BufferedReader.DECOMPRESSORS[coding] = partial(Decompressor, make)
    for first, second in product(INFLATERS, repeat=2):
        makers = (INFLATERS[second][0], INFLATERS[first][0])
        for between in (",", ", "):
            BufferedReader.DECOMPRESSORS[f"{first}{between}{second}"] = partial(
                Decompressor, *makers
            )


def prefer_exact_urls() -> None:
    """Let pywb show the captures of the requested URL before those of other URLs with the same key.

    A SURT key has no scheme, no `www2.`, no capitals and no last slash. The other captures stay
    behind, since pywb skips a redirect to a URL with the same key.
    """
    from pywb.warcserver.index import aggregator

    process: Callable[[Iterator[Any], Any], Iterator[Any]] = aggregator.process_cdx

    def process_exact_first(lines: Iterator[Any], query: Any) -> Iterator[Any]:
        if not query.params.get("closest"):
            return process(lines, query)
        found, url = [*lines], _canonical(query.url)
        is_exact = [_canonical(line.get("url", "")) == url for line in found]
        parts = [
            [line for line, exact in zip(found, is_exact, strict=True) if exact is wanted]
            for wanted in (True, False)
        ]
        return chain.from_iterable(process(iter(part), query) for part in parts)

    aggregator.process_cdx = process_exact_first


def _canonical(url: str) -> str:
    try:
        return canonicalize(url)
    except BadUrl:
        return url


def main() -> None:
    """Run pywb until standard input ends."""
    package, proxy = ModuleType("wsgiprox"), ModuleType("wsgiprox.wsgiprox")
    vars(proxy)["WSGIProxMiddleware"] = None
    sys.modules |= {"wsgiprox": package, "wsgiprox.wsgiprox": proxy}
    # At this import, pywb lets gevent replace threads and locks.
    from pywb.apps.cli import wayback

    add_decompressors()
    prefer_exact_urls()
    gevent.spawn(_exit_at_end_of_input)
    wayback()


def _exit_at_end_of_input() -> None:
    gevent.get_hub().threadpool.apply(os.read, (sys.stdin.fileno(), 1))
    os._exit(0)


if __name__ == "__main__":
    main()
