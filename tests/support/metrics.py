"""The metrics of the process of the tests, which all its tests share."""

from collections.abc import Callable

from prometheus_client import REGISTRY


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def growth(name: str, **labels: str) -> Callable[[], float]:
    """Return a function that returns how much a metric has grown since now."""
    before = metric(name, **labels)
    return lambda: metric(name, **labels) - before


def hazards(hazard: str) -> Callable[[], float]:
    """Return a function that returns how often *hazard* was counted since now."""
    return growth("gossamer_hazards_total", hazard=hazard)
