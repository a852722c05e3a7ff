"""The part of an HTML document that a frame may show: elements and attributes without effects.

A child of the pool reads it, because Lexbor parses hostile bytes. The parent writes HTML from the
nodes, and checks each of them against the same tables
(`gossamer.inspection.archive.archived_html`): a child that a page controls can therefore only
return a document of these elements. No attribute with an address is among them. The address of a
link or an image becomes its title.
"""

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.events import PageFetched
from gossamer.services.parser.charset import decode_text
from gossamer.services.parser.html.cost import truncate_costly
from gossamer.services.parser.html.document import xhtml_to_html
from gossamer.services.parser.options import Options
from gossamer.text.blocks import word_set
from gossamer.web.coding import decode
from gossamer.web.http import joined_values
from gossamer.web.sniffing import HTML, media_type

XHTML = "application/xhtml+xml"
MAX_NODES = 200_000
MAX_DEPTH = 200
"""Deeper elements are shown as if they were at this depth."""
MAX_ATTRIBUTE = 2000
"""Characters of an attribute."""


ELEMENTS = word_set("""
    a abbr address article aside b bdi bdo big blockquote body br caption center cite code col
    colgroup dd del details dfn dir div dl dt em fieldset figcaption figure font footer h1 h2 h3 h4
    h5 h6 header hgroup hr i img ins kbd legend li main mark menu nav ol p pre q rp rt ruby s samp
    section small span strike strong style sub summary sup table tbody td tfoot th thead time tr tt
    u ul var wbr
""")
"""The elements that are shown. Unknown ones are replaced by their contents."""
HIDDEN = word_set("""
    applet area audio base canvas datalist embed frame frameset head iframe input link map math meta
    noembed noframes object option param picture script select source svg template textarea title
    track video
""")
"""The elements that are dropped with their contents. Styles in `head` are kept."""
VOID = word_set("br col hr img wbr")
ATTRIBUTES = word_set("""
    align alt bgcolor border cellpadding cellspacing class color colspan datetime dir face headers
    height id lang nowrap open reversed rowspan scope size span start style title type valign value
    width
""")
"""The attributes that are kept. None of them causes a request or an action."""


class DisplayNode(Struct, frozen=True, array_like=True):
    """An element, or a text."""

    depth: int
    """The number of elements around it, `body` included."""
    tag: str
    """The name of the element; "" for a text."""
    text: str = ""
    """The text, or the contents of a style."""
    attributes: dict[str, str] = {}


class Display(Struct, frozen=True):
    """The elements of a document in their order, or nothing for a document of another type."""

    content_type: str
    """The type of the document by its bytes."""
    nodes: tuple[DisplayNode, ...] = ()
    is_whole: bool = True
    """Whether nothing was dropped because the document is too large."""


def read_display(page: PageFetched, options: Options) -> Display:
    """Return the elements of the document in *page*, if it is HTML."""
    codings = joined_values(page.headers, "content-encoding")
    body = decode(page.body, codings, options.decoded_limit, options.ratio_limit)
    kind = media_type(page.headers, body.data)
    if kind not in HTML:
        return Display(kind)
    header = joined_values(page.headers, "content-type")
    whole = decode_text(body.data, header, is_html=True).text
    markup = xhtml_to_html(whole) if kind == XHTML else whole
    html = truncate_costly(markup)
    nodes = [*islice(_nodes(LexborHTMLParser(html)), MAX_NODES)]
    is_whole = not body.cut and len(html) == len(markup) and len(nodes) < MAX_NODES
    return Display(kind, tuple(nodes), is_whole)


def _nodes(tree: LexborHTMLParser) -> Iterator[DisplayNode]:
    for style in tree.css("head style"):
        yield DisplayNode(0, "style", style.text())
    if tree.body is None:
        return
    waiting = [(tree.body, 0)]
    while waiting:
        node, depth = waiting.pop()
        # The order is that of the document: first the contents, then what follows the element.
        if node.next is not None and node is not tree.body:
            waiting.append((node.next, depth))
        tag = node.tag or ""
        if tag == "-text":
            yield DisplayNode(depth, "", node.text_content or "")
        elif tag == "style":
            yield DisplayNode(depth, "style", node.text())
        elif tag in ELEMENTS:
            yield DisplayNode(depth, tag, attributes=_attributes(node, tag))
            depth = min(depth + 1, MAX_DEPTH)
        if tag not in HIDDEN and tag != "style" and node.child is not None:
            waiting.append((node.child, depth))


def _attributes(node: LexborNode, tag: str) -> dict[str, str]:
    """Return the attributes of an element; the address of a link or an image is its title."""
    found = {
        name: (value or "")[:MAX_ATTRIBUTE]
        for name, value in node.attributes.items()
        if name in ATTRIBUTES
    }
    if address := node.attributes.get("src" if tag == "img" else "href"):
        found["title"] = address.strip()[:MAX_ATTRIBUTE]
    return found
