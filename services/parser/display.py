"""The part of an HTML document that a frame may show: elements and attributes without effects.

A child of the pool reads it (`html.display`), because Lexbor parses hostile bytes. The parent
writes HTML from the nodes, and checks each of them against the same tables
(`gossamer.inspection.archive.archived_html`): a child that a page controls can therefore only
return a document of these elements. No attribute with an address is among them. The address of a
link or an image becomes its title.
"""

from msgspec import Struct

from gossamer.text.blocks import word_set

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
