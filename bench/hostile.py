"""The parser on hostile pages and on mutants of real pages: crashes, kills, the slowest pages.

    .venv/bin/python -m bench.hostile [--mutants 10000] [--seed 1] [--pages FOLDER]

Each page is parsed by a child of the pool, under the limits of a crawl. A mutant is a real page in
which pieces were deleted, doubled, moved, or overwritten with random bytes or with known problems
of parsers. A page at which a child crashed or exceeded its time is printed with its number: the
same seed makes the same page. FOLDER has real pages, `*.html.gz`, by default those of
`scripts/suites`.
"""

import argparse
import asyncio
import gzip
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gossamer.errors import Poison
from gossamer.events import PageFetched, Visit
from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from gossamer.services.parser.wiring import options_of
from gossamer.settings import Settings
from gossamer.web.url import HostKey, Site
from tests.parser.hostile import HOSTILE
from tests.suites import data_folder

STUMBLES = (
    b"<!--", b"-->", b"<script>", b"</script", b"<svg>", b"<table>", b"<b id=1>", b"<template>",
    b"<plaintext>", b"<![CDATA[", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"&#x10ffff;", b'"', b"'",
    b"<select>", b"</p>", b"<meta charset=utf-16>", b"<base href=//x>", b"<frameset>", b"<a " * 50,
    b"<div>" * 300, b"\xf0\x9f\x92", b"<math><mi>", b"<option>" * 100, b"<", b">", b"=",
)  # fmt: skip
MAX_CHANGES = 12
"""The maximum number of changes in a mutant."""


class ParseResult(NamedTuple):
    """The result for a page."""

    name: str
    seconds: float
    how: str


def mutant(pages: list[bytes], number: int, seed: int) -> bytes:
    """Return the mutant *number*."""
    chance = random.Random(f"{seed}.{number}")
    page = bytearray(chance.choice(pages))
    for _ in range(chance.randint(1, MAX_CHANGES)):
        _change(page, chance, pages)
    return bytes(page)


def _change(page: bytearray, chance: random.Random, pages: list[bytes]) -> None:
    start = chance.randrange(len(page) + 1)
    end = min(len(page), start + int(2 ** chance.uniform(0, 15)))
    match chance.randrange(6):
        case 0:
            del page[start:end]
        case 1:
            page[start:start] = page[start:end] * chance.randint(1, 8)
        case 2:
            page[start:end] = chance.randbytes(min(end - start, 200))
        case 3:
            other = chance.choice(pages)
            at = chance.randrange(len(other))
            page[start:start] = other[at : at + end - start]
        case _:
            page[start:start] = chance.choice(STUMBLES) * chance.choice((1, 1, 1, 10, 1000))


def mutants(pages: list[bytes], count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and bodies of mutants."""
    for number in range(count):
        yield f"mutant {number}", mutant(pages, number, seed)


async def read_all(pages: Iterable[tuple[str, bytes]], settings: Settings) -> list[ParseResult]:
    """Parse all *pages*, as many at once as there are children."""
    chosen, queue = settings.parser, iter(pages)
    found: list[ParseResult] = []
    async with Pool(2, chosen.page_limit, chosen.memory_limit) as pool:

        async def worker() -> None:
            for name, body in queue:
                found.append(await _parse(pool, name, body, settings))

        await asyncio.gather(worker(), worker())
    return found


async def _parse(pool: Pool, name: str, body: bytes, settings: Settings) -> ParseResult:
    request = Request(_page_of(body), options_of(settings), 0.0)
    began = time.perf_counter()
    try:
        parsed = await pool.parse(request)
        how = "cut" if "malformed_html" in parsed.hazards else "read"
    except Poison as error:
        how = str(error)
    return ParseResult(name, time.perf_counter() - began, how)


def _page_of(body: bytes) -> PageFetched:
    coding = (("Content-Encoding", "gzip"),) if body.startswith(b"\x1f\x8b") else ()
    return PageFetched(
        at=0.0,
        site=Site("page.test"),
        host=HostKey("http://page.test"),
        visit=Visit("1.1.0@http://page.test/", "http://page.test/"),
        started_at=0.0,
        took=0.0,
        status=200,
        headers=(("Content-Type", "text/html"), *coding),
        body=body,
    )


def main() -> None:
    """Print the results for hostile pages and mutants."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pages", type=Path, default=data_folder() / "pages")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pages = [gzip.decompress(file.read_bytes()) for file in sorted(options.pages.glob("*.gz"))]
    if not pages:
        parser.error(f"no pages in {options.pages}: scripts/suites fetches some")
    settings = Settings()
    hostile = [(name, make()) for name, make in HOSTILE.items()]
    _report("hostile pages", asyncio.run(read_all(hostile, settings)))
    _report(
        "mutants", asyncio.run(read_all(mutants(pages, options.mutants, options.seed), settings))
    )


def _report(what: str, ended: list[ParseResult]) -> None:
    print(f"{len(ended)} {what}")
    for how, count in Counter(one.how for one in ended).most_common():
        print(f"  {count:6}  {how}")
    for one in sorted(ended, key=lambda one: -one.seconds)[:8]:
        print(f"  {one.seconds:6.2f} s  {one.name}: {one.how}")


if __name__ == "__main__":
    main()
