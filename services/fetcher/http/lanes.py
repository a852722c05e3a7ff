"""Which lookups are under way at once: names that never resolve must not drown those that do.

Of all lookups a zone, a registrable domain with what is below it, has a quarter at most. So have
all names together that were not answered soon: a first try takes a slot for a short while only,
and what it does not settle is looked up again beside others of that kind.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from gossamer.web.url import site_of

SHARE = 4
"""One lookup in so many may be of one zone, or of a name that was not answered soon."""


class Lanes:
    """At most *limit* lookups at once."""

    def __init__(self, limit: int) -> None:
        self._share = max(1, limit // SHARE)
        self._all, self._doubtful = asyncio.Semaphore(limit), asyncio.Semaphore(self._share)
        self._zones: dict[str, tuple[asyncio.Semaphore, list[str]]] = {}

    @asynccontextmanager
    async def room(self, name: str, doubtful: bool) -> AsyncIterator[None]:
        """Wait until *name* may be looked up; *doubtful*: it was not answered soon."""
        key = site_of(f"http://{name}/")
        zone, names = self._zones.setdefault(key, (asyncio.Semaphore(self._share), []))
        names.append(name)
        try:
            async with zone, self._doubtful if doubtful else nullcontext(), self._all:
                yield
        finally:
            names.remove(name)
            if not names:
                del self._zones[key]
