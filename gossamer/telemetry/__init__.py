"""Logs and metrics: what a process says of itself to people and to Prometheus.

`metrics` is the register of every metric, and how a number gets into it; `timing` measures how long
something takes, and is for shells and the runtime only, since logic reads no clock; `logs` sends
lines to standard error. `docs/metrics.md` is written from the register.
"""

from gossamer.telemetry.logs import configure_logs
from gossamer.telemetry.metrics import count, gauge, gauge_age, gauges, observe, show_counters

__all__ = ["configure_logs", "count", "gauge", "gauge_age", "gauges", "observe", "show_counters"]
