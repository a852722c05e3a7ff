"""The verdict on a use of a page, from the meanings of all statements about the page.

If any statement disallows the use, it is disallowed. Otherwise, if any statement allows it, it is
allowed. Otherwise it is unknown (draft-ietf-aipref-vocab-06, 5.1).
"""

from collections.abc import Iterable

Says = dict[str, bool]
"""Category of use → whether a statement allows it. A category is missing if it is not stated."""

CATEGORIES = ("search", "archive", "train-ai", "ai-input")
ALLOWED, DISALLOWED, UNKNOWN = "allowed", "disallowed", "unknown"


def verdicts_of(statements: Iterable[Says]) -> dict[str, str]:
    """Return category → verdict."""
    found = list(statements)
    return {category: _verdict(category, found) for category in CATEGORIES}


def _verdict(category: str, statements: list[Says]) -> str:
    stated = {says[category] for says in statements if category in says}
    if False in stated:
        return DISALLOWED
    return ALLOWED if True in stated else UNKNOWN
