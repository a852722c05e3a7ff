"""Where fetched pages wait for those who read them: no more is fetched there than can be read."""

from gossamer.events.topics import PAGES_FETCHED
from gossamer.log import Log


def unread_partitions(log: Log, most: int) -> set[int]:
    """Return the partitions of which parser or archive has more than *most* pages to read."""
    waiting = (log.backlogs(reader, PAGES_FETCHED.name) for reader in PAGES_FETCHED.consumers)
    return {at for backlogs in waiting for at, count in backlogs.items() if count > most}
