"""Reads HTML as browsers do."""

from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.text.sketch import sketch_of
from services.parser import document
from services.parser.options import Options
from services.parser.passed_on import with_hazards
from services.parser.readers.received import Received
from services.parser.scan import sane
from services.parser.simhash import simhash_of
from services.parser.text import digest_of, folded, language_of, main_text


def read(received: Received) -> PageParsed:
    """Return what an HTML document says."""
    parsed, found = received.decoded(is_html=True)
    return read_text(parsed, found.text, found.encoding, received.options)


def read_text(parsed: PageParsed, whole: str, encoding: str, options: Options) -> PageParsed:
    """Return what the HTML in *whole* says, a document that came in *encoding*."""
    text = sane(whole)
    said = document.read(text, parsed.visit.url, encoding, options)
    main = main_text(said.markup) if options.want_text else None
    # A title alone is no text: shells and framesets of a whole site have the same one.
    visible = folded(f"{said.title} {said.visible}") if said.visible else ""
    cut = [Hazard.MALFORMED_HTML] if len(text) < len(whole) else []
    return replace(
        with_hazards(parsed, [*sorted(said.hazards), *cut]),
        title=said.title,
        description=said.description,
        canonical=said.canonical,
        language=language_of(main or said.visible, said.language),
        text=main,
        digest=digest_of(visible.encode()) if visible else parsed.digest,
        simhash=simhash_of(main or said.visible, options.simhash_words),
        sketch=sketch_of(visible),
        blocks=said.blocks,
        nofollow=parsed.nofollow or "nofollow" in said.directives,
        noindex=parsed.noindex or "noindex" in said.directives,
        links=said.links,
    )
