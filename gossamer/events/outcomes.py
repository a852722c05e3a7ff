"""The outcomes of visits, and the policy for each of them.

`OUTCOMES` is the only place that states this policy: the consequences of each outcome for the URL
and its host. Fetcher, frontier, reports and `docs/outcomes-and-hazards.md` read it. An outcome
without a row stops the import.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum


class Purpose(StrEnum):
    """The purpose of a visit. Every request of the fetcher is a visit with the usual delays."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    """A sitemap that a robots.txt or a sitemap index names."""
    USUAL_SITEMAP = "usual_sitemap"
    """`/sitemap.xml` of a host whose robots.txt names no sitemap, which may not exist. A response
    that is not a listing is not read."""
    PROBE = "probe"
    """A path that cannot exist: the response is the host's signature and not a document."""
    USAGE = "usage"
    """A file with statements about the use of the host's pages: `tdmrep.json`, or a license."""
    REQUISITE = "requisite"
    """An image, a style, a script or a font that a page needs. It is archived, and never
    published."""

    @property
    def is_read(self) -> bool:
        """Whether the parser reads the response. The fetcher itself reads robots.txt and usage
        files. Of requisites, the parser reads styles and redirects only."""
        return self not in (Purpose.ROBOTS, Purpose.USAGE)

    @property
    def is_collected(self) -> bool:
        """Whether the crawl collects the response for its purposes. Other responses steer it."""
        return self in (Purpose.PAGE, Purpose.REQUISITE)

    @property
    def is_queued(self) -> bool:
        """Whether the URL comes from a queue of its host. Others are visited because the host's
        pages are. A robots.txt on behalf of another host is queued, too."""
        return self in (Purpose.PAGE, Purpose.REQUISITE) or self.is_sitemap

    @property
    def is_sitemap(self) -> bool:
        """Whether the response is read as a sitemap, whatever its type."""
        return self in (Purpose.SITEMAP, Purpose.USUAL_SITEMAP)


SITEMAP_DEPTH = 1
"""The depth of a sitemap that a robots.txt names, equal to that of a link on the start page. A
sitemap that an index lists is deeper."""


class Imported(StrEnum):
    """How a capture that another crawler made counts for this crawl."""

    HISTORY = "history"
    """It is a version of its page. The crawl has not visited the URL."""
    VISITED = "visited"
    """It counts as a visit: the URL is in the URL-seen set, and is planned again."""


class Outcome(StrEnum):
    """How a visit ended: the kind of response, or why there was none."""

    PAGE = "page"
    NOT_MODIFIED = "not_modified"
    REDIRECT = "redirect"
    BAD_REDIRECT = "bad_redirect"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    SIGNATURE_ASKED = "signature_asked"
    SERVER_ERROR = "server_error"
    BUSY = "busy"
    DNS_FAILURE = "dns_failure"
    DNS_UNANSWERED = "dns_unanswered"
    HOST_DOWN = "host_down"
    TLS_FAILURE = "tls_failure"
    SILENT_SERVER = "silent_server"
    MALFORMED_HEAD = "malformed_head"
    CUT_BODY = "cut_body"
    BROKEN = "broken"
    INTERNAL_ERROR = "internal_error"
    PRIVATE_ADDRESS = "private_address"
    BLACKLISTED = "blacklisted"
    ROBOTS_EXCLUDED = "robots_excluded"
    USAGE_EXCLUDED = "usage_excluded"
    UNWANTED_TYPE = "unwanted_type"
    CHALLENGED = "challenged"
    PAYMENT_REQUIRED = "payment_required"
    LICENSE_REQUIRED = "license_required"
    UNVISITED = "unvisited"
    OTHER = "other"
    """An outcome of a newer version of Gossamer, which this process does not know."""

    @classmethod
    def _missing_(cls, value: object) -> "Outcome":
        return cls.OTHER


class Verdict(StrEnum):
    """The result of comparing a visited page with its document and with other documents."""

    FIRST = "first"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    UNREADABLE = "unreadable"
    GONE = "gone"
    REDIRECT = "redirect"
    """The document is gone, and its URL redirects."""


GONE_VERDICTS = frozenset({Verdict.GONE, Verdict.REDIRECT})
"""The verdicts of a document that is gone."""


class Fate(Enum):
    """The consequence of an outcome for the URL. The documentation shows the values."""

    DONE = "the URL is done"
    RETRY = "the URL is retried later, and other URLs of its host are visited before"
    WAIT = "the host backs off, and the URL stays first in its queue"
    STAY = "the URL stays in its queue, because it was not visited"


