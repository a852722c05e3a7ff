"""Words for people: outcomes by status code, hazards, conditions, and plain reasons.

Programs read the names of `gossamer.events`, with `--json`. The tables are complete: a new outcome
or hazard without a label stops the import.
"""

import re
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from typing import NamedTuple

from gossamer.events import Outcome, Purpose, Verdict
from gossamer.events.hazards import HAZARDS, Hazard
from gossamer.events.outcomes import FAILURES, OUTCOMES, check_complete
from gossamer.services.frontier.revisit import Basis
from gossamer.services.frontier.tables.conditions import Condition

# fmt: off
OUTCOME_LABELS: dict[Outcome, str] = {
    Outcome.PAGE: "page",
    Outcome.NOT_MODIFIED: "304 not modified",
    Outcome.REDIRECT: "redirect",
    Outcome.BAD_REDIRECT: "broken redirect",
    Outcome.GONE: "404",
    Outcome.CLIENT_ERROR: "other 4xx",
    Outcome.SIGNATURE_ASKED: "signature asked",
    Outcome.SERVER_ERROR: "5xx",
    Outcome.BUSY: "429 or Retry-After",
    Outcome.DNS_FAILURE: "no DNS name",
    Outcome.DNS_UNANSWERED: "no DNS answer",
    Outcome.HOST_DOWN: "no connection",
    Outcome.TLS_FAILURE: "TLS failure",
    Outcome.SILENT_SERVER: "no response",
    Outcome.MALFORMED_HEAD: "invalid response",
    Outcome.CUT_BODY: "incomplete body",
    Outcome.BROKEN: "unreadable robots.txt",
    Outcome.INTERNAL_ERROR: "internal error",
    Outcome.PRIVATE_ADDRESS: "private address",
    Outcome.BLACKLISTED: "on the blocklist",
    Outcome.ROBOTS_EXCLUDED: "excluded by robots.txt",
    Outcome.USAGE_EXCLUDED: "usage not allowed",
    Outcome.UNWANTED_TYPE: "unwanted type",
    Outcome.CHALLENGED: "challenged",
    Outcome.PAYMENT_REQUIRED: "payment required",
    Outcome.LICENSE_REQUIRED: "license required",
    Outcome.UNVISITED: "not visited",
    Outcome.OTHER: "unknown outcome",
}
"""Outcome → label in reports that have no status code."""
STATUS_OUTCOMES = (Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.BUSY)
"""Outcomes that are called by their status code if it is known."""


class Kind(Enum):
    """The part of a report that shows a hazard."""

    FAILURE = "in the table of failures"
    DETAIL = "with --verbose alone"


class HazardLabel(NamedTuple):
    """A hazard in words. Hazards and outcomes with one label are one row of a report."""

    label: str
    kind: Kind


F, D = Kind.FAILURE, Kind.DETAIL

