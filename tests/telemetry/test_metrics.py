"""The register of metrics, and the values that Prometheus reads."""

import re
import threading
from pathlib import Path

import pytest
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gossamer import clock
from gossamer.schemas.reference import METRICS
from gossamer.telemetry import (
    count,
    observe,
    set_age_gauge,
    set_age_gauges,
    set_gauge,
    set_gauges,
    show_counters,
)
from gossamer.telemetry.metrics import COUNTERS, GAUGES, HISTOGRAMS
from gossamer.telemetry.timing import observe_duration

UNITS = ("_seconds", "_bytes", "_ratio")


def metric_value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def test_count_and_gauge_are_shown() -> None:
    before = metric_value("gossamer_hazards_total", hazard="redirect") or 0.0
    count("gossamer_hazards_total", hazard="redirect")
    count("gossamer_hazards_total", 2, hazard="redirect")
    assert metric_value("gossamer_hazards_total", hazard="redirect") == before + 3
    set_gauge("gossamer_ready", 1)
    assert metric_value("gossamer_ready") == 1


def test_unregistered_metric_raises_key_error() -> None:
    for name in ("gossamer_no_such_total", "gossamer_hosts_loaded", "gossamer_step_seconds"):
        with pytest.raises(KeyError):
            count(name)
    for name in ("gossamer_no_such", "gossamer_orders_total", "gossamer_step_seconds"):
        with pytest.raises(KeyError):
            set_gauge(name, 1)
        with pytest.raises(KeyError):
            set_age_gauge(name, 1.0)
    for name in ("gossamer_no_such_seconds", "gossamer_orders_total", "gossamer_ready"):
        with pytest.raises(KeyError):
            observe(name, 1)
        with pytest.raises(KeyError), observe_duration(name):
            pass


def test_unregistered_label_raises_value_error() -> None:
    with pytest.raises(ValueError, match="label"):
        count("gossamer_hazards_total")
    with pytest.raises(ValueError, match="label"):
        count("gossamer_hazards_total", colour="red")


def test_duration_is_observed_even_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(clock, "steady", lambda: now[0])
    name = "gossamer_step_seconds"
    for error in (None, OSError("broken")):
        try:
            with observe_duration(name, service="timed"):
                now[0] += 0.02
                if error:
                    raise error
        except OSError:
            assert error
    assert metric_value(f"{name}_count", service="timed") == 2
    assert metric_value(f"{name}_sum", service="timed") == pytest.approx(0.04)
    assert metric_value(f"{name}_bucket", service="timed", le="0.01") == 0
    assert metric_value(f"{name}_bucket", service="timed", le="0.025") == 2


def test_age_is_computed_at_each_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    name = "gossamer_oldest_order_seconds"
    set_age_gauge(name, 990.0)
    assert metric_value(name) == 10.0
    now[0] += 5
    assert metric_value(name) == 15.0
    now[0] -= 30
    assert metric_value(name) == 0.0, "the age stays at 0 if the clock is set back"
    set_age_gauge(name, None)
    assert metric_value(name) == 0.0


def test_missing_label_values_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "gossamer_revisit_policy"
    set_gauges(name, {("none", "news"): 3, ("optimal", "blogs"): 1})
    set_gauges(name, {("none", "news"): 2})
    assert metric_value(name, policy="none", crawl="news") == 2
    assert metric_value(name, policy="optimal", crawl="blogs") is None
    monkeypatch.setattr(clock, "now", lambda: 1000.0)
    name = "gossamer_revisits_late_seconds"
    set_age_gauges(name, {"news": 990.0, "blogs": 900.0})
    set_age_gauges(name, {"news": 980.0, "old": None})
    assert [metric_value(name, crawl=crawl) for crawl in ("news", "blogs", "old")] == [20, None, 0]
    set_age_gauges(name, {})


def test_threads_share_a_metric_that_they_create_concurrently() -> None:
    start = threading.Barrier(8)

    def use() -> None:
        start.wait()
        observe("gossamer_dns_seconds", 0.5)
        set_gauge("gossamer_fetches_open", 1)

    before = metric_value("gossamer_dns_seconds_count") or 0
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metric_value("gossamer_dns_seconds_count") == before + 8


def test_every_metric_has_help_text_and_valid_name() -> None:
    everything = {**COUNTERS, **GAUGES, **HISTOGRAMS}
    assert len(everything) == len(COUNTERS) + len(GAUGES) + len(HISTOGRAMS)
    for name, metric in everything.items():
        text = metric.help
        assert name.startswith("gossamer_") and len(text.split()) > 2 and text.endswith("."), name
    assert all(name.endswith("_total") for name in COUNTERS)
    assert not any(name.endswith("_total") for name in GAUGES)
    assert all(name.endswith(UNITS) for name in HISTOGRAMS)


def test_only_histograms_have_buckets_in_ascending_order() -> None:
    for name, metric in HISTOGRAMS.items():
        assert metric.buckets == tuple(sorted(set(metric.buckets))), name
        assert 10 <= len(metric.buckets) <= 16, name
    assert not any(metric.buckets for metric in (*COUNTERS.values(), *GAUGES.values()))


def test_prometheus_parses_the_shown_metrics() -> None:
    show_counters()
    families = text_string_to_metric_families(generate_latest().decode())
    found = {family.name: family.documentation for family in families}
    for name, metric in COUNTERS.items():
        assert found[name.removesuffix("_total")] == metric.help


def test_each_metric_is_documented() -> None:
    page = METRICS.read_text(encoding="utf-8")
    assert all(f"`{name}" in page for name in (*COUNTERS, *GAUGES, *HISTOGRAMS))


def test_every_metric_is_used_and_every_used_metric_is_registered() -> None:
    """An unregistered name would raise KeyError during a crawl."""
    root = Path(__file__).parents[2]
    sources = [
        path.read_text(encoding="utf-8")
        for folder in ("gossamer", "services")
        for path in (root / folder).rglob("*.py")
        if path.name != "metrics.py" or path.parent.name != "telemetry"
        if "console" not in path.parts
    ]
    used = {name for text in sources for name in re.findall(r'"(gossamer_[a-z_]+)"', text)}
    assert used == {*COUNTERS, *GAUGES, *HISTOGRAMS}
