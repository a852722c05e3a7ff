"""Profiles: the settings that a kind of crawl needs, under one word.

They are below the file, the environment and the options: a profile never overrides a setting that
somebody has made.
"""

from typing import Any, NamedTuple

from gossamer.web.usage import Category

MIB = 1 << 20


class Profile(NamedTuple):
    """The settings of a kind of crawl."""

    text: str
    """What the crawl is for, as a phrase."""
    settings: dict[str, dict[str, Any]]
    """Section → field → value. Those of `crawl` are part of the definition of a new crawl."""


PROFILES: dict[str, Profile] = {
    "rag": Profile(
        "Markdown of pages that a model may use for its answers",
        {
            "crawl": {"purposes": (Category.SEARCH.value, Category.AI_INPUT.value)},
            "parser": {"markdown": True},
        },
    ),
    "archive": Profile(
        "an archive that can be replayed and searched",
        {
            "crawl": {"purposes": (Category.ARCHIVE.value,)},
            "fetcher": {"body_limit": 20 * MIB, "types": ("*/*",)},
            "parser": {"text": "main"},
            "archive": {"requisites": "all"},
        },
    ),
    "watch": Profile(
        "the seeds alone, visited again each hour",
        {"crawl": {"max_depth": 0, "revisit": "fixed:1h"}},
    ),
}
NO_PROFILE = "none"
"""The word that ends the use of a profile in a folder."""
