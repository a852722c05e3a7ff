"""Metrics have names that an operator can look up, and numbers that Prometheus can read."""

import re
import threading
from pathlib import Path

import pytest
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gossamer import clock
from gossamer.telemetry import count, gauge, gauge_age, gauges, observe, show_counters
from gossamer.telemetry.metrics import COUNTERS, GAUGES, HISTOGRAMS
from gossamer.telemetry.timing import timed
from schemas import metrics

UNITS = ("_seconds", "_bytes", "_ratio")


def shown(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def test_what_is_counted_is_there_to_be_read() -> None:
    before = shown("gossamer_hazards_total", hazard="redirect") or 0.0
    count("gossamer_hazards_total", hazard="redirect")
    count("gossamer_hazards_total", 2, hazard="redirect")
    assert shown("gossamer_hazards_total", hazard="redirect") == before + 3
    gauge("gossamer_hosts_loaded", 7)
    assert shown("gossamer_hosts_loaded") == 7


def test_what_is_not_registered_as_such_cannot_be_used() -> None:
    for name in ("gossamer_no_such_total", "gossamer_hosts_loaded", "gossamer_step_seconds"):
        with pytest.raises(KeyError):
            count(name)
    for name in ("gossamer_no_such", "gossamer_orders_total", "gossamer_step_seconds"):
        with pytest.raises(KeyError):
            gauge(name, 1)
        with pytest.raises(KeyError):
            gauge_age(name, 1.0)
    for name in ("gossamer_no_such_seconds", "gossamer_orders_total", "gossamer_ready"):
        with pytest.raises(KeyError):
            observe(name, 1)
        with pytest.raises(KeyError), timed(name):
            pass


def test_labels_are_those_registered() -> None:
    with pytest.raises(ValueError, match="label"):
        count("gossamer_hazards_total")
    with pytest.raises(ValueError, match="label"):
        count("gossamer_hazards_total", colour="red")


def test_time_is_measured_however_the_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(clock, "steady", lambda: now[0])
    name = "gossamer_step_seconds"
    for error in (None, OSError("broken")):
        try:
            with timed(name, service="timed"):
                now[0] += 0.02
                if error:
                    raise error
        except OSError:
            assert error
    assert shown(f"{name}_count", service="timed") == 2
    assert shown(f"{name}_sum", service="timed") == pytest.approx(0.04)
    assert shown(f"{name}_bucket", service="timed", le="0.01") == 0
    assert shown(f"{name}_bucket", service="timed", le="0.025") == 2


def test_an_age_grows_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    name = "gossamer_oldest_order_seconds"
    gauge_age(name, 990.0)
    assert shown(name) == 10.0
    now[0] += 5
    assert shown(name) == 15.0
    now[0] -= 30
    assert shown(name) == 0.0, "clocks are set back"
    gauge_age(name, None)
    assert shown(name) == 0.0


def test_what_is_not_named_any_more_disappears() -> None:
    name = "gossamer_consumer_lag"
    gauges(name, "topic", {"seeds": 3, "pages": 1})
    gauges(name, "topic", {"seeds": 2})
    assert shown(name, topic="seeds") == 2
    assert shown(name, topic="pages") is None


def test_threads_that_use_a_metric_first_at_once_share_it() -> None:
    start = threading.Barrier(8)

    def use() -> None:
        start.wait()
        observe("gossamer_dns_seconds", 0.5)
        gauge("gossamer_fetches_open", 1)

    before = shown("gossamer_dns_seconds_count") or 0
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shown("gossamer_dns_seconds_count") == before + 8


def test_every_metric_has_a_sentence_and_a_proper_name() -> None:
    everything = {**COUNTERS, **GAUGES, **HISTOGRAMS}
    assert len(everything) == len(COUNTERS) + len(GAUGES) + len(HISTOGRAMS)
    for name, about in everything.items():
        text = about.sentence
        assert name.startswith("gossamer_") and len(text.split()) > 2 and text.endswith("."), name
    assert all(name.endswith("_total") for name in COUNTERS)
    assert not any(name.endswith("_total") for name in GAUGES)
    assert all(name.endswith(UNITS) for name in HISTOGRAMS)


def test_buckets_grow_and_an_operator_finds_the_limits_among_them() -> None:
    for name, about in HISTOGRAMS.items():
        assert about.buckets == tuple(sorted(set(about.buckets))), name
        assert 10 <= len(about.buckets) <= 16, name
    assert not any(about.buckets for about in (*COUNTERS.values(), *GAUGES.values()))


def test_prometheus_reads_what_is_shown() -> None:
    show_counters()
    families = text_string_to_metric_families(generate_latest().decode())
    found = {family.name: family.documentation for family in families}
    for name, about in COUNTERS.items():
        assert found[name.removesuffix("_total")] == about.sentence


def test_the_documentation_is_that_of_the_register(tmp_path: Path) -> None:
    metrics.main(tmp_path)
    assert (tmp_path / "metrics.md").read_text() == metrics.FILE.read_text(), "run scripts/schemas"
    for name in (*COUNTERS, *GAUGES, *HISTOGRAMS):
        assert f"`{name}" in metrics.FILE.read_text()


def test_every_metric_is_measured_somewhere_and_every_name_is_registered() -> None:
    """What is counted under a name of no sentence would raise in the middle of a crawl."""
    root = Path(__file__).parents[2]
    sources = [
        path.read_text(encoding="utf-8")
        for folder in ("gossamer", "services", "standalone")
        for path in (root / folder).rglob("*.py")
        if path.name != "metrics.py" or path.parent.name != "telemetry"
    ]
    used = {name for text in sources for name in re.findall(r'"(gossamer_[a-z_]+)"', text)}
    assert used == {*COUNTERS, *GAUGES, *HISTOGRAMS}
