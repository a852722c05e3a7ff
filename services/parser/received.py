"""The input of all readers, and functions that add links and text to the result of a reader."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import Link, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.services.parser.charset import DecodedText, decode_text
from gossamer.services.parser.links import Resolver
from gossamer.services.parser.options import Options
from gossamer.services.parser.result import add_hazards, add_hazards_if
from gossamer.services.parser.simhash import simhash_of
from gossamer.services.parser.text import TextKind, compare_fields, finish_text
from gossamer.text.blocks import SEPARATOR, fold_whitespace, split_pieces
from gossamer.web.markup import REPLACEMENT


class ReceivedDocument(NamedTuple):
    """A document with decoded content codings and a known media type."""

    parsed: PageParsed
    """The result so far, from the headers. A reader returns it with the contents."""
    body: bytes
    header: str
    """The value of Content-Type."""
    options: Options

    def decode(self, is_html: bool) -> tuple[PageParsed, DecodedText]:
        """Return the result with the character encoding, and the decoded body."""
        decoded = decode_text(self.body, self.header, is_html)
        parsed = add_hazards_if(self.parsed, {Hazard.CHARSET_CONFLICT: decoded.conflict})
        return replace(parsed, charset=decoded.encoding, charset_source=decoded.source), decoded


def add_links(parsed: PageParsed, targets: Iterable[str], options: Options) -> PageParsed:
    """Return *parsed* with links to *targets*, each once, up to the limits of a page.

    A target with an unreadable character is not what its author wrote.
    """
    resolver, urls, size = Resolver(parsed.visit.url, "utf-8"), dict[str, None](), 0
    for target in dict.fromkeys(targets):
        if REPLACEMENT in target:
            resolver.hazards.add(Hazard.MALFORMED_URL)
            continue
        if not (url := resolver.resolve(target)):
            continue
        if len(urls) == options.links_limit or (size := size + len(url)) > options.links_bytes:
            resolver.hazards.add(Hazard.TOO_MANY_LINKS)
            break
        urls[url] = None
    return replace(
        add_hazards(parsed, sorted(resolver.hazards)), links=tuple(Link(url) for url in urls)
    )


def add_text(parsed: PageParsed, text: str, options: Options) -> PageParsed:
    """Return *parsed* with *text*, which is visible as a whole, its hashes and its language."""
    visible = fold_whitespace(text)
    if not visible:
        return parsed
    stated = parsed.language or parsed.declared_language
    finished = finish_text(text, TextKind.PLAIN, stated, options)
    return replace(
        add_hazards_if(parsed, {Hazard.MISREAD_TEXT: finished.misread}),
        **compare_fields(split_pieces(text.replace("\n", SEPARATOR)), options),
        simhash=simhash_of(visible, options.simhash_words),
        language=finished.language,
        text=finished.text,
        text_kind=finished.kind,
    )
