"""Elements that a browser displays differently from their text in the tree.

A declarative shadow tree is displayed in place of its host's content, some of which is in its slots
(HTML standard, 4.8.5 and 4.12.4). Other templates are not displayed.

A frame shows the document in its `srcdoc` (HTML standard, 4.8.5), which belongs to the page. What
that document states about itself is not about the page: its title, address and linked data are
dropped.

Generators write a formula two or three times: as MathML for screen readers, as TeX, and as styled
text or a picture. One form is kept: a `math` element with its TeX, from which Markdown is made.

The readings above words (`ruby`) are put in parentheses, as for browsers without ruby. `q` has
quotation marks, and numbers in `sup` have raised digits: 10³ is not 103.

A reader chooses one of several tabs. All of them are text, each behind its label, although browsers
show one at a time.
"""

import re
from itertools import islice
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.services.parser.html.cost import truncate_costly
from gossamer.services.parser.html.elements import ancestors, classes_of, next_element
from gossamer.services.parser.html.hidden import is_displayed, open_panels, show
from gossamer.text.blocks import fold_whitespace, word_set

TEX = "data-tex"
"""The attribute of a `math` element with its TeX."""
MAX_SHADOW_DEPTH = 8
"""Most levels of nested shadow trees that are expanded."""
MAX_SLOTTED = 1_000
"""Most shadow trees of a page whose slots are filled. Hosts may be nested."""
MAX_FRAME_DEPTH, MAX_FRAMES = 3, 1_000
"""Most levels of nested frames with a `srcdoc` that are expanded, and most frames of a level."""
STATEMENT_SELECTOR = "base, meta, title, link:not([rel~='stylesheet' i]), script[type*='ld+json' i]"
"""Elements that are about the document that they are in."""
FRAME_ATTRIBUTES = ("hidden", "popover", "aria-hidden", "style")
"""Attributes of a frame that may hide its document."""
MAX_FORMULAS = 5_000
"""Most formulas that are read."""
FORMULA_SELECTOR = (
    "math, script[type^='math/tex'], .math, .arithmatex, "
    "img[class*='mwe-math-fallback'], img.latex, img.tex"
)
"""Elements with a formula: MathML, MathJax 2, pandoc, Sphinx, MkDocs, MediaWiki, WordPress."""
FORMULA_CLASSES = word_set("""
    katex mwe-math-element MathJax MathJax_CHTML MathJax_Display MathJax_Preview MathJax_SVG
""")
"""Classes of elements with several forms of a formula."""
MAX_WRAPPERS = 5
"""Most elements between MathML and an element of these classes."""
MAX_FORMS = 10
"""Most forms of a formula that are compared with its MathML."""
REPEATING_SELECTOR = "[aria-hidden=true], mjx-math"
"""Forms of a formula beside its MathML."""
TAB_SETS = {
    "tabbed-set": (".tabbed-labels > *", ".tabbed-content > *"),
    "vp-code-group": (".tabs > *", ".blocks > *"),
    "CodeTabs": (".CodeTabs-toolbar > *", ".CodeTabs-inner > *"),
    "openblock tabs": (".tablist li", ".tabpanel"),
    "mdbook-tabs-container": (".mdbook-tab", ".mdbook-tab-content"),
    "tab-panel": (".tab-nav-button", ".tab-content"),
}
"""Classes of elements with tabs, and the labels and tabs in them, in one order: of pymdown,
VitePress, ReadMe, Asciidoctor, mdbook-tabs and Hugo Relearn."""
TAB_LISTS = {
    "tablist": ("[role=tab]", "tabpanel"),
    "hextra-scrollbar": ("[role=tab]", "tabpanel"),
    "nav-tabs": ("a, button", "tab-pane"),
}
"""Classes or roles of elements with labels, the labels, and the classes or roles of their tabs,
which are elsewhere: of ARIA, Hextra and Bootstrap."""
STYLED_SELECTOR = ", ".join(
    [
        "rt, q, sup, span[style*='display' i], input[type=radio] + label, [role=tablist]",
        *(f".{names.replace(' ', '.')}" for names in (*TAB_SETS, *TAB_LISTS)),
    ]
)
"""Elements that `write_as_displayed` changes, beside formulas."""
MAX_TABS = 500
"""Most labels of tabs of a page that are moved, and most elements that may contain them."""
MAX_TABS_OF_SET = 100
"""Most labels and tabs in one element that are examined."""
MAX_TAB_DEPTH = 20
"""Most elements around a tab that may have tabs of their own."""
MAX_AROUND_TABS = 4
"""Most elements between a list of labels and the element with the tabs, too."""
RAISED = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
BLOCK_STYLES = frozenset(("block", "flex", "grid", "list-item", "table"))

