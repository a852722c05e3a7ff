"""What the URL-seen set remembers of a URL, and the set on either kind of storage."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from hashlib import blake2b

from gossamer.store import Row, Store


def finder_of(via: str) -> str:
    """Return 64 bits of *via*, in hexadecimal: by which the first finder of a URL is known again.

    Finders are compared URL by URL, so two must have these bits in common and find the same URL.
    Should it happen (once in 1.8e19 such pairs), the URL is admitted again, and none is lost.
    """
    return blake2b(via.encode(), digest_size=8).hexdigest()


def is_same(found: str, finder: str) -> bool:
    """Return whether *found*, of the set, is *finder*: older versions kept the whole of it."""
    return found == finder or finder_of(found) == finder


class Seen(ABC):
    """The URL-seen set. It only grows, and cannot be listed or counted."""

    @abstractmethod
    def first_finders(self, site: str, urls: Sequence[str], finder: str) -> list[str]:
        """Return who found each of *site*'s *urls* first, which are fingerprints.

        That is *finder*, and remembered, where nobody had.
        """

    @abstractmethod
    def knows(self, site: str, url: str) -> bool:
        """Return whether anybody has found *site*'s URL with this fingerprint."""

    def owns(self, site: str) -> bool:
        """Return whether the set has the URLs of *site*: whether its partition is ours."""
        return True

    def assign(self, epochs: Mapping[int, int]) -> None:  # noqa: B027
        """Take over partitions, each under the epoch of its claim, and give up all others."""

    def restore(self) -> bool:
        """Read some of what is missing after `assign`; return whether the set is complete."""
        return True

    def settle(self) -> None:  # noqa: B027
        """Make durable what is held outside the store."""

    def discard(self) -> None:  # noqa: B027
        """Forget what was remembered since the last `settle`; the store forgets its own."""

    def note(self) -> str:
        """Return what an operator should know; "" if nothing."""
        return ""


class SeenMapping(Seen):
    """The set in a mapping, fingerprint → finder: a Faust table."""

    def __init__(self, mapping: MutableMapping[str, str]) -> None:
        self._mapping = mapping

    def first_finders(self, site: str, urls: Sequence[str], finder: str) -> list[str]:
        """See `Seen`."""
        return [self._mapping.setdefault(url, finder) for url in urls]

    def knows(self, site: str, url: str) -> bool:
        """See `Seen`."""
        return url in self._mapping


class SeenRow(Row, frozen=True):
    """A URL that was found, and who found it first.

    By site: a page's links to one lie side by side, and many are one read and few pages of a disk.
    """

    table = "seen_urls"
    partition_key, sort_key = "site", "fingerprint"

    site: str
    fingerprint: bytes
    finder: bytes
    """64 bits of its name."""


class EarlierSeenRow(Row, frozen=True):
    """The same as folders had it before 2026-11-24; nothing is added."""

    table = "seen"
    partition_key = "fingerprint"

    fingerprint: str
    via: str
    """64 bits of the finder; the whole in rows of before 2026-11-22."""


class SeenTable(Seen):
    """The set in a table of the store: of a crawl in a folder."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(SeenRow)
        earlier = store.table(EarlierSeenRow)
        self._earlier = earlier if next(earlier.everything(), None) else None

    def first_finders(self, site: str, urls: Sequence[str], finder: str) -> list[str]:
        """See `Seen`."""
        keys = [bytes.fromhex(url) for url in urls]
        known = {row.fingerprint: row.finder.hex() for row in self._rows.get_many(site, keys)}
        for url, key in zip(urls, keys, strict=True):
            if key not in known:
                known[key] = self._found_earlier(url) or finder
                if known[key] == finder:
                    self._rows.put(SeenRow(site, key, bytes.fromhex(finder)))
        return [known[key] for key in keys]

    def knows(self, site: str, url: str) -> bool:
        """See `Seen`."""
        key = bytes.fromhex(url)
        return self._rows.get(site, key) is not None or bool(self._found_earlier(url))

    def _found_earlier(self, url: str) -> str:
        row = self._earlier.get(url) if self._earlier else None
        return row.via if row else ""
