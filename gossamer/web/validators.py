"""Validators: the ETag and Last-Modified of a page, for conditional visits.

See RFC 9110, sections 8.8 and 13.1. A visit sends the validators back as conditions, and a server
answers 304 without a body if the page has not changed. Only an unconditional visit can verify a
304, so some visits are unconditional. If a page changed and its validators did not, the validators
of the host are distrusted, and its visits become unconditional. The same happens if validators
change although pages do not, for example an ETag made from an inode number or a different ETag for
each server of a cluster.

A server may also refuse conditions: it answers 412 or 400, which a GET without a range never
deserves (13.1.2), or a 304 without a reason (`refuses_conditions`). The fetcher repeats such a
request without conditions, and the validators of the host are distrusted for `REFUSED_SECONDS`.
"""

import re
from calendar import timegm
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.http import Headers, first_value, parse_date, raw_values

MAX_LENGTH = 200
"""Maximum characters of a tag or date, because they are stored for each page."""
WEB_BEGAN_AT = float(timegm((1993, 1, 1, 0, 0, 0)))
"""Earlier dates are mistakes (Castillo, *Practical issues of crawling large Web collections*, 5.5).
"""
UNCONDITIONAL_INTERVAL = 8
"""One visit in this number is unconditional."""
MAX_FUTILE = 3
"""Visits in a row with new validators and unchanged content, after which they are distrusted."""
REFUSED_SECONDS = 30 * 86400.0
"""Seconds for which no conditions are sent to a host that has refused some. Servers are repaired,
and another refusal costs one request."""
MAX_WEAK_CHANGE = 0.05
"""Fraction of a page that may change under the same weak tag, which only promises equivalence."""

_tag = re.compile(r'(?:W/)?"[^\x00-\x20"\x7f]*"')
_coding = re.compile(r'[-;:.]+(?:gzip|deflate|df|br|zstd)(?="$)')
"""What servers that compress pages append to a tag; Apache does so to that of a 200 only."""


class DistrustReason(StrEnum):
    """Why the validators of a host are distrusted."""

    SAME_TAG = "a page changed and its ETag did not"
    SAME_DATE = "a page changed and its Last-Modified did not"
    FUTILE = "ETag or Last-Modified change though pages do not"
    REFUSED = "the host refused conditional requests within the last 30 days"


class Validators(Struct, frozen=True, omit_defaults=True):
    """The validators of one version of a page, as the server wrote them."""

    etag: str = ""
    """The header ETag."""
    last_modified: str = ""
    """The header Last-Modified."""

    @property
    def changed_at(self) -> float:
        """When the page changed by its Last-Modified, in epoch seconds; 0 without a valid date."""
        return max(0.0, parse_date(self.last_modified) or 0.0)

    @property
    def weak(self) -> bool:
        """Whether the tag is weak: it promises equivalent, not identical content."""
        return self.etag.startswith("W/")


NO_VALIDATORS = Validators()
CONDITIONS = frozenset({"If-None-Match", "If-Modified-Since"})
"""The headers of a conditional request."""


class Trust(Struct, frozen=True, omit_defaults=True):
    """The trust in the validators of a host."""

    distrust_reason: str = ""
    """A sentence of `DistrustReason`; "" while they are trusted."""
    futile: int = 0
    """Visits in a row with new validators and unchanged content."""
    distrusted_until: float | None = None
    """Epoch seconds at which the distrust ends; null if it does not end, or without distrust."""

    def at(self, now: float) -> "Trust":
        """Return the trust at the time *now*: distrust that has ended is forgotten."""
        until = self.distrusted_until
        return self if until is None or now < until else Trust()

    def after_refusal(self, now: float) -> "Trust":
        """Return the trust after the host has refused conditions at the time *now*."""
        if self.distrust_reason and self.distrusted_until is None:
            return self
        until = now + REFUSED_SECONDS
        return replace(self, distrust_reason=DistrustReason.REFUSED, distrusted_until=until)

    def after(self, before: Validators, now: Validators, change: float) -> "Trust":
        """Return the trust after an unconditional visit that found a *change*, from 0 to 1.

        *before* and *now* are the page's validators of the previous visit and of this visit.
        """
        is_same = _match(before, now)
        if self.distrust_reason or is_same is None:
            return self
        if not change:
            return self._after_unchanged(is_same)
        if not is_same or (before.weak and change <= MAX_WEAK_CHANGE):
            return self
        return replace(
            self,
            distrust_reason=DistrustReason.SAME_TAG
            if before.etag and now.etag
            else DistrustReason.SAME_DATE,
        )

    def _after_unchanged(self, is_same: bool) -> "Trust":
        futile = 0 if is_same else self.futile + 1
        return replace(
            self,
            futile=futile,
            distrust_reason=DistrustReason.FUTILE if futile >= MAX_FUTILE else "",
        )


