"""An HTML document as browsers read it: what it says of itself, its visible text, its links.

The tree is lexbor's, which builds what the HTML standard says (1,296 of 1,296 tests of html5lib).
"""

from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from gossamer.events import Link
from services.parser.directives import META_NAMES, directives
from services.parser.links import SELECTOR, Links, tokens
from services.parser.text import folded

TITLE_LIMIT = 500
DESCRIPTION_LIMIT = 1000
UNREAD = ["style", "noscript", "template", "script:not([type='application/ld+json'])"]
"""What is left out of the markup; linked data sometimes holds the whole article."""
INVISIBLE = ["script", "title"]


@dataclass(frozen=True, slots=True)
class Document:
    """What was read from a document."""

    title: str
    description: str
    language: str
    """As the html element has it: a BCP 47 tag, perhaps."""
    canonical: str
    directives: frozenset[str]
    links: tuple[Link, ...]
    markup: str
    """The document spelt properly and without scripts, for the main text to be found in."""
    visible: str
    """Its visible text, white space folded."""
    hazards: frozenset[str]


def read(text: str, url: str, charset: str) -> Document:
    """Read the document *text* that was found at the canonical *url* in *charset*."""
    tree = LexborHTMLParser(text)
    meta = _meta(tree)
    links = Links(_base(tree, url, charset), charset)
    canonical = _canonical(tree, links)
    for node in tree.css(SELECTOR):
        links.add(node)
    title, language = _title(tree), _language(tree)
    tree.strip_tags(UNREAD, recursive=True)
    markup = tree.html or ""
    return Document(
        title=title[:TITLE_LIMIT],
        description=folded(" ".join(meta.get("description", [])[:1]))[:DESCRIPTION_LIMIT],
        language=language,
        canonical=canonical,
        directives=directives(value for name in META_NAMES for value in meta.get(name, [])),
        links=links.all(),
        markup=markup,
        visible=_visible(tree),
        hazards=frozenset(links.hazards),
    )


def _meta(tree: LexborHTMLParser) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in tree.css("meta[name][content]"):
        name = (node.attributes.get("name") or "").strip().lower()
        found.setdefault(name, []).append(node.attributes.get("content") or "")
    return found


def _base(tree: LexborHTMLParser, url: str, charset: str) -> str:
    node = tree.css_first("base[href]")
    target = node.attributes.get("href") if node else None
    # HTML standard, 4.2.3: a base that does not parse is as if it were not there.
    return (Links(url, charset).resolved(target) if target else "") or url


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


def _visible(tree: LexborHTMLParser) -> str:
    tree.strip_tags(INVISIBLE, recursive=True)
    return folded(tree.body.text(separator=" ")) if tree.body else ""
