"""The topics: which event each carries, who writes and reads it, and how long it is kept.

`schemas/topics/` says the same for people and other languages; a test holds the two together.
"""

from dataclasses import dataclass
from enum import Enum

from gossamer import events
from gossamer.events import Event

LIMIT = 8 << 20
"""Most bytes of an encoded event."""
LETTER_LIMIT = 12 << 20
"""The same of a dead letter: in base64, a record at its limit is a third larger."""
OVERHEAD = 64 << 10
"""How much more than an event its key and the log's own bookkeeping may take."""


class Keep(Enum):
    """What becomes of a record in time."""

    UNTIL_READ = "until read"
    """Trimmed once every reader has moved past it (Kafka: after a time that is long enough)."""
    NEWEST = "newest"
    """Compacted: the newest of each key stays; an empty value is a tombstone."""
    FOREVER = "forever"


@dataclass(frozen=True)
class Topic:
    """One topic. *readers* are the services that must have read a record before it may go."""

    name: str
    event: type[Event]
    keep: Keep
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    limit: int = LIMIT
    """Most bytes of an encoded event."""


SEEDS = Topic("seeds", events.SeedSown, Keep.UNTIL_READ, ("operators",), ("dedup",))
URLS_DISCOVERED = Topic(
    "urls.discovered", events.UrlsDiscovered, Keep.UNTIL_READ, ("dedup",), ("dedup",)
)
URLS_ADMITTED = Topic(
    "urls.admitted", events.UrlsAdmitted, Keep.UNTIL_READ, ("dedup",), ("frontier",)
)
VISITS_ORDERED = Topic(
    "visits.ordered", events.HostCheckedOut, Keep.UNTIL_READ, ("frontier",), ("fetcher",)
)
VISITS_ENDED = Topic(
    "visits.ended", events.VisitEnded, Keep.UNTIL_READ, ("fetcher",), ("frontier",)
)
PAGES_FETCHED = Topic(
    "pages.fetched", events.PageFetched, Keep.UNTIL_READ, ("fetcher",), ("parser", "archive")
)
PAGES_PARSED = Topic("pages.parsed", events.PageParsed, Keep.UNTIL_READ, ("parser",), ("dedup",))
PAGES_JUDGED = Topic("pages.judged", events.PageJudged, Keep.UNTIL_READ, ("dedup",), ("frontier",))
PAGES = Topic("pages", events.Page, Keep.NEWEST, ("dedup",), ())
PAGES_ARCHIVED = Topic("pages.archived", events.PageArchived, Keep.FOREVER, ("archive",), ())
CONTROL = Topic("control", events.CrawlDefined, Keep.NEWEST, ("operators",), ())
DEAD_LETTERS = Topic(
    "dead.letters",
    events.DeadLetter,
    Keep.FOREVER,
    ("dedup", "frontier", "fetcher", "parser", "archive"),
    (),
    LETTER_LIMIT,
)

TOPICS = {
    topic.name: topic
    for topic in (
        SEEDS,
        URLS_DISCOVERED,
        URLS_ADMITTED,
        VISITS_ORDERED,
        VISITS_ENDED,
        PAGES_FETCHED,
        PAGES_PARSED,
        PAGES_JUDGED,
        PAGES,
        PAGES_ARCHIVED,
        CONTROL,
        DEAD_LETTERS,
    )
}
SITE_KEYED = tuple(name for name in TOPICS if name not in ("seeds", "control", "dead.letters"))
"""The topics of which a site has the same partition number."""
TOPIC_OF = {topic.event: topic for topic in TOPICS.values()}
