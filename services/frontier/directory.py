"""The directory: hosts with work, in the store, listed by the request number of their first URL.

Every host that gets work is listed here first. The directory is read once, in order, by a position
that only moves forward: behind it are the hosts that have been loaded, beyond it those that wait
for room in memory. Entries are never deleted one by one: an entry is stale when its host's row
names another number, and a bucket is dropped whole when it has no live entry left. After a crash
the directory is read again from the first bucket, so every host with work is found.
"""

from collections import Counter, deque

from msgspec.structs import replace

from gossamer.store import Table
from services.frontier.rows import ListedHost, PartitionRow

BUCKET = 3_600_000_000
"""Request numbers are microseconds: an hour of admissions is a bucket."""
PAGE = 200


class Directory:
    """The directory of one partition."""

    def __init__(self, partition: PartitionRow, entries: Table[ListedHost]) -> None:
        self.partition = partition
        self._entries = entries
        self._bucket = partition.first_bucket
        """The bucket that the position is in …"""
        self._taken: ListedHost | None = None
        """… and the last entry of it that was taken."""
        self._page: deque[ListedHost] = deque()
        self._at_end = False
        """Whether the store has nothing beyond the page."""
        self._live: Counter[int] = Counter()
        """Bucket up to the position → how many of its entries are taken and not stale."""

    def enlist(self, site: str, host: str, number: int) -> int:
        """List a host beyond the position, under *number* if that is beyond; return the number."""
        number = max(number, self._beyond())
        bucket = number // BUCKET
        key = _key(number, host)
        self._entries.put(ListedHost(self._partition_key(bucket), key, number, site, host))
        self._at_end = False
        if self._page and key < self._page[-1].key:
            self._page.clear()  # It belongs among those read ahead: they are read again.
        first, last = self.partition.first_bucket, self.partition.last_bucket
        if last < first:
            self._bucket = first = bucket
        if (first, bucket) > (self.partition.first_bucket, last) or bucket > last:
            self.partition = replace(
                self.partition, first_bucket=first, last_bucket=max(last, bucket)
            )
        return number

    def _beyond(self) -> int:
        if self.partition.last_bucket < self.partition.first_bucket:
            return 0
        return self._taken.number + 1 if self._taken else self._bucket * BUCKET

    def peek(self) -> ListedHost | None:
        """Return the first entry beyond the position, perhaps a stale one."""
        while not self._page and not self._at_end:
            after = self._taken.key if self._taken else None
            self._page.extend(self._entries.scan(self._partition_key(self._bucket), after, PAGE))
            self._at_end = not self._page and not self._leave_bucket()
        return self._page[0] if self._page else None

    def take(self) -> None:
        """Move the position past the entry that `peek` returned; it is live until delisted."""
        self._taken = self._page.popleft()
        self._live[self._taken.number // BUCKET] += 1

    def delist(self, number: int) -> None:
        """The entry of a loaded host under *number* is stale from now on."""
        if number and number < self._beyond():
            self._live[number // BUCKET] -= 1
            self._drop(number // BUCKET)
        # An entry beyond the position is found stale when the position comes to it.

    def _leave_bucket(self) -> bool:
        if self._bucket >= self.partition.last_bucket:
            return False
        left, self._bucket, self._taken = self._bucket, self._bucket + 1, None
        self._drop(left)
        return True

    def _drop(self, bucket: int) -> None:
        if self._live[bucket] > 0 or bucket >= self._bucket:
            return
        del self._live[bucket]
        self._entries.drop(self._partition_key(bucket))
        first = min([*self._live, self._bucket])
        self.partition = replace(self.partition, first_bucket=first)

    def _partition_key(self, bucket: int) -> str:
        return f"{self.partition.partition}/{bucket}"


def _key(number: int, host: str) -> str:
    return f"{number:020d} {host}"
