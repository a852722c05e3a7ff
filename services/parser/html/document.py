"""An HTML document as browsers read it: what it says about itself, its visible text, its links.

Lexbor builds the tree that the HTML standard prescribes (1,296 of 1,296 tests of html5lib).
"""

from dataclasses import dataclass
from math import inf

from selectolax.lexbor import LexborHTMLParser

from gossamer.events import Heading
from gossamer.events.hazards import Hazard
from gossamer.text.blocks import SEPARATOR, blocks_of, pieces_of
from gossamer.text.folding import folded
from gossamer.web.directives import LENGTH, POLICY, RESERVATION, directives, meta_names
from services.parser.html.about import Fields, about, meta_of
from services.parser.html.elements import Elements
from services.parser.html.headings import headings
from services.parser.html.links import collect
from services.parser.html.text import NEVER_MAIN, UNSEEN
from services.parser.options import Options

TITLE_LIMIT = 500
DESCRIPTION_LIMIT = 1000
END = "</body></html>"
LINKED_DATA = "script[type='application/ld+json']"


@dataclass(frozen=True, slots=True)
class Document:
    """What was read from a document."""

    title: str
    description: str
    language: str
    """The lang attribute of the html element: a BCP 47 tag, if it was used properly."""
    directives: tuple[str, ...]
    reserved: dict[str, str]
    """What it reserves of its use, as `Contents.usage` has it."""
    markup: str
    """What the main text is looked for in: without all that it is never in; "" if unwanted."""
    visible: str
    """The text that people see, white space folded."""
    blocks: bytes
    """The same, block by block."""
    headings: tuple[Heading, ...]
    about: Fields
    """What else it says of itself, as fields of `Contents`."""
    hazards: frozenset[Hazard]


def read(text: str, url: str, charset: str, options: Options, now: float = inf) -> Document:
    """Read *text*, found at the canonical *url* in *charset*; times after *now* are none."""
    tree = LexborHTMLParser(text)
    elements = Elements(tree)
    meta = meta_of(elements)
    robots = [value for name in meta_names(options.product) for value in meta.get(name, [])]
    found = collect(elements, url, charset, options)
    said = about(elements, meta, found.resolver, url, now)
    title, language = _title(elements), _language(tree)
    # Sometimes the whole article is in there.
    linked = "" if options.text == "off" else _linked_data(tree)
    tree.strip_tags(UNSEEN, recursive=True)
    pieces = _pieces(tree)
    return Document(
        title=title[:TITLE_LIMIT],
        description=folded(" ".join(meta.get("description", [])[:1]))[:DESCRIPTION_LIMIT],
        language=language,
        directives=directives(robots, options.product),
        headings=headings(tree, options.physical_markup),
        markup="" if options.text == "off" else _markup(tree, linked),
        reserved={name: meta[name][0][:LENGTH] for name in (RESERVATION, POLICY) if name in meta},
        visible=" ".join(pieces),
        blocks=blocks_of(pieces),
        about={**said, **found.fields(), "declared_language": language},
        hazards=found.hazards,
    )


def _pieces(tree: LexborHTMLParser) -> list[str]:
    return pieces_of(tree.body.text(separator=SEPARATOR, skip_empty=True)) if tree.body else []


def _title(elements: Elements) -> str:
    # Not the title of a picture: in SVG it is an element of the same name.
    titles = (element.node for element in elements.of("title"))
    own = (node for node in titles if node.parent and node.parent.tag in ("head", "body"))
    return next((folded(node.text()) for node in own), "")


def _linked_data(tree: LexborHTMLParser) -> str:
    return "".join(node.html or "" for node in tree.css(LINKED_DATA))


def _language(tree: LexborHTMLParser) -> str:
    attributes = tree.root.attributes if tree.root else {}
    return attributes.get("lang") or attributes.get("xml:lang") or ""


def _markup(tree: LexborHTMLParser, linked: str) -> str:
    tree.strip_tags(NEVER_MAIN, recursive=True)
    return (tree.html or "").removesuffix(END) + linked + END
