"""Reads HTML as browsers do."""

from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.text.sketch import sketch_of
from services.parser import document
from services.parser.answers import with_hazards
from services.parser.document import Document
from services.parser.extraction import Kind, Text, text_of
from services.parser.options import Options
from services.parser.readers.received import Received
from services.parser.rendering import needs_rendering
from services.parser.scan import sane
from services.parser.simhash import simhash_of
from services.parser.text import digest_of


def read(received: Received) -> PageParsed:
    """Return what an HTML document says."""
    parsed, found = received.decoded(is_html=True)
    return read_text(parsed, found.text, found.encoding, received.options)


def read_text(parsed: PageParsed, whole: str, encoding: str, options: Options) -> PageParsed:
    """Return what the HTML in *whole* says, a document that came in *encoding*."""
    html = sane(whole)
    said = document.read(html, parsed.visit.url, encoding, options, parsed.fetched_at)
    text = text_of(html, said, options)
    main = text.text if text.kind == Kind.MAIN else None
    # A title alone is no text: shells and framesets of a whole site have the same one.
    visible = f"{said.title} {said.visible}".strip() if said.visible else ""
    hazards = _hazards(said, text, cut=len(html) < len(whole))
    return replace(
        with_hazards(parsed, hazards),
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
        sketch=sketch_of(visible),
        blocks=said.blocks,
        directives=tuple(dict.fromkeys((*parsed.directives, *said.directives))),
        usage={**said.reserved, **parsed.usage},
    )


def _hazards(said: Document, text: Text, cut: bool) -> list[Hazard]:
    met = {
        Hazard.MALFORMED_HTML: cut,
        Hazard.MISREAD_TEXT: text.misread,
        Hazard.PHYSICAL_MARKUP: any(one.physical for one in said.headings),
    }
    return [*sorted(said.hazards), *(hazard for hazard, is_met in met.items() if is_met)]
