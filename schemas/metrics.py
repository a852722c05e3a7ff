"""Writes docs/metrics.md from the register of metrics.

python -m schemas.metrics [FOLDER]      (run by scripts/schemas)
"""

import sys
from pathlib import Path

from gossamer.telemetry.metrics import COUNTERS, GAUGES, HISTOGRAMS, Metric

FILE = Path(__file__).parents[1] / "docs" / "metrics.md"

HEAD = """# Metrics

Every process of a fleet serves `GET /metrics`. A crawl in a folder serves the metrics of all its
processes on 127.0.0.1 with `gossamer crawl --metrics-port N`. Its metrics have the additional label
`process`. A gauge or a histogram is missing until its process has a value for it.
[Operations](operations/reference.md#reading-the-metrics) explains how to read them.

`scripts/schemas` generates this page from `gossamer/telemetry/metrics.py`.
"""
KINDS = (
    ("Counters", "Counters only grow. A restart of the process resets them to 0.", COUNTERS),
    ("Gauges", "Gauges show the current value.", GAUGES),
    (
        "Histograms",
        "Histograms show distributions, in the unit of their name, as `_count`, `_sum` and "
        "`_bucket`.",
        HISTOGRAMS,
    ),
)


def main(folder: Path) -> None:
    """Write the page into *folder*."""
    (folder / FILE.name).write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(_section(*kind) for kind in KINDS)])


def _section(title: str, text: str, metrics: dict[str, Metric]) -> str:
    rows = [
        f"| `{_with_labels(name, metric)}` | {_cell(metric)} |" for name, metric in metrics.items()
    ]
    return "\n".join([f"## {title}", "", text, "", "| metric | meaning |", "|---|---|", *rows, ""])


def _with_labels(name: str, metric: Metric) -> str:
    return f"{name}{{{', '.join(metric.labels)}}}" if metric.labels else name


def _cell(metric: Metric) -> str:
    if not metric.buckets:
        return metric.help
    return f"{metric.help} Buckets from {metric.buckets[0]:g} to {metric.buckets[-1]:g}."


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE.parent)
