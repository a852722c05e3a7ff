"""Writes the table of the fetcher's limiters into docs/architecture.md.

python -m schemas.limiters [FILE]      (run by scripts/schemas)
"""

import sys
from pathlib import Path
from typing import Any

from gossamer.settings import FetcherSettings
from schemas.markdown import insert_lines, table
from services.fetcher.http.limiters import Limiter, lookup_limiters, request_limiters
from services.fetcher.rate_limits import AddressLimits, LocalSlots

FILE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"


def main(file: Path) -> None:
    """Replace the table in *file*."""
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """Return *text* with an up-to-date table."""
    settings = FetcherSettings()
    requests = request_limiters(settings, AddressLimits(1, 0.0, 0.0), LocalSlots(1), lambda: 0.0)
    lookups = lookup_limiters(settings.lookups_limit)
    limiters: tuple[Limiter[Any], ...] = (*requests, *lookups)
    rows = ((one.stage.value, one.name, one.text) for one in limiters)
    return insert_lines(text, "limiters", table(("when", "limiter", "guarantee"), rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
