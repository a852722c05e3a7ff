"""Throttling by lag: a service starts nothing in a partition whose readers are too far behind.

Records are kept until they are read, so a reader that is slower than its writers would fill the
disk. One table says how much may wait, another which topics' readers a service waits for. A service
that waits reads nothing more, so no two services may wait for each other: fetchers wait for the
parser, the archive and the frontier, the parser waits for dedup, and dedup for the frontier. The
frontier never waits: it always reads on, and `frontier.checked_out_limit` bounds its orders.
"""

from collections.abc import Callable, Mapping, Set

import structlog

from gossamer.events.topics import (
    PAGES_FETCHED,
    PAGES_JUDGED,
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
    PAGES_JUDGED.name: 10_000,
}
"""Most records of a partition that may wait for one of the topic's readers. Bodies are large:
`fetcher.unparsed_limit` takes the place of the number of `pages.fetched`."""

WAITS_FOR: Mapping[str, tuple[Topic, ...]] = {
    "fetcher": (PAGES_FETCHED, VISITS_ENDED),
    # Dedup turns pages into discovered URLs, which it reads as well.
    "parser": (PAGES_PARSED, URLS_DISCOVERED),
    "dedup": (URLS_ADMITTED, PAGES_JUDGED),
}
"""Service → the topics whose readers it waits for."""

HOLD_INTERVAL = 0.5
"""Seconds between two questions whether others are behind; on Kafka the brokers have to answer."""

logger = structlog.get_logger()

Hold = Callable[[], Set[int]]
"""Returns the partitions in which nothing is to be started; may raise Unavailable."""


def hold_nothing() -> Set[int]:
    """Return no partition."""
    return NO_PARTITIONS


class Throttle:
    """Where *service* starts nothing for now; *limits* take the place of those in LIMITS."""

    def __init__(self, log: Log, service: str, limits: Mapping[str, int] | None = None) -> None:
        self._log, self._topics = log, [topic.name for topic in WAITS_FOR[service]]
        self._limits = {**LIMITS, **(limits or {})}
        self._causes: set[tuple[str, str]] = set()

    def partitions(self) -> set[int]:
        """Return the partitions whose readers are too far behind.

        Each change of the groups that are waited for is logged.
        """
        held: set[int] = set()
        causes: set[tuple[str, str]] = set()
        for topic in self._topics:
            for group, numbers in far_behind(self._log, topic, self._limits[topic]).items():
                held |= numbers
                causes.add((topic, group))
        for topic, group in sorted(causes - self._causes):
            logger.info("throttled", topic=topic, group=group, limit=self._limits[topic])
        for topic, group in sorted(self._causes - causes):
            logger.info("throttled no longer", topic=topic, group=group)
        self._causes = causes
        return held


def far_behind(log: Log, topic: str, limit: int) -> dict[str, set[int]]:
    """Return the groups that have more than *limit* records of *topic* to read, and where."""
    lags = log.lag_by_group(topic).items()
    behind = {group: {at for at, lag in found.items() if lag > limit} for group, found in lags}
    return {group: numbers for group, numbers in behind.items() if numbers}
