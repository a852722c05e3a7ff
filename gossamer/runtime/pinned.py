"""What a crawl was begun with, and every process that works on it must have too.

That is the number of partitions, and the version of the public suffix list: they decide where
everything about a site lies. The version stands twice, on the `control` topic and in the store,
since either may be made anew without the other.
"""

from gossamer.errors import GossamerError
from gossamer.events import DEFAULT_CRAWL, SuffixListPinned
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import in_force
from gossamer.store import Row, Store
from gossamer.web.suffixes import SUFFIX_LIST


class PinnedRow(Row, frozen=True):
    """A version that the store's rows depend on."""

    table = "pinned"
    partition_key = "name"

    name: str
    version: str


def pin(log: Log, store: Store, now: float) -> None:
    """Write our versions down where there are none; raise GossamerError where there are others."""
    rows, partitions = store.table(PinnedRow), str(log.partitions)
    begun = rows.put_if_absent(PinnedRow("partitions", partitions)).version
    stands = rows.put_if_absent(PinnedRow("public suffix list", SUFFIX_LIST))
    store.flush()
    if begun != partitions:
        raise GossamerError(
            f"this crawl was begun with {begun} partitions of each topic, and the topics have "
            f"{partitions} now: sites would move to other partitions, away from what is known of "
            "them. The number is fixed for a crawl: make the topics anew, or begin another fleet"
        )
    _compare("store", stands.version)
    if not check_topics(log):
        log.append([encode(SuffixListPinned(at=now, list=SUFFIX_LIST))])


def check_topics(log: Log) -> bool:
    """Return whether *log* names our versions; raise GossamerError if it names others."""
    event = in_force(log).get(f"suffix_list_pinned/{DEFAULT_CRAWL}")
    if isinstance(event, SuffixListPinned):
        _compare("topics", event.list)
    return event is not None


def _compare(where: str, version: str) -> None:
    if version != SUFFIX_LIST:
        raise GossamerError(
            f"the {where} of this crawl were filled by the public suffix list of {version}, and "
            f"this version of Gossamer has that of {SUFFIX_LIST}: sites would move to other "
            "partitions, away from what is known of them. Go on with the version of Gossamer that "
            "has the older list, or begin anew, in another folder or fleet"
        )
