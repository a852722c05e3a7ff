"""Elements that a browser displays differently from their text in the tree.

A declarative shadow tree is displayed in place of its host's content, some of which is in its slots
(HTML standard, 4.8.5 and 4.12.4). Other templates are not displayed.

Generators write a formula two or three times: as MathML for screen readers, as TeX, and as styled
text or a picture. One form is kept: a `math` element with its TeX, from which Markdown is made.

The readings above words (`ruby`) are put in parentheses, as for browsers without ruby.

A reader chooses one of several tabs. All of them are text, each behind its label, although browsers
show one at a time.
"""

import re
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.text.blocks import fold_whitespace

TEX = "data-tex"
"""The attribute of a `math` element with its TeX."""
MAX_SHADOW_DEPTH = 8
"""Most levels of nested shadow trees that are expanded."""
MAX_SLOTTED = 1_000
"""Most shadow trees of a page whose slots are filled. Hosts may be nested."""
MAX_FORMULAS = 5_000
"""Most formulas that are read."""
FORMULA_SELECTOR = (
    "math, script[type^='math/tex'], .math, .arithmatex, "
    "img[class*='mwe-math-fallback'], img.latex, img.tex"
)
"""Elements with a formula: MathML, MathJax 2, pandoc, Sphinx, MkDocs, MediaWiki, WordPress."""
FORMULA_CLASSES = frozenset(
    [
        "katex",
        "mwe-math-element",
        "MathJax",
        "MathJax_CHTML",
        "MathJax_Display",
        "MathJax_Preview",
        "MathJax_SVG",
    ]
)
"""Classes of elements with several forms of a formula."""
MAX_WRAPPERS = 5
"""Most elements between MathML and an element of these classes."""
MAX_FORMS = 10
"""Most forms of a formula that are compared with its MathML."""
REPEATING_SELECTOR = "[aria-hidden=true], mjx-math"
"""Forms of a formula beside its MathML."""
STYLED_SELECTOR = (
    "rt, span[style*='display' i], [role=tablist], input[type=radio] + label, .tabbed-set, "
    ".vp-code-group, .CodeTabs, .openblock.tabs"
)
"""Elements that `write_as_displayed` changes, beside formulas."""
TAB_SETS = {
    "tabbed-set": ("tabbed-labels", "tabbed-content"),
    "vp-code-group": ("tabs", "blocks"),
    "CodeTabs": ("CodeTabs-toolbar", "CodeTabs-inner"),
}
"""Classes of the elements with the labels and with the tabs, in the order of the labels: of
pymdown, VitePress and ReadMe."""
MAX_TABS = 500
"""Most labels of tabs of a page that are moved."""
MAX_AROUND_TABS = 4
"""Most elements between a list of labels and the element with the tabs, too."""
BLOCK_STYLES = frozenset(("block", "flex", "grid", "list-item", "table"))

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


def _hide(node: LexborNode) -> None:
    """Mark *node* as not displayed. An element stays in the tree: its links count, and the found
    `Elements` refer to it."""
    if node.is_element_node:
        node.attrs["style"] = "display:none"
    else:
        node.decompose()


def write_as_displayed(tree: LexborHTMLParser) -> None:
    """Keep one form of each formula of *tree*, and write readings and styled lines as text."""
    for annotation in islice(tree.css("annotation, annotation-xml"), MAX_FORMULAS):
        _read_annotation(annotation)
    wrappers: set[int] = set()
    for node in islice(tree.css(FORMULA_SELECTOR), MAX_FORMULAS):
        if node.tag == "math":
            _hide_other_forms(node, wrappers)
        else:
            _write_formula(tree, node)
    tabs_left = MAX_TABS
    for node in tree.css(STYLED_SELECTOR):
        if node.tag == "rt":
            if all(one is None or one.tag != "rp" for one in (node.prev, node.next)):
                node.insert_before("(")
                node.insert_after(")")
        elif node.tag == "span" and "role" not in node.attributes:
            style = _display.search(node.attributes.get("style") or "")
            if style and style[1].lower() in BLOCK_STYLES and not _is_preformatted(node):
                node.insert_before(tree.create_node("br"))
                node.insert_after(tree.create_node("br"))
        elif tabs_left > 0:
            tabs_left -= _label_tabs(tree, node)


def _is_preformatted(node: LexborNode) -> bool:
    around = node.parent
    for _ in range(MAX_WRAPPERS):
        if around is None or around.tag == "pre":
            break
        around = around.parent
    return around is not None and around.tag == "pre"


def _label_tabs(tree: LexborHTMLParser, node: LexborNode) -> int:
    """Move the labels of tabs, which *node* contains, before their tabs; return their number.

    Nothing is moved if the tabs are not as many as the labels.
    """
    labels, tabs = _find_tabs(node)
    if not labels or len(labels) != len(tabs):
        return 0
    for label, tab in zip(labels, tabs, strict=True):
        words = fold_whitespace(label.text(separator=" "))
        for name in ("hidden", "style"):
            if name in tab.attributes:
                del tab.attrs[name]
        _hide(label)
        if words:
            title = tree.create_node("legend")
            title.insert_child(words)
            tab.insert_before(title)
    return len(labels)


def _find_tabs(node: LexborNode) -> tuple[list[LexborNode], list[LexborNode]]:
    """Return the labels and the tabs in *node*, or of the label *node*."""
    if node.tag == "label":
        tab = node.next
        while tab is not None and not tab.is_element_node:
            tab = tab.next
        return ([node], [tab]) if tab is not None and tab.tag == "div" else ([], [])
    if node.attributes.get("role") == "tablist":
        labels = node.css("[role=tab]")
        return labels, _find_panels(node) if labels else []
    classes = (node.attributes.get("class") or "").split()
    if "openblock" in classes:
        return node.css(".tablist li"), node.css(".tabpanel")
    for name in TAB_SETS.keys() & classes:
        around, inside = TAB_SETS[name]
        return [*_children(node, around)], [*_children(node, inside)]
    return [], []


def _find_panels(labels: LexborNode) -> list[LexborNode]:
    """Return the panels of the list *labels*, which are beside it."""
    around = labels.parent
    for _ in range(MAX_AROUND_TABS):
        if around is None or around.tag == "body":
            break
        panels = [
            panel
            for panel in islice(around.css("[role=tabpanel]"), MAX_TABS)
            if not _is_nested(panel, around)
        ]
        if panels:
            return panels
        around = around.parent
    return []


def _is_nested(panel: LexborNode, around: LexborNode) -> bool:
    """Return whether *panel* is in another panel in *around*."""
    at = panel.parent
    while at is not None and at.mem_id != around.mem_id:
        if at.attributes.get("role") == "tabpanel":
            return True
        at = at.parent
    return False


def _children(node: LexborNode, name: str) -> Iterator[LexborNode]:
    """Yield the elements in the children of *node* that have the class *name*, but no controls."""
    for child in node.iter():
        if name in (child.attributes.get("class") or "").split():
            yield from (part for part in child.iter() if part.tag != "input")


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
    around = math.parent
    for _ in range(MAX_WRAPPERS):
        if around is None or _is_formula(around):
            break
        around = around.parent
    if around is not None and _is_formula(around) and around.mem_id not in wrappers:
        wrappers.add(around.mem_id)
        for form in islice(around.css(REPEATING_SELECTOR), MAX_FORMS):
            if form.css_first("math") is None:
                _hide(form)


def _is_formula(node: LexborNode) -> bool:
    if not node.is_element_node:
        return False
    classes = (node.attributes.get("class") or "").split()
    return node.tag == "mjx-container" or not FORMULA_CLASSES.isdisjoint(classes)


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
