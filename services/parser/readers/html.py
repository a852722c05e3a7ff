"""Reads HTML and XHTML.

XHTML is parsed as XML, where `<script src="…"/>` ends at once. Browsers reject XHTML that is not
well-formed, but most of it is HTML with another media type, and its authors tested it as HTML. So
it is parsed as HTML. Well-formed XHTML is serialized as HTML, and the rest is common to both.
"""

from lxml import etree
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.text.sketch import make_sketch
from services.parser.html import document
from services.parser.html.cost import truncate_costly
from services.parser.html.document import Document
from services.parser.html.text import extract_text, needs_rendering
from services.parser.options import Options
from services.parser.readers.base import ReceivedDocument
from services.parser.readers.xml import SAFE_OPTIONS
from services.parser.result import add_hazards
from services.parser.simhash import simhash_of
from services.parser.text import ExtractedText, TextKind, digest_of

NAMESPACE = "{http://www.w3.org/1999/xhtml}"


def read(received: ReceivedDocument) -> PageParsed:
    """Return the contents of an HTML document."""
    parsed, decoded = received.decode(is_html=True)
    return read_text(parsed, decoded.text, decoded.encoding, received.options)


def read_xhtml(received: ReceivedDocument) -> PageParsed:
    """Return the contents of an XHTML document."""
    parsed, decoded = received.decode(is_html=True)
    return read_text(parsed, xhtml_to_html(decoded.text), decoded.encoding, received.options)


def xhtml_to_html(text: str) -> str:
    """Return the XML *text* serialized as HTML; *text* itself if it is not well-formed."""
    try:
        body = text.lstrip("\ufeff \t\r\n").encode(errors="replace")
        root = etree.fromstring(body, etree.XMLParser(**SAFE_OPTIONS))
        for element in root.iter(f"{NAMESPACE}*"):
            element.tag = element.tag.removeprefix(NAMESPACE)
        html = etree.tostring(root, method="html", encoding="unicode", doctype="<!DOCTYPE html>")
    except (etree.LxmlError, ValueError):
        return text
    return str(html)


def read_text(parsed: PageParsed, whole: str, encoding: str, options: Options) -> PageParsed:
    """Return *parsed* with the contents of the HTML *whole*, which was received in *encoding*."""
    html = truncate_costly(whole)
    page = document.read_document(html, parsed.visit.url, encoding, options, parsed.fetched_at)
    text = extract_text(html, page.markup, page.visible, page.language, options)
    main = text.text if text.kind == TextKind.MAIN else None
    # A title alone is not enough: all shells and framesets of a site may share it.
    visible = f"{page.title} {page.visible}".strip() if page.visible else ""
    hazards = _find_hazards(page, text, is_truncated=len(html) < len(whole))
    return replace(
        add_hazards(parsed, hazards),
        **page.about,
        needs_rendering=needs_rendering(html, page.visible),
        title=page.title,
        description=page.description,
        language=text.language,
        text=text.text,
        text_kind=text.kind,
        markdown=text.markdown,
        headings=page.headings,
        digest=digest_of(visible.encode()) if visible else "",
        simhash=simhash_of(main or page.visible, options.simhash_words),
        sketch=make_sketch(visible),
        blocks=page.blocks,
        directives=tuple(dict.fromkeys((*parsed.directives, *page.directives))),
        usage={**page.reserved, **parsed.usage},
    )


def _find_hazards(page: Document, text: ExtractedText, is_truncated: bool) -> list[Hazard]:
    conditions = {
        Hazard.MALFORMED_HTML: is_truncated,
        Hazard.MISREAD_TEXT: text.misread,
        Hazard.PHYSICAL_MARKUP: any(heading.physical for heading in page.headings),
    }
    return [*sorted(page.hazards), *(hazard for hazard, is_met in conditions.items() if is_met)]
