"""What a host answers to a path that cannot exist (hazard `soft_404`).

Many hosts answer 200 with a page of apologies, or redirect to one. To tell such pages, a host is
asked once for a path that nobody has: its answer is the host's signature. What it answers alike
elsewhere is no page either, but for its home page: who has no page may show that, or lead there.
"""

from urllib.parse import urlsplit

from msgspec import Struct

from gossamer.web.url import fingerprint


class Signature(Struct, frozen=True, omit_defaults=True):
    """How a host says that it has no such page. All empty: nobody has asked it."""

    status: int = 0
    location: str = ""
    """Where it redirects to, as it says it."""
    digest: str = ""
    """Of the text, as `PageParsed` has it, where there is a document."""
    simhash: str = ""
    at: float = 0.0
    """When it was asked."""


NO_SIGNATURE = Signature()


def missing_page(host: str, order: str) -> str:
    """Return the URL of a page that the host key *host* does not have; another one each *order*."""
    return f"{host}/{fingerprint(f'{host}/{order}')}"


DISTANCE = 3
"""Bits in which two simhashes of such pages may differ: they name the URL, or the day."""


def has_text_of(known: Signature, digest: str, simhash: str) -> bool:
    """Return whether a text is that of the document which a host has where it has none."""
    if not known.digest:
        return False
    if known.digest == digest:
        return True
    if not (known.simhash and simhash):
        return False
    return (int(known.simhash, 16) ^ int(simhash, 16)).bit_count() <= DISTANCE


def leads_where(known: Signature, status: int, location: str) -> bool:
    """Return whether an answer redirects as the host does where it has no page.

    The Location is compared as it stands: one that repeats what was asked for, as of a host that
    has moved, is another one for each URL.
    """
    return (
        300 <= status < 400
        and bool(location)
        and (known.status, known.location) == (status, location)
    )


def is_home_page(url: str) -> bool:
    """Return whether *url* is the home page of its host."""
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parts.query
