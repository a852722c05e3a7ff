"""The topics, as `schemas/topics/*.yaml` define them.

Operators and programs in other languages read these files, too. Here each becomes a :class:`Topic`
with a constant that code and mypy can refer to. A new topic needs a new file and a new constant
below. A crawl may have a topic for its pages alone, `pages.CRAWL`, with the definition of `pages`.
"""

from collections.abc import Iterable
from enum import Enum
from functools import cache
from importlib.resources import files

import msgspec

from gossamer.events.control import CrawlDefined, FleetEvent
from gossamer.events.outcomes import check_complete
from gossamer.events.pages import Contents
from gossamer.events.records import Event, is_crawl_id

MAX_RECORD_BYTES = 1_000_000
"""Maximum number of bytes of a record on any topic, with its key and headers. Any Kafka accepts
them: the default of max.message.bytes is 1,048,588 for a batch."""
OVERHEAD_BYTES = 8 << 10
"""Bytes of a record besides its event: its key, its headers, and what the log adds."""


class Retention(Enum):
    """The retention of a topic's records."""

    UNTIL_CONSUMED = "until consumed"
    """A record is deleted once every consumer has moved past it, and never before."""
    NEWEST = "newest"
    """The topic is compacted: the newest record of each key stays. An empty value is a
    tombstone."""
    FOREVER = "forever"


class TopicEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A type of event on a topic."""

    event: str
    """The event's tag."""
    key: str
    """The fields of the record's key, separated by slashes. `event` is the tag."""

    @property
    def type(self) -> type[Event]:
        """The struct with this tag."""
        return _EVENT_TYPES[self.event]


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A topic. The fields are those of its file, and the file's name is the topic's name."""

    name: str
    description: str
    events: tuple[TopicEvent, ...]
    partitioned_by: str
    """The field that determines the partition."""
    retention: Retention
    replayed: bool = False
    """Whether consumed records stay for `kafka.replay_window`, so that a store that was restored
    from a backup can consume them again."""
    partitions: int
    replication: int
    expires: bool = False
    """Whether an operator may set `retention.ms`, so that Kafka also deletes the newest record of a
    key at that age."""
    tombstone_retention: int = 0
    """Seconds for which Kafka keeps a tombstone of a compacted topic."""
    read_first: bool = False
    """Whether a reader of several topics returns the records of this one before all others."""
    appended_last: bool = False
    """Whether records are appended only after the other records of one append are durable."""
    segment: int = 0
    """Seconds after which Kafka may compact a record."""
    segment_bytes: int = 0
    """Bytes of a segment file of Kafka, which frees disk space by whole files. 0 means Kafka's
    default."""
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    """The services that must consume a record before it may be deleted. Other consumers are not
    waited for."""
    limit: int = MAX_RECORD_BYTES - OVERHEAD_BYTES
    """Maximum number of bytes of an encoded event."""


_EVENT_TYPES = {
    str(kind.__struct_config__.tag): kind
    for base in (Event, FleetEvent, Contents)
    for kind in base.__subclasses__()
    if kind not in (FleetEvent, Contents)
}
_FOLDER = files("gossamer.schemas") / "topics"


TOPICS: dict[str, Topic] = {}
"""All topics by name, in the order in which a page passes through them."""


def _topic(name: str) -> Topic:
    described = msgspec.yaml.decode((_FOLDER / f"{name}.yaml").read_bytes())
    topic = TOPICS[name] = msgspec.convert({"name": name, **described}, Topic)
    return topic


SEEDS = _topic("seeds")
URLS_DISCOVERED = _topic("urls.discovered")
URLS_SEEN = _topic("urls.seen")
URLS_ADMITTED = _topic("urls.admitted")
VISITS_ORDERED = _topic("visits.ordered")
VISITS_ENDED = _topic("visits.ended")
PAGES_FETCHED = _topic("pages.fetched")
PAGES_PARSED = _topic("pages.parsed")
PAGES_DEDUPLICATED = _topic("pages.deduplicated")
PAGES = _topic("pages")
PAGES_ARCHIVED = _topic("pages.archived")
CONTROL = _topic("control")
AUDIT = _topic("audit")
NOTIFICATIONS = _topic("notifications")
DEAD_LETTERS = _topic("dead.letters")

SITE_KEYED = tuple(
    name for name, topic in TOPICS.items() if topic.partitioned_by == "site" and topic.consumers
)
"""The consumed topics that are partitioned by site. A site has the same partition number in all of
them."""
CONSUMED_TOPICS = {
    group: [name for name, topic in TOPICS.items() if group in topic.consumers]
    for group in dict.fromkeys(group for topic in TOPICS.values() for group in topic.consumers)
}
"""Group → the topics that it must consume."""
TOPIC_OF = {kind.type: topic for topic in TOPICS.values() for kind in topic.events}
check_complete(_EVENT_TYPES.values(), TOPIC_OF, "schemas/topics")


@cache
def topic_named(name: str) -> Topic:
    """Return the topic *name*, or the topic `pages.CRAWL` of the pages of one crawl.

    Raise LookupError if there is no such topic.
    """
    if topic := TOPICS.get(name):
        return topic
    prefix, _, crawl = name.partition(".")
    if prefix != PAGES.name or not is_crawl_id(crawl):
        raise LookupError(f"there is no topic {name!r}")
    return msgspec.structs.replace(PAGES, name=name)


def topic_of_pages(crawl: CrawlDefined) -> str:
    """Return the name of the topic with the pages of *crawl*: `pages`, or a topic of its own."""
    return f"{PAGES.name}.{crawl.crawl}" if crawl.own_topic else PAGES.name


def own_topics(crawls: Iterable[CrawlDefined]) -> list[str]:
    """Return the names of the topics that only one of *crawls* has."""
    return [topic_of_pages(crawl) for crawl in crawls if crawl.own_topic and not crawl.removed]
