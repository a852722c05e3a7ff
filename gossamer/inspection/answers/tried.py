"""One page as data, as a crawl sees it: its requests, contents and links, and the verdicts on it.

The events of a brief crawl are read from its log, which has kept them all: bodies that are not
archived are there, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace as replace_facts
from typing import Any, TypeVar

from msgspec import Struct, json
from msgspec.structs import asdict, replace

from gossamer import clock
from gossamer.bounds import exclusion_of, seed_part
from gossamer.events import (
    CrawlDefined,
    Discovery,
    Event,
    PageFetched,
    PageParsed,
    Visit,
    VisitEnded,
)
from gossamer.events.outcomes import Outcome, Purpose
from gossamer.events.pages import Entry, Heading, Listing
from gossamer.events.topics import TOPIC_OF
from gossamer.inspection.answers.links import NO_BLOCKLIST, LinkFact, explain_links
from gossamer.inspection.answers.robots import usage_lines
from gossamer.inspection.basics.labels import LABELS, outcome_text
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.urls.url_rows import read_facts
from gossamer.inspection.urls.urls import FETCHED, READ_AS_LIST, UrlExplanation, explain
from gossamer.log import read_topic
from gossamer.log.blobs import load
from gossamer.log.codec import decode
from gossamer.services.frontier.tables.hosts import RobotsRow
from gossamer.services.parser.lenient_json import decode_json
from gossamer.web.coding import decode as decode_codings
from gossamer.web.http import Headers, joined_values, redirect_target
from gossamer.web.robots import RobotsRules
from gossamer.web.soft_404 import NO_PAGE
from gossamer.web.url import HostKey, host_key
from gossamer.web.usage import Judgement

E = TypeVar("E", bound=Event)
MAX_BODY_BYTES = 64 << 20
"""Bytes of a decoded body."""


class Exchange(Struct, frozen=True, kw_only=True):
    """A visit: a request with its response, or the reason why it has none."""

    url: str
    purpose: Purpose
    outcome: Outcome
    text: str
    """The outcome in words, with the reason of a failure."""
    status: int
    location: str
    """The target of a redirect, as the server wrote it."""
    address: str
    was_requested: bool
    took: float
    received: int
    """Bytes of the body as received."""
    request_headers: Headers
    headers: Headers


class RobotsFact(Struct, frozen=True):
    """The robots.txt of a host, and its answer for a URL."""

    host: HostKey
    url: str
    allowed: bool
    rule: str
    """The rule that decides, as a sentence."""
    crawl_delay: float
    """In seconds; 0 without one."""
    usage: tuple[str, ...]
    """The statements about the use of pages, as in the file."""


class LinkedData(Struct, frozen=True):
    """The JSON-LD of one script."""

    value: Any
    """Null if it cannot be read."""
    fault: str
    """Why it cannot be read, or that it was repaired; "" otherwise."""


class Verdicts(Struct, frozen=True, kw_only=True):
    """The verdicts of a crawl on the page."""

    verdict: str
    """The verdict of dedup; "" without one."""
    is_published: bool
    """Whether the page is on `pages`."""
    not_published: str
    """Why it is not; "" if it is."""
    is_archived: bool
    """Whether the response is in the WARC files."""
    not_archived: str
    """Why a page is not in the WARC files; "" if it is."""
    noindex: bool
    nofollow: bool
    needs_rendering: bool
    soft_404: bool | None
    """Whether the host answers like this for missing pages; null if that was not tested."""
    excluded: str
    """Why a crawl with these settings would not visit the URL; "" if it would."""


class TriedPage(Struct, frozen=True, kw_only=True):
    """A page that was fetched without a crawl. Without a page, its fields are
    empty."""

    url: str
    """The URL that was visited last, after all redirects."""
    given: str
    """The URL that was requested first."""
    at: float
    answer: str
    """The answer of a crawl about the URL, in a sentence."""
    is_page: bool
    """Whether the last visit ended with a page."""
    exchanges: tuple[Exchange, ...]
    """All visits, in their order."""
    robots: tuple[RobotsFact, ...]
    """The robots.txt of each host, for the URL that was visited there."""
    status: int
    reason: str
    http_version: str
    headers: Headers
    content_type: str
    charset: str
    size: int
    truncated: bool
    title: str
    description: str
    author: str
    published_at: float
    modified_at: float
    language: str
    canonical: str
    text: str | None
    text_kind: str
    markdown: str | None
    headings: tuple[Heading, ...]
    linked_data: tuple[LinkedData, ...]
    """The JSON-LD of the page."""
    extracted: tuple[dict[str, Any], ...]
    """The rows that `extract` of the crawl's rules returns."""
    rule_failures: dict[str, str]
    """Function of the crawl's rules → the traceback of its failure."""
    links: tuple[LinkFact, ...]
    listing: Listing | None
    """Null if it is not a list of URLs, such as a sitemap."""
    entries: tuple[Entry, ...]
    """The entries of the list."""
    requisites: tuple[str, ...]
    media: tuple[str, ...]
    usage: dict[str, Judgement]
    """The judgement of each use, by all statements of the site and the page."""
    hazards: dict[str, str]
    """Hazard that the page met → its label."""
    verdicts: Verdicts
    body: bytes
    """The body without its content codings."""

    def html(self) -> str:
        """Return the markup."""
        try:
            return self.body.decode(self.charset or "utf-8", "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")

    def as_json(self) -> dict[str, Any]:
        """Return all fields but the body."""
        return {name: value for name, value in asdict(self).items() if name != "body"}


