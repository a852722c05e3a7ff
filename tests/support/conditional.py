"""Conditional requests for webs that are functions."""

from msgspec.structs import replace

from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.web.http import Headers, first_value

REPEATED = ("etag", "last-modified", "cache-control", "expires", "date")
"""Headers of a 304 that a 200 would have as well (RFC 9110, 15.4.5)."""


def answer_conditionally(answer: Reply | Failure, conditions: Headers) -> Reply | Failure:
    """Return *answer*, or a 304 without a body if it is the version in *conditions*."""
    if isinstance(answer, Failure) or answer.status != 200:
        return answer
    tag, wanted_tag = first_value(answer.headers, "etag"), first_value(conditions, "if-none-match")
    modified = first_value(answer.headers, "last-modified")
    since = first_value(conditions, "if-modified-since")
    matches = (
        tag.removeprefix("W/") == wanted_tag.removeprefix("W/") if wanted_tag else modified == since
    )
    if not matches or not (wanted_tag or since):
        return answer
    kept = tuple(one for one in answer.headers if one[0].lower() in REPEATED)
    return replace(answer, status=304, headers=kept, body=b"")