_number = re.compile("[+\u2212-]?[0-9]{1,9}")
_delimited = re.compile(r"\s*(?:\\\((.+)\\\)|\\\[(.+)\\\]|\$\$(.+)\$\$)\s*", re.DOTALL)
_cdata = re.compile(r"^\s*%?\s*<!\[CDATA\[|%?\s*\]\]>\s*$")
_display = re.compile(r"(?:^|[;\s])display\s*:\s*([a-z-]+)", re.IGNORECASE)


def expand_shadow_trees(tree: LexborHTMLParser) -> None:
    """Replace each template of a shadow tree in *tree* by its content, with its slots filled."""
    slotted_left = MAX_SLOTTED
    for _ in range(MAX_SHADOW_DEPTH):
        templates = tree.css("template[shadowrootmode=open i], template[shadowrootmode=closed i]")
        if not templates:
            return
        hosts: set[int] = set()
        for template in templates:
            host = template.parent
            if host is None or host.mem_id in hosts:
                # A host has one shadow tree.
                del template.attrs["shadowrootmode"]
            else:
                hosts.add(host.mem_id)
                slotted_left -= 1
                _expand(template, host if slotted_left >= 0 else None)


def _expand(template: LexborNode, host: LexborNode | None) -> None:
    """Replace *template* by its content. Without *host*, its slots are not filled."""
    light: dict[str, list[LexborNode]] = {}
    for node in host.iter(include_text=True) if host else ():
        if node.mem_id != template.mem_id:
            slot = node.attributes.get("slot") if node.is_element_node else ""
            light.setdefault(slot or "", []).append(node)
    for fragment in template.template_fragments()[:1]:
        slots = fragment.css("slot")
        for child in list(fragment.iter(include_text=True)):
            template.insert_before(child, move=True)
        for slot_node in slots:
            nodes = light.pop(slot_node.attributes.get("name") or "", [])
            if nodes:
                for own in list(slot_node.iter(include_text=True)):
                    _hide(own)
            for node in nodes:
                slot_node.insert_child(node, move=True)
    template.decompose()
    for nodes in light.values():
        for node in nodes:
            _hide(node)


def expand_frames(tree: LexborHTMLParser) -> bool:
    """Insert the document in the `srcdoc` of each frame before its frame; return whether all of
    them are in *tree*. Those that are nested too deep, or too costly to read, are not."""
    for _ in range(MAX_FRAME_DEPTH):
        found = islice(tree.css("iframe[srcdoc]"), MAX_FRAMES)
        frames = [(node, node.attributes["srcdoc"] or "") for node in found]
        if not frames:
            return True
        whole = "".join(source for _, source in frames)
        left = len(truncate_costly(whole))
        is_cut = left < len(whole)
        for frame, source in frames:
            del frame.attrs["srcdoc"]
            _insert_frame(tree, frame, source[:left])
            left = max(0, left - len(source))
        if is_cut:
            return False
    return tree.css_first("iframe[srcdoc]") is None


def _insert_frame(tree: LexborHTMLParser, frame: LexborNode, source: str) -> None:
    """Insert the document *source* before *frame*, with the style and the base that it has."""
    document, attributes = tree.create_node("div"), frame.attributes
    document.inner_html = source
    for name in FRAME_ATTRIBUTES:
        if name in attributes:
            document.attrs[name] = attributes[name]
    sizes = [f"{name}:{attributes[name]}" for name in ("width", "height") if attributes.get(name)]
    style = ";".join([*sizes, "overflow:hidden", attributes.get("style") or ""])
    document.attrs["style"] = style
    base = document.css_first("base[href]")
    if base is not None:
        for node in document.css("[href], [src]"):
            for name in ("href", "src"):
                if target := node.attributes.get(name):
                    node.attrs[name] = _join(base.attributes["href"] or "", target)
    for node in document.css(STATEMENT_SELECTOR):
        node.decompose()
    frame.insert_before(document)


def _join(base: str, target: str) -> str:
    try:
        return urljoin(base, target)
    except ValueError:
        return target


