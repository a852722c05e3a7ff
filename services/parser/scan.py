"""Cuts a document off where parsing on would take quadratic time.

No page made for people is nested so deep, or has so many attributes in a tag, that lexbor would
take a second for its tree; documents made to hurt do. Most pages have so few tags that only their
attributes could: there, all but the unusual are passed over with a glance. It is an estimate, and
what slips through meets the time limit.
"""

from collections.abc import Iterable

from services.parser.effort import Effort
from services.parser.tokens import Tag, tags

SECONDS = 1.0
"""That lexbor may take for a document by our estimate; real pages take less than a millisecond."""
FEW_TAGS, FEW_UNUSUAL = 4000, 200
"""However these are put together, they take 0.1 s but for their attributes."""


def sane(text: str) -> str:
    """Return *text* up to where it becomes absurd; nearly always that is all of it."""
    effort = Effort()
    for tag in _which_cost(text):
        effort.add(tag)
        if effort.seconds > SECONDS:
            return text[: tag.start]
    return text


def _which_cost(text: str) -> Iterable[Tag]:
    if text.count("<") <= FEW_TAGS:
        unusual = [*tags(text, ordinary=False)]
        if len(unusual) <= FEW_UNUSUAL:
            return unusual
    return tags(text)
