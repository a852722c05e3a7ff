"""The topics, as `schemas/topics/*.yaml` describe them: that is the only place that says so.

A file is what programs in other languages and operators read as well; here it becomes a
:class:`Topic` under a name that code, mypy and readers can refer to. A new topic is a new file and
a constant below.
"""

from enum import Enum
from importlib.resources import files

import msgspec

from gossamer.events.outcomes import check_complete
from gossamer.events.pages import Contents
from gossamer.events.records import Event

OVERHEAD = 64 << 10
"""Bytes of a record beside its event: its key and what the log itself adds."""


class Keep(Enum):
    """What becomes of a record in time."""

    UNTIL_READ = "until read"
    """Deleted once every consumer has moved past it, and never before."""
    NEWEST = "newest"
    """Compacted: the newest of each key stays; an empty value is a tombstone."""
    FOREVER = "forever"


class TopicEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of event on a topic."""

    event: str
    """Its tag."""
    key: str
    """The fields that make a record's key, joined by slashes; `event` is the tag."""

    @property
    def type(self) -> type[Event]:
        """The struct with that tag."""
        return _EVENT_TYPES[self.event]


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One topic; the fields are those of its file, which is named after it."""

    name: str
    description: str
    events: tuple[TopicEvent, ...]
    partitioned_by: str
    """The field that decides the partition."""
    keep: Keep
    replayed: bool = False
    """Whether records that were read stay for `kafka.replay_window`: a store that was restored from
    a backup reads them once more."""
    partitions: int
    replication: int
    expires: bool = False
    """Whether Kafka may delete records by their age, besides all but the newest of each key. It
    does so once an operator has set `retention.ms`."""
    retention: int = 0
    """Seconds that Kafka keeps a tombstone, where the newest record of each key is kept."""
    segment: int = 0
    """Seconds after which what was written may be compacted."""
    segment_bytes: int = 0
    """Bytes of a file of Kafka's; what is deleted leaves the disk by whole files. 0: its own."""
    max_message_bytes: int
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    """The services that must have read a record before it may go. Anybody may read besides."""

    @property
    def limit(self) -> int:
        """Most bytes of an encoded event."""
        return self.max_message_bytes - OVERHEAD


_EVENT_TYPES = {
    str(kind.__struct_config__.tag): kind
    for kind in (*Event.__subclasses__(), *Contents.__subclasses__())
    if kind is not Contents
}
_FOLDER = files("schemas") / "topics"


TOPICS: dict[str, Topic] = {}
"""All of them by name, in the order in which a page passes them."""


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
PAGES_JUDGED = _topic("pages.judged")
PAGES = _topic("pages")
PAGES_ARCHIVED = _topic("pages.archived")
CONTROL = _topic("control")
DEAD_LETTERS = _topic("dead.letters")

SITE_KEYED = tuple(
    name for name, topic in TOPICS.items() if topic.partitioned_by == "site" and topic.consumers
)
"""The topics of which a site has the same partition number: those that services read."""
TOPIC_OF = {kind.type: topic for topic in TOPICS.values() for kind in topic.events}
check_complete(_EVENT_TYPES.values(), TOPIC_OF, "schemas/topics")
LARGEST = max(topic.max_message_bytes for topic in TOPICS.values())
"""Most bytes of a record on any topic: what clients must be able to send and fetch."""