def _hide(node: LexborNode) -> None:
    """Mark *node* as not displayed. An element stays in the tree: its links count, and the found
    `Elements` refer to it."""
    if node.is_element_node:
        node.attrs["style"] = "display:none"
    else:
        node.decompose()


def write_as_displayed(tree: LexborHTMLParser) -> None:
    """Keep one form of each formula of *tree*, and write readings and styled lines as text."""
    open_panels(tree)
    for annotation in islice(tree.css("annotation, annotation-xml"), MAX_FORMULAS):
        _read_annotation(annotation)
    wrappers: set[int] = set()
    for node in islice(tree.css(FORMULA_SELECTOR), MAX_FORMULAS):
        if node.tag == "math":
            _hide_other_forms(node, wrappers)
            _write_signs(node)
        else:
            _write_formula(tree, node)
    tabs_left, labels = MAX_TABS, set[int]()
    for node in tree.css(STYLED_SELECTOR):
        if node.tag == "rt":
            if all(one is None or one.tag != "rp" for one in (node.prev, node.next)):
                node.insert_before("(")
                node.insert_after(")")
        elif node.tag == "q":
            node.insert_before("\u201c")
            node.insert_after("\u201d")
        elif node.tag == "sup":
            _raise_number(node)
        elif node.tag == "span" and "role" not in node.attributes:
            style = _display.search(node.attributes.get("style") or "")
            if style and style[1].lower() in BLOCK_STYLES and not _is_preformatted(node):
                node.insert_before(tree.create_node("br"))
                node.insert_after(tree.create_node("br"))
        elif tabs_left > 0:
            tabs_left -= _label_tabs(tree, node, labels) or 1


def _raise_number(node: LexborNode) -> None:
    """Write the number that is all of *node* in raised digits, but not half of a fraction."""
    at, next_text = node.child, (node.next and node.next.text_content) or ""
    for _ in range(MAX_WRAPPERS):
        if at is None or at.is_text_node:
            break
        # A mark of a footnote is a link.
        at = at.child if at.next is None else None
    text = (at.text_content or "").strip() if at is not None and at.next is None else ""
    if at is None or not _number.fullmatch(text):
        return
    before = (node.prev and node.prev.text_content) or ""
    if not next_text.startswith(("/", "\u2044")) or before[-1:].isdecimal():
        at.replace_with(text.translate(RAISED))


def _is_preformatted(node: LexborNode) -> bool:
    return any(one.tag == "pre" for one in islice(ancestors(node), MAX_WRAPPERS + 1))


def _label_tabs(tree: LexborHTMLParser, node: LexborNode, moved: set[int]) -> int:
    """Move the labels of tabs, which *node* contains, before their tabs; return their number.

    If there are fewer tabs than labels, those move that name a tab: VitePress writes one tab. A
    list of labels may match several selectors: *moved* are the labels that were moved before.
    """
    labels, tabs = _find_tabs(node)
    if not moved.isdisjoint(label.mem_id for label in labels):
        return 0
    pairs = [*zip(labels, tabs, strict=False)]
    if len(labels) != len(tabs):
        by_id = {tab.attributes.get("id"): tab for tab in tabs}
        named = ((label, by_id.get(label.attributes.get("aria-controls"))) for label in labels)
        pairs = [(label, tab) for label, tab in named if tab and "id" in tab.attributes]
    if not is_displayed(node):
        return 0
    moved.update(label.mem_id for label, _ in pairs)
    for label, tab in pairs:
        words = fold_whitespace(label.text(separator=" "))
        if words or label.css_first("img, svg"):
            show(tab)
        _hide(label)
        if words:
            title = tree.create_node("legend")
            title.insert_child(words)
            tab.insert_before(title)
    return len(pairs)


def _find_tabs(node: LexborNode) -> tuple[list[LexborNode], list[LexborNode]]:
    """Return the labels and the tabs in *node*, or of the label *node*."""
    if node.tag == "label":
        tab = next_element(node)
        return ([node], [tab]) if tab is not None and tab.tag == "div" else ([], [])
    for names, (labels, tabs) in TAB_SETS.items():
        if _is_named(node, names):
            return _find_own(node, labels, names), _find_own(node, tabs, names)
    for names, (labels, name) in TAB_LISTS.items():
        if _is_named(node, names) and (found := node.css(labels)):
            return found, _find_beside(node, name)
    return [], []


def _is_named(node: LexborNode, names: str) -> bool:
    """Return whether *names* are classes or the role of *node*."""
    attributes = node.attributes
    words = f"{attributes.get('class') or ''} {attributes.get('role') or ''}".split()
    return all(name in words for name in names.split())


