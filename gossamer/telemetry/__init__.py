"""Logs and metrics of a process, for people and for Prometheus.

`metrics` is the register of all metrics and sets their values. `timing` measures durations, and
only shells and the runtime use it, since logic does not read clocks. `logs` writes lines to
standard error. `docs/metrics.md` is generated from the register.
"""

from gossamer.telemetry.logs import LogFields, configure_logs, is_debug
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
    "LogFields",
    "configure_logs",
    "count",
    "is_debug",
    "observe",
    "set_age_gauge",
    "set_age_gauges",
    "set_gauge",
    "set_gauges",
    "show_counters",
]
