"""Throttling by lag: a service starts no work in a partition whose consumers lag too far behind.

Records stay until they are consumed, so a consumer that is slower than its producers would fill the
disk. `LIMITS` states the maximum lag of each topic, and `WAITS_FOR` the topics whose consumers a
service waits for. A waiting service does not consume either, so no two services may wait for each
other: fetchers wait for the parser, the archive and the frontier, the parser waits for dedup, and
dedup for the frontier. The frontier never waits. It always consumes, and
`frontier.checked_out_limit` bounds its orders.
"""

from collections.abc import Callable, Mapping, Set

import structlog

from gossamer.events.topics import (
    PAGES_DEDUPLICATED,
    PAGES_FETCHED,
    PAGES_PARSED,
    URLS_ADMITTED,
    URLS_DISCOVERED,
    VISITS_ENDED,
    Topic,
)
from gossamer.log import NO_PARTITIONS, Log

LIMITS: Mapping[str, int] = {
    VISITS_ENDED.name: 10_000,
    PAGES_FETCHED.name: 500,
    PAGES_PARSED.name: 2_000,
    URLS_DISCOVERED.name: 10_000,
    URLS_ADMITTED.name: 10_000,
    PAGES_DEDUPLICATED.name: 10_000,
}
"""Maximum lag of any consumer in a partition of each topic, in records. Bodies are large, so
`fetcher.unparsed_limit` replaces the limit of `pages.fetched`."""

WAITS_FOR: Mapping[str, tuple[Topic, ...]] = {
    "fetcher": (PAGES_FETCHED, VISITS_ENDED),
    # Dedup produces discovered URLs from pages, and consumes both.
    "parser": (PAGES_PARSED, URLS_DISCOVERED),
    "dedup": (URLS_ADMITTED, PAGES_DEDUPLICATED),
}
"""Service → the topics whose consumers it waits for."""

HOLD_INTERVAL = 0.5
"""Seconds between two lag checks, which are requests to the brokers on Kafka."""

logger = structlog.get_logger()

Hold = Callable[[], Set[int]]
"""Returns the partitions in which no work may start. It may raise Unavailable."""


def hold_nothing() -> Set[int]:
    """Return no partition."""
    return NO_PARTITIONS


class Throttle:
    """Computes the throttled partitions of *service*. *limits* override LIMITS."""

    def __init__(self, log: Log, service: str, limits: Mapping[str, int] | None = None) -> None:
        all_limits = {**LIMITS, **(limits or {})}
        self._log = log
        self._limits = {topic.name: all_limits[topic.name] for topic in WAITS_FOR[service]}
        self._causes: set[tuple[str, str]] = set()

    def partitions(self) -> set[int]:
        """Return the partitions whose consumers lag too far behind.

        Each change of the lagging groups is logged.
        """
        behind = far_behind(self._log, self._limits)
        causes = {*behind}
        for topic, group in sorted(causes - self._causes):
            logger.info(
                "reading throttled: a consumer group lags",
                topic=topic,
                group=group,
                limit=self._limits[topic],
            )
        for topic, group in sorted(self._causes - causes):
            logger.info(
                "reading not throttled any more: the consumer group has caught up",
                topic=topic,
                group=group,
            )
        self._causes = causes
        return set[int]().union(*behind.values())


def far_behind(log: Log, limits: Mapping[str, int]) -> dict[tuple[str, str], set[int]]:
    """Return the topics of *limits* and the groups whose lag exceeds the limit of the topic, with
    the partitions concerned."""
    behind = {
        (topic, group): {number for number, lag in lags.items() if lag > limits[topic]}
        for topic, by_group in log.lag_by_group([*limits]).items()
        for group, lags in by_group.items()
    }
    return {cause: numbers for cause, numbers in behind.items() if numbers}
