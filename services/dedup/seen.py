"""The URL-seen set: its interface, and the set in a mapping or in a table of the store."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from enum import Enum
from hashlib import blake2b

from gossamer.store import Row, Store
from gossamer.web.url import Site


def hash_finder(via: str) -> str:
    """Return a 64-bit hash of *via*, in hexadecimal, which identifies the first finder of a URL.

    A collision matters only between two finders of one URL, one in 1.8e19 pairs. The URL is then
    admitted a second time; no URL is lost.
    """
    return blake2b(via.encode(), digest_size=8).hexdigest()


class Finding(Enum):
    """The result of the URL-seen test for one URL and its finder."""

    NEW = "the URL was not in the set"
    REPEATED = "the same finder had found the URL first"
    SEEN = "another finder had found the URL first"

    @classmethod
    def of(cls, first: str | None, finder: str) -> "Finding":
        """Return the finding for *finder*; *first* is the first finder of the URL, or None."""
        if first is None:
            return cls.NEW
        return cls.REPEATED if first == finder else cls.SEEN


class SeenSet(ABC):
    """The URL-seen set, separate for each crawl. It cannot be listed or counted."""

    @abstractmethod
    def test(self, crawl: str, site: Site, urls: Sequence[str], finder: str) -> list[Finding]:
        """Return a finding for each of *urls*, fingerprints of URLs of *site*.

        *finder* is stored as the first finder of each URL that is new in *crawl*.
        """

    @abstractmethod
    def contains(self, crawl: str, site: Site, url: str) -> bool:
        """Return whether the set of *crawl* has the fingerprint *url* of a URL of *site*."""

    @abstractmethod
    def erase(self, crawl: str, site: Site, urls: Sequence[str]) -> int:
        """Erase *urls*, fingerprints of URLs of *site*; return how many were in the set."""

    @abstractmethod
    def drop(self, crawl: str, site: Site) -> bool:
        """Remove all URLs of *site* from the set of *crawl*.

        Return False if that is impossible, because the set does not know the sites of its URLs.
        """

    def owns(self, site: Site) -> bool:
        """Return whether the partition of *site* is assigned to this instance."""
        return True

    def serves(self, site: Site) -> bool:
        """Return whether this instance owns *site*, and has the URLs of its partition."""
        return self.owns(site)

    def assign(self, epochs: Mapping[int, int]) -> None:  # noqa: B027
        """Take over partitions, each with the epoch of its claim, and release all others."""

    def restore(self) -> frozenset[int]:
        """Read a part of the set after `assign`; return the partitions that are not complete."""
        return frozenset()

    def settle(self) -> None:  # noqa: B027
        """Make changes outside the store durable."""

    def discard(self) -> None:  # noqa: B027
        """Drop changes outside the store since the last `settle`."""

    def note(self) -> str:
        """Return a message for operators, or ""."""
        return ""


class SeenMapping(SeenSet):
    """The set in a mapping, such as a Faust table: crawl and fingerprint → finder."""

    def __init__(self, mapping: MutableMapping[str, str]) -> None:
        self._mapping = mapping

    def test(self, crawl: str, site: Site, urls: Sequence[str], finder: str) -> list[Finding]:
        """See `SeenSet`."""
        findings = list[Finding]()
        for key in (mapping_key(crawl, url) for url in urls):
            finding = Finding.of(self._mapping.get(key), finder)
            if finding is not Finding.SEEN:
                # A repeated URL is written again: after a crash the changelog may lack it.
                self._mapping[key] = finder
            findings.append(finding)
        return findings

    def contains(self, crawl: str, site: Site, url: str) -> bool:
        """See `SeenSet`."""
        return mapping_key(crawl, url) in self._mapping

    def erase(self, crawl: str, site: Site, urls: Sequence[str]) -> int:
        """See `SeenSet`."""
        keys = [key for url in urls if (key := mapping_key(crawl, url)) in self._mapping]
        for key in keys:
            del self._mapping[key]
        return len(keys)

    def drop(self, crawl: str, site: Site) -> bool:
        """See `SeenSet`."""
        return False


def mapping_key(crawl: str, url: str) -> str:
    """Return the key of the fingerprint *url* in a `SeenMapping`."""
    return f"{crawl} {url}"


class SeenRow(Row, frozen=True):
    """A URL in the URL-seen set, and its first finder.

    The site is in the partition key, so a page's links to one site are adjacent: testing them takes
    one read and touches few disk pages.
    """

    table = "seen_urls"
    partition_key, sort_key = ("crawl", "site"), "fingerprint"
    about = ()

    crawl: str
    site: Site
    fingerprint: bytes
    finder: bytes
    """The first finder, as 64 bits (`hash_finder`)."""


class SeenTable(SeenSet):
    """The set in a table of the store, for a standalone crawl."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(SeenRow)

    def test(self, crawl: str, site: Site, urls: Sequence[str], finder: str) -> list[Finding]:
        """See `SeenSet`."""
        if not urls:
            return []
        keys = [bytes.fromhex(url) for url in urls]
        rows = self._rows.get_many((crawl, site), keys)
        finders = {row.fingerprint: row.finder.hex() for row in rows}
        findings = list[Finding]()
        for key in keys:
            findings.append(Finding.of(finders.get(key), finder))
            if key not in finders:
                finders[key] = finder
                self._rows.put(SeenRow(crawl, site, key, bytes.fromhex(finder)))
        return findings

    def contains(self, crawl: str, site: Site, url: str) -> bool:
        """See `SeenSet`."""
        return self._rows.get((crawl, site), bytes.fromhex(url)) is not None

    def erase(self, crawl: str, site: Site, urls: Sequence[str]) -> int:
        """See `SeenSet`."""
        rows = self._rows.get_many((crawl, site), [bytes.fromhex(url) for url in urls])
        for row in rows:
            self._rows.erase((crawl, site), row.fingerprint)
        return len(rows)

    def drop(self, crawl: str, site: Site) -> bool:
        """See `SeenSet`."""
        self._rows.drop((crawl, site))
        return True