def read_tried(
    crawl: OpenCrawl, definition: CrawlDefined, given: str, url_limit: int, is_probed: bool
) -> TriedPage:
    """Return what the brief *crawl* of the URL *given* has found.

    Links and the URL are explained as the crawl of *definition* would treat them. *url_limit*: the
    setting `dedup.url_limit`. *is_probed*: whether the host was asked for a missing page.
    """
    ended = sorted(_events(crawl, VisitEnded), key=lambda one: one.started_at or one.at)
    fetched = {one.visit.id: one for one in _events(crawl, PageFetched) if not one.intermediate}
    page_visits = [one for one in ended if one.visit.purpose is Purpose.PAGE]
    last = page_visits[-1] if page_visits else None
    url = last.visit.url if last else given
    explanation = _explain(crawl, url)
    response = fetched.get(last.visit.id) if last else None
    parsed = _find_parsed_page(crawl, last, explanation)
    joined = seed_part(definition, url)
    page = replace(parsed, visit=replace(parsed.visit, joined=joined))
    rules = dict(_robots_rules(crawl, {host_key(given), *(one.host for one in ended)}))
    exclusion = exclusion_of(definition, NO_BLOCKLIST, Discovery(url, joined=joined))
    return view_of(
        TriedPage,
        page,
        url=url,
        given=given,
        at=explanation.at,
        answer=_answer(explanation, page_visits),
        is_page=last is not None and last.outcome in FETCHED,
        exchanges=tuple(_exchange(one, fetched.get(one.visit.id)) for one in ended),
        robots=tuple(_robots_facts(rules, [given, *(one.visit.url for one in page_visits)])),
        reason=response.reason if response else "",
        http_version=response.http_version if response else "",
        headers=response.headers if response else (),
        linked_data=tuple(map(_read_linked_data, page.linked_data)),
        extracted=tuple(map(json.decode, page.extracted)),
        links=tuple(explain_links(page, definition, rules, url_limit)),
        hazards={name: LABELS.get(name, name) for name in page.hazards},
        verdicts=_verdicts(explanation, page, exclusion.reason if exclusion else "", is_probed),
        body=_decode_body(response) if response else b"",
    )


def _events(crawl: OpenCrawl, kind: type[E]) -> Iterator[E]:
    volume = crawl.blobs() if crawl.blobs else None
    for record in read_topic(crawl.log, TOPIC_OF[kind].name):
        event = load(decode(record), volume)
        if isinstance(event, kind):
            yield event


