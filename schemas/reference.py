"""Reference tables of the documentation, from the registers in the code.

They list metrics, outcomes and hazards, limiters, URL steps, and the fields of the public events.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gossamer.events import Event, Page, PageArchived
from gossamer.events.hazards import HAZARDS, Counting
from gossamer.events.outcomes import OUTCOMES, Meaning, Wait
from gossamer.events.public import GONE_RULES, GoneRule
from gossamer.schemas.formats import Schema, schema_of
from gossamer.schemas.markdown import insert_lines, table
from gossamer.services.fetcher.http.limiters import Limiter, lookup_limiters, request_limiters
from gossamer.services.fetcher.rate_limits import AddressLimits, LocalSlots
from gossamer.settings import FetcherSettings
from gossamer.telemetry.metrics import COUNTERS, GAUGES, HISTOGRAMS, Metric
from gossamer.web.url import STEPS as EVERY_STEP
from gossamer.web.url_steps import HOST_STEPS
from gossamer.web.url_steps import STEPS as CRAWL_STEPS

DOCS = Path(__file__).resolve().parents[1] / "docs"
METRICS = DOCS / "metrics.md"
OUTCOMES_AND_HAZARDS = DOCS / "outcomes-and-hazards.md"
LIMITERS = DOCS / "architecture.md"
URL_STEPS = DOCS / "urls.md"
FIELDS = DOCS / "consuming.md"


def files() -> Iterator[tuple[Path, str]]:
    """Yield each generated file and its text."""
    yield METRICS, metrics_page()
    yield OUTCOMES_AND_HAZARDS, outcomes_page()
    yield LIMITERS, with_limiters(LIMITERS.read_text(encoding="utf-8"))
    yield URL_STEPS, with_url_steps(URL_STEPS.read_text(encoding="utf-8"))
    yield FIELDS, with_fields(FIELDS.read_text(encoding="utf-8"))


METRICS_HEAD = """# Metrics

