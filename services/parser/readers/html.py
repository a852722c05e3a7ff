"""Reads HTML as browsers do.

Reads XHTML as XML, in which `<script src="…"/>` ends where it says; as HTML where that fails.

Browsers show nothing of XHTML that is not well-formed. But most of it is HTML by another name, and
people who wrote it looked at it as HTML, so as that it is read then. What is well-formed is written
out as HTML: from there on both are one.
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


def read(received: ReceivedDocument) -> PageParsed:
    """Return what an HTML document says."""
    parsed, found = received.decoded(is_html=True)
    return read_text(parsed, found.text, found.encoding, received.options)


def read_text(parsed: PageParsed, whole: str, encoding: str, options: Options) -> PageParsed:
    """Return what the HTML in *whole* says, a document that came in *encoding*."""
    html = truncate_costly(whole)
    said = document.read_document(html, parsed.visit.url, encoding, options, parsed.fetched_at)
    text = extract_text(html, said.markup, said.visible, said.language, options)
    main = text.text if text.kind == TextKind.MAIN else None
    # A title alone is no text: shells and framesets of a whole site have the same one.
    visible = f"{said.title} {said.visible}".strip() if said.visible else ""
    hazards = _find_hazards(said, text, cut=len(html) < len(whole))
    return replace(
        add_hazards(parsed, hazards),
        **said.about,
        needs_rendering=needs_rendering(html, said.visible),
        title=said.title,
        description=said.description,
        language=text.language,
        text=text.text,
        text_kind=text.kind,
        markdown=text.markdown,
        headings=said.headings,
        digest=digest_of(visible.encode()) if visible else "",
        simhash=simhash_of(main or said.visible, options.simhash_words),
        sketch=make_sketch(visible),
        blocks=said.blocks,
        directives=tuple(dict.fromkeys((*parsed.directives, *said.directives))),
        usage={**said.reserved, **parsed.usage},
    )


def _find_hazards(said: Document, text: ExtractedText, cut: bool) -> list[Hazard]:
    met = {
        Hazard.MALFORMED_HTML: cut,
        Hazard.MISREAD_TEXT: text.misread,
        Hazard.PHYSICAL_MARKUP: any(one.physical for one in said.headings),
    }
    return [*sorted(said.hazards), *(hazard for hazard, is_met in met.items() if is_met)]


NAMESPACE = "{http://www.w3.org/1999/xhtml}"


def read_xhtml(received: ReceivedDocument) -> PageParsed:
    """Return what an XHTML document says."""
    parsed, found = received.decoded(is_html=True)
    return read_text(parsed, xhtml_to_html(found.text), found.encoding, received.options)


def xhtml_to_html(text: str) -> str:
    """Return the XML *text* as HTML that says the same; as it is if it is not well-formed."""
    try:
        body = text.lstrip("\ufeff \t\r\n").encode(errors="replace")
        root = etree.fromstring(body, etree.XMLParser(**SAFE_OPTIONS))
        for element in root.iter(f"{NAMESPACE}*"):
            element.tag = element.tag.removeprefix(NAMESPACE)
        written = etree.tostring(root, method="html", encoding="unicode", doctype="<!DOCTYPE html>")
    except (etree.LxmlError, ValueError):
        return text
    return str(written)