HAZARD_LABELS: dict[Hazard, HazardLabel] = {
    Hazard.DNS_FAILURE: HazardLabel("no DNS name", F),
    Hazard.DNS_OUTAGE: HazardLabel("DNS outage", F),
    Hazard.DNS_MALFORMED: HazardLabel("malformed DNS answer", D),
    Hazard.DNS_WILDCARD: HazardLabel("DNS wildcard", D),
    Hazard.DNS_WILDCARD_SUFFIX: HazardLabel("DNS wildcard of a public suffix", D),
    Hazard.HOST_DOWN: HazardLabel("no connection", F),
    Hazard.TLS_FAILURE: HazardLabel("TLS failure", F),
    Hazard.INVALID_CERTIFICATE: HazardLabel("fetched in spite of an invalid certificate", D),
    Hazard.SILENT_SERVER: HazardLabel("no response", F),
    Hazard.SLOW_TRANSFER: HazardLabel("slow body, cut", F),
    Hazard.CUT_SHORT: HazardLabel("connection lost in the body", F),
    Hazard.INFINITE_BODY: HazardLabel("large body, cut", F),
    Hazard.TRAP_TIME: HazardLabel("long visit, cut", F),
    Hazard.DECOMPRESSION_BOMB: HazardLabel("decompression bomb", F),
    Hazard.PRIVATE_ADDRESS: HazardLabel("private address", F),
    Hazard.REDIRECT: HazardLabel("redirect", D),
    Hazard.BAD_REDIRECT: HazardLabel("broken redirect", F),
    Hazard.MISSING_HEADERS: HazardLabel("invalid response", F),
    Hazard.RANGE_ERROR: HazardLabel("416 to a range request", D),
    Hazard.CONDITIONS_REFUSED: HazardLabel("conditional request refused", D),
    Hazard.WRONG_CONTENT_TYPE: HazardLabel("wrong Content-Type", D),
    Hazard.UNWANTED_TYPE: HazardLabel("unwanted type", F),
    Hazard.CHALLENGED: HazardLabel("challenged", F),
    Hazard.PAYMENT_REQUIRED: HazardLabel("payment required", F),
    Hazard.LICENSE_REQUIRED: HazardLabel("license required", F),
    Hazard.SOFT_404: HazardLabel("soft 404", F),
    Hazard.WRONG_DATE: HazardLabel("wrong Last-Modified", D),
    Hazard.RETRY_AFTER: HazardLabel("Retry-After", D),
    Hazard.MALFORMED_URL: HazardLabel("pages with malformed links", D),
    Hazard.NON_WEB_LINK: HazardLabel("pages with mailto: and other non-Web links", D),
    Hazard.URL_TOO_LONG: HazardLabel("pages with too long URLs", D),
    Hazard.TOO_MANY_LINKS: HazardLabel("pages with too many links", F),
    Hazard.NOINDEX: HazardLabel("noindex", F),
    Hazard.NOFOLLOW: HazardLabel("pages with nofollow", D),
    Hazard.SESSION_ID: HazardLabel("pages with session ids in links", D),
    Hazard.DIRECTORY_REORDER: HazardLabel("pages with links that only sort a listing", D),
    Hazard.DEFAULT_DOCUMENT: HazardLabel("pages with links to index.html", D),
    Hazard.REPEATED_PATH: HazardLabel("pages with repeated paths in links", D),
    Hazard.WWW_ALIAS: HazardLabel("www aliases", D),
    Hazard.DUPHOST: HazardLabel("mirrored hosts", D),
    Hazard.SCRIPT_LINKS: HazardLabel("pages with links in scripts", D),
    Hazard.LOW_WORTH: HazardLabel("parked, little new there", F),
    Hazard.TRAP_HOSTS: HazardLabel("parked, over the host budget of a site", F),
    Hazard.TRAP_URLS: HazardLabel("parked, over the URL budget of a site", F),
    Hazard.TRAP_BYTES: HazardLabel("parked, over the byte budget of a site", F),
    Hazard.TRAP_SECONDS: HazardLabel("parked, over the time budget of a site", F),
    Hazard.TRAP_SITE_DEPTH: HazardLabel("parked, over the depth budget of a site", F),
    Hazard.TRAP_SITEMAPS: HazardLabel("parked, over the sitemap budget of a site", F),
    Hazard.TRAP_REQUISITES: HazardLabel("dropped, over the requisite budget of a site", F),
    Hazard.TRAP_DEPTH: HazardLabel("deeper than --depth", F),
    Hazard.OUT_OF_SCOPE: HazardLabel("out of scope", F),
    Hazard.BLACKLISTED: HazardLabel("on the blocklist", F),
    Hazard.ROBOTS_MALFORMED: HazardLabel("malformed robots.txt", D),
    Hazard.ROBOTS_EXCLUDED: HazardLabel("excluded by robots.txt", F),
    Hazard.USAGE_EXCLUDED: HazardLabel("usage not allowed", F),
    Hazard.MALFORMED_HTML: HazardLabel("malformed HTML", D),
    Hazard.MALFORMED_LISTING: HazardLabel("malformed listing", D),
    Hazard.NESTED_INDEX: HazardLabel("sitemap indexes within an index", F),
    Hazard.PARSER_FAULT: HazardLabel("unreadable page", F),
    Hazard.READER_FAILED: HazardLabel("pages on which a reader failed", D),
    Hazard.EXPIRED_LEASES: HazardLabel("hosts that seem to stop fetchers", F),
    Hazard.CHARSET_CONFLICT: HazardLabel("conflicting encodings", D),
    Hazard.MISREAD_TEXT: HazardLabel("unreadable strings in text", D),
    Hazard.HIDDEN_TEXT: HazardLabel("text that readers hardly see", D),
    Hazard.PHYSICAL_MARKUP: HazardLabel("headings by font size", D),
    Hazard.NEEDS_RENDERING: HazardLabel("needs a browser: scripts seem to make its text", F),
    Hazard.EXACT_DUPLICATE: HazardLabel("duplicates", D),
    Hazard.TRAP_DUPLICATES: HazardLabel("too many duplicates in a row", F),
    Hazard.IRRELEVANT: HazardLabel("not relevant (--relevant)", F),
    Hazard.NOT_FOLLOWED: HazardLabel("not followed (--rules)", F),
    Hazard.RULE_FAILED: HazardLabel("a rule failed (--rules)", F),
}
"""Hazard → its label, and the part of a report that shows it."""
# fmt: on
FAILURE_HAZARDS = frozenset(
    hazard for hazard, found in HAZARD_LABELS.items() if found.kind is Kind.FAILURE
)

