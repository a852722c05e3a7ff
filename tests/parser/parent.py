"""A process that reads a page which takes for ever, for a test to kill: prints its children."""

import asyncio

from services.parser.messages import Request
from services.parser.pool import Pool
from tests.parser.pages import LIMIT, NOW, QUADRATIC, fetched


async def main() -> None:
    """Read a page in one child and nothing in the other."""
    async with Pool(2, page_limit=3.0, memory_limit=512 << 20) as pool:
        await asyncio.gather(
            *(pool.parse(Request(fetched(b"<p>"), True, LIMIT, NOW)) for _ in range(2))
        )
        endless = asyncio.create_task(pool.parse(Request(fetched(QUADRATIC), True, LIMIT, NOW)))
        await asyncio.sleep(0)
        print(*pool.pids, flush=True)
        await endless


if __name__ == "__main__":
    asyncio.run(main())
