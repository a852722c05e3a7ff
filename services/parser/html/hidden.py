"""Text of a document that no reader sees.

Elements that a browser does not display are removed from the tree: their text is neither published
nor compared. Their links count, because they were read before. Other hidden text may be honest, and
only a browser could decide: text off the screen is for screen readers. Such text is kept, and its
page is marked (hazard `hidden_text`).

A panel of an accordion is hidden until a reader opens it, so its text is text of the page. It is
named by a button (`aria-controls`, WAI-ARIA 1.2, 6.6), which must be displayed and have words. A
list of links, a dialog or a tooltip is not a panel.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.services.parser.html.elements import ancestors
from gossamer.text.blocks import word_set, words_of

HIDDEN_SELECTOR = (
    "[hidden], [popover], dialog:not([open]), canvas, video, audio, iframe, datalist, noembed, "
    "[style*='display' i], [style*='visibility' i]"
)
"""Elements that may not be displayed. `content-visibility` has the name of `visibility` in it."""
FALLBACK_ELEMENTS = frozenset(("audio", "canvas", "datalist", "iframe", "noembed", "video"))
"""Elements whose text browsers display only if they cannot display the element."""
CONCEALED_SELECTOR = (
    "[aria-hidden=true], font[color], [style]:is("
    "[style*='font-size' i], [style*='opacity' i], [style*='color' i], "
    "[style*='left' i], [style*='right' i], [style*='top' i], [style*='indent' i], "
    "[style*='clip' i], [style*='overflow' i], [style*='transform' i])"
)
"""Elements whose text may be concealed."""
INVISIBLE_ELEMENTS = [
    *("script", "style", "noscript", "noframes", "template", "title", "desc", "metadata"),
]
"""Elements whose text is not displayed."""
PANEL_SELECTOR = "[id][hidden], [id][style], [id][aria-hidden=true]"
"""Elements that may be closed panels."""
CONTROL_SELECTOR = ", ".join(
    f"{control}[aria-controls]:not([aria-haspopup]:not([aria-haspopup=false]))"
    for control in ("button", "a", "[role=button]", "[role=tab]", "[aria-expanded]")
)
"""Elements that may open a panel. A menu or a dialog pops up."""
OTHER_PANELS = word_set("""
    alertdialog dialog footer grid listbox menu nav navigation search tooltip tree
