"""A process for a test to kill: prints its children and reads an endless page."""

import asyncio

from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from tests.parser.pages import NOW, OPTIONS, QUADRATIC, page_response


async def main() -> None:
    """Read a page in one child and nothing in the other."""
    async with Pool(2, page_limit=3.0, memory_limit=512 << 20) as pool:
        await asyncio.gather(
            *(pool.parse(Request(page_response(b"<p>"), OPTIONS, NOW)) for _ in range(2))
        )
        endless = asyncio.create_task(pool.parse(Request(page_response(QUADRATIC), OPTIONS, NOW)))
        await asyncio.sleep(0)
        print(*pool.pids, flush=True)
        await endless


if __name__ == "__main__":
    asyncio.run(main())
