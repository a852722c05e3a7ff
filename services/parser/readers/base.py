"""What a reader is given: one document, once its codings are undone and its type is known.

The links of what is no HTML: where it says that it leads, without words.

Reads plain text: all of it is what a reader sees.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import Link, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.text.blocks import SEPARATOR, make_blocks, split_pieces
from gossamer.text.folding import fold_whitespace
from gossamer.text.sketch import make_sketch
from services.parser.charset import DecodedText, decode_text
from services.parser.links import Resolver
from services.parser.options import Options
from services.parser.result import add_hazards
from services.parser.simhash import simhash_of
from services.parser.text import TextKind, digest_of, finish_text


class ReceivedDocument(NamedTuple):
    """A document, and what is known of it before it is read."""

    parsed: PageParsed
    """What its headers say. A reader returns it with what the document says."""
    body: bytes
    header: str
    """Its Content-Type."""
    options: Options

    def decoded(self, is_html: bool) -> tuple[PageParsed, DecodedText]:
        """Return what is known with the encoding, and the characters of the body."""
        found = decode_text(self.body, self.header, is_html)
        conflict = [Hazard.CHARSET_CONFLICT] if found.conflict else []
        known = add_hazards(self.parsed, conflict)
        return replace(known, charset=found.encoding, charset_source=found.source), found


def add_links(parsed: PageParsed, targets: Iterable[str], options: Options) -> PageParsed:
    """Return *parsed* with links to *targets*, each once, as many as are taken of a page."""
    resolver, urls, room = Resolver(parsed.visit.url, "utf-8"), dict[str, None](), 0
    for url in filter(None, map(resolver.url, dict.fromkeys(targets))):
        if len(urls) == options.links_limit or (room := room + len(url)) > options.links_bytes:
            resolver.hazards.add(Hazard.TOO_MANY_LINKS)
            break
        urls[url] = None
    return replace(
        add_hazards(parsed, sorted(resolver.hazards)), links=tuple(Link(url) for url in urls)
    )


def add_text(parsed: PageParsed, text: str, options: Options) -> PageParsed:
    """Return *parsed* with *text*, all of which a reader sees, and what follows from it."""
    visible = fold_whitespace(text)
    if not visible:
        return parsed
    said = finish_text(text, TextKind.PLAIN, parsed.language, options)
    return replace(
        add_hazards(parsed, [Hazard.MISREAD_TEXT] if said.misread else []),
        digest=digest_of(visible.encode()),
        simhash=simhash_of(visible, options.simhash_words),
        sketch=make_sketch(visible),
        blocks=make_blocks(split_pieces(text.replace("\n", SEPARATOR))),
        language=said.language,
        text=said.text,
        text_kind=said.kind,
    )
