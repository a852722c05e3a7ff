"""Crawls of honest sites that look like traps, over sockets: every page is requested.

`tests/honest_tests` crawls all kinds in virtual time, by day.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.honest.crawl import crawl_honest
from tests.support.once import once

SMALL = 60
"""About the pages of each kind."""
KINDS = ("statutes", "jobs", "glossary", "archive", "studios", "branches")
"""Common texts, few words, long lists, equal pages at different hosts."""


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_small_honest_site_is_requested_completely(kind: str, shared_folder: Path) -> None:
    def crawl() -> dict[str, Any]:
        harvests = crawl_honest(KINDS, SMALL).harvests
        return {name: [it.lost, it.reasons] for name, it in harvests.items()}

    lost, reasons = once(shared_folder / "honest.json", crawl)[kind]
    assert not lost, reasons
