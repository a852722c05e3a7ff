"""Runs a pool where Landlock is refused, as by older container runtimes, and prints its log."""

import asyncio
import platform

from structlog.testing import capture_logs

from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from gossamer.services.parser.pool.sandbox import (
    ALLOW,
    ARCHITECTURES,
    CREATE_RULESET,
    REFUSE,
    RESTRICTIONS,
    build_filter,
    load_filter,
)
from tests.parser.pages import NOW, OPTIONS, page_response


async def main() -> None:
    """Read three pages in each of two children."""
    RESTRICTIONS["no_new_privs"]()
    load_filter(build_filter(ARCHITECTURES[platform.machine()], [CREATE_RULESET], REFUSE, ALLOW))
    with capture_logs() as log:
        async with Pool(2, page_limit=60.0, memory_limit=512 << 20) as pool:
            page = page_response(b"<title>page was read</title>")
            reading = (pool.parse(Request(page, OPTIONS, NOW)) for _ in range(6))
            parsed = await asyncio.gather(*reading)
    for entry in log:
        print(entry)
    print({one.title for one in parsed})


if __name__ == "__main__":
    asyncio.run(main())