def _find_own(node: LexborNode, selector: str, names: str) -> list[LexborNode]:
    """Return the elements of *selector* in *node*, except those in another element of *names*."""
    return [
        one
        for one in islice(node.css(selector), MAX_TABS_OF_SET)
        if one.tag != "input" and not _is_nested(one, node, names)
    ]


def _find_beside(labels: LexborNode, name: str) -> list[LexborNode]:
    """Return the tabs with the *name* that are in the element behind the list *labels*, or else
    around it."""
    behind, places = next_element(labels), [*islice(ancestors(labels), MAX_AROUND_TABS)]
    if behind is not None and not _is_named(behind, name):
        places.insert(0, behind)
    for place in places:
        if place.tag == "body":
            break
        if tabs := _find_own(place, f".{name}, [role={name}]", name):
            return tabs
    return []


def _is_nested(node: LexborNode, within: LexborNode, names: str) -> bool:
    """Return whether *node* is in an element with *names* in *within*."""
    for at in islice(ancestors(node), MAX_TAB_DEPTH):
        if at.mem_id == within.mem_id:
            break
        if _is_named(at, names):
            return True
    return False


def _write_formula(tree: LexborHTMLParser, node: LexborNode) -> None:
    attributes = node.attributes
    if node.tag == "script":
        at = node.prev
        while at is not None and (_is_formula(at) or not (at.text_content or "x").strip()):
            if at.is_element_node:
                _hide(at)
            at = at.prev
        tex = _cdata.sub("", node.text())
        _insert_formula(tree, node, tex, tex, "mode=display" in (attributes.get("type") or ""))
    elif node.tag == "img":
        tex = attributes.get("alt") or ""
        hidden = node.prev.css_first("math") if node.prev else None
        text = hidden.text() if hidden else tex
        _insert_formula(tree, node, tex, text, "display" in (attributes.get("class") or ""))
    elif match := _delimited.fullmatch(_only_text(node)):
        tex = next(filter(None, match.groups()))
        _insert_formula(tree, node, tex, match[0], match[1] is None)


def _only_text(node: LexborNode) -> str:
    """Return the text of *node*; "" if it has more than one child."""
    child = node.child
    is_text = child is not None and child.is_text_node and child.next is None
    return (child.text_content or "") if child is not None and is_text else ""


def _read_annotation(annotation: LexborNode) -> None:
    """Remove the text of *annotation*, and note it in its formula if it is TeX."""
    text, encoding = annotation.text(), annotation.attributes.get("encoding") or ""
    for part in list(annotation.iter(include_text=True)):
        _hide(part)
    math = annotation.parent
    if math is not None and math.tag == "semantics":
        math = math.parent
    if math is not None and math.tag == "math" and encoding.lower().endswith("tex"):
        math.attrs[TEX] = fold_whitespace(text)


def _hide_other_forms(math: LexborNode, wrappers: set[int]) -> None:
    """Hide the other forms of a formula beside its MathML."""
    around = next(filter(_is_formula, islice(ancestors(math), MAX_WRAPPERS + 1)), None)
    if around is not None and around.mem_id not in wrappers:
        wrappers.add(around.mem_id)
        for form in islice(around.css(REPEATING_SELECTOR), MAX_FORMS):
            if form.css_first("math") is None:
                _hide(form)


def _write_signs(math: LexborNode) -> None:
    """Write what a formula says by its form: raised digits, and the stroke of a fraction."""
    for number in math.css("msup > mn:last-child"):
        _raise_number(number)
    for numerator in math.css("mfrac > :first-child"):
        # A formula may be found twice.
        if numerator.next is None or numerator.next.text_content != "/":
            numerator.insert_after("/")


def _is_formula(node: LexborNode) -> bool:
    if not node.is_element_node:
        return False
    return node.tag == "mjx-container" or not FORMULA_CLASSES.isdisjoint(classes_of(node))


def _insert_formula(
    tree: LexborHTMLParser, node: LexborNode, tex: str, text: str, is_display: bool
) -> None:
    """Insert a formula in place of *node*."""
    if not (tex := fold_whitespace(tex)):
        return
    math = tree.create_node("math")
    math.attrs[TEX] = tex
    if is_display:
        math.attrs["display"] = "block"
    math.insert_child(fold_whitespace(text))
    node.insert_before(math)
    _hide(node)
