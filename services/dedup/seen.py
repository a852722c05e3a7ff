"""What the URL-seen set remembers of a URL, and the set on either kind of storage."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from enum import Enum
from hashlib import blake2b

from gossamer.store import Row, Store


def finder_of(via: str) -> str:
    """Return 64 bits of *via*, in hexadecimal: by which the first finder of a URL is known again.

    Finders are compared URL by URL, so two must have these bits in common and find the same URL.
    Should it happen (once in 1.8e19 such pairs), the URL is admitted again, and none is lost.
    """
    return blake2b(via.encode(), digest_size=8).hexdigest()


class Finding(Enum):
    """The result of the URL-seen test for one URL and its finder."""

    NEW = "nobody had found it"
    REPEATED = "the finder itself had found it first"
    KNOWN = "another had found it first"

    @classmethod
    def of(cls, first: str | None, finder: str) -> "Finding":
        """Return the result for *finder*; *first* is the first finder of the URL, if it has one."""
        if first is None:
            return cls.NEW
        return cls.REPEATED if first == finder else cls.KNOWN


class Seen(ABC):
    """The URL-seen set, of each crawl by itself. It cannot be listed or counted."""

    @abstractmethod
    def test(self, crawl: str, site: str, urls: Sequence[str], finder: str) -> list[Finding]:
        """Return a finding for each of *site*'s *urls*, which are fingerprints.

        *finder* is stored as the first finder of those that are new in *crawl*.
        """

    @abstractmethod
    def knows(self, crawl: str, site: str, url: str) -> bool:
        """Return whether anybody has found *site*'s URL with this fingerprint in *crawl*."""

    @abstractmethod
    def erase(self, crawl: str, site: str, urls: Sequence[str]) -> int:
        """Take *site*'s *urls*, which are fingerprints, out of the set; return how many it had."""

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
    """The set in a mapping, crawl and fingerprint → finder: a Faust table."""

    def __init__(self, mapping: MutableMapping[str, str]) -> None:
        self._mapping = mapping

    def test(self, crawl: str, site: str, urls: Sequence[str], finder: str) -> list[Finding]:
        """See `Seen`."""
        findings = list[Finding]()
        for key in (mapping_key(crawl, url) for url in urls):
            finding = Finding.of(self._mapping.get(key), finder)
            if finding is not Finding.KNOWN:
                # Written once more if it is repeated: after a crash the changelog may lack it.
                self._mapping[key] = finder
            findings.append(finding)
        return findings

    def knows(self, crawl: str, site: str, url: str) -> bool:
        """See `Seen`."""
        return mapping_key(crawl, url) in self._mapping

    def erase(self, crawl: str, site: str, urls: Sequence[str]) -> int:
        """See `Seen`."""
        known = [key for url in urls if (key := mapping_key(crawl, url)) in self._mapping]
        for key in known:
            del self._mapping[key]
        return len(known)


def mapping_key(crawl: str, url: str) -> str:
    """Return the key in a `SeenMapping` of the URL with the fingerprint *url*."""
    return f"{crawl} {url}"


class SeenRow(Row, frozen=True):
    """A URL that was found in a crawl, and who found it first.

    By site: a page's links to one lie side by side, and many are one read and few pages of a disk.
    """

    table = "seen_urls"
    partition_key, sort_key = ("crawl", "site"), "fingerprint"

    crawl: str
    site: str
    fingerprint: bytes
    finder: bytes
    """64 bits of its name."""


class SeenTable(Seen):
    """The set in a table of the store: of a crawl in a folder."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(SeenRow)

    def test(self, crawl: str, site: str, urls: Sequence[str], finder: str) -> list[Finding]:
        """See `Seen`."""
        keys = [bytes.fromhex(url) for url in urls]
        rows = self._rows.get_many((crawl, site), keys)
        known = {row.fingerprint: row.finder.hex() for row in rows}
        findings = list[Finding]()
        for key in keys:
            findings.append(Finding.of(known.get(key), finder))
            if key not in known:
                known[key] = finder
                self._rows.put(SeenRow(crawl, site, key, bytes.fromhex(finder)))
        return findings

    def knows(self, crawl: str, site: str, url: str) -> bool:
        """See `Seen`."""
        return self._rows.get((crawl, site), bytes.fromhex(url)) is not None

    def erase(self, crawl: str, site: str, urls: Sequence[str]) -> int:
        """See `Seen`."""
        known = self._rows.get_many((crawl, site), [bytes.fromhex(url) for url in urls])
        for row in known:
            self._rows.erase((crawl, site), row.fingerprint)
        return len(known)
