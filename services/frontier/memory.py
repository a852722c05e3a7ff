"""The caches of one frontier, bounded by bytes: a website cannot make them grow without end.

All partitions of a frontier share the caches. A value belongs to one `Partition` object. A later
claim builds a new object, which does not find the values of the old one; the cache evicts them like
all values that are not used.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.web.cookies import Cookie
from services.frontier.rows import HostRow, QueuedUrl, RobotsRow, SiteRow

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class Host:
    """A host, whether it is on the workbench or not."""

    row: HostRow
    stored: bool = True
    """Whether the store has the host's row. Until then, no total counts the host."""
    waits_for: str | None = None
    """The name or site that the ready host waits for; None if it waits for none."""


class CachedRobots(NamedTuple):
    """The cached robots rules of a host; None if the host has no rules yet."""

    row: RobotsRow | None


class CachePart(Generic[K, V]):
    """The values of one partition in a cache that several partitions share."""

    def __init__(self, cache: ByteCache[tuple[int, K], V], owner: int) -> None:
        self._cache, self._owner = cache, owner

    def __contains__(self, key: K) -> bool:
        return (self._owner, key) in self._cache

    def get(self, key: K) -> V | None:
        """Return the value of *key*; None if it is not cached."""
        return self._cache.get((self._owner, key))

    def put(self, key: K, value: V, site: str) -> None:
        """Cache *value* under *key*, in the memory budget of *site*."""
        self._cache.put((self._owner, key), value, site)

    def remove(self, key: K) -> None:
        """Remove *key*, if it is cached."""
        self._cache.remove((self._owner, key))


class PartitionCaches(NamedTuple):
    """The caches of one partition."""

    hosts: CachePart[str, Host]
    """Host key → a host that is not on the workbench."""
    robots: CachePart[str, CachedRobots]
    """Host key → robots rules."""
    sites: CachePart[str, SiteRow]
    queue_heads: CachePart[str, list[QueuedUrl]]
    """Bucket → consecutive rows, from the cursor on or from before it."""


class FrontierCaches:
    """The caches of one process. Each limits its total size, and the size of one site's values."""

    def __init__(self) -> None:
        self._hosts = _cache(64, 4, size_of_host)
        self._robots = _cache(128, 8, size_of_robots)
        self._sites = _cache(64, 4, size_of_site)
        self._queue_heads = _cache(64, 4, size_of_urls)
        self._owners = count()

    def open_partition(self) -> PartitionCaches:
        """Return empty caches for a partition."""
        owner = next(self._owners)
        return PartitionCaches(
            CachePart(self._hosts, owner),
            CachePart(self._robots, owner),
            CachePart(self._sites, owner),
            CachePart(self._queue_heads, owner),
        )


def _cache(
    megabytes: int, megabytes_per_site: int, size: Callable[[V], int]
) -> ByteCache[tuple[int, str], V]:
    return ByteCache(megabytes << 20, size, megabytes_per_site << 20)


def size_of_host(host: Host) -> int:
    """Estimate the bytes of *host* in memory."""
    row = host.row
    texts = len(row.host) + len(row.backoff_reason or "")
    return 6 * ENTRY_BYTES + texts + size_of_cookies(row.cookies)


def size_of_robots(cached: CachedRobots) -> int:
    """Estimate the bytes of *cached* in memory."""
    if cached.row is None:
        return ENTRY_BYTES
    both = [rules for rules in (cached.row.rules, cached.row.copy) if rules]
    usage = [one for rules in both for one in rules.usage]
    texts = [rules.lines for rules in both] + [one.value + one.pattern for one in usage]
    return ENTRY_BYTES * (2 + len(usage)) + sum(map(len, texts))


def size_of_site(row: SiteRow) -> int:
    """Estimate the bytes of *row* in memory."""
    hosts = [*row.unreadable, *row.validators]
    names = sum(ENTRY_BYTES + len(host) for host in hosts)
    return 2 * ENTRY_BYTES + len(row.statistics) + names + size_of_cookies(row.cookies)


def size_of_urls(urls: list[QueuedUrl]) -> int:
    """Estimate the bytes of *urls* in memory."""
    texts = sum(len(url.url) + len(url.origin.via) + len(url.statistics) for url in urls)
    return len(urls) * ENTRY_BYTES + texts


def size_of_cookies(cookies: Iterable[Cookie]) -> int:
    """Estimate the bytes of *cookies* in memory."""
    return sum(ENTRY_BYTES + len(cookie.name) + len(cookie.value) for cookie in cookies)
