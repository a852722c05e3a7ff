"""How visits end, and the whole policy that hangs on it.

A table is the only place where that policy is written: `OUTCOMES` says of each outcome what becomes
of the URL and of its host. Fetcher, frontier, reports and `docs/outcomes-and-hazards.md` look it up
here. A name without a row stops the import.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any


class Purpose(StrEnum):
    """What a visit is for. Everything that is fetched is a visit, paced like any other."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    """Named by a robots.txt, or by the index of sitemaps."""
    PROBE = "probe"
    """A path that cannot exist: what comes back is the host's signature, and no document."""

    @property
    def is_read(self) -> bool:
        """Whether the parser reads what comes back; a robots.txt was read by the fetcher."""
        return self is not Purpose.ROBOTS


class Outcome(StrEnum):
    """How a visit ended: by what came back, or by why nothing did."""

    PAGE = "page"
    NOT_MODIFIED = "not_modified"
    REDIRECT = "redirect"
    BAD_REDIRECT = "bad_redirect"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
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
    UNWANTED_TYPE = "unwanted_type"
    UNVISITED = "unvisited"
    OTHER = "other"
    """What an older process reads where a newer one has written an outcome that it does not know.
    """

    @classmethod
    def _missing_(cls, value: object) -> "Outcome":
        return cls.OTHER


class Verdict(StrEnum):
    """What a visit says of a document, beside what was known of it."""

    FIRST = "first"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    UNREADABLE = "unreadable"
    GONE = "gone"
    REDIRECT = "redirect"
    """It is gone, and its URL redirects."""


GONE_VERDICTS = frozenset({Verdict.GONE, Verdict.REDIRECT})
"""The verdicts that a document is gone."""


class Fate(Enum):
    """What becomes of the URL; the values are read in the documentation."""

    DONE = "the URL has its answer"
    AGAIN = "the URL is tried again later; its host is visited meanwhile"
    WAIT = "the host is left alone, and the URL stays first in its queue"
    STAY = "nothing happened to the URL: it stays in its queue"


class Wait(Enum):
    """How long a host in trouble is left alone; `services.frontier.politeness` does the sums."""

    NONE = "not at all"
    SHORT = "a minute, twice as long each time, at most `frontier.down_wait`"
    MINUTES = "ten minutes, twice as long each time, at most `frontier.down_wait`"
    LONG = "`frontier.down_wait`, twice as long each time, at most `frontier.down_wait_limit`"
    DNS = "`frontier.dns_wait`"
    HOUR = "an hour"
    RETRY_AFTER = (
        "as long as Retry-After asks, at most `frontier.retry_after_limit`; without one "
        "a minute, twice as long each time, at most `frontier.down_wait`"
    )


class Health(StrEnum):
    """What an outcome shows of the host: *well* ends all trouble, *unclear* neither ends nor begins
    any, and each kind of trouble counts by itself and lengthens its own waits alone."""

    WELL = "well"
    UNCLEAR = "unclear"
    NAME = "name"
    CONNECTION = "connection"
    TLS = "tls"
    SILENCE = "silence"
    BUSY = "busy"

    @property
    def failed(self) -> bool:
        """Whether the host is in trouble."""
        return self not in (Health.WELL, Health.UNCLEAR)


class Absence(StrEnum):
    """Why a visit ended without a document."""

    GONE = "gone"
    """404 or 410."""
    MOVED = "moved"
    """A redirect."""
    DOWN = "down"
    """The server did not answer, or failed, after all retries."""
    REFUSED = "refused"
    """By robots.txt or another 4xx, or of a type or at an address that is not visited."""
    LEFT_OUT = "left_out"
    """No visit was made: the crawl left it out when its turn came, or the blocklist did."""


class Judged(Enum):
    """What dedup's verdict on a visit is about."""

    DOCUMENT = "its document"
    ABSENCE = "that a document which was there is gone"
    NOTHING = "there is no verdict"


@dataclass(frozen=True)
class Meaning:
    """What an outcome means for the URL and its host."""

    fate: Fate
    health: Health
    wait: Wait
    """For Fate.WAIT at once; for Fate.AGAIN once the host failed so more than `retries` times."""
    absence: Absence | None
    """Why the visit found no document; None if it found one."""
    judged: Judged
    """The subject of dedup's verdict on the visit."""
    text: str
    """The sentence that a person reads."""
    strains: bool
    """Whether the server seems strained: its courtesy delay is doubled."""
    ends_order: bool = False
    """Whether the other URLs of the order are not visited now: they would fare no better."""
    expected: bool = False
    """Whether the live view leaves it out of the errors."""