Every process of a fleet serves `GET /metrics`. A crawl in a folder serves the metrics of all its
processes on 127.0.0.1 with `gossamer crawl --metrics-port N`. Its metrics have the additional label
`process`. A gauge or a histogram is missing until its process has a value for it.
[Operations](operations/reference.md#reading-the-metrics) explains how to read them.

`scripts/schemas` generates this page from `gossamer/telemetry/metrics.py`.
"""
METRIC_KINDS = (
    ("Counters", "Counters only grow. A restart of the process resets them to 0.", COUNTERS),
    ("Gauges", "Gauges show the current value.", GAUGES),
    (
        "Histograms",
        "Histograms show distributions, in the unit of their name, as `_count`, `_sum` and "
        "`_bucket`.",
        HISTOGRAMS,
    ),
)


def metrics_page() -> str:
    """Return the page of all metrics."""
    return "\n".join([METRICS_HEAD, *(_metrics_section(*kind) for kind in METRIC_KINDS)])


def _metrics_section(title: str, text: str, metrics: dict[str, Metric]) -> str:
    rows = ((_with_labels(name, metric), _metric_cell(metric)) for name, metric in metrics.items())
    return f"## {title}\n\n{text}\n\n{_named_table(('metric', 'meaning'), rows)}"


def _with_labels(name: str, metric: Metric) -> str:
    return f"{name}{{{', '.join(metric.labels)}}}" if metric.labels else name


def _metric_cell(metric: Metric) -> str:
    if not metric.buckets:
        return metric.help
    return f"{metric.help} Buckets from {metric.buckets[0]:g} to {metric.buckets[-1]:g}."


OUTCOMES_HEAD = """\
# Outcomes and hazards

<!-- Written by scripts/schemas, from the tables in gossamer/events. -->

## Outcomes

Every visit ends with one of these outcomes. They are the values of the label `outcome` of
`gossamer_outcomes_total`, and the report and `gossamer why` show them.

"""
OUTCOMES_TEXT = """
- *host*: the state of the host as the outcome shows it. *well* ends all failures of the host if a
  request was made. *unclear* neither ends nor starts a failure. The other states are kinds of
  failure, which are counted separately: *name*, *connection*, *tls*, *silence*, *busy*, and
  *robots* if robots.txt is unreachable.
- *page*: why the visit found no document. This decides when the page is visited again.
- *strains*: the server seems strained, and the courtesy delay of its host is doubled.
- *ends order*: the fetcher returns the host, and its other URLs stay in the queue.

A URL is retried after ten minutes, and the wait is four times as long before each further retry. It
is given up after `frontier.retries` retries. A URL that stays first in its queue is given up when
its host has failed in the same way more than `frontier.retries` times in a row.

The next table shows the backoff of the host. It starts at once after an outcome whose URL stays in
its queue. After an outcome whose URL is retried, it starts only if the host has failed in the same
way more than `frontier.retries` times in a row, or if the URL is its robots.txt. All waits except
Retry-After are extended by up to a quarter, depending on the host's name, so that hosts that failed
together are not visited again at the same moment.

"""
HAZARDS_HEAD = """
## Hazards

Hazards are properties of the Web that harm crawlers. Each is counted under a fixed name: in the
label `hazard` of `gossamer_hazards_total`, in the report, and in the `hazards` of events and of
WARC records.

Each occurrence is counted once, by the service in the table, although its name travels on with the
page. The metric counts from the start of a process, the report from the start of the crawl. If an
outcome arrives after its host was given to another order, only the metric counts it.

"""
GONE_HEAD = """
## Documents that are gone

A document that is gone from `pages` leaves a tombstone with the header `reason`. It counts as gone
after the number of consecutive visits in the table that do not find it, the last of them for this
reason. Errors, and hosts that are down, do not count. The verdict of the last visit, in the header
`verdict` and in the page's history, is `redirect` if the URL redirects (to `redirects_to`),
otherwise `gone`.

"""


def outcomes_page() -> str:
    """Return the page of outcomes, hazards, and reasons for tombstones."""
    outcomes = _named_table(
        ("outcome", "meaning", "URL", "host", "page", "strains", "ends order"),
        ((name, *_meaning(row)) for name, row in OUTCOMES.items()),
    )
    waits = _named_table(
        ("outcome", "backoff of the host"),
        ((name, row.wait.value) for name, row in OUTCOMES.items() if row.wait is not Wait.NONE),
    )
    hazards = _named_table(
        ("hazard", "meaning", "counted by", "settings"),
        ((name, *_counting(row)) for name, row in HAZARDS.items()),
    )
    gone = _named_table(
        ("reason", "meaning", "consecutive visits", "minimum time"),
        ((name, *_patience(row)) for name, row in GONE_RULES.items()),
    )
    return OUTCOMES_HEAD + "".join(
        (outcomes, OUTCOMES_TEXT, waits, HAZARDS_HEAD, hazards, GONE_HEAD, gone)
    )


def _meaning(row: Meaning) -> tuple[str, ...]:
    page = row.absence or "document"
    return row.text, row.fate.value, row.health, page, _mark(row.strains), _mark(row.ends_order)


def _mark(holds: bool) -> str:
    return "yes" if holds else ""


def _patience(row: GoneRule) -> tuple[str, ...]:
    return row.text, str(row.visits), f"`{row.setting}`" if row.setting else ""


def _counting(row: Counting) -> tuple[str, ...]:
    return row.text, ", ".join(row.services), ", ".join(f"`{name}`" for name in row.settings)


def _named_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table whose first column is in code font."""
    lines = table(head, ((f"`{name}`", *cells) for name, *cells in rows))
    return "".join(f"{line}\n" for line in lines)


def with_limiters(text: str) -> str:
    """Return *text* with an up-to-date table of the fetcher's limiters."""
    settings = FetcherSettings()
    requests = request_limiters(settings, AddressLimits(1, 0.0, 0.0), LocalSlots(1), lambda: 0.0)
    lookups = lookup_limiters(settings.lookups_limit)
    limiters: tuple[Limiter[Any], ...] = (*requests, *lookups)
    rows = ((one.stage.value, one.name, one.text) for one in limiters)
    return insert_lines(text, "limiters", table(("when", "limiter", "guarantee"), rows))


STEP_COLUMNS = ("step", "meaning", "source", "where", "switch")
STANDARD = (
    "standard",
    "parses and serialises by the WHATWG URL standard: case of scheme and host, Punycode, default "
    "port, `.` and `..`, an empty path, white space, backslashes",
    "URL standard; RFC 3986, 6.2",
)
EVERYWHERE, PROVEN = "always", "at a host"


def with_url_steps(text: str) -> str:
    """Return *text* with an up-to-date table of the URL steps."""
    return insert_lines(text, "steps", table(STEP_COLUMNS, _step_rows()))


def _step_rows() -> Iterator[tuple[str, ...]]:
    yield (f"`{STANDARD[0]}`", *STANDARD[1:], EVERYWHERE, "none")
    for name, step in EVERY_STEP.items():
        yield (f"`{name}`", step.text, step.source, EVERYWHERE, "none")
    for name, step in CRAWL_STEPS.items():
        yield (f"`{name}`", step.text, step.source, "in the crawl", _switch(name))
    for name, (text, source) in HOST_STEPS.items():
        yield (f"`{name}`", text, source, PROVEN, _switch(name))


def _switch(name: str) -> str:
    return f"`{name}` in `crawl.url_steps`"


FIELD_COLUMNS = ("field", "type", "meaning")


def with_fields(text: str) -> str:
    """Return *text* with up-to-date tables of the fields of public events."""
    for event in (Page, PageArchived):
        tag = event.__struct_config__.tag
        text = insert_lines(text, f"fields of {tag}", table(FIELD_COLUMNS, _field_rows(event)))
    return text


def _field_rows(event: type[Event]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each field of *event*, and then for the fields of its parts."""
    parts = schema_of(event)["$defs"]
    for name in (event.__name__, *(name for name in parts if name != event.__name__)):
        for field, about in parts[name].get("properties", {}).items():
            if field != "event":
                owner = "" if name == event.__name__ else f"{name}."
                yield f"`{owner}{field}`", _field_type(about), about.get("description", "")


def _field_type(about: Schema) -> str:
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "anyOf" in about:
        return " or ".join(_field_type(one) for one in about["anyOf"])
    if about["type"] == "array":
        return f"list of {_field_type(about['items'])}"
    if about["type"] == "object":
        values = about.get("additionalProperties", {"type": "string"})
        kind = _field_type(values) if "$ref" in values else f"{values['type']}s"
        return f"object of {kind}"
    return " ".join(filter(None, (about["type"], about.get("format", ""))))
