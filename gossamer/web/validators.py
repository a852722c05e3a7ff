"""Validators: what a server gives with a page to ask later whether it has changed.

RFC 9110, sections 8.8 and 13.1. A visit sends them back as conditions, and a server that has
nothing new answers 304, without a body. Whether that is true shows only where a page is asked for
without condition, so every so often one is. A host whose validators stayed the same while a page
changed has lied: its 304 says nothing, and it is asked without conditions from then on. One whose
validators change though its pages do not (a tag made of an inode, each server of a cluster with its
own) is not worth asking.
"""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from gossamer.web.http import Headers, first_value

LIMIT = 200
"""Characters of a tag or a date that is kept: they go to the store with each page."""
EVERY = 8
"""One visit in so many asks without condition."""
FUTILE = 3
"""So many times in a row other validators for the same content: then they are not worth sending."""
WEAK = 0.05
"""How much of a page may change under the same weak tag: it promises no more than the meaning."""

_tag = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')


class Lie(StrEnum):
    """Why the validators of a host are not trusted."""

    SAME_TAG = "a page changed and its ETag did not"
    SAME_DATE = "a page changed and its Last-Modified did not"
    FUTILE = "ETag or Last-Modified change though pages do not"


class Validators(Struct, frozen=True, omit_defaults=True):
    """Those of one version of a page, as the server wrote them."""

    etag: str = ""
    """The header ETag."""
    last_modified: str = ""
    """The header Last-Modified."""

    @property
    def changed_at(self) -> float:
        """When the page changed, by its Last-Modified, as epoch seconds; 0 if that is no date."""
        at = _instant(self.last_modified)
        return max(0.0, at.timestamp()) if at else 0.0

    @property
    def weak(self) -> bool:
        """Whether the tag promises no more than that the meaning is the same."""
        return self.etag.startswith("W/")


NO_VALIDATORS = Validators()


class Trust(Struct, frozen=True, omit_defaults=True):
    """What is thought of a host's validators."""

    lie: str = ""
    """A sentence of `Lie`; "" while they are trusted."""
    futile: int = 0
    """How often in a row they were others for the same content."""

    def after(self, before: Validators, now: Validators, change: float) -> "Trust":
        """Return the trust after a visit without condition found a *change*, from 0 to 1.

        *before* are the page's validators of the visit before, *now* those of this one.
        """
        same = _same(before, now)
        if self.lie or same is None:
            return self
        if not change:
            return self._seen_unchanged(same)
        if not same or (before.weak and change <= WEAK):
            return self
        return replace(self, lie=Lie.SAME_TAG if before.etag and now.etag else Lie.SAME_DATE)

    def _seen_unchanged(self, same: bool) -> "Trust":
        futile = 0 if same else self.futile + 1
        return replace(self, futile=futile, lie=Lie.FUTILE if futile >= FUTILE else "")


def validators_of(headers: Headers) -> Validators:
    """Return the validators of a response that can be sent back; malformed ones are left out.

    A Last-Modified that is not before the response's own Date says when the page was made up, not
    when it changed (8.8.2.1).
    """
    etag = first_value(headers, "etag")
    modified, made = first_value(headers, "last-modified"), first_value(headers, "date")
    at, limit = _instant(modified), _instant(made)
    dated = at is not None and (limit is None or at < limit)
    return Validators(
        etag if len(etag) <= LIMIT and _tag.fullmatch(etag) else "",
        modified if len(modified) <= LIMIT and dated else "",
    )


def kept(found: Validators, before: Validators) -> Validators:
    """Return what is to be sent after a 304 with *found*, which may repeat less than there was."""
    return Validators(found.etag or before.etag, found.last_modified or before.last_modified)


def conditions(validators: Validators) -> Headers:
    """Return the headers that ask for a page only if it has changed.

    Both are sent: who knows tags ignores the date (13.1.3).
    """
    sent = (
        ("If-None-Match", validators.etag),
        ("If-Modified-Since", validators.last_modified),
    )
    return tuple((name, value) for name, value in sent if value)


def is_conditional(validators: Validators, trust: Trust, in_a_row: int) -> bool:
    """Return whether the next visit sends *validators*, *in_a_row* visits having done so."""
    return bool(conditions(validators)) and not trust.lie and in_a_row < EVERY - 1


def _same(before: Validators, now: Validators) -> bool | None:
    """Return whether a server that has *now* would say 304 to *before*; None: nobody can know."""
    if before.etag and now.etag:
        # 8.8.3.2, weak comparison: what If-None-Match goes by.
        return before.etag.removeprefix("W/") == now.etag.removeprefix("W/")
    if before.last_modified and now.last_modified:
        return before.last_modified == now.last_modified
    return None


def modified_at(headers: Headers) -> float | None:
    """Return what Last-Modified says, as epoch seconds, however absurd; None if it is no date."""
    at = _instant(first_value(headers, "last-modified"))
    return at.timestamp() if at else None


def _instant(date: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else None