# fmt: off
OUTCOMES: dict[Outcome, Meaning] = {
    Outcome.PAGE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        None, Judged.DOCUMENT, strains=False, expected=True,
        text="A page came back: a 2xx answer of a type that is read."),
    Outcome.NOT_MODIFIED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        None, Judged.DOCUMENT, strains=False, expected=True,
        text="The server says that the page is as it was at the visit before (304)."),
    Outcome.REDIRECT: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.MOVED, Judged.ABSENCE, strains=False, expected=True,
        text="The server points to another URL, which is followed like a link."),
    Outcome.BAD_REDIRECT: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, Judged.NOTHING, strains=False,
        text="The server answers with a redirect that leads nowhere."),
    Outcome.GONE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.GONE, Judged.ABSENCE, strains=False,
        text="The server has no such page (404 or 410)."),
    Outcome.CLIENT_ERROR: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, Judged.ABSENCE, strains=False,
        text="The server refuses the request with another 4xx status."),
    Outcome.SERVER_ERROR: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.MINUTES,  # If it is the host's robots.txt.
        Absence.DOWN, Judged.NOTHING, strains=True,
        text="The server failed (5xx, a status that does not exist, or 304 without a condition)."),
    Outcome.BUSY: Meaning(
        Fate.WAIT, Health.BUSY, Wait.RETRY_AFTER,
        Absence.DOWN, Judged.NOTHING, strains=True, ends_order=True,
        text="The server asks to be left alone (429, or 503 with Retry-After)."),
    Outcome.DNS_FAILURE: Meaning(
        Fate.WAIT, Health.NAME, Wait.DNS,
        Absence.DOWN, Judged.NOTHING, strains=False, ends_order=True,
        text="The host's name does not exist, or has no address."),
    Outcome.DNS_UNANSWERED: Meaning(
        Fate.WAIT, Health.NAME, Wait.SHORT,
        Absence.DOWN, Judged.NOTHING, strains=False, ends_order=True,
        text="No name server says whether the host's name exists."),
    Outcome.HOST_DOWN: Meaning(
        Fate.WAIT, Health.CONNECTION, Wait.LONG,
        Absence.DOWN, Judged.NOTHING, strains=False, ends_order=True,
        text="The host refuses connections, or none could be made in time."),
    Outcome.TLS_FAILURE: Meaning(
        Fate.WAIT, Health.TLS, Wait.LONG,
        Absence.DOWN, Judged.NOTHING, strains=False, ends_order=True,
        text="The host takes the connection, but its certificate is refused, or TLS fails."),
    Outcome.SILENT_SERVER: Meaning(
        Fate.AGAIN, Health.SILENCE, Wait.LONG,
        Absence.DOWN, Judged.NOTHING, strains=True, ends_order=True,
        text="The server took the request and sent no byte in time."),
    Outcome.MALFORMED_HEAD: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, Judged.NOTHING, strains=False,
        text="The server hung up before the end of the answer's head, or sent what is none."),
    Outcome.CUT_BODY: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, Judged.NOTHING, strains=False,
        text="The body broke off, or came too slowly, and what came of it is of no use."),
    Outcome.BROKEN: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, Judged.NOTHING, strains=False,
        text="A robots.txt came that cannot be read."),
    Outcome.INTERNAL_ERROR: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, Judged.NOTHING, strains=False, ends_order=True,
        text="A mistake of ours kept the visit from its end, or too many large bodies at once."),
    Outcome.PRIVATE_ADDRESS: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, Judged.NOTHING, strains=False, ends_order=True,
        text="The host has only addresses outside the public Internet, which are not visited."),
    Outcome.BLACKLISTED: Meaning(
        Fate.WAIT, Health.UNCLEAR, Wait.HOUR,
        Absence.REFUSED, Judged.NOTHING, strains=False, ends_order=True,
        text="The host has an address in a network on the blocklist: it was not asked."),
    Outcome.ROBOTS_EXCLUDED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, Judged.NOTHING, strains=False,
        text="robots.txt forbids the URL: it was not asked for."),
    Outcome.UNWANTED_TYPE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        Absence.REFUSED, Judged.NOTHING, strains=False,
        text="The answer is of a type that is not read, or a binary document that was cut."),
    Outcome.UNVISITED: Meaning(
        Fate.STAY, Health.WELL, Wait.NONE,
        Absence.REFUSED, Judged.NOTHING, strains=False, ends_order=True,
        text="The order ended before this URL's turn."),
    Outcome.OTHER: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.MINUTES,
        Absence.DOWN, Judged.NOTHING, strains=True,
        text="A newer version's outcome, which the process that read it does not know."),
}
# fmt: on


FAILURES = tuple(
    outcome
    for outcome in Outcome
    if not OUTCOMES[outcome].expected and OUTCOMES[outcome].fate is not Fate.STAY
)
"""The outcomes of a URL that a person may want to try again."""


def check_complete(names: Iterable[object], table: Mapping[Any, object], what: str) -> None:
    """Raise LookupError unless *table*, which is called *what*, has a row for each of *names*."""
    if missing := [str(name) for name in names if name not in table]:
        raise LookupError(f"{what} has no row for {', '.join(missing)}")


check_complete(Outcome, OUTCOMES, "OUTCOMES")
