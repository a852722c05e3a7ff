"""How visits end, which hazards of the Web are counted, and the whole policy that hangs on both.

Two tables are the only place where that policy is written. `OUTCOMES` says of each outcome what
becomes of the URL and of its host; `HAZARDS` of each hazard which service counts it and which
settings bound it. Fetcher, frontier, reports and `docs/outcomes-and-hazards.md` look things up
here. A name without a row stops the import.

A hazard is counted once, although its name travels on: a truncated page's is in the `VisitEnded`,
in the page's events and in the archive. Metric and report go by the table: a service adds to the
metric only what it counts, and the frontier adds to the report only what the event's sender counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from gossamer.telemetry import count


class Purpose(StrEnum):
    """What a visit is for. Everything that is fetched is a visit, paced like any other."""

    PAGE = "page"
    ROBOTS = "robots"


class Outcome(StrEnum):
    """How a visit ended: by what came back, or by why nothing did."""

    PAGE = "page"
    REDIRECT = "redirect"
    BAD_REDIRECT = "bad_redirect"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    BUSY = "busy"
    DNS_FAILURE = "dns_failure"
    DNS_UNANSWERED = "dns_unanswered"
    HOST_DOWN = "host_down"
    SILENT_SERVER = "silent_server"
    BROKEN = "broken"
    PRIVATE_ADDRESS = "private_address"
    ROBOTS_EXCLUDED = "robots_excluded"
    UNWANTED_TYPE = "unwanted_type"
    UNVISITED = "unvisited"


class Verdict(StrEnum):
    """What the content test says of a page."""

    FIRST = "first"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"


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
    LONG = "`frontier.down_wait`, twice as long each time, at most `frontier.down_wait_limit`"
    DNS = "`frontier.dns_wait`"
    ASKED = (
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
    SILENCE = "silence"
    BUSY = "busy"

    @property
    def failed(self) -> bool:
        """Whether the host is in trouble."""
        return self not in (Health.WELL, Health.UNCLEAR)


@dataclass(frozen=True)
class Meaning:
    """What an outcome means for the URL and its host."""

    fate: Fate
    health: Health
    wait: Wait
    """For Fate.WAIT at once; for Fate.AGAIN once the host failed so more than `retries` times."""
    text: str
    """The sentence that a person reads."""
    ends_order: bool = False
    """Whether the other URLs of the order are not visited now: they would fare no better."""
    expected: bool = False
    """Whether the live view leaves it out of the errors."""


# fmt: off
OUTCOMES: dict[Outcome, Meaning] = {
    Outcome.PAGE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE, expected=True,
        text="A page came back: a 2xx answer of a type that is read."),
    Outcome.REDIRECT: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE, expected=True,
        text="The server points to another URL, which is followed like a link."),
    Outcome.BAD_REDIRECT: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        text="The server answers with a redirect that leads nowhere."),
    Outcome.GONE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        text="The server has no such page (404 or 410)."),
    Outcome.CLIENT_ERROR: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        text="The server refuses the request with another 4xx status."),
    Outcome.SERVER_ERROR: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.LONG,  # If it is the host's robots.txt.
        text="The server failed (5xx, or a status that does not exist)."),
    Outcome.BUSY: Meaning(
        Fate.WAIT, Health.BUSY, Wait.ASKED, ends_order=True,
        text="The server asks to be left alone (429, or 503 with Retry-After)."),
    Outcome.DNS_FAILURE: Meaning(
        Fate.WAIT, Health.NAME, Wait.DNS, ends_order=True,
        text="The host's name does not exist, or has no address."),
    Outcome.DNS_UNANSWERED: Meaning(
        Fate.WAIT, Health.NAME, Wait.SHORT, ends_order=True,
        text="No name server says whether the host's name exists."),
    Outcome.HOST_DOWN: Meaning(
        Fate.WAIT, Health.CONNECTION, Wait.LONG, ends_order=True,
        text="The host refuses connections, or none could be made in time."),
    Outcome.SILENT_SERVER: Meaning(
        Fate.AGAIN, Health.SILENCE, Wait.LONG, ends_order=True,
        text="The server took the request and sent no byte in time."),
    Outcome.BROKEN: Meaning(
        Fate.AGAIN, Health.UNCLEAR, Wait.LONG,
        text="The connection or the protocol broke after the request was sent."),
    Outcome.PRIVATE_ADDRESS: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE, ends_order=True,
        text="The host has only addresses outside the public Internet, which are not visited."),
    Outcome.ROBOTS_EXCLUDED: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        text="robots.txt forbids the URL: it was not asked for."),
    Outcome.UNWANTED_TYPE: Meaning(
        Fate.DONE, Health.WELL, Wait.NONE,
        text="The answer is of a type that is not read, or a binary document that was cut."),
    Outcome.UNVISITED: Meaning(
        Fate.STAY, Health.WELL, Wait.NONE, ends_order=True,
        text="The order ended before this URL's turn."),
}
# fmt: on


FAILURES = tuple(
    outcome
    for outcome in Outcome
    if not OUTCOMES[outcome].expected and OUTCOMES[outcome].fate is not Fate.STAY
)
"""The outcomes of a URL that a person may want to try again."""


class Hazard(StrEnum):
    """The names under which hazards of the Web are counted, in metric, report and archive."""

    DNS_FAILURE = "dns_failure"
    HOST_DOWN = "host_down"
    SILENT_SERVER = "silent_server"
    SLOW_TRANSFER = "slow_transfer"
    INFINITE_BODY = "infinite_body"
    TRAP_TIME = "trap_time"
    DECOMPRESSION_BOMB = "decompression_bomb"
    PRIVATE_ADDRESS = "private_address"
    REDIRECT = "redirect"
    BAD_REDIRECT = "bad_redirect"
    MISSING_HEADERS = "missing_headers"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    UNWANTED_TYPE = "unwanted_type"
    RETRY_AFTER = "retry_after"
    MALFORMED_URL = "malformed_url"
    URL_TOO_LONG = "url_too_long"
    TRAP_HOSTS = "trap_hosts"
    TRAP_URLS = "trap_urls"
    TRAP_DEPTH = "trap_depth"
    OUT_OF_SCOPE = "out_of_scope"
    ROBOTS_EXCLUDED = "robots_excluded"
    MALFORMED_HTML = "malformed_html"
    PARSER_FAULT = "parser_fault"
    CHARSET_CONFLICT = "charset_conflict"
    EXACT_DUPLICATE = "exact_duplicate"
    TRAP_DUPLICATES = "trap_duplicates"


@dataclass(frozen=True)
class Counting:
    """What a hazard is, and who counts it."""

    services: tuple[str, ...]
    """Those that count it: two only where they meet it in different URLs."""
    settings: tuple[str, ...]
    """Dotted names of the settings that say when it is one, or what is done about it."""
    text: str
    """The condition, in a sentence."""


# fmt: off
HAZARDS: dict[Hazard, Counting] = {
    Hazard.DNS_FAILURE: Counting(("fetcher",), ("frontier.dns_wait",),
        "The host's name does not exist, or has no address."),
    Hazard.HOST_DOWN: Counting(
        ("fetcher",), ("fetcher.connect_limit", "frontier.down_wait", "frontier.retries"),
        "No connection could be made: refused, unreachable or not in time."),
    Hazard.SILENT_SERVER: Counting(("fetcher",), ("fetcher.first_byte_limit", "frontier.retries"),
        "The request was sent and no byte came back in time."),
    Hazard.SLOW_TRANSFER: Counting(("fetcher",), ("fetcher.between_bytes_limit",),
        "The body stopped coming before its end."),
    Hazard.INFINITE_BODY: Counting(("fetcher",), ("fetcher.body_limit",),
        "The body is larger than what is read of one, and was cut."),
    Hazard.TRAP_TIME: Counting(("fetcher",), ("fetcher.visit_limit",),
        "The visit took longer than one may, and the body was cut."),
    Hazard.DECOMPRESSION_BOMB: Counting(("parser",), ("parser.decoded_limit",),
        "A small encoded body becomes absurdly large."),
    Hazard.PRIVATE_ADDRESS: Counting(("fetcher",), ("fetcher.allow_networks",),
        "All addresses of the host are outside the public Internet."),
    Hazard.REDIRECT: Counting(("fetcher",), ("frontier.hops_limit",),
        "The answer is a redirect with a usable target."),
    Hazard.BAD_REDIRECT: Counting(("fetcher",), (),
        "The answer is a redirect without a usable target."),
    Hazard.MISSING_HEADERS: Counting(("fetcher",), (),
        "The answer is not HTTP: no status line, no headers, or headers without an end."),
    Hazard.WRONG_CONTENT_TYPE: Counting(("parser",), (),
        "The body is not of the type that its Content-Type names."),
    Hazard.UNWANTED_TYPE: Counting(("fetcher",), (), "The answer is of a type that is not read."),
    Hazard.RETRY_AFTER: Counting(("fetcher",), ("frontier.retry_after_limit",),
        "The server says for how long it wants to be left alone."),
    Hazard.MALFORMED_URL: Counting(("parser",), (),
        "A page has links that are no URLs to visit; counted once a page."),
    Hazard.URL_TOO_LONG: Counting(("parser",), (),
        "A page has links of more than 2,000 characters; counted once a page."),
    Hazard.TRAP_HOSTS: Counting(("frontier",), ("frontier.host_budget",),
        "A URL is of one more host than are taken of its site, and no seed."),
    Hazard.TRAP_URLS: Counting(("frontier",), ("frontier.url_budget",),
        "A URL is beyond what is taken of its host."),
    Hazard.TRAP_DEPTH: Counting(("frontier",), ("crawl.max_depth",),
        "A URL that was admitted is more links away from a seed than the crawl now follows."),
    Hazard.OUT_OF_SCOPE: Counting(("frontier",), ("crawl.scope",),
        "A URL that was admitted is outside the scope that the crawl has now."),
    Hazard.ROBOTS_EXCLUDED: Counting(
        ("frontier", "fetcher"), ("fetcher.product", "fetcher.robots_age"),
        "robots.txt forbids a URL: when it is admitted, or just before the request."),
    Hazard.MALFORMED_HTML: Counting(("parser",), (),
        "Elements or attributes beyond what any page for people has; the rest is cut."),
    Hazard.PARSER_FAULT: Counting(("parser",), ("parser.page_limit", "parser.memory_limit"),
        "The parser cannot read the page: it is a dead letter, and the report counts it as one."),
    Hazard.CHARSET_CONFLICT: Counting(("parser",), (),
        "Byte order mark, header, meta element and bytes name different encodings."),
    Hazard.EXACT_DUPLICATE: Counting(("dedup",), (), "Another URL had the same text before."),
    Hazard.TRAP_DUPLICATES: Counting(("dedup",), ("dedup.duplicates_limit",),
        "One more duplicate in a row than is followed: its links are not."),
}
# fmt: on


def check_complete(names: Iterable[object], table: Mapping[Any, object], what: str) -> None:
    """Raise LookupError unless *table*, which is called *what*, has a row for each of *names*."""
    if missing := [str(name) for name in names if name not in table]:
        raise LookupError(f"{what} has no row for {', '.join(missing)}")


check_complete(Outcome, OUTCOMES, "OUTCOMES")
check_complete(Hazard, HAZARDS, "HAZARDS")


def counted_by(service: str, hazards: Iterable[str]) -> list[str]:
    """Return those of *hazards* that *service* counts.

    A name that is in no table is nobody's: an event may be of another version of Gossamer.
    """
    return [
        name for name in hazards if name in HAZARDS and service in HAZARDS[Hazard(name)].services
    ]


def count_hazards(service: str, hazards: Iterable[str]) -> None:
    """Add to the metric what *service* is to count; raise ValueError for a name in no table."""
    for hazard in counted_by(service, map(Hazard, hazards)):
        count("gossamer_hazards_total", hazard=hazard)
