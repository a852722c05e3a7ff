"""Asks for no more of a document than is read of it (RFC 9110, 14), where that is set.

Many servers ignore that, and are cut off; some answer 416 to any range (hazard `range_error`), and
are asked once more without one.
"""

import re

from msgspec.structs import replace

from gossamer.web.http import first_value
from services.fetcher.outcome import Reply
from services.fetcher.steps import Fetch

PARTIAL, UNSATISFIABLE = 206, 416
_content_range = re.compile(r"bytes\s+0-(\d{1,15})/(\d{1,15}|\*)", re.IGNORECASE)


def ranged(request: Fetch) -> Fetch:
    """Return *request* for as many bytes as are read of any type."""
    most = max(request.limit, *request.limits.values(), 1)
    return replace(request, headers=(*request.headers, ("Range", f"bytes=0-{most - 1}")))


def as_part(reply: Reply) -> Reply:
    """Return *reply*, to such a request, marked as cut where it is not the whole document."""
    if reply.status != PARTIAL or reply.truncated:
        return reply
    said = _content_range.fullmatch(first_value(reply.headers, "content-range").strip())
    whole = said is not None and said[2] == str(int(said[1]) + 1)
    return reply if whole else replace(reply, truncated="length")
