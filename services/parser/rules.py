"""Runs the functions of a crawl's rules file on a page that was read (`gossamer.rules`).

A function that fails costs the page this function only: its links are followed, it is kept, its
rows are missing. The failure is part of the result. A function that does not return ends its
process by an alarm of its own. The pool then has the page read again without it (`parts`).
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import Link, Listing, PageFetched, PageParsed, Purpose
from gossamer.rules import Page, Rules, load_rules
from gossamer.services.parser.html.cost import truncate_costly
from gossamer.services.parser.html.document import decode_html
from gossamer.services.parser.lenient_json import decode_json
from gossamer.services.parser.options import Options
from gossamer.services.parser.parts import RULE_PARTS, begin_document, read_part
from gossamer.services.parser.result import add_failures
from gossamer.web.coding import decode
from gossamer.web.http import joined_values
from gossamer.web.sniffing import HTML

LOADING = "rules"
"""The name under which a rules file fails that cannot be imported."""

_loaded: dict[str, Rules | str] = {}
"""Name of a rules file → its functions, or why it cannot be used."""


def load_all(names: Iterable[str]) -> None:
    """Import the rules files *names*, before the sandbox closes."""
    # It imports a module on first use, which nobody expects of a method.
    datetime.strptime("2026", "%Y")
    for name in names:
        try:
            _loaded[name] = load_rules(name)
        except BadSettings as error:
            _loaded[name] = str(error)


def apply_rules(
    parsed: PageParsed,
    page: PageFetched,
    name: str,
    options: Options,
    begin: Callable[[float], None] = lambda seconds: None,
) -> PageParsed:
    """Return *parsed*, the contents of *page*, with the answers of the rules file *name*.

    *begin* limits the CPU seconds of the function that runs next. Rules judge documents, and the
    entries of sitemaps and feeds. Other responses are returned as they are.
    """
    if not name or not _is_judged(parsed, page):
        return parsed
    rules = _loaded.get(name, "the parser has not imported the rules")
    if isinstance(rules, str):
        return add_failures(parsed, {LOADING: rules})
    return _Run(parsed, page, rules, options, begin).apply()


def _is_judged(parsed: PageParsed, page: PageFetched) -> bool:
    is_found = 200 <= page.status < 300 and not page.wall
    if parsed.listing is not None:
        return is_found and parsed.listing is not Listing.SITEMAP_INDEX
    return is_found and page.visit.purpose is Purpose.PAGE


class _Run:
    """The functions of *rules* on one page."""

    def __init__(
        self,
        parsed: PageParsed,
        page: PageFetched,
        rules: Rules,
        options: Options,
        begin: Callable[[float], None],
    ) -> None:
        self._parsed, self._page, self._rules = parsed, page, rules
        self._options, self._begin = options, begin
        without = options.without
        self._view = Page(parsed, self._read_html, lambda text: decode_json(text)[0], without)
        self._failures: dict[str, str] = {}

    def apply(self) -> PageParsed:
        """Return the page with the answers of all functions, in their order."""
        parsed = self._parsed
        if parsed.listing is not None:
            return self._judge_entries()
        if not self._run("keep", lambda: self._rules.ask("keep", self._view), True):
            parsed = replace(parsed, dropped_by=self._rules.places["keep"])
        rows: tuple[str, ...] = () if parsed.dropped_by else self._run("extract", self._extract, ())
        links = self._run("follow", lambda: self._ask("follow", parsed.links), parsed.links)
        links = self._run("priority", lambda: self._ask("priority", links), links)
        return add_failures(replace(parsed, extracted=rows, links=links), self._failures)

    def _judge_entries(self) -> PageParsed:
        entries = self._parsed.entries
        for rule in ("follow", "priority"):
            links = [Link(entry.url) for entry in entries]
            judged = self._run(rule, lambda: self._ask(rule, links), links)  # noqa: B023
            entries = tuple(
                replace(
                    entry,
                    refused_by=link.refused_by or entry.refused_by,
                    priority=link.priority,
                )
                for entry, link in zip(entries, judged, strict=True)
            )
        return add_failures(replace(self._parsed, entries=entries), self._failures)

    def _run(self, rule: str, run: Callable[[], Any], default: Any) -> Any:
        """Return the result of *run*, or *default* if the file lacks *rule* or if it fails."""
        if rule not in self._rules.functions:
            return default
        self._begin(self._options.rules_limit)
        try:
            return read_part(RULE_PARTS[rule], self._options, run, default)
        except BaseException as error:
            # Also an exit, and a lack of memory.
            begin_document()
            self._fail(rule, error)
            return default

    def _fail(self, rule: str, error: BaseException) -> None:
        self._failures.setdefault(rule, self._rules.describe(error))

    def _extract(self) -> tuple[str, ...]:
        rows = list[str]()
        for row in self._rules.extract(self._view):
            if isinstance(row, Exception):
                self._fail("extract", row)
            else:
                rows.append(row)
        return tuple(rows)

    def _ask(self, rule: str, links: Iterable[Link]) -> tuple[Link, ...]:
        """Return *links* with the answers of *rule*. A link on which it fails stays as it is."""
        judged, place = list[Link](), self._rules.places[rule]
        for link in links:
            answered = link
            try:
                answer = self._rules.ask(rule, link, self._view)
            except Exception as error:
                self._fail(rule, error)
            else:
                if rule == "priority":
                    answered = replace(link, priority=answer)
                elif not answer:
                    answered = replace(link, refused_by=place)
            judged.append(answered)
        return tuple(judged)

    def _read_html(self) -> str:
        if self._parsed.content_type not in HTML:
            return ""
        page, options = self._page, self._options
        codings = joined_values(page.headers, "content-encoding")
        body = decode(page.body, codings, options.decoded_limit, options.ratio_limit)
        return truncate_costly(decode_html(page, body.data, self._parsed.content_type))