def _find_parsed_page(
    crawl: OpenCrawl, last: VisitEnded | None, explanation: UrlExplanation
) -> PageParsed:
    """Return the contents of the page of the *last* visit; without contents if there is none."""
    parsed = {one.visit.id: one for one in _events(crawl, PageParsed)}
    visit = last.visit if last else Visit("", explanation.url)
    return parsed.get(visit.id) or PageParsed(
        at=explanation.at,
        site=explanation.site,
        host=host_key(visit.url),
        visit=visit,
        fetched_at=0.0,
        status=last.status if last else 0,
    )


def _explain(crawl: OpenCrawl, url: str) -> UrlExplanation:
    now = clock.now()
    # A brief crawl has no next visit.
    return explain(replace_facts(read_facts(crawl, url, now), plan=None, why_idle=""), now)


def _answer(explanation: UrlExplanation, visits: Sequence[VisitEnded]) -> str:
    """Return how the last of the *visits* to pages has ended, or the reason why it has none."""
    last, queued = visits[-1] if visits else None, explanation.queued
    if last is None and queued and queued.closed_gates:
        return f"Not fetched: {queued.closed_gates[0].reason}."
    if last is None or last.outcome in FETCHED:
        return explanation.answer
    if last.outcome is Outcome.REDIRECT:
        target = redirect_target(last.status, (("Location", last.location),), last.visit.url)
        was_visited = target in {one.visit.url for one in visits}
        state = "was visited before" if was_visited else "was not visited"
        return f"No page: {last.visit.url} redirects to {last.location}, which {state}."
    what = "Not fetched" if not last.started_at else "Failed"
    return f"{what}: {outcome_text(last.outcome, last.status, last.reason)}."


def _exchange(ended: VisitEnded, response: PageFetched | None) -> Exchange:
    return view_of(
        Exchange,
        ended,
        url=ended.visit.url,
        purpose=ended.visit.purpose,
        text=outcome_text(ended.outcome, ended.status, ended.reason),
        was_requested=ended.started_at > 0.0,
        request_headers=response.request_headers if response else (),
        headers=response.headers if response else (),
    )


def _robots_rules(
    crawl: OpenCrawl, hosts: Iterable[HostKey]
) -> Iterator[tuple[HostKey, RobotsRules]]:
    table = crawl.store().table(RobotsRow)
    for host in hosts:
        if row := table.get(host):
            yield host, row.rules


def _robots_facts(rules: dict[HostKey, RobotsRules], urls: Iterable[str]) -> Iterator[RobotsFact]:
    for url in dict.fromkeys(urls):
        if found := rules.get(host_key(url)):
            yield RobotsFact(
                host_key(url),
                url,
                found.allows(url),
                found.explain(url),
                found.crawl_delay,
                usage_lines(found),
            )


def _read_linked_data(text: str) -> LinkedData:
    try:
        value, is_repaired = decode_json(text)
    except ValueError as error:
        return LinkedData(None, f"not JSON: {error}")
    return LinkedData(value, "repaired" if is_repaired else "")


def _verdicts(
    explanation: UrlExplanation, page: PageParsed, excluded: str, is_probed: bool
) -> Verdicts:
    verdict, document = explanation.verdict, explanation.document
    is_published = document is not None and not document.gone
    reason = verdict.reason if verdict else ""
    if not reason:
        reason = document.gone_reason if document else READ_AS_LIST if page.listing else ""
    return view_of(
        Verdicts,
        page,
        verdict=str(verdict.verdict) if verdict else "",
        is_published=is_published,
        not_published="" if is_published else reason.removesuffix(": it is not published"),
        is_archived=bool(explanation.captures),
        not_archived=explanation.not_archived,
        soft_404=reason == NO_PAGE if is_probed else None,
        excluded=excluded,
    )


def _decode_body(response: PageFetched) -> bytes:
    codings = joined_values(response.headers, "content-encoding")
    return decode_codings(response.body, codings, MAX_BODY_BYTES).data
