"""Reads one response: all that the parser does, without the processes around it."""

from msgspec.structs import replace

from gossamer.events import Link, PageFetched, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.text.blocks import SEPARATOR, blocks_of
from gossamer.text.sketch import sketch_of
from gossamer.web.coding import Body, decoded
from gossamer.web.http import (
    all_values,
    content_type,
    expires_at,
    joined_values,
    payload_digest,
    redirect_target,
)
from gossamer.web.sniffing import HTML, TEXT, media_type
from gossamer.web.validators import kept, validators_of
from services.parser import html
from services.parser.charset import Characters, characters
from services.parser.directives import directives
from services.parser.options import Options
from services.parser.passed_on import passed_on, with_hazards
from services.parser.scan import sane
from services.parser.simhash import simhash_of
from services.parser.text import digest_of, folded, language_of, main_text


def parse(page: PageFetched, options: Options, now: float) -> PageParsed:
    """Return what *page* says. Takes any bytes; some need more time or memory than there is."""
    parsed = replace(passed_on(page, now), payload_digest=payload_digest(page.body))
    if page.status == 304 and page.visit.conditions:
        found = validators_of(page.headers)
        validators = kept(found, page.visit.validators)
        return replace(parsed, validators=validators, expires_at=_expires_at(page))
    if target := redirect_target(page.status, page.headers, page.visit.url):
        return replace(parsed, links=(Link(target, redirect=True),))
    if not 200 <= page.status < 300:
        return parsed
    validators = validators_of(page.headers)
    parsed = replace(parsed, validators=validators, expires_at=_expires_at(page))
    codings = joined_values(page.headers, "content-encoding")
    body = decoded(page.body, codings, options.decoded_limit, options.ratio_limit)
    return _document(page, _received(page, parsed, body, options), body.data, options)


def _expires_at(page: PageFetched) -> float:
    return expires_at(page.headers, page.started_at)


def _received(page: PageFetched, parsed: PageParsed, body: Body, options: Options) -> PageParsed:
    kind = media_type(page.headers, body.data)
    hazards = {
        Hazard.DECOMPRESSION_BOMB: body.bomb,
        Hazard.WRONG_CONTENT_TYPE: bool(body.data) and content_type(page.headers) != kind,
    }
    forbidden = directives(all_values(page.headers, "x-robots-tag"), options.product)
    return replace(
        with_hazards(parsed, [hazard for hazard, met in hazards.items() if met]),
        content_type=kind,
        size=len(body.data),
        digest=digest_of(body.data),
        truncated=parsed.truncated or body.cut,
        nofollow="nofollow" in forbidden,
        noindex="noindex" in forbidden,
    )


def _document(page: PageFetched, parsed: PageParsed, body: bytes, options: Options) -> PageParsed:
    is_html = parsed.content_type in HTML
    if not is_html and parsed.content_type != TEXT:
        return parsed
    found = characters(body, joined_values(page.headers, "content-type"), is_html)
    if found.conflict:
        parsed = with_hazards(parsed, [Hazard.CHARSET_CONFLICT])
    parsed = replace(parsed, charset=found.encoding)
    return (_html if is_html else _plain)(parsed, found, options)


def _plain(parsed: PageParsed, found: Characters, options: Options) -> PageParsed:
    visible = folded(found.text)
    if not visible:
        return parsed
    return replace(
        parsed,
        digest=digest_of(visible.encode()),
        simhash=simhash_of(visible, options.simhash_words),
        sketch=sketch_of(visible),
        blocks=blocks_of(found.text.replace("\n", SEPARATOR)),
        language=language_of(visible),
        text=found.text if options.want_text else None,
    )


def _html(parsed: PageParsed, found: Characters, options: Options) -> PageParsed:
    text = sane(found.text)
    document = html.read(text, parsed.visit.url, found.encoding, options)
    main = main_text(document.markup) if options.want_text else None
    # A title alone is no text: shells and framesets of a whole site have the same one.
    visible = folded(f"{document.title} {document.visible}") if document.visible else ""
    cut = [Hazard.MALFORMED_HTML] if len(text) < len(found.text) else []
    return replace(
        with_hazards(parsed, [*sorted(document.hazards), *cut]),
        title=document.title,
        description=document.description,
        canonical=document.canonical,
        language=language_of(main or document.visible, document.language),
        text=main,
        digest=digest_of(visible.encode()) if visible else parsed.digest,
        simhash=simhash_of(main or document.visible, options.simhash_words),
        sketch=sketch_of(visible),
        blocks=document.blocks,
        nofollow=parsed.nofollow or "nofollow" in document.directives,
        noindex=parsed.noindex or "noindex" in document.directives,
        links=document.links,
    )
