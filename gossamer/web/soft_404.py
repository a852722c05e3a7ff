"""Detects soft 404s: how a host answers to a path that does not exist (hazard `soft_404`).

Many hosts answer 200 with an error page, or redirect to one. To detect such pages, a random path is
requested once from each host. The response is the signature of the host. Other URLs with the same
response do not exist either. The home page is an exception: a host may show it, or redirect to it,
in place of a 404.
"""

from urllib.parse import urlsplit

from msgspec import Struct

from gossamer.web.url import fingerprint


class Signature(Struct, frozen=True, omit_defaults=True):
    """How a host answers for a missing page. All fields are empty before the probe."""

    status: int = 0
    location: str = ""
    """The Location header of the response."""
    digest: str = ""
    """Digest of the text, as in `PageParsed`; "" if there is no document."""
    simhash: str = ""
    at: float = 0.0
    """When the probe was made, in epoch seconds."""


NO_SIGNATURE = Signature()
NO_PAGE = "the page is a soft 404: it is not published"
"""The reason of the verdict on such a page."""


def missing_page(host: str, order: str) -> str:
    """Return the URL of a page that the host key *host* cannot have; each *order* gets another."""
    return f"{host}/{fingerprint(f'{host}/{order}')}"


MAX_DISTANCE_BITS = 3
"""Bits in which simhashes of two error pages may differ: such pages may contain the URL or date."""


def is_missing_text(signature: Signature, digest: str, simhash: str) -> bool:
    """Return whether a text is the text of the host's error page."""
    if not signature.digest:
        return False
    if signature.digest == digest:
        return True
    if not (signature.simhash and simhash):
        return False
    return (int(signature.simhash, 16) ^ int(simhash, 16)).bit_count() <= MAX_DISTANCE_BITS


def is_missing_redirect(signature: Signature, status: int, location: str) -> bool:
    """Return whether a response redirects to the same target as for a missing page.

    The Location is compared literally. If a host has moved, its Location contains the path and is
    different for each URL.
    """
    return (
        300 <= status < 400
        and bool(location)
        and (signature.status, signature.location) == (status, location)
    )


def is_home_page(url: str) -> bool:
    """Return whether *url* is the home page of its host."""
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parts.query