LABELS: dict[str, str] = {
    **{str(hazard): label.label for hazard, label in HAZARD_LABELS.items()},
    **{str(outcome): label for outcome, label in OUTCOME_LABELS.items()},
}
"""Name of an outcome, or of the hazard that refused a URL → label."""

BASIS_LABELS: dict[Basis, str] = {
    Basis.RATE: "by change rate",
    Basis.SAMPLED: "to learn a change rate",
    Basis.PERIODIC: "by regular times",
    Basis.EXPLORED: "to explore",
    Basis.HINT: "by hint",
    Basis.INTERVAL: "by interval",
    Basis.RECHECK: "to recheck a vanished page",
    Basis.NEW: "new",
    Basis.REQUESTED: "requested",
}
"""Basis of a revisit → label."""

TOPIC_LABELS = {
    "pages.fetched": "fetched pages",
    "pages.parsed": "parsed pages",
    "pages.deduplicated": "verdicts",
    "pages.archived": "captures",
    "urls.discovered": "link lists",
    "urls.admitted": "admitted URLs",
    "visits.ordered": "orders",
    "visits.ended": "visits",
}
"""Topic → label of its records in the live view."""

STOPPED_WORDS = {
    Condition.CHECKED_OUT: "interrupted",
    Condition.DELAYED: "waiting",
}
"""Condition of a host when the last run ended → the word for it while no crawl runs."""

check_complete(Outcome, OUTCOME_LABELS, "OUTCOME_LABELS")
check_complete(Hazard, HAZARD_LABELS, "HAZARD_LABELS")
check_complete(Basis, BASIS_LABELS, "BASIS_LABELS")

_connect_failed = re.compile(
    r"\[Errno (\d+)\] Connect call failed \('([^']*)', (\d+)(?:, \d+, \d+)?\)"
)
_attempt = re.compile(r"attempt (\d+) after (\w+)")
_errno = re.compile(r"\[Errno -?\d+\] ")
_CONNECT_ERRORS = {
    "101": "network unreachable for",
    "110": "connection timed out to",
    "111": "connection refused by",
    "113": "no route to",
}
"""Number of the error on Linux → words."""


def outcome_label(outcome: str, status: int = 0) -> str:
    """Return a visit's outcome in words, with its status code if it has one."""
    if status and outcome in STATUS_OUTCOMES:
        return status_label(status)
    label = LABELS.get(outcome, outcome)
    return f"{label} ({status})" if status and not label.startswith(str(status)) else label


def outcome_text(outcome: str, status: int, reason: str) -> str:
    """Return a visit's outcome in words, with its reason: `no connection (timed out)`."""
    label, plain = outcome_label(outcome, status), plain_reason(reason)
    return f"{label} ({plain})" if plain and plain != label else label


