"""The state of each seed of a list, after a visit to it."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from gossamer.bounds import exclusion_of
from gossamer.crawl import crawl_url
from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Discovery
from gossamer.events.outcomes import Outcome
from gossamer.inspection.answers.links import NO_BLOCKLIST
from gossamer.inspection.basics.folder import Opened
from gossamer.inspection.basics.labels import outcome_text
from gossamer.inspection.urls.visits import NOT_VISITED, follow_redirects
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import UrlRow, VerdictRow
from gossamer.web.url import BadUrl, host_key, site_of


class SeedState(StrEnum):
    """The state of a seed. All but OK are worth a look."""

    OK = "ok"
    MOVED = "moved"
    """It redirects permanently to a page."""
    DUPLICATE = "duplicate"
    """It leads to the page of a seed above it, or to a page with exactly the same text."""
    DEAD = "dead"
    """Its page or its host does not exist."""
    FORBIDDEN = "forbidden"
    """robots.txt, or a statement about the use of pages, forbids the visit."""
    REFUSED = "refused"
    """The server refuses this crawler, or demands something."""
    UNUSABLE = "unusable"
    """It is not a document that a crawl reads."""
    UNREACHABLE = "unreachable"
    """The host or the server failed, perhaps for a while."""
    OUT_OF_SCOPE = "out of scope"
    INVALID = "invalid"
    """It is not a URL that is visited."""
    UNCHECKED = "not checked"


STATES: Mapping[Outcome, SeedState] = {
    Outcome.PAGE: SeedState.OK,
    Outcome.NOT_MODIFIED: SeedState.OK,
    Outcome.REDIRECT: SeedState.DEAD,
    Outcome.BAD_REDIRECT: SeedState.DEAD,
    Outcome.GONE: SeedState.DEAD,
    Outcome.CLIENT_ERROR: SeedState.REFUSED,
    Outcome.SIGNATURE_ASKED: SeedState.REFUSED,
    Outcome.SERVER_ERROR: SeedState.UNREACHABLE,
    Outcome.BUSY: SeedState.UNREACHABLE,
    Outcome.DNS_FAILURE: SeedState.DEAD,
    Outcome.DNS_UNANSWERED: SeedState.UNREACHABLE,
    Outcome.HOST_DOWN: SeedState.UNREACHABLE,
    Outcome.TLS_FAILURE: SeedState.UNREACHABLE,
    Outcome.SILENT_SERVER: SeedState.UNREACHABLE,
    Outcome.MALFORMED_HEAD: SeedState.UNREACHABLE,
    Outcome.CUT_BODY: SeedState.UNREACHABLE,
    Outcome.BROKEN: SeedState.UNREACHABLE,
    Outcome.INTERNAL_ERROR: SeedState.UNCHECKED,
    Outcome.PRIVATE_ADDRESS: SeedState.INVALID,
    Outcome.BLACKLISTED: SeedState.FORBIDDEN,
    Outcome.ROBOTS_EXCLUDED: SeedState.FORBIDDEN,
    Outcome.USAGE_EXCLUDED: SeedState.FORBIDDEN,
    Outcome.UNWANTED_TYPE: SeedState.UNUSABLE,
    Outcome.CHALLENGED: SeedState.REFUSED,
    Outcome.PAYMENT_REQUIRED: SeedState.REFUSED,
    Outcome.LICENSE_REQUIRED: SeedState.REFUSED,
    Outcome.UNVISITED: SeedState.UNCHECKED,
    Outcome.OTHER: SeedState.UNCHECKED,
}
"""Outcome of the last visit of a seed → its state. Redirects that lead in a circle end with a
redirect."""
OF_HOST = frozenset(
    {Outcome.DNS_FAILURE, Outcome.DNS_UNANSWERED, Outcome.HOST_DOWN, Outcome.TLS_FAILURE}
)
"""Outcomes that hold for all URLs of a host. After other outcomes the host backs off, and nothing
is known about its unvisited URLs."""
PERMANENT_REDIRECTS = frozenset({301, 308})


class SeedFact(Struct, frozen=True, kw_only=True):
    """A seed, and what was found there."""

    seed: str
    """As it is written."""
    line: int
    """Its number in the list, from 1."""
    state: SeedState
    url: str
    """The canonical URL at the end of its redirects; "" for an invalid seed."""
    status: int
    """The status of the last response; 0 without one."""
    text: str
    """The finding, as a phrase."""


class Sorted(Struct, frozen=True):
    """Seeds before the visits: those to visit, and those that are bad without a visit."""

    visited: dict[str, int]
    """Canonical URL of each seed to visit → the index of its seed."""
    known: dict[int, SeedFact]
    """Index of a seed → the facts about it, without a visit."""


def sort_seeds(
    lines: list[tuple[int, str]], urls: list[str | BadUrl], crawl: CrawlDefined | None
) -> Sorted:
    """Return which of the *lines*, each with its number, *crawl* would visit. It is None if no URL
    is valid.

    *urls*: the canonical URL of each, or the error that says why it has none.
    """
    sorted_ = Sorted({}, {})
    for index, ((line, text), url) in enumerate(zip(lines, urls, strict=True)):
        if isinstance(url, BadUrl):
            state, found, form = SeedState.INVALID, f"not a URL to visit: {url.reason}", ""
        else:
            assert crawl
            state, found, form = _sort(url, crawl, sorted_.visited, lines)
        if state is SeedState.UNCHECKED:
            sorted_.visited[form] = index
        else:
            sorted_.known[index] = SeedFact(
                seed=text, line=line, state=state, url=form, status=0, text=found
            )
    return sorted_


def _sort(
    url: str, crawl: CrawlDefined, visited: Mapping[str, int], lines: list[tuple[int, str]]
) -> tuple[SeedState, str, str]:
    """Return the state of a seed before a visit, what is known, and its URL in the crawl."""
    try:
        form = crawl_url(crawl, url)
    except BadUrl as error:
        return SeedState.INVALID, str(error), url
    if exclusion := exclusion_of(crawl, NO_BLOCKLIST, Discovery(form)):
        return SeedState.OUT_OF_SCOPE, exclusion.reason, form
    if form in visited:
        return SeedState.DUPLICATE, f"the URL of line {lines[visited[form]][0]}", form
    return SeedState.UNCHECKED, "", form


def read_seeds(opened: Opened, lines: list[tuple[int, str]], seeds: Sorted) -> Iterator[SeedFact]:
    """Yield the facts about all *lines*, in their order, after the visits of a brief crawl."""
    ends = dict[str, int]()
    """The URL at the end of a seed's redirects, or the digest of its text → the line of the first
    such seed."""
    by_index = {index: url for url, index in seeds.visited.items()}
    for index, (line, text) in enumerate(lines):
        if (known := seeds.known.get(index)) is not None:
            yield known
            continue
        fact = _read_seed(opened, by_index[index], line, text, ends)
        if fact.state in (SeedState.OK, SeedState.MOVED):
            ends.setdefault(fact.url, line)
            ends.setdefault(_digest(opened, fact.url), line)
        yield fact


def _read_seed(
    opened: Opened, form: str, line: int, seed: str, ends: Mapping[str, int]
) -> SeedFact:
    chain = [*follow_redirects(opened, DEFAULT_CRAWL, form)]
    url, row = chain[-1]
    first = chain[0][1]
    state, text = _outcome(opened, url, row)
    if len(chain) > 1 and row and row.outcome != Outcome.REDIRECT:
        text = f"{text}, after a redirect ({first.status if first else 0}) to {url}"
    if state is SeedState.OK and first and first.status in PERMANENT_REDIRECTS and len(chain) > 1:
        state, text = SeedState.MOVED, f"to {url} ({first.status})"
    if state in (SeedState.OK, SeedState.MOVED):
        if (other := ends.get(url)) is not None:
            state, text = SeedState.DUPLICATE, f"leads to {url}, as line {other} does"
        elif (other := ends.get(_digest(opened, url))) is not None:
            state, text = SeedState.DUPLICATE, f"{url} has exactly the text of line {other}"
    status = row.status if row else 0
    return SeedFact(seed=seed, line=line, state=state, url=url, status=status, text=text)


def _outcome(opened: Opened, url: str, row: UrlRow | None) -> tuple[SeedState, str]:
    if row is not None and row.outcome == Outcome.REDIRECT:
        return SeedState.DEAD, f"its redirects lead back to {url}"
    if row is not None:
        return STATES[Outcome(row.outcome)], outcome_text(row.outcome, row.status, row.reason)
    host = opened.store.table(HostRow).get(site_of(url), host_key(url))
    if host is None or not host.backoff_cause:
        return SeedState.UNCHECKED, NOT_VISITED
    cause, reason = Outcome(host.backoff_cause), host.backoff_reason or ""
    text = outcome_text(cause, 0, reason)
    return (STATES[cause], text) if cause in OF_HOST else (SeedState.UNCHECKED, f"its host: {text}")


def _digest(opened: Opened, url: str) -> str:
    """Return the digest of the text of the page at *url*, or its URL without a verdict."""
    row = opened.store.table(VerdictRow).get((DEFAULT_CRAWL, host_key(url)), url)
    return (row.digest if row else "") or url


def count_states(facts: Iterable[SeedFact]) -> dict[SeedState, int]:
    """Return the number of seeds of each state that has any, in the order of the states."""
    found = [fact.state for fact in facts]
    return {state: found.count(state) for state in SeedState if state in found}
