"""Writes the documentation of outcomes and hazards from the tables in `gossamer.events`.

python -m schemas.outcomes [FILE]      (what scripts/schemas runs)
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gossamer.events.gone import PATIENCE, Patience
from gossamer.events.hazards import HAZARDS, Counting
from gossamer.events.outcomes import OUTCOMES, Meaning, Wait

FILE = Path(__file__).resolve().parents[1] / "docs" / "outcomes-and-hazards.md"
HEAD = """\
# Outcomes and hazards

<!-- Written by scripts/schemas, from the tables in gossamer/events. -->

## Outcomes

Every visit ends in one of these. The label `outcome` of `gossamer_outcomes_total`, the report and
`gossamer why` name them.

"""
HOST = """
The host, by what an outcome shows of it: *well* ends all its trouble if a request was made,
*unclear* neither ends nor begins any, all others are kinds of trouble: *name*, *connection*,
*silence*, *busy*, and *robots* where its robots.txt cannot be had. Each kind is counted by itself.
*The page*: the reason why a visit found no document decides when the page is visited again.
*Strains*: the server seems strained, and the courtesy delay of its host is doubled.
*The order ends*: the fetcher gives the host back, and its other URLs stay in the queue.

A URL that is tried again later is so in ten minutes, then after four times as long each time, at
most `frontier.retries` times. A URL that stays first in its queue is given up when its host has had
the same trouble more than `frontier.retries` times in a row.

How long a host is left alone: after an outcome whose URL stays in its queue, at once; after one
whose URL is tried again later, only when it is the host's trouble and has come more than
`frontier.retries` times in a row, or when it is its robots.txt. What the host does not ask for is
up to a quarter longer, by the host's name, so that hosts that failed together do not all come back
at once.

"""
COUNTED = """
## Hazards

What the Web does to crawlers, by the name under which it is counted: in the label `hazard` of
`gossamer_hazards_total`, in the report, in the `hazards` of events and of WARC records.

Each occurrence is counted once, by the service named here, though its name travels on with the
page. The metric counts since a process began, the report since the crawl began. An outcome that
came after its host was given to another order is in the metric alone.

"""
DOCUMENTS = """
## Documents that are gone

A document that is gone from `pages` leaves a tombstone, whose header `reason` says why. It is gone
after this many visits in a row that do not find it, the last of them for this reason. Errors and
hosts that are down say nothing about a document. The verdict of that last visit, in the header
`verdict` and in the page's history, is `redirect` where the URL redirects (`redirects_to` says
where to), otherwise `gone`.

"""


def main(file: Path) -> None:
    """Write the page into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the whole page."""
    outcomes = _table(
        ("outcome", "", "then", "the host", "the page", "strains", "the order ends"),
        ((name, *_meaning(row)) for name, row in OUTCOMES.items()),
    )
    waits = _table(
        ("outcome", "the host is left alone"),
        ((name, row.wait.value) for name, row in OUTCOMES.items() if row.wait is not Wait.NONE),
    )
    hazards = _table(
        ("hazard", "", "counted by", "settings"),
        ((name, *_counting(row)) for name, row in HAZARDS.items()),
    )
    gone = _table(
        ("reason", "", "visits in a row", "for as long as"),
        ((name, *_patience(row)) for name, row in PATIENCE.items()),
    )
    return HEAD + "".join((outcomes, HOST, waits, COUNTED, hazards, DOCUMENTS, gone))


def _meaning(row: Meaning) -> tuple[str, ...]:
    page = row.absence or "a document"
    return row.text, row.fate.value, row.health, page, _mark(row.strains), _mark(row.ends_order)


def _mark(holds: bool) -> str:
    return "yes" if holds else ""


def _patience(row: Patience) -> tuple[str, ...]:
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
