"""When and how requests are signed: the words of the settings, and what responses say about it.

The signatures themselves are in `signatures.py`, whose library takes long to import.
"""

from enum import StrEnum

from gossamer.web.http import Headers, joined_values
from gossamer.web.structured import BadField, InnerList, parse_dictionary

REQUEST_TAG = "web-bot-auth"
"""The tag of our signatures."""
ASKING_STATUSES = frozenset({401, 403})
"""Statuses of responses that may ask for a signature."""


class SignMode(StrEnum):
    """Which requests are signed."""

    NEVER = "never"
    ASKED = "asked"
    """Those to hosts that asked for a signature."""
    ALWAYS = "always"


class AgentForm(StrEnum):
    """How `Signature-Agent` is written."""

    DICTIONARY = "dictionary"
    STRING = "string"


def is_signed(request_headers: Headers) -> bool:
    """Return whether a request with these headers was signed."""
    return any(name.lower() == "signature" for name, _ in request_headers)


def asks_for_signature(status: int, headers: Headers) -> bool:
    """Return whether a response refuses an unsigned request and asks for a signature (RFC 9421, 5).

    The server chooses the label. A request for a signature with another tag than ours does not
    count.
    """
    value = joined_values(headers, "accept-signature") if status in ASKING_STATUSES else ""
    if not value:
        return False
    try:
        members = parse_dictionary(value).values()
    except BadField:
        return False
    return any(
        isinstance(member, InnerList) and member.params.get("tag", REQUEST_TAG) == REQUEST_TAG
        for member in members
    )


def is_agent(text: str) -> bool:
    """Return whether *text* is an origin with https, as `Signature-Agent` names it."""
    scheme, _, rest = text.partition("://")
    authority = rest.removesuffix("/")
    is_printable = authority.isascii() and authority.isprintable() and " " not in authority
    return (
        scheme == "https"
        and bool(authority)
        and is_printable
        and not set(authority) & set('/?#@"\\')
    )
