"""Reads plain text: all of it is what a reader sees."""

from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.text.blocks import SEPARATOR, blocks_of, pieces_of
from gossamer.text.folding import folded
from gossamer.text.sketch import sketch_of
from services.parser.answers import with_hazards
from services.parser.extraction import Kind, kept
from services.parser.options import Options
from services.parser.readers.received import Received
from services.parser.simhash import simhash_of
from services.parser.text import digest_of


def read(received: Received) -> PageParsed:
    """Return what a plain text says."""
    parsed, found = received.decoded(is_html=False)
    return with_text(parsed, found.text, received.options)


def with_text(parsed: PageParsed, text: str, options: Options) -> PageParsed:
    """Return *parsed* with *text*, all of which a reader sees, and what follows from it."""
    visible = folded(text)
    if not visible:
        return parsed
    said = kept(text, Kind.PLAIN, parsed.language, options)
    return replace(
        with_hazards(parsed, [Hazard.MISREAD_TEXT] if said.misread else []),
        digest=digest_of(visible.encode()),
        simhash=simhash_of(visible, options.simhash_words),
        sketch=sketch_of(visible),
        blocks=blocks_of(pieces_of(text.replace("\n", SEPARATOR))),
        language=said.language,
        text=said.text,
        text_kind=said.kind,
    )