def finding_text(verdict: str, change: float | None, duplicate_of: str, redirects_to: str) -> str:
    """Return what a visit found: its *verdict*, and how much had changed."""
    if verdict == Verdict.CHANGED:
        return _change_text(change or 0.0)
    if redirects_to:
        return f"redirects to {redirects_to}"
    name = verdict.replace("_", "-")
    return f"{name} of {duplicate_of}" if duplicate_of else name


def _change_text(change: float) -> str:
    if not change:
        return "changed only where it changes each time"
    if change == 1:
        return "changed as a whole, or has no words to compare"
    # The estimate errs by several points if much has changed.
    percents = round(100 * change, 0 if change < 0.1 else -1)
    amount = f"about {percents:.0f} %" if percents else "less than 1 %"
    return f"{amount} of the words changed"


def status_label(status: int) -> str:
    """Return `404 Not Found`; the number alone if the status is not registered."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def download_label(name: str) -> str:
    """Return a status code with its phrase, an outcome in words, or a media type."""
    return status_label(int(name)) if name.isdecimal() else LABELS.get(name, name)


def hazard_text(rule: str) -> str:
    """Return the sentence about the hazard that a refusing *rule* is named after; "" for others."""
    return HAZARDS[Hazard(rule)].text if rule in HAZARDS else ""


def is_failure(outcome: str) -> bool:
    """Return whether reports show *outcome*, of a visit or of a refused URL, as a failure."""
    return outcome not in OUTCOMES or outcome in FAILURES


def is_expected_failure(outcome: str, purpose: Purpose) -> bool:
    """Return whether a URL of this *purpose* may have the *outcome* without a fault of anybody:
    a usual sitemap that does not exist."""
    return purpose is Purpose.USUAL_SITEMAP and is_failure(outcome)


def plain_reason(text: str) -> str:
    """Return the reason of a failure without error numbers, Python's quotes and names of outcomes.

    An outcome alone becomes its label.
    """
    if text in LABELS:
        return LABELS[text]
    if found := _attempt.fullmatch(text):
        return f"attempt {found[1]} after {LABELS.get(found[2], found[2])}"

    def plain(found: re.Match[str]) -> str:
        number, address, port = found.groups()
        where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        return f"{_CONNECT_ERRORS.get(number, 'connection failed to')} {where}"

    return _errno.sub("", _connect_failed.sub(plain, text).removeprefix("Multiple exceptions: "))


def failures(outcomes: Mapping[str, int], hazards: Mapping[str, int]) -> Counter[str]:
    """Return label → count of the outcomes and hazards that are failures.

    A failure that is counted as an outcome and as a hazard is counted once.
    """
    counts = Counter[str]()
    for outcome, count in outcomes.items():
        if outcome in FAILURES:
            counts[OUTCOME_LABELS[Outcome(outcome)]] += count
    for name, count in hazards.items():
        if name in FAILURE_HAZARDS:
            label = LABELS[name]
            counts[label] = max(counts[label], count)
    return +counts


def details(hazards: Mapping[str, int]) -> Counter[str]:
    """Return label → count of the hazards that are not failures."""
    counts = Counter[str]()
    for name, count in hazards.items():
        if name not in FAILURE_HAZARDS:
            counts[LABELS.get(name, name)] += count
    return +counts


def conditions_text(
    conditions: Mapping[str, int], are_idle_done: bool, is_stopped: bool = False
) -> str:
    """Return `2 being fetched, 4 in their delay, 5 done`; `none` without hosts.

    *are_idle_done*: whether idle hosts are done, because the crawl has no revisits; *is_stopped*:
    whether no crawl runs in the folder.
    """
    is_one = conditions.get(Condition.DELAYED) == 1
    words = {
        Condition.CHECKED_OUT: "being fetched",
        Condition.DELAYED: "in its delay" if is_one else "in their delay",
        Condition.READY: Condition.READY.value,
        Condition.BACKING_OFF: Condition.BACKING_OFF.value,
        Condition.IDLE: "done" if are_idle_done else "idle",
    }
    if is_stopped:
        words |= STOPPED_WORDS
    parts = [
        f"{count:,} {word}"
        for condition, word in words.items()
        if (count := conditions.get(condition, 0)) > 0
    ]
    return ", ".join(parts) or "none"
