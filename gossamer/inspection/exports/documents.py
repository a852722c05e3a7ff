"""The documents that an export selects: by an expression, and by what the sites permit.

A document that is not selected is left out and counted. After a cursor (`--since`) it is reported
as gone, so that readers remove an earlier version. Whether an earlier export had one is not stored:
a repeated removal changes nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from gossamer.errors import Newer, Poison
from gossamer.events import Page, PageParsed, Tombstone, Verdict
from gossamer.events.outcomes import Outcome
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.exports.columns import GONE, STATE, Row, row_of
from gossamer.log import Record
from gossamer.log.codec import decode, tombstone
from gossamer.relevance import RULES, Facts
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.scope import Expression, Found, Holds, parse_expression, require_texts
from gossamer.web.url import fingerprint, host_key, site_of

USAGE, UNSELECTED = "usage", "unselected"
"""Why a document is left out: a statement of its site, or the expression."""
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class ExportFacts(Facts):
    """The facts about a document or a URL that an expression may use."""

    verdict: str | None = None
    find_outcome: Callable[[], str | None] = lambda: None
    """Returns the outcome of the last visit; None if it is not known."""


def _verdict(*names: str) -> Holds[ExportFacts]:
    wanted = _of(names, Verdict)
    return lambda facts: None if facts.verdict is None else facts.verdict in wanted


def _outcome(*names: str) -> Holds[ExportFacts]:
    wanted = _of(names, Outcome)

    def holds(facts: ExportFacts) -> bool | None:
        found = facts.find_outcome()
        return None if found is None else found in wanted

    return holds


def _of(names: tuple[str, ...], known: type[Verdict] | type[Outcome]) -> frozenset[str]:
    values = [one.value for one in known]
    if wrong := [name for name in require_texts(names) if name not in values]:
        raise ValueError(f"{wrong[0]!r} is not one of {', '.join(values)}")
    return frozenset(names)


Rules = dict[str, Callable[..., Holds[ExportFacts]]]


def _without(rules: Rules, *names: str) -> Rules:
    return {name: rule for name, rule in rules.items() if name not in names}


DOCUMENT_RULES = _without({**RULES, "outcome": _outcome, "verdict": _verdict}, "classifier")
"""The rules that documents can be tested by."""
URL_RULES = _without(DOCUMENT_RULES, "type", "language")
"""The rules that URLs without a document can be tested by."""
VERSION_RULES = _without(DOCUMENT_RULES, "depth", "outcome", "verdict")
"""The rules that archived versions can be tested by."""


def parse_where(text: str, rules: Rules) -> Expression[ExportFacts] | None:
    """Parse the expression of `--where`; None without one. Raise BadSettings if it is invalid."""
    return parse_expression(text, rules, "--where") if text else None


class Document(NamedTuple):
    """A document, or a document that is gone, as its row begins."""

    url: str
    trace: str
    state: str = ""
    """`new`, `changed` or `gone` since the cursor; "" without a cursor."""
    gone: str = ""
    """Why the document is gone; "" if it is not."""
    page: Page | None = None
    """None if it is gone."""
    missing: Tombstone | None = None
    """The tombstone of a document that is gone, unless it is only left out."""

    def row(self) -> Row:
        """Return the values of its columns by name. Columns without a value are missing."""
        row: Row = {"url": self.url, "trace": self.trace or None}
        if self.page:
            row = row_of(self.page)
        elif self.missing:
            found = self.missing
            row |= {"crawl": found.crawl, "site": str(site_of(found.url))}
            row |= {"status": found.status or None, "verdict": str(found.verdict)}
        if self.state:
            row |= {STATE: self.state, GONE: self.gone or None}
        return row


@dataclass
class Selection:
    """Selects documents of *crawl*, and counts those that are left out."""

    crawl: OpenCrawl
    where: Expression[ExportFacts] | None = None
    purposes: tuple[str, ...] = ()
    """The uses that the site of a document must not disallow."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of documents by USAGE, UNSELECTED or UNREADABLE."""

    def select(
        self, records: Iterable[Record], is_since: bool, has_gone: bool
    ) -> Iterator[Document]:
        """Yield the selected documents of *records*.

        *is_since*: their state since a cursor is said; with *has_gone*, documents that are gone
        since then are yielded, too.
        """
        for record in records:
            if not record.value:
                found = tombstone(record)
                trace = found.trace or fingerprint(found.url)
                yield Document(found.url, trace, "gone", found.reason, missing=found)
                continue
            try:
                page = decode(record)
            except (Poison, Newer):
                self.left_out[UNREADABLE] += 1
                continue
            assert isinstance(page, Page)
            if reason := self.why_left_out(page):
                self.left_out[reason] += 1
                if has_gone:
                    yield Document(page.url, page.trace, "gone", reason)
                continue
            yield Document(page.url, page.trace, _state_of(page) if is_since else "", page=page)

    def why_left_out(self, page: Page) -> str:
        """Return why *page* is left out; "" if it is selected."""
        for purpose in self.purposes:
            judgement = page.usage.get(purpose)
            if judgement and judgement.allowed is False:
                return USAGE
        if self.where is None:
            return ""
        facts = ExportFacts(
            Found(page.url, page.depth),
            page.content_type,
            # Only the rule of classifiers, which is not among these, needs more than the contents.
            cast(PageParsed, page),
            verdict=page.verdict.value,
            find_outcome=lambda: self._find_outcome(page.url),
        )
        return "" if self.where.evaluate(facts).inside else UNSELECTED

    def _find_outcome(self, url: str) -> str | None:
        rows = self.crawl.store().table(UrlRow)
        row = rows.get((self.crawl.id, host_key(url)), url)
        return row.outcome if row else None


def _state_of(page: Page) -> str:
    """Return whether *page* is the first version of its document, or a later one."""
    return "new" if page.first_seen >= page.last_visited else "changed"
