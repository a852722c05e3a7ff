"""Writes the page about outcomes and hazards from the tables in `gossamer.events`.

python -m schemas.outcomes [FILE]      (run by scripts/schemas)
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gossamer.events.gone import GONE_RULES, GoneRule
from gossamer.events.hazards import HAZARDS, Counting
from gossamer.events.outcomes import OUTCOMES, Meaning, Wait

FILE = Path(__file__).resolve().parents[1] / "docs" / "outcomes-and-hazards.md"
HEAD = """\
# Outcomes and hazards

<!-- Written by scripts/schemas, from the tables in gossamer/events. -->

## Outcomes

Every visit ends with one of these outcomes. They are the values of the label `outcome` of
`gossamer_outcomes_total`, and the report and `gossamer why` show them.

"""
HOST = """
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
COUNTED = """
## Hazards

Hazards are properties of the Web that harm crawlers. Each is counted under a fixed name: in the
label `hazard` of `gossamer_hazards_total`, in the report, and in the `hazards` of events and of
WARC records.

Each occurrence is counted once, by the service in the table, although its name travels on with the
page. The metric counts from the start of a process, the report from the start of the crawl. If an
outcome arrives after its host was given to another order, only the metric counts it.

"""
DOCUMENTS = """
## Documents that are gone

A document that is gone from `pages` leaves a tombstone with the header `reason`. It counts as gone
after the number of consecutive visits in the table that do not find it, the last of them for this
reason. Errors, and hosts that are down, do not count. The verdict of the last visit, in the header
`verdict` and in the page's history, is `redirect` if the URL redirects (to `redirects_to`),
otherwise `gone`.

"""


def main(file: Path) -> None:
    """Write the page into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the whole page."""
    outcomes = _table(
        ("outcome", "meaning", "URL", "host", "page", "strains", "ends order"),
        ((name, *_meaning(row)) for name, row in OUTCOMES.items()),
    )
    waits = _table(
        ("outcome", "backoff of the host"),
        ((name, row.wait.value) for name, row in OUTCOMES.items() if row.wait is not Wait.NONE),
    )
    hazards = _table(
        ("hazard", "meaning", "counted by", "settings"),
        ((name, *_counting(row)) for name, row in HAZARDS.items()),
    )
    gone = _table(
        ("reason", "meaning", "consecutive visits", "minimum time"),
        ((name, *_patience(row)) for name, row in GONE_RULES.items()),
    )
    return HEAD + "".join((outcomes, HOST, waits, COUNTED, hazards, DOCUMENTS, gone))


def _meaning(row: Meaning) -> tuple[str, ...]:
    page = row.absence or "document"
    return row.text, row.fate.value, row.health, page, _mark(row.strains), _mark(row.ends_order)


def _mark(holds: bool) -> str:
    return "yes" if holds else ""


def _patience(row: GoneRule) -> tuple[str, ...]:
    return row.text, str(row.visits), f"`{row.setting}`" if row.setting else ""


def _counting(row: Counting) -> tuple[str, ...]:
    return row.text, ", ".join(row.services), ", ".join(f"`{name}`" for name in row.settings)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(_lines(head, rows))


def _lines(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield _line(head)
    yield _line(("---",) * len(head))
    for name, *cells in rows:
        yield _line((f"`{name}`", *cells))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