class Wait(Enum):
    """The backoff of a failing host. `gossamer.services.frontier.partition.politeness` computes
    it."""

    NONE = "none"
    SHORT = "one minute, doubled with each failure, at most `frontier.down_wait`"
    MINUTES = "ten minutes, doubled with each failure, at most `frontier.down_wait`"
    LONG = "`frontier.down_wait`, doubled with each failure, at most `frontier.down_wait_limit`"
    MINUTE_THEN_LONG = (
        "one minute, then `frontier.down_wait`, doubled with each failure, "
        "at most `frontier.down_wait_limit`"
    )
    DNS = "`frontier.dns_wait`"
    HOUR = "one hour"
    RETRY_AFTER = (
        "Retry-After, at most `frontier.retry_after_limit`; without Retry-After "
        "one minute, doubled with each failure, at most `frontier.down_wait`"
    )


class Health(StrEnum):
    """The state of a host as an outcome shows it. *well* ends all failures, and *unclear* neither
    ends nor starts one. Each kind of failure is counted separately and lengthens only its own
    backoff."""

    WELL = "well"
    UNCLEAR = "unclear"
    NAME = "name"
    CONNECTION = "connection"
    TLS = "tls"
    SILENCE = "silence"
    BUSY = "busy"
    SERVER = "server"
    CHALLENGE = "challenge"
    """The host works, and demands a proof. Its delay is not lengthened."""

    @property
    def is_failing(self) -> bool:
        """Whether the host is failing, or demands a proof."""
        return self not in (Health.WELL, Health.UNCLEAR)


class Absence(StrEnum):
    """Why a visit ended without a document."""

    GONE = "gone"
    """404 or 410."""
    MOVED = "moved"
    """The URL redirects."""
    DOWN = "down"
    """The server did not answer, or failed, in all attempts."""
    REFUSED = "refused"
    """robots.txt, a statement about usage or another 4xx refused the visit, or the type or address
    is not visited."""
    WALLED = "walled"
    """The server demanded a proof, a payment or a license. Without a former document, the URL is
    not visited again."""
    EXCLUDED = "excluded"
    """No visit was made: when it was due, the crawl or the blocklist excluded it."""


class VerdictSubject(Enum):
    """The subject of dedup's verdict on a visit."""

    DOCUMENT = "the document of the visit"
    ABSENCE = "the absence of a former document"
    NOTHING = "no verdict"


@dataclass(frozen=True)
class Meaning:
    """The consequences of an outcome for the URL and its host."""

    fate: Fate
    health: Health
    wait: Wait
    """The host's backoff. It starts at once for Fate.WAIT, and after more than `retries` such
    failures of the host for Fate.RETRY. A host that sent pages before may answer with more 5xx in a
    row."""
    absence: Absence | None
    """Why the visit found no document. None means that it found one."""
    verdict_subject: VerdictSubject
    """The subject of dedup's verdict on the visit."""
    text: str
    """A sentence for people."""
    strains: bool
    """Whether the server seems strained, so that the courtesy delay of its host is doubled."""
    ends_order: bool = False
    """Whether the other URLs of the order are skipped, because they would have the same outcome."""
    expected: bool = False
    """Whether the live view does not count the outcome as an error."""


