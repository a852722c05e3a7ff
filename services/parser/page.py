"""A response, read: the whole of what the parser does, without the processes around it."""

from collections.abc import Iterable

from msgspec.structs import replace

from gossamer.events import Headers, Link, PageFetched, PageParsed
from gossamer.url import BadUrl, canonicalize
from services.parser import html
from services.parser.body import BOMB, Body, decoded
from services.parser.charset import CONFLICT, Characters, characters
from services.parser.directives import directives
from services.parser.kind import HTML, TEXT, contradicts, kind_of
from services.parser.scan import MALFORMED, sane
from services.parser.text import digest_of, folded, language_of, main_text, payload_digest_of

BAD_REDIRECT = "bad_redirect"
WRONG_TYPE = "wrong_content_type"
REDIRECTS = (301, 302, 303, 307, 308)


def parse(page: PageFetched, want_text: bool, decoded_limit: int, now: float) -> PageParsed:
    """Read *page*, whatever its bytes are; decode at most *decoded_limit* bytes of its body."""
    parsed = PageParsed(
        crawl=page.crawl,
        at=now,
        site=page.site,
        host=page.host,
        visit=page.visit,
        fetched_at=page.started_at,
        status=page.status,
        payload_digest=payload_digest_of(page.body),
        truncated=bool(page.truncated),
        hazards=page.hazards,
    )
    if 300 <= page.status < 400:
        return _redirect(page, parsed)
    if not 200 <= page.status < 300:
        return parsed
    body = decoded(page.body, header(page.headers, "content-encoding"), decoded_limit)
    return _document(page, _received(page, parsed, body), body.data, want_text)


def header(headers: Headers, name: str) -> str:
    """Return the values of a header as one, joined by commas (RFC 9110, section 5.3)."""
    return ", ".join(every(headers, name))


def every(headers: Headers, name: str) -> list[str]:
    """Return the values of a header, as received."""
    return [value for spelt, value in headers if spelt.lower() == name]


def with_hazards(parsed: PageParsed, hazards: Iterable[str]) -> PageParsed:
    """Return *parsed* with *hazards* beside those that it has, each once."""
    return replace(parsed, hazards=tuple(dict.fromkeys((*parsed.hazards, *hazards))))


def _redirect(page: PageFetched, parsed: PageParsed) -> PageParsed:
    location = next(iter(every(page.headers, "location")), "")
    if not location:
        return with_hazards(parsed, [BAD_REDIRECT] if page.status in REDIRECTS else [])
    try:
        target = canonicalize(_as_meant(location), page.visit.url)
    except BadUrl:
        return with_hazards(parsed, [BAD_REDIRECT])
    return replace(parsed, links=(Link(target, redirect=True),))


def _as_meant(value: str) -> str:
    # Servers write UTF-8 into Location, and browsers take it as that.
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _received(page: PageFetched, parsed: PageParsed, body: Body) -> PageParsed:
    declared = next(iter(every(page.headers, "content-type")), "")
    kind = kind_of(declared, body.data)
    named = [(BOMB, body.bomb), (WRONG_TYPE, bool(body.data) and contradicts(declared, kind))]
    said = directives(every(page.headers, "x-robots-tag"))
    return replace(
        with_hazards(parsed, [hazard for hazard, met in named if met]),
        content_type=kind,
        size=len(body.data),
        digest=digest_of(body.data),
        truncated=parsed.truncated or body.cut,
        nofollow="nofollow" in said,
        noindex="noindex" in said,
    )


def _document(page: PageFetched, parsed: PageParsed, body: bytes, want_text: bool) -> PageParsed:
    is_html = parsed.content_type in HTML
    if not is_html and parsed.content_type != TEXT:
        return parsed
    declared = header(page.headers, "content-type")
    found = characters(body, declared, is_html)
    if found.conflict:
        parsed = with_hazards(parsed, [CONFLICT])
    parsed = replace(parsed, charset=found.encoding)
    return (_html if is_html else _plain)(parsed, found, want_text)


def _plain(parsed: PageParsed, found: Characters, want_text: bool) -> PageParsed:
    said = folded(found.text)
    if not said:
        return parsed
    return replace(
        parsed,
        digest=digest_of(said.encode()),
        language=language_of(said),
        text=found.text if want_text else None,
    )


def _html(parsed: PageParsed, found: Characters, want_text: bool) -> PageParsed:
    text = sane(found.text)
    document = html.read(text, parsed.visit.url, found.encoding)
    main = main_text(document.markup) if want_text else None
    said = folded(f"{document.title} {document.visible}")
    hazards = sorted(document.hazards) + ([MALFORMED] if len(text) < len(found.text) else [])
    return replace(
        with_hazards(parsed, hazards),
        title=document.title,
        description=document.description,
        canonical=document.canonical,
        language=language_of(main or document.visible, document.language),
        text=main,
        digest=digest_of(said.encode()) if said else parsed.digest,
        nofollow=parsed.nofollow or "nofollow" in document.directives,
        noindex=parsed.noindex or "noindex" in document.directives,
        links=document.links,
    )
