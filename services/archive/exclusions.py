"""Decides which responses are archived, by the settings and the definition of their crawl.

Four kinds of responses are not archived, unless a setting archives them: pages that ask for it in a
header or a meta element, pages whose use for a purpose of the crawl is excluded, irrelevant pages,
and walls. Meta elements are searched at the beginning of the markup, without the parser, because
the parser and the archive work on a page at the same time.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import CrawlDefined, PageFetched, Purpose
from gossamer.relevance import Facts, parse_relevance
from gossamer.settings import ArchiveSettings
from gossamer.telemetry import count
from gossamer.web.coding import decode
from gossamer.web.directives import find_in_markup, find_signals, meta_names, parse_directives
from gossamer.web.http import all_values, joined_values
from gossamer.web.scope import Found
from gossamer.web.sniffing import whole_type
from gossamer.web.usage import (
    Action,
    UsagePolicy,
    is_reserved,
    judge,
    limit_statements,
    names_of_meta,
    policy_of,
    read_meta,
)

MAX_HEAD_BYTES = 64 << 10
"""Bytes of the decoded body that are searched for meta elements."""


class Exclusions:
    """The rules by which the crawler *product* keeps responses out of the archive."""

    def __init__(self, settings: ArchiveSettings, product: str) -> None:
        self._settings, self._product = settings, product
        self._not_archived = frozenset[str](settings.not_archived)
        self._wanted = frozenset[str](settings.records)
        self._rules = dict[str, _Rules]()
        """Crawl → its rules, if it is defined."""

    def define(self, crawl: CrawlDefined) -> None:
        """Apply the rules of *crawl* to its pages."""
        self._rules[crawl.crawl] = _Rules(crawl.relevant, policy_of(crawl))

    def admit(self, page: PageFetched) -> PageFetched | None:
        """Return *page* with the statements of its meta elements about its use, or None if it is
        not archived."""
        if self._is_irrelevant(page) or not is_wanted(page, self._wanted):
            return None
        page, robots_meta = add_meta_statements(page, self._product)
        is_hidden_wall = page.wall is not None and not self._settings.walls
        if (
            is_hidden_wall
            or self._is_excluded(page)
            or is_forbidden(page, robots_meta, self._not_archived, self._product)
        ):
            count("gossamer_not_archived_total", crawl=page.crawl)
            return None
        return page

    def _is_irrelevant(self, page: PageFetched) -> bool:
        """Return whether *page* is irrelevant to the crawl, by its URL and content type."""
        has_content = page.status == 304 or 200 <= page.status < 300
        relevant = self._rules_of(page).relevant
        if not relevant or not has_content or page.visit.purpose is not Purpose.PAGE:
            return False
        kind = None if page.status == 304 else whole_type(page.headers, page.body)
        facts = Facts(Found(page.visit.url, page.visit.depth), kind)
        return parse_relevance(relevant).evaluate(facts).inside is False

    def _is_excluded(self, page: PageFetched) -> bool:
        """Return whether statements about the use of *page* exclude it from the crawl."""
        usage = self._rules_of(page).usage
        if usage is None or not page.visit.purpose.is_collected:
            return False
        return usage.decide(judge(page.usage_statements)).action is not Action.FETCH

    def _rules_of(self, page: PageFetched) -> "_Rules":
        return self._rules.get(page.crawl, _NO_RULES)


class _Rules(NamedTuple):
    relevant: str = ""
    usage: UsagePolicy | None = None


_NO_RULES = _Rules()
"""Before a crawl is defined, as in an import into an empty folder, nothing is excluded."""


def is_wanted(page: PageFetched, wanted: frozenset[str]) -> bool:
    """Return whether the response *page* belongs to the *wanted* records (`archive.records`)."""
    if page.visit.purpose in (Purpose.ROBOTS, Purpose.USAGE):
        return "robots" in wanted
    if page.status >= 400:
        return "errors" in wanted
    return not 300 <= page.status < 400 or page.status == 304 or "redirects" in wanted


def add_meta_statements(page: PageFetched, product: str) -> tuple[PageFetched, list[str]]:
    """Return *page* with the statements of its meta elements about its use, and the contents of its
    robots meta elements for *product*."""
    if page.visit.purpose is not Purpose.PAGE or not 200 <= page.status < 300:
        return page, []
    codings = joined_values(page.headers, "content-encoding")
    head = decode(page.body, codings, MAX_HEAD_BYTES).data
    if b"<meta" not in head.lower():
        return page, []
    found = list(find_in_markup(head.decode("latin-1"), names_of_meta(product)))
    statements = (*page.usage_statements, *read_meta(found, product))
    page = replace(page, usage_statements=limit_statements(statements))
    return page, [content for name, content in found if name in meta_names(product)]


def is_forbidden(
    page: PageFetched, robots_meta: Iterable[str], forbidding: frozenset[str], product: str
) -> bool:
    """Return whether *page* has one of the *forbidding* signals for the crawler *product*, in its
    headers, its statements about usage, or the contents of robots meta elements."""
    values = (*all_values(page.headers, "x-robots-tag"), *robots_meta)
    found = parse_directives(values, product)
    signals = find_signals(found, is_reserved(page.usage_statements), False)
    return not forbidding.isdisjoint(signals)