# fmt: off
OUTCOMES: dict[Outcome, Meaning] = {
    Outcome.PAGE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        None, VerdictSubject.DOCUMENT, strains=False, expected=True,
        text="The server sent a page: a 2xx response of a supported type."),
    Outcome.NOT_MODIFIED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        None, VerdictSubject.DOCUMENT, strains=False, expected=True,
        text="The server reports that the page has not changed since the last visit (304)."),
    Outcome.REDIRECT: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.MOVED, VerdictSubject.ABSENCE, strains=False, expected=True,
        text="The server redirects to another URL, which is followed like a link."),
    Outcome.BAD_REDIRECT: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.NOTHING, strains=False,
        text="The server sent a redirect without a usable target."),
    Outcome.GONE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.GONE, VerdictSubject.ABSENCE, strains=False,
        text="The page does not exist (404 or 410)."),
    Outcome.CLIENT_ERROR: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.ABSENCE, strains=False,
        text="The server refuses the request with another 4xx status."),
    Outcome.SIGNATURE_ASKED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.ABSENCE, strains=False, ends_order=True,
        text="The server asks for a signature (401 or 403 with Accept-Signature)."),
    Outcome.SERVER_ERROR: Meaning(
        Fate.RETRY, Health.SERVER, Wait.MINUTES,
        Absence.DOWN, VerdictSubject.NOTHING, strains=True,
        text="The server failed (5xx, an unknown status, or a 304 to an unconditional request)."),
    Outcome.BUSY: Meaning(
        Fate.WAIT, Health.BUSY, Wait.RETRY_AFTER,
        Absence.DOWN, VerdictSubject.NOTHING, strains=True, ends_order=True,
        text="The server asks for a lower rate (429, or 503 with Retry-After)."),
    Outcome.DNS_FAILURE: Meaning(
        Fate.WAIT, Health.NAME, Wait.DNS,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="The host's name does not exist or has no address."),
    Outcome.DNS_UNANSWERED: Meaning(
        Fate.WAIT, Health.NAME, Wait.SHORT,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="No name server answered whether the host's name exists."),
    Outcome.HOST_DOWN: Meaning(
        Fate.WAIT, Health.CONNECTION, Wait.LONG,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="The host refused the connection, or the connection timed out."),
    Outcome.TLS_FAILURE: Meaning(
        Fate.WAIT, Health.TLS, Wait.LONG,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="The TLS handshake failed, or the host's certificate is not trusted."),
    Outcome.SILENT_SERVER: Meaning(
        Fate.RETRY, Health.SILENCE, Wait.MINUTE_THEN_LONG,
        Absence.DOWN, VerdictSubject.NOTHING, strains=True, ends_order=True,
        text="The server accepted the request and sent no byte before the timeout."),
    Outcome.MALFORMED_HEAD: Meaning(
        Fate.RETRY, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False,
        text="The server disconnected within the response's headers, or sent invalid ones."),
    Outcome.CUT_BODY: Meaning(
        Fate.RETRY, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False,
        text="The body was interrupted or too slow, and the received part is unusable."),
    Outcome.BROKEN: Meaning(
        Fate.RETRY, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False,
        text="The received robots.txt is unreadable."),
    Outcome.INTERNAL_ERROR: Meaning(
        Fate.RETRY, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="Internal error, or the memory budget for bodies was used up."),
    Outcome.PRIVATE_ADDRESS: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="All addresses of the host are outside the public Internet and are not visited."),
    Outcome.BLACKLISTED: Meaning(
        Fate.WAIT, Health.UNCLEAR, Wait.HOUR,
        Absence.REFUSED, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="An address of the host is in a network on the blocklist. No request was made."),
    Outcome.ROBOTS_EXCLUDED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.NOTHING, strains=False,
        text="robots.txt forbids the URL. No request was made."),
    Outcome.USAGE_EXCLUDED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.NOTHING, strains=False,
        text="The site does not allow a use that the crawl is for. No request was made."),
    Outcome.UNWANTED_TYPE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.NOTHING, strains=False,
        text="The response has an unsupported type, or is a truncated binary document."),
    Outcome.CHALLENGED: Meaning(
        Fate.RETRY, Health.CHALLENGE, Wait.LONG,
        Absence.WALLED, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="The server sent a challenge in place of a page. It is not solved. The first retry is "
        "after six hours."),
    Outcome.PAYMENT_REQUIRED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.WALLED, VerdictSubject.ABSENCE, strains=False,
        text="The server demands a payment (402). Nothing is paid."),
    Outcome.LICENSE_REQUIRED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.WALLED, VerdictSubject.ABSENCE, strains=False,
        text="The server demands a license token (RSL). No token is requested."),
    Outcome.UNVISITED: Meaning(
        Fate.STAY, Health.WELL, Wait.NONE,
        Absence.REFUSED, VerdictSubject.NOTHING, strains=False, ends_order=True,
        text="The order ended before the visit to this URL."),
    Outcome.OTHER: Meaning(
        Fate.RETRY, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, VerdictSubject.NOTHING, strains=True,
        text="A newer version of Gossamer wrote an outcome that this process does not know."),
}
# fmt: on


FAILURES = tuple(
    outcome
    for outcome in Outcome
    if not OUTCOMES[outcome].expected and OUTCOMES[outcome].fate is not Fate.STAY
)
"""The outcomes after which a person may want to retry a URL."""


WALLED = frozenset(outcome for outcome in Outcome if OUTCOMES[outcome].absence is Absence.WALLED)
"""The outcomes of responses that are walls. In place of a robots.txt, they say nothing about it."""


def check_complete(names: Iterable[object], table: Container[object], what: str) -> None:
    """Raise LookupError with the name *what* unless *table* has a row for each of *names*."""
    if missing := [str(name) for name in names if name not in table]:
        raise LookupError(f"{what} has no row for {', '.join(missing)}")


check_complete(Outcome, OUTCOMES, "OUTCOMES")
