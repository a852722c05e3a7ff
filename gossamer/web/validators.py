"""Validators: the ETag and Last-Modified of a page, for conditional visits.

See RFC 9110, sections 8.8 and 13.1. A visit sends the validators back as conditions, and a server
answers 304 without a body if the page has not changed. Only an unconditional visit can verify a
304, so some visits are unconditional. If a page changed and its validators did not, the validators
of the host are distrusted, and its visits become unconditional. The same happens if validators
change although pages do not, for example an ETag made from an inode number or a different ETag for
each server of a cluster.
"""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.http import Headers, first_value

MAX_LENGTH = 200
"""Maximum characters of a tag or date, because they are stored for each page."""
UNCONDITIONAL_INTERVAL = 8
"""One visit in this number is unconditional."""
MAX_FUTILE = 3
"""Visits in a row with new validators and unchanged content, after which they are distrusted."""
MAX_WEAK_CHANGE = 0.05
"""Fraction of a page that may change under the same weak tag, which only promises equivalence."""

_tag = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')


class DistrustReason(StrEnum):
    """Why the validators of a host are distrusted."""

    SAME_TAG = "a page changed and its ETag did not"
    SAME_DATE = "a page changed and its Last-Modified did not"
    FUTILE = "ETag or Last-Modified change though pages do not"


class Validators(Struct, frozen=True, omit_defaults=True):
    """The validators of one version of a page, as the server wrote them."""

    etag: str = ""
    """The header ETag."""
    last_modified: str = ""
    """The header Last-Modified."""

    @property
    def changed_at(self) -> float:
        """When the page changed by its Last-Modified, in epoch seconds; 0 without a valid date."""
        at = _instant(self.last_modified)
        return max(0.0, at.timestamp()) if at else 0.0

    @property
    def weak(self) -> bool:
        """Whether the tag is weak: it promises equivalent, not identical content."""
        return self.etag.startswith("W/")


NO_VALIDATORS = Validators()


class Trust(Struct, frozen=True, omit_defaults=True):
    """The trust in the validators of a host."""

    distrust_reason: str = ""
    """A sentence of `DistrustReason`; "" while they are trusted."""
    futile: int = 0
    """Visits in a row with new validators and unchanged content."""

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

    A Last-Modified that is not before the Date of the response says when the page was generated,
    not when it changed (8.8.2.1), and is ignored.
    """
    etag = first_value(headers, "etag")
    modified, date = first_value(headers, "last-modified"), first_value(headers, "date")
    at, limit = _instant(modified), _instant(date)
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
    at = _instant(first_value(headers, "last-modified"))
    return at.timestamp() if at else None


def _instant(date: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else None
