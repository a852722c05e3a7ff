"""Rows of dedup that the console reads, so that `gossamer why` need not import the service."""

from msgspec import field

from gossamer.events.public import Gone
from gossamer.store import Row
from gossamer.web.soft_404 import Signature
from gossamer.web.url import HostKey, Site
from gossamer.web.url_steps import TOKEN, rewrite_by_rule

HIDDEN_REASONS = frozenset({Gone.NOINDEX, Gone.IRRELEVANT, Gone.USAGE})
"""Reasons why a page that exists is not published."""
ASSUMED_RULE = "default_document"
"""The rule that holds until it is refuted: viuva-negra's crawls found no exception (4.3)."""
REQUIRED_PROOFS = {"session_id": 3, "letter_case": 5}
"""Step → the number of texts that prove a rule. A rule that does not hold would lose pages, and a
wiki may show a few pages under several URLs."""


class DocumentRow(Row, frozen=True):
    """The state of a document on `pages`, or of a page that is not published."""

    table = "documents"
    partition_key = "crawl", "url"
    kept_for, aged_by = "dedup.documents_age", "at"
    about = ("url",)

    crawl: str
    url: str
    at: float
    """Time of the visit that last changed this row."""
    digest: str = ""
    """Digest of the text; "" if the document is gone. Hidden pages keep theirs."""
    gone: str = ""
    """Why there is no document on `pages`; "" while there is one."""
    missed: int = 0
    """Number of visits in a row that did not find the document."""
    missed_since: float | None = None
    """Time of the first visit in a row that did not find the document; null if the last visit found
    it."""
    simhash: str = ""
    """Simhash of the text, in hexadecimal; finds near duplicates."""
    sketch: bytes = b""
    """Sketch of the text; measures the change of the next version (`gossamer.text.sketch`)."""
    volatile: bytes = b""
    """Statistics of the blocks that change at every visit (`gossamer.text.volatile`). Empty if the
    crawl had no revisits at the last visit."""
    change: float | None = None
    """Change found by the visit at `last_changed`, from 0 to 1; null if there was no document
    before."""
    first_seen: float = 0.0
    """Time of the first visit that found the document; a deletion does not reset it."""
    last_changed: float = 0.0
    """Time of the visit that found the document first, or last found it changed."""
    published_at: float | None = None
    """Time of the last visit whose document was published as new; null if there was none."""
    copy_of: str = ""
    """Verdict and original of the last published document; "" if it was not a copy."""
    links: bytes = b""
    """Sketch of the links to the same site, if the policy uses hints; tells which links of the next
    version are new (`gossamer.services.dedup.links`)."""
    extracted: str = ""
    """Digest of the rows that the rules of the crawl extracted; "" if there were none."""


class HostNameRow(Row, frozen=True):
    """What the pages of a host show about another host with equal pages, its counterpart."""

    table = "host_names"
    partition_key, sort_key = "site", "host"
    about = "host", "counterpart"

    site: Site
    host: HostKey
    counterpart: HostKey = HostKey("")
    """The host with equal pages under the same paths."""
    original: HostKey = HostKey("")
    """The host of the two that is the original; "" if it is not proven that they are one."""
    rule: str = ""
    """The hazard of the proof, `www_alias` or `duphost`; "" if there is no proof."""
    until: float = 0.0
    """Time at which the verdict on the two hosts expires."""
    announced_at: float = 0.0
    """Time of the visit whose record announced the verdict last."""
    home: bool = False
    """Whether this host has the home page of its counterpart, or redirects to it."""
    misses: int = 0
    """Visits in a row that found another home page than that of the counterpart."""
    equal: int = 0
    """Number of equal pages that the counterpart had before, without the home page."""
    different: int = 0
    """Number of pages with another text than at the counterpart."""
    unmatched: int = 0
    """Number of pages that the counterpart did not have when this host was visited."""
    texts: tuple[str, ...] = ()
    """Digests of equal pages, shortened: each text counts once."""
    canonical: int = 0
    """Number of pages that name the page under their path at the counterpart as canonical."""
    redirects: int = 0
    """Number of permanent redirects to the same path of the counterpart."""
    in_links: int = 0
    """Sketch of the other sites that link to this host (`gossamer.web.links`)."""
    is_named: bool = False
    """Whether a seed is at this host. Then only its own statements make it a replica."""
    has_invalid_certificate: bool = False
    """Whether the last page was fetched in spite of an invalid certificate. Then it may be from
    somebody else, and proves nothing about the host."""


def original_of(row: HostNameRow | None, now: float) -> HostKey | None:
    """Return the original of a host with *row*; "" if the host is not a replica at *now*."""
    is_replica = row is not None and row.original == row.counterpart != "" and now < row.until
    return row.original if row and is_replica else None


HostRules = tuple[dict[str, tuple[str, ...]], tuple[str, ...], dict[str, str]]
"""The proofs, the refuted rules and the tokens of a `HostStepsRow`."""


class HostStepsRow(Row, frozen=True):
    """A host's URL steps with their proofs, and its response for missing pages, as its texts show
    them."""

    table = "host_steps"
    partition_key = "host"
    about = "host", "copies", "default_documents"

    host: HostKey
    proofs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Rule → digests of the texts that a URL and its rewritten URL have in common."""
    refuted: tuple[str, ...] = ()
    """Rules that do not hold at the host."""
    default_documents: tuple[str, ...] = ()
    """URLs of the default documents that were visited last."""
    tokens: dict[str, str] = field(default_factory=dict)
    """Rule about random tokens → the token that replaces all others."""
    copies: tuple[str, ...] = ()
    """URLs that were published as copies before the response for missing pages was known."""
    missing: Signature | None = None
    """The host's response for missing pages, if it is a document; null before the probe."""

    @property
    def rules(self) -> HostRules:
        """What decides how URLs of the host are rewritten."""
        return self.proofs, self.refuted, self.tokens

    def rewrite(self, url: str, rule: str) -> str:
        """Return *url* rewritten by *rule* with the token of this host, or *url* if the rule does
        not apply."""
        return rewrite_by_rule(url, rule, self.tokens.get(rule, TOKEN))

    def holds(self, rule: str) -> bool:
        """Return whether *rule* rewrites URLs of the host."""
        return rule not in self.refuted and (rule == ASSUMED_RULE or self.is_proven(rule))

    @property
    def session_rules(self) -> dict[str, str]:
        """The proven rules about session ids → the token that replaces all others, or ""."""
        return {
            rule: self.tokens.get(rule, "")
            for rule in self.proofs
            if rule.startswith("session_id") and self.holds(rule)
        }

    def is_proven(self, rule: str) -> bool:
        """Return whether *rule* has enough proofs."""
        return len(self.proofs.get(rule, ())) >= REQUIRED_PROOFS.get(rule.partition(" ")[0], 1)
