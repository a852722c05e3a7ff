"""Writes docs/metrics.md, every metric with its sentence, from the register.

python -m schemas.metrics [FOLDER]      (what scripts/schemas runs)
"""

import sys
from pathlib import Path

from gossamer.telemetry.metrics import COUNTERS, GAUGES, HISTOGRAMS, About

FILE = Path(__file__).parents[1] / "docs" / "metrics.md"

HEAD = """# Metrics

Every process of a fleet answers `GET /metrics`. A crawl embedded in one folder does so on 127.0.0.1
with `gossamer crawl --metrics-port N`, for all its processes: there every metric has one label
more, `process`. A gauge or a histogram is there once its process has a value for it. How to read
them: [operations](operations/reference.md#reading-the-metrics).

This page is written by `scripts/schemas` from `gossamer/telemetry/metrics.py`.
"""
KINDS = (
    ("Counters", "They only grow; a restart begins at 0 again.", COUNTERS),
    ("Gauges", "How it is now.", GAUGES),
    (
        "Histograms",
        "Distributions, in the unit of the name: `_count`, `_sum`, `_bucket`.",
        HISTOGRAMS,
    ),
)


def main(folder: Path) -> None:
    """Write the page into *folder*."""
    (folder / FILE.name).write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(_section(*kind) for kind in KINDS)])


def _section(title: str, what: str, metrics: dict[str, About]) -> str:
    rows = [
        f"| `{_with_labels(name, about)}` | {_cell(about)} |" for name, about in metrics.items()
    ]
    return "\n".join([f"## {title}", "", what, "", "| metric | means |", "|---|---|", *rows, ""])


def _with_labels(name: str, about: About) -> str:
    return f"{name}{{{', '.join(about.labels)}}}" if about.labels else name


def _cell(about: About) -> str:
    if not about.buckets:
        return about.sentence
    return f"{about.sentence} Buckets from {about.buckets[0]:g} to {about.buckets[-1]:g}."


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE.parent)
