"""An HTML document as browsers read it: what it says about itself, its visible text, its links.

Lexbor builds the tree that the HTML standard prescribes (1,296 of 1,296 tests of html5lib).
"""

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from gossamer.events import Heading, Link
from gossamer.events.hazards import Hazard
from gossamer.text.blocks import SEPARATOR, blocks_of
from services.parser.directives import directives, meta_names
from services.parser.headings import headings
from services.parser.links import SELECTOR, Links, tokens
from services.parser.options import Options
from services.parser.text import NEVER_MAIN, folded
from services.parser.visible import UNSEEN

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
    canonical: str
    directives: frozenset[str]
    links: tuple[Link, ...]
    markup: str
    """What the main text is looked for in: without all that it is never in; "" if unwanted."""
    visible: str
    """The text that people see, white space folded."""
    blocks: bytes
    """The same, block by block."""
    headings: tuple[Heading, ...]
    hazards: frozenset[Hazard]


def read(text: str, url: str, charset: str, options: Options) -> Document:
    """Read *text*, found at the canonical *url* in *charset*."""
    tree = LexborHTMLParser(text)
    meta = _meta(tree)
    robots = [value for name in meta_names(options.product) for value in meta.get(name, [])]
    links = Links(_base(tree, Links(url, charset, options)) or url, charset, options)
    canonical = _canonical(tree, links)
    for node in tree.css(SELECTOR):
        links.add(node)
    title, language = _title(tree), _language(tree)
    # Sometimes the whole article is in there.
    linked = "".join(node.html or "" for node in tree.css(LINKED_DATA))
    tree.strip_tags(UNSEEN, recursive=True)
    # The separator is white space to whoever folds it.
    visible = tree.body.text(separator=SEPARATOR, skip_empty=True) if tree.body else ""
    return Document(
        title=title[:TITLE_LIMIT],
        description=folded(" ".join(meta.get("description", [])[:1]))[:DESCRIPTION_LIMIT],
        language=language,
        canonical=canonical,
        directives=directives(robots, options.product),
        links=links.all(),
        headings=headings(tree, options.physical_markup),
        markup="" if options.text == "off" else _markup(tree, linked),
        visible=folded(visible),
        blocks=blocks_of(visible),
        hazards=frozenset(links.hazards),
    )


def _meta(tree: LexborHTMLParser) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in tree.css("meta[name][content]"):
        name = (node.attributes.get("name") or "").strip().lower()
        found.setdefault(name, []).append(node.attributes.get("content") or "")
    return found


def _base(tree: LexborHTMLParser, links: Links) -> str:
    node = tree.css_first("base[href]")
    target = node.attributes.get("href") if node else None
    # HTML standard, 4.2.3: a base that does not parse is as if it were not there.
    return links.resolved(target) if target else ""


def _canonical(tree: LexborHTMLParser, links: Links) -> str:
    for node in tree.css("link[rel][href]"):
        target = node.attributes.get("href")
        if target and "canonical" in tokens(node.attributes.get("rel")):
            return links.resolved(target)
    return ""


def _title(tree: LexborHTMLParser) -> str:
    # Not the title of a picture: in SVG it is an element of the same name.
    node = tree.css_first("head > title, body > title")
    return folded(node.text()) if node else ""


def _language(tree: LexborHTMLParser) -> str:
    attributes = tree.root.attributes if tree.root else {}
    return attributes.get("lang") or attributes.get("xml:lang") or ""


def _markup(tree: LexborHTMLParser, linked: str) -> str:
    tree.strip_tags(NEVER_MAIN, recursive=True)
    return (tree.html or "").removesuffix(END) + linked + END
