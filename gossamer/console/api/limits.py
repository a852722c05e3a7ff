"""Rate limits for the requests of a user, a token or an address. Logic is told the time."""

from typing import NamedTuple

from gossamer.cache import RecentlyUsed

MAX_BUCKETS = 10_000
"""Users and addresses that are remembered. The one used least recently is forgotten, and may make
its burst again."""


class Rate(NamedTuple):
    """A mean number of requests a second, and the number at once."""

    per_second: float
    burst: float


class RateLimit:
    """A token bucket for each key."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets = RecentlyUsed[str, tuple[float, float]](MAX_BUCKETS)
        """Key → permits that are left, and the time of that number."""

    def wait(self, key: str, now: float) -> float:
        """Take a permit of *key*, and return 0.0; or return the seconds until there is one.

        *now* is in seconds of a steady clock.
        """
        left, at = self._buckets.get(key, (self._rate.burst, now))
        left = min(self._rate.burst, left + max(0.0, now - at) * self._rate.per_second)
        if left < 1.0:
            return (1.0 - left) / self._rate.per_second
        self._buckets[key] = (left - 1.0, now)
        return 0.0
