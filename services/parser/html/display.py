"""Reads the part of an HTML document that a frame may show (`gossamer.services.parser.display`)."""

from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.events import PageFetched
from gossamer.services.parser.display import (
    ATTRIBUTES,
    ELEMENTS,
    HIDDEN,
    MAX_ATTRIBUTE,
    MAX_DEPTH,
    Display,
    DisplayNode,
)
from gossamer.services.parser.html.cost import truncate_costly
from gossamer.services.parser.html.document import decode_html
from gossamer.services.parser.options import Options
from gossamer.web.coding import decode
from gossamer.web.http import joined_values
from gossamer.web.sniffing import HTML, media_type

MAX_NODES = 200_000


def read_display(page: PageFetched, options: Options) -> Display:
    """Return the elements of the document in *page*, if it is HTML."""
    codings = joined_values(page.headers, "content-encoding")
    body = decode(page.body, codings, options.decoded_limit, options.ratio_limit)
    kind = media_type(page.headers, body.data)
    if kind not in HTML:
        return Display(kind)
    markup = decode_html(page, body.data, kind)
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
