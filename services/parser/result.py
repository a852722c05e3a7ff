"""The parser's event for a page: its identity, its kind and its hazards.

The parent process imports this module, so it must not import native parsers. Only the parent
decides the kind of a page, after the child has replied: a page that controls its child cannot
choose its own kind.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from gossamer.events import PageFetched, PageKind, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.web.coding import GZIP_MAGIC, decode, is_plain
from gossamer.web.http import REDIRECTS, first_reference, joined_values
from gossamer.web.sniffing import (
    DECIDING_BYTES,
    RESOURCE_HEADER_BYTES,
    is_textual,
    media_type,
)
from gossamer.web.soft_404 import is_home_page, is_missing_redirect, is_missing_text
from gossamer.web.usage import Source, Statement, judge, limit_statements
from gossamer.web.validators import WEB_BEGAN_AT, modified_at
from gossamer.web.walls import WallKind

IDENTITY_FIELDS = ("crawl", "at", "site", "host", "visit", "fetched_at", "status")
"""The fields that identify the page and the visit."""
MAX_REASON_LENGTH = 1000
CLOCK_SKEW = 60.0
"""Seconds by which a server's clock may be ahead of ours. Generated pages are as new as their
request."""
PERMANENT_REDIRECTS = frozenset({301, 308})
CRAWLER_REFUSALS = frozenset({412, 429})
"""Statuses that refuse our conditions or our rate, and do not describe the page."""
SOFT_404_KINDS = frozenset({PageKind.SOFT_404, PageKind.SOFT_404_REDIRECT})


def start_result(page: PageFetched, now: float) -> PageParsed:
    """Return the event for *page* without contents."""
    return PageParsed(
        crawl=page.crawl,
        at=now,
        site=page.site,
        host=page.host,
        visit=page.visit,
        fetched_at=page.started_at,
        status=page.status,
        truncated=bool(page.truncated),
        usage=judge(page.usage_statements),
        usage_statements=page.usage_statements,
        hazards=page.hazards,
    )


def restore_identity(page: PageFetched, parsed: PageParsed, now: float) -> PageParsed:
    """Return a child's reply *parsed* with the identity, the hazards and the usage of *page*.

    A page that controls its child can add meta elements, and nothing else about its usage.
    """
    trusted = start_result(page, now)
    identity = {name: getattr(trusted, name) for name in IDENTITY_FIELDS}
    from_meta = (one for one in parsed.usage_statements if one.source is Source.META)
    parsed = add_usage(replace(parsed, usage_statements=page.usage_statements), from_meta)
    hazards = tuple(dict.fromkeys((*page.hazards, *parsed.hazards)))
    return replace(parsed, **identity, hazards=hazards)


def classify(page: PageFetched, parsed: PageParsed) -> PageParsed:
    """Return *parsed*, the contents of *page*, with its kind and the hazards of the response.

    An impossible Last-Modified is counted here; its users ignore it. A page that shows its text
    only in browsers is never a soft 404: any page of the site may have the same empty frame.
    """
    kind = kind_of(page, parsed)
    conditions = {
        Hazard.SOFT_404: kind in SOFT_404_KINDS,
        Hazard.WRONG_DATE: _is_success(page) and _has_impossible_date(page),
    }
    return replace(add_hazards_if(parsed, conditions), kind=kind)


def report_unreadable(
    page: PageFetched, reason: str, now: float, is_ours: bool = False
) -> PageParsed:
    """Return the event for a *page* that the parser cannot read, with the *reason*.

    *is_ours* says that a reader has failed, so that the host is not to blame.
    """
    kind, reason = kind_of(page, None), reason[:MAX_REASON_LENGTH]
    parsed = replace(start_result(page, now), kind=kind, reason=reason)
    return add_hazards(parsed, [Hazard.PARSER_FAULT, *[Hazard.READER_FAILED] * is_ours])


def find_coding_fault(page: PageFetched) -> str | None:
    """Return why the text of *page* cannot be read, if its body is still coded; None otherwise.

    Its Content-Encoding is unknown or wrong. Plain text with such a header is read. A few bytes of
    the body decide, because the others are decoded in a child.
    """
    codings = joined_values(page.headers, "content-encoding")
    if not codings or page.wall or not _is_success(page):
        return None
    first = decode(page.body[:DECIDING_BYTES], codings, RESOURCE_HEADER_BYTES)
    is_undone = not first.as_sent and (not first.cut or len(first.data) == RESOURCE_HEADER_BYTES)
    if is_undone or is_plain(first.data) or not is_textual(media_type(page.headers, first.data)):
        return None
    if page.visit.purpose is Purpose.SITEMAP and first.data.startswith(GZIP_MAGIC):
        # The reader of sitemaps decodes it.
        return None
    return f"the body is still coded: its Content-Encoding is {codings[:40]!r}"


def kind_of(page: PageFetched, parsed: PageParsed | None) -> PageKind:
    """Return the kind of *page* with the contents *parsed*; None if it is unreadable."""
    status, is_success = page.status, _is_success(page)
    if page.visit.purpose is Purpose.REQUISITE:
        return PageKind.REQUISITE
    if page.wall and page.wall.kind is WallKind.CHALLENGE:
        return PageKind.INCONCLUSIVE
    if page.visit.purpose is Purpose.PROBE:
        return PageKind.PROBE if is_success else PageKind.INCONCLUSIVE
    if status == 304 and page.visit.conditions:
        return PageKind.NOT_MODIFIED
    is_found = parsed and (parsed.listing or (status in REDIRECTS and parsed.links))
    if page.visit.purpose is Purpose.USUAL_SITEMAP and not is_found:
        # It was never known to exist, so its absence says nothing about the site.
        return PageKind.INCONCLUSIVE
    if parsed and _is_soft_404(page, parsed):
        return PageKind.SOFT_404 if is_success else PageKind.SOFT_404_REDIRECT
    if is_success:
        if parsed is None:
            return PageKind.UNREADABLE
        return PageKind.LISTING if parsed.listing else PageKind.DOCUMENT
    if status in REDIRECTS and parsed and parsed.links:
        return PageKind.MOVED if status in PERMANENT_REDIRECTS else PageKind.REDIRECTED
    if status in CRAWLER_REFUSALS or status // 100 != 4:
        return PageKind.INCONCLUSIVE
    return {404: PageKind.MISSING, 410: PageKind.REMOVED}.get(status, PageKind.REFUSED)


def _is_success(page: PageFetched) -> bool:
    return 200 <= page.status < 300


def _is_soft_404(page: PageFetched, parsed: PageParsed) -> bool:
    signature, url = page.signature, page.visit.url
    if not signature.at or page.visit.purpose is not Purpose.PAGE or is_home_page(url):
        return False
    if is_missing_redirect(signature, page.status, first_reference(page.headers, "location")):
        return True
    if not _is_success(page) or parsed.needs_rendering:
        return False
    return is_missing_text(signature, parsed.digest, parsed.simhash)


def _has_impossible_date(page: PageFetched) -> bool:
    at = modified_at(page.headers)
    return at is not None and not WEB_BEGAN_AT <= at <= page.started_at + CLOCK_SKEW


def add_usage(parsed: PageParsed, statements: Iterable[Statement]) -> PageParsed:
    """Return *parsed* with more *statements* about its use, and the judgement by all of them."""
    found = limit_statements((*parsed.usage_statements, *statements))
    return replace(parsed, usage_statements=found, usage=judge(found))


def add_hazards(parsed: PageParsed, hazards: Iterable[Hazard]) -> PageParsed:
    """Return *parsed* with *hazards* added, each once."""
    return replace(parsed, hazards=tuple(dict.fromkeys((*parsed.hazards, *hazards))))


def add_hazards_if(parsed: PageParsed, conditions: Mapping[Hazard, bool]) -> PageParsed:
    """Return *parsed* with the hazards whose *conditions* are met."""
    return add_hazards(parsed, (hazard for hazard, is_met in conditions.items() if is_met))


def add_failures(parsed: PageParsed, failures: dict[str, str]) -> PageParsed:
    """Return *parsed* with the *failures* of rules, counted as a hazard."""
    if not failures:
        return parsed
    parsed = replace(parsed, rule_failures={**parsed.rule_failures, **failures})
    return add_hazards(parsed, [Hazard.RULE_FAILED])
