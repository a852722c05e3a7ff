"""Which types of documents are wanted, and from when on the first bytes leave no doubt of the type.

The type is decided before the rest of a body is read: what is not wanted ends with the bytes that
have come by then.
"""

from collections.abc import Callable
from fnmatch import fnmatchcase

from gossamer.web.coding import decoded
from gossamer.web.sniffing import ENOUGH, GZIP, PACKED_XML, Declared, is_textual

Wanted = Callable[[int, str], bool]
"""Whether the body of a response is read on, by its status and the document's type."""


def wanting(types: tuple[str, ...]) -> Wanted:
    """Return what wants documents of *types*, where `*` stands for anything, and all else that
    explains why there is none: error pages and redirects."""

    named = frozenset(types)

    def wanted(status: int, kind: str) -> bool:
        if status // 100 != 2 or kind in named:
            return True
        return any(fnmatchcase(kind, one) for one in types)

    return wanted


def anything(status: int, kind: str) -> bool:
    """Read any body: servers give robots.txt and sitemaps all sorts of types."""
    return True


def settled_type(declared: Declared, codings: str, body: bytes) -> str | None:
    """Return the type of a response of which *body* has come so far, still content-encoded; None
    if more of it could show another."""
    if not (declared.needs and codings):
        settled = len(body) >= declared.needs
        return declared.type_of(body) if settled else None
    first = decoded(body[:ENOUGH], codings, declared.needs)
    enough = len(first.data) >= declared.needs and not first.as_sent
    return declared.type_of(first.data) if enough or len(body) >= ENOUGH else None


def is_readable_cut(kind: str) -> bool:
    """Return whether the beginning of a document is of use without its end."""
    return is_textual(kind) or kind in (PACKED_XML, *GZIP)
