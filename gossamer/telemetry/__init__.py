"""Logs and metrics of a process, for people and for Prometheus.

`metrics` is the register of all metrics and sets their values. `timing` measures durations, and
only shells and the runtime use it, since logic does not read clocks. `logs` writes lines to
standard error, and is not imported here: parser processes count, but write no log, and structlog is
a tenth of what they would load. `docs/metrics.md` is generated from the register.
"""

from gossamer.telemetry.metrics import (
    count,
    observe,
    set_age_gauge,
    set_age_gauges,
    set_gauge,
    set_gauges,
    show_counters,
)

__all__ = [
    "count",
    "observe",
    "set_age_gauge",
    "set_age_gauges",
    "set_gauge",
    "set_gauges",
    "show_counters",
]
