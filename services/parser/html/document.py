"""An HTML document as browsers read it: metadata, visible text, headings and links.

Lexbor builds the tree that the HTML standard prescribes (1,296 of 1,296 tests of html5lib).
"""

from dataclasses import dataclass
from math import inf

from selectolax.lexbor import LexborHTMLParser

from gossamer.events import Heading
from gossamer.events.hazards import Hazard
from gossamer.text.blocks import SEPARATOR, make_blocks, split_pieces
from gossamer.text.folding import fold_whitespace
from gossamer.web.directives import (
    MAX_DIRECTIVE_LENGTH,
    POLICY,
    RESERVATION,
    meta_names,
    parse_directives,
)
from services.parser.html.about import Fields, collect_meta, read_about
from services.parser.html.elements import Elements
from services.parser.html.headings import find_headings
from services.parser.html.links import collect_links
from services.parser.html.text import INVISIBLE_ELEMENTS, NON_MAIN_ELEMENTS
from services.parser.options import Options

MAX_TITLE_LENGTH = 500
MAX_DESCRIPTION_LENGTH = 1000
DOCUMENT_END = "</body></html>"
LINKED_DATA_SELECTOR = "script[type='application/ld+json']"


@dataclass(frozen=True, slots=True)
class Document:
    """The contents of a document."""

    title: str
    description: str
    language: str
    """The lang attribute of the html element, normally a BCP 47 tag."""
    directives: tuple[str, ...]
    reserved: dict[str, str]
    """Reservations of rights (TDM), as in `Contents.usage`."""
    markup: str
    """HTML in which the main text is searched, without elements that never contain main text.
    "" if no main text is extracted."""
    visible: str
    """The visible text, white space folded."""
    blocks: bytes
    """The blocks of the visible text."""
    headings: tuple[Heading, ...]
    about: Fields
    """Metadata and links, as fields of `Contents`."""
    hazards: frozenset[Hazard]


def read_document(
    text: str, url: str, charset: str, options: Options, now: float = inf
) -> Document:
    """Read *text*, a document at the canonical *url* in *charset*; ignore times after *now*."""
    tree = LexborHTMLParser(text)
    elements = Elements(tree)
    meta = collect_meta(elements)
    robots = [value for name in meta_names(options.product) for value in meta.get(name, [])]
    links = collect_links(elements, url, charset, options)
    about = read_about(elements, meta, links.resolver, url, now)
    title, language = _find_title(elements), _find_language(tree)
    description = next(iter(meta.get("description", [])), "")
    # Linked data sometimes contains the whole article.
    linked_data = "" if options.text == "off" else _linked_data_markup(tree)
    tree.strip_tags(INVISIBLE_ELEMENTS, recursive=True)
    pieces = _visible_pieces(tree)
    return Document(
        title=title[:MAX_TITLE_LENGTH],
        description=fold_whitespace(description)[:MAX_DESCRIPTION_LENGTH],
        language=language,
        directives=parse_directives(robots, options.product),
        headings=find_headings(tree, options.physical_markup),
        markup="" if options.text == "off" else _main_text_markup(tree, linked_data),
        reserved={
            name: meta[name][0][:MAX_DIRECTIVE_LENGTH]
            for name in (RESERVATION, POLICY)
            if name in meta
        },
        visible=" ".join(pieces),
        blocks=make_blocks(pieces),
        about={**about, **links.fields(), "declared_language": language},
        hazards=links.hazards,
    )


def _visible_pieces(tree: LexborHTMLParser) -> list[str]:
    if not tree.body:
        return []
    return split_pieces(tree.body.text(separator=SEPARATOR, skip_empty=True))


def _find_title(elements: Elements) -> str:
    # SVG has title elements, too.
    titles = (element.node for element in elements.of("title"))
    page_titles = (node for node in titles if node.parent and node.parent.tag in ("head", "body"))
    return next((fold_whitespace(node.text()) for node in page_titles), "")


def _linked_data_markup(tree: LexborHTMLParser) -> str:
    return "".join(node.html or "" for node in tree.css(LINKED_DATA_SELECTOR))


def _find_language(tree: LexborHTMLParser) -> str:
    attributes = tree.root.attributes if tree.root else {}
    return attributes.get("lang") or attributes.get("xml:lang") or ""


def _main_text_markup(tree: LexborHTMLParser, linked_data: str) -> str:
    tree.strip_tags(NON_MAIN_ELEMENTS, recursive=True)
    return (tree.html or "").removesuffix(DOCUMENT_END) + linked_data + DOCUMENT_END
