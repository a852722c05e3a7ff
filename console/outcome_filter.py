"""`--outcome`: chooses URLs by their last outcome, as a status code or as a name."""

import argparse
import re
from collections.abc import Container, Iterator
from typing import NamedTuple

from console.open_crawl import OpenCrawl
from gossamer.events import Outcome
from services.frontier.rows import UrlRow

_status = re.compile(r"[1-5]\d\d")
_status_class = re.compile(r"([1-5])xx")
NAMES = ", ".join(str(outcome).replace("_", "-") for outcome in Outcome if outcome != "other")


class OutcomeFilter(NamedTuple):
    """A status code, a class of status codes, or the name of an outcome."""

    text: str
    """As a person typed it."""
    outcome: Outcome | None = None
    status: int | None = None
    status_class: int | None = None

    def matches(self, row: UrlRow) -> bool:
        """Return whether the last outcome of *row* is the chosen one."""
        if self.status is not None:
            return row.status == self.status
        if self.status_class is not None:
            return row.status // 100 == self.status_class
        return row.outcome == self.outcome


def parse_outcome(text: str) -> OutcomeFilter:
    """Read a status code (`404`), a class (`5xx`), or the name of an outcome (`host-down`)."""
    typed = text.strip().lower()
    if _status.fullmatch(typed):
        return OutcomeFilter(typed, status=int(typed))
    if found := _status_class.fullmatch(typed):
        return OutcomeFilter(typed, status_class=int(found[1]))
    name = typed.replace("-", "_")
    if name in set(Outcome) and name != Outcome.OTHER:
        return OutcomeFilter(name.replace("_", "-"), outcome=Outcome(name))
    raise argparse.ArgumentTypeError(
        f"{text!r} is not an outcome: give a status code (404, 429, 5xx) or one of {NAMES}"
    )


def matching_urls(
    crawl: OpenCrawl, chosen: OutcomeFilter | None, among: Container[str], before: float
) -> Iterator[UrlRow]:
    """Yield the rows of *crawl* that *chosen* matches (None: any), whose outcome is *among* these,
    and that are not newer than *before*. The whole table of URLs is read."""
    for row in crawl.store().table(UrlRow).everything():
        is_candidate = row.crawl == crawl.id and row.outcome in among and row.at <= before
        if is_candidate and (chosen is None or chosen.matches(row)):
            yield row
