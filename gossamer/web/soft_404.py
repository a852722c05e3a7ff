"""What a host answers to a path that cannot exist (hazard `soft_404`).

Many hosts answer 200 with a page of apologies, or redirect to one. To tell such pages, a host is
asked once for a path that nobody has: its answer is the host's signature.
"""

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