""")
"""Elements and roles of elements that are opened, and are not text of the page."""
MAX_PANELS = 200
"""Most panels of a page that are opened."""
MAX_LINKED_PANEL = 0.5
"""Highest share of characters in links of a panel. A menu has more."""
MAX_DEPTH = 100
"""Most elements around a control or a panel that are examined."""
MIN_NOSCRIPT_CHARACTERS = 300
"""Fewest characters of the contents of a page that are in a noscript element. A notice about
scripts is shorter."""
MIN_CONCEALED_WORDS = 5
"""Fewest words of concealed text that count. A label for screen readers is shorter."""
MAX_HIDDEN_SHARE = 0.9
"""Highest share of a page's text that is removed. A page that is hidden as a whole is displayed by
its scripts."""
MAX_AROUND = 6
"""Most elements around a text that may have its background."""
MAX_MEASURED = 200
"""Most elements whose text is measured. They may be nested."""
FAR = 900
"""Pixels, or twentieths of an em, beyond which an element is off the screen."""
PIXELS = {"em": 16, "rem": 16, "pt": 1.3, "vw": 10, "vh": 10, "%": 10}
"""Pixels of a unit, roughly."""
MOVING_STYLES = words_of("left right top text-indent margin-left margin-top transform")
"""Styles that move an element."""
NO_COLORS = frozenset(("auto", "currentcolor", "inherit", "initial", "none", "revert", "unset"))

_comment = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_length = re.compile(r"(-?\d{0,9}\.?\d{1,9})(px|em|rem|pt|vw|vh|%)?")
_tiny = re.compile(r"\+?0*[01]?(?:\.\d{1,9})?(?:px|pt)")
"""A size of the font in which nothing can be read, in pixels or points."""
_zero = re.compile(r"[+-]?0*\.?0+(?:px|em|rem|pt|%)?")
_rgb = re.compile(r"rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)(?:[\s,/]+([\d.]+%?))?\s*\)")
_colors = {"white": "ffffff", "black": "000000", "transparent": ""}


def remove_hidden(tree: LexborHTMLParser) -> None:
    """Remove elements that are not displayed from *tree*."""
    notices = [
        node
        for node in islice(tree.css("body noscript"), MAX_MEASURED)
        if len(node.text()) >= MIN_NOSCRIPT_CHARACTERS
    ]
    if notices:
        tree.strip_tags([one for one in INVISIBLE_ELEMENTS if one != "noscript"], recursive=True)
        most = MAX_HIDDEN_SHARE * len(tree.body.text()) if tree.body else 0
        for node in notices:
            if len(node.text()) > most:
                # Scripts replace the text, or show it as it is.
                node.unwrap()
    tree.strip_tags(INVISIBLE_ELEMENTS, recursive=True)
    hidden = [node for node in tree.css(HIDDEN_SELECTOR) if is_hidden(node)]
    if not hidden:
        return
    most = MAX_HIDDEN_SHARE * len(tree.body.text()) if tree.body else 0
    whole = {node.mem_id for node in hidden[:MAX_MEASURED] if len(node.text()) > most}
    # The last one first: an element comes after those that contain it.
    for node in reversed(hidden):
        if node.mem_id not in whole or node.tag in FALLBACK_ELEMENTS:
            node.decompose()


def open_panels(tree: LexborHTMLParser) -> None:
    """Display the closed panels of *tree* that a displayed control names."""
    controls = tree.css(CONTROL_SELECTOR)
    if not controls:
        return
    panels: dict[str, LexborNode] = {}
    for node in tree.css(PANEL_SELECTOR):
        panels.setdefault(node.attributes["id"] or "", node)
    opened = 0
    for control in controls:
        for name in (control.attributes["aria-controls"] or "").split():
            if name not in panels or not is_displayed(control) or not control.text().strip():
                continue
            panel = panels.pop(name)
            opened += 1
            if opened > MAX_PANELS:
                return
            if _is_panel(panel):
                show(panel)


def is_displayed(node: LexborNode) -> bool:
    """Return whether readers see *node*, as far as its attributes and those around it tell."""
    return not any(
        (one.css_matches(HIDDEN_SELECTOR) and is_hidden(one))
        or (one.css_matches(CONCEALED_SELECTOR) and is_concealed(one))
        for one in _with_ancestors(node)
    )


def show(node: LexborNode) -> None:
    """Display *node*; other styles than its display stay."""
    attributes = node.attributes
    for name in ("hidden", "aria-hidden"):
        if name in attributes:
            del node.attrs[name]
    if "style" in attributes:
        style = read_style(attributes["style"] or "")
        rest = {name: style[name] for name in style if name not in ("display", "visibility")}
        node.attrs["style"] = ";".join(f"{name}:{value}" for name, value in rest.items())


def _is_panel(node: LexborNode) -> bool:
    if any(
        one.tag in OTHER_PANELS or one.attributes.get("role") in OTHER_PANELS
        for one in _with_ancestors(node)
    ):
        return False
    linked = sum(len(link.text()) for link in node.css("a[href]"))
    return linked <= MAX_LINKED_PANEL * len(node.text())


def _with_ancestors(node: LexborNode) -> Iterator[LexborNode]:
    return islice(chain([node], ancestors(node)), MAX_DEPTH)


def is_hidden(node: LexborNode) -> bool:
    """Return whether a browser does not display *node*, which `HIDDEN_SELECTOR` selects."""
    if node.tag in FALLBACK_ELEMENTS:
        return True
    if node.tag in ("html", "body"):
        return False
    attributes = node.attributes
    style = read_style(attributes.get("style") or "")
    display = style.get("display")
    if display:
        # A style outweighs the style of browsers for the attributes below.
        if display == "none":
            return True
    elif (
        "popover" in attributes
        or (node.tag == "dialog" and "open" not in attributes)
        or ("hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found")
    ):
        return True
    if style.get("visibility") in ("hidden", "collapse"):
        return node.css_first("[style*='visible' i]") is None
    return style.get("content-visibility") == "hidden"


def read_style(style: str) -> dict[str, str]:
    """Return the declarations of a style attribute that hold: name → value, in lower case."""
    found: dict[str, str] = {}
    important: set[str] = set()
    for declaration in _comment.sub("", style).lower().split(";"):
        name, colon, value = declaration.partition(":")
        name = name.strip()
        value, bang, mark = value.partition("!")
        is_important = bool(bang) and mark.strip() == "important"
        if colon and (is_important or name not in important):
            found[name] = " ".join(value.split())
            if is_important:
                important.add(name)
    return found


def has_concealed_text(tree: LexborHTMLParser) -> bool:
    """Return whether *tree* has displayed text that readers hardly see."""
    concealed = (node for node in tree.css(CONCEALED_SELECTOR) if is_concealed(node))
    return any(
        len(node.text(separator=" ").split(None, MIN_CONCEALED_WORDS)) >= MIN_CONCEALED_WORDS
        for node in islice(concealed, MAX_MEASURED)
    )


def is_concealed(node: LexborNode) -> bool:
    """Return whether readers hardly see the text of *node*."""
    attributes = node.attributes
    if (attributes.get("aria-hidden") or "").lower() == "true":
        return True
    style = read_style(attributes.get("style") or "")
    sizes = (style.get(name, "") for name in ("font-size", "opacity"))
    if any(_zero.fullmatch(size) for size in sizes) or _tiny.fullmatch(style.get("font-size", "")):
        return True
    if "opacity(0)" in style.get("filter", ""):
        return True
    if any(_is_far(style.get(name, "")) for name in MOVING_STYLES):
        return True
    if "scale(0)" in style.get("transform", ""):
        return True
    if style.get("clip-path", "").startswith(("inset(50%", "inset(100%")) or re.match(
        r"rect\(\s*(?:0|1px)", style.get("clip", "")
    ):
        return True
    if style.get("overflow") in ("hidden", "clip") and any(
        re.fullmatch(r"[01](?:px)?", style.get(name, ""))
        for name in ("width", "height", "max-height", "max-width")
    ):
        return True
    return _has_no_contrast(node, style)


def _is_far(value: str) -> bool:
    for number, unit in _length.findall(value):
        if float(number) * PIXELS.get(unit, 1) <= -FAR:
            return True
    return False


def _has_no_contrast(node: LexborNode, style: dict[str, str]) -> bool:
    """Return whether the text of *node* has the color of the innermost known background."""
    stated = style.get("color") or (node.tag == "font" and node.attributes.get("color")) or ""
    color = _read_color(stated.strip().lower())
    if not color:
        return color == ""
    for around in islice(_with_ancestors(node), MAX_AROUND):
        style = read_style(around.attributes.get("style") or "")
        background = style.get("background-color") or style.get("background")
        background = background or (around.attributes.get("bgcolor") or "").lower()
        if background:
            return color == _read_color(background)
    return False


def _read_color(value: str) -> str | None:
    """Return a color as six hexadecimal digits, "" if it is transparent, None if it is unknown."""
    if value in _colors:
        return _colors[value]
    if match := re.fullmatch(r"#([0-9a-f]{3,8})", value):
        digits = match[1]
        if len(digits) in (3, 4):
            digits = "".join(digit * 2 for digit in digits)
        return "" if digits[6:] == "00" else digits[:6]
    if match := _rgb.fullmatch(value):
        if match[4] and float(match[4].rstrip("%")) == 0:
            return ""
        return "".join(f"{min(255, round(float(part))):02x}" for part in match.groups()[:3])
    return value if value.isalpha() and value not in NO_COLORS else None