def validators_of(headers: Headers) -> Validators:
    """Return the validators of a response, without malformed ones.

    A tag with octets that are not UTF-8 is ignored, because it could not be sent back unchanged.
    A Last-Modified that is not before the Date of the response says when the page was generated,
    not when it changed (8.8.2.1), and is ignored.
    """
    etag = first_value(headers, "etag")
    if not etag.isascii() and etag in raw_values(headers, "etag"):
        etag = ""
    modified, date = first_value(headers, "last-modified"), first_value(headers, "date")
    at, limit = parse_date(modified), parse_date(date)
    dated = at is not None and (limit is None or at < limit)
    return Validators(
        etag if len(etag) <= MAX_LENGTH and _tag.fullmatch(etag) else "",
        modified if len(modified) <= MAX_LENGTH and dated else "",
    )


def validators_after_304(found: Validators, before: Validators) -> Validators:
    """Return the validators after a 304 with *found*, which may lack some of *before*."""
    return Validators(found.etag or before.etag, found.last_modified or before.last_modified)


def conditions(validators: Validators) -> Headers:
    """Return the headers of a conditional request.

    Both are sent: a server that supports tags ignores the date (13.1.3).
    """
    sent = (
        ("If-None-Match", validators.etag),
        ("If-Modified-Since", validators.last_modified),
    )
    return tuple((name, value) for name, value in sent if value)


def refuses_conditions(sent: Headers, status: int, headers: Headers) -> bool:
    """Return whether a server refuses the conditions of a GET by its response; *sent*: the headers
    of the request.

    A 304 without a reason refuses them, too: no condition was sent, or the 304 describes another
    version of the page. A page that is itself answered by 400 gets the same answer without them.
    """
    known = Validators(first_value(sent, "if-none-match"), first_value(sent, "if-modified-since"))
    if status == 304:
        return known == NO_VALIDATORS or _contradicts(known, validators_of(headers))
    return status in (400, 412) and known != NO_VALIDATORS


def _contradicts(sent: Validators, found: Validators) -> bool:
    """Return whether a 304 with *found* says that the page is not the version of *sent*."""
    if sent.etag and found.etag:
        return _opaque(sent.etag) != _opaque(found.etag)
    return bool(sent.last_modified) and found.changed_at > sent.changed_at


def _opaque(etag: str) -> str:
    return _coding.sub("", etag.removeprefix("W/"))


def is_conditional(validators: Validators, trust: Trust, in_a_row: int) -> bool:
    """Return whether the next visit is conditional, after *in_a_row* conditional visits."""
    return (
        bool(conditions(validators))
        and not trust.distrust_reason
        and in_a_row < UNCONDITIONAL_INTERVAL - 1
    )


def _match(before: Validators, now: Validators) -> bool | None:
    """Return whether a server with *now* would answer 304 to *before*; None if that is unknown."""
    if before.etag and now.etag:
        # If-None-Match uses the weak comparison (8.8.3.2).
        return before.etag.removeprefix("W/") == now.etag.removeprefix("W/")
    if before.last_modified and now.last_modified:
        return before.last_modified == now.last_modified
    return None


def modified_at(headers: Headers) -> float | None:
    """Return Last-Modified in epoch seconds, however absurd; None if it is not a date."""
    return parse_date(first_value(headers, "last-modified"))
