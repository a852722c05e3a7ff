"""The rows of dedup that others read: what `gossamer why` looks up needs no more than these."""

from msgspec import field

from gossamer.events.gone import Gone
from gossamer.store import Row

HIDDEN = frozenset({Gone.NOINDEX, Gone.IRRELEVANT})
"""Why a page that is there is not published."""
ASSUMED = "default_document"
"""A rule that holds unless it is refuted: no exception was found in viuva-negra's crawls (4.3)."""
PROOFS = {"session_id": 3, "letter_case": 5}
"""Step → how many texts prove a rule of it. To take one name for another at a host that tells them
apart would lose pages; a wiki may show a few pages under several names."""


class DocumentRow(Row, frozen=True):
    """A URL of which `pages` has, or had, a document; or a page that is not to be published."""

    table = "documents"
    partition_key = "crawl", "url"
    kept_for, aged_by = "dedup.documents_age", "at"

    crawl: str
    url: str
    at: float
    """When the visit was made that this row was last changed by."""
    digest: str = ""
    """Of its text; "" once it is gone, and not a page that is not published."""
    gone: str = ""
    """Why `pages` has a tombstone instead, or nothing; "" while it has the document."""
    missed: int = 0
    """How many visits in a row did not find it."""
    missed_since: float | None = None
    """When the first visit in a row was made that did not find the document; null if the last one
    found it."""
    simhash: str = ""
    """Of its text: by which others are its near duplicates."""
    sketch: bytes = b""
    """Of its text: says by how much the next version differs (`gossamer.text.sketch`)."""
    volatile: bytes = b""
    """What is known of the places that every visit changes (`gossamer.text.volatile`)."""
    change: float | None = None
    """How much the visit at `last_changed` found changed, from 0 to 1; null if there was no
    document before."""
    first_seen: float = 0.0
    """When the first visit was made that found the document; it stays while that is gone."""
    last_changed: float = 0.0
    """When the visit was made that found it first, or changed."""
    published_at: float | None = None
    """When the visit was made whose document was published last because it was news; null if none
    was."""
    copy_of: str = ""
    """As whose copy it was published then: the verdict and the URL; "" if as nobody's."""
    links: bytes = b""
    """Of its links to its own site, if the crawl comes back: says which of the next version are new
    (`services.dedup.links`)."""


class HostNameRow(Row, frozen=True):
    """A host some of whose pages another host had before, under the same paths."""

    table = "host_names"
    partition_key, sort_key = "site", "host"

    site: str
    host: str
    original: str = ""
    """The host that had them."""
    rule: str = ""
    """The hazard that it is a case of, `www_alias` or `duphost`; "": that is not proven."""
    until: float = 0.0
    """When the verdict expires."""
    home: bool = False
    """Whether both have the same home page, or this one's leads there."""
    misses: int = 0
    """Visits in a row since, that found another one."""
    alike: int = 0
    """Other pages that both have …"""
    others: int = 0
    """… and those that only this one has, since the first of these."""


def original_of(row: HostNameRow | None, now: float) -> str:
    """Return the host that the one of *row* is taken for; "" if it stands for itself."""
    return row.original if row and row.rule and now < row.until else ""


class HostStepsRow(Row, frozen=True):
    """What a host has shown."""

    table = "host_steps"
    partition_key = "host"

    host: str
    proofs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Rule → the digests of texts that a URL and its image had alike."""
    refuted: tuple[str, ...] = ()
    """Rules that do not hold there."""
    met: tuple[str, ...] = ()
    """Default documents that were visited under their own URLs, the last ones."""

    def holds(self, rule: str) -> bool:
        """Return whether URLs are taken for one by *rule*."""
        return rule not in self.refuted and (rule == ASSUMED or self.is_proven(rule))

    def is_proven(self, rule: str) -> bool:
        """Return whether there are proofs enough of *rule*."""
        return len(self.proofs.get(rule, ())) >= PROOFS.get(rule.partition(" ")[0], 1)
