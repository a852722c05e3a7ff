"""Listings of code in an HTML document: their lines, their language, and their line numbers.

Line numbers are not part of the code. Generators put them into a column of their own (Pygments,
Rouge, Chroma), into the first cell of a row for each line (GitHub, highlight.js), or before each
line (rustdoc, Pygments).
"""

import re
from collections.abc import Iterator
from itertools import islice, pairwise, takewhile

from selectolax.lexbor import LexborNode

from gossamer.services.parser.html.elements import ancestors, classes_of
from gossamer.text.blocks import fold_whitespace, word_set

MAX_DEPTH = 100
"""Most levels of nested elements in a listing."""
MAX_ANCESTORS = 4
"""Most elements around a listing that may name its language."""
OUTER_ELEMENTS = ("body", "article", "main", "section", "li", "blockquote")
"""Elements that contain more than a listing."""
NUMBER_CLASSES = word_set("""
    blob-num gutter hljs-ln-numbers line-number line-numbers linenodiv lineno linenos
    lines-numbers ln lnt rouge-gutter src-line-numbers linenumber
    react-syntax-highlighter-line-number line-numbers-rows line-numbers-wrapper
""")
"""Classes of elements with line numbers."""
CODE_CLASSES = re.compile(r"highlight|hljs|lntable|rouge|syntax|code|blob|crayon", re.IGNORECASE)
"""Classes of tables with a line of code in each row."""
FRAGMENT_CLASSES = frozenset(("fragment", "member-signature", "module-signature", "type-signature"))
"""Classes of listings of Doxygen and Javadoc in elements other than `pre`."""
NAME_CLASS = "language-id"
"""The class of an element with the name of the language, in the listing (twoslash)."""
SIDE_CLASSES = frozenset(("ttc", NAME_CLASS, "playground-link"))
"""Classes of elements in a listing that are not code: the declarations that Doxygen displays on
hovering, and links to try the code."""
LINE_ELEMENTS = frozenset(("div", "p", "li", "tr", "ol", "ul", "table"))
SKIPPED_ELEMENTS = frozenset(("button", "script", "style", "svg", "template", "-comment", "select"))
NO_LANGUAGE = word_set("""
    default none text plaintext plain txt nohighlight no-highlight auto highlight code
    notranslate undefined unknown ipython3-notebook
""")
LANGUAGES = word_set("""
    ada apache applescript asm assembly awk bash basic bat batch c c# c++ clojure cmake
    coffeescript console cpp cs csharp css cuda d dart delphi diff docker dockerfile elixir elm
    erlang f# fish fortran fsharp gherkin go golang gradle graphql groovy haskell hcl html http
    ini java javascript js json json5 jsonc jsx julia kotlin latex less lisp lua makefile
    markdown matlab md mermaid nginx nim nix objc objectivec ocaml pascal perl php powershell
    prolog properties proto protobuf ps1 py python python3 r racket rb rs rst ruby rust sass
    scala scheme scss sh shell solidity sql svelte swift tcl terraform tex toml ts tsx
    typescript vb vbnet verilog vhdl vim vue xml yaml yml zig zsh
""")
"""Names that are classes without a prefix: of older highlighters, TypeDoc, pandoc and wikis."""
_language = re.compile(
    r"(?:^|\s)(?:language[-:]|lang[-:]|gatsby-code-|highlight-source-|highlight-text-|highlight-|brush:\s*|"
    r"mw-highlight-lang-|prettyprint\s+)([A-Za-z0-9+#_.-]{1,30})(?=[\s;,:{]|$)"
)
_source_code = re.compile(r"(?:^|\s)(?:sourceCode|src|hljs|CodeRay|rouge)\s+([a-z0-9+#_-]{1,30})")
_before_hljs = re.compile(r"(?:^|\s)([a-z0-9+#_-]{1,30})\s+hljs(?=\s|$)")
_block_style = re.compile(r"(?:^|[;\s])display\s*:\s*(?:block|flex|grid)", re.IGNORECASE)
_unselectable = re.compile(r"user-select\s*:\s*none", re.IGNORECASE)
_digits = re.compile(r"\d{1,7}", re.ASCII)


def language_of(node: LexborNode) -> str:
    """Return the language of the listing *node* as its classes name it; "" if they do not."""
    # Line numbers may be in an element of the same kind before the code.
    candidates = [*node.css("code")[-1:], node]
    around = islice(ancestors(node), MAX_ANCESTORS)
    candidates += takewhile(lambda one: one.tag not in OUTER_ELEMENTS, around)
    if language := next(filter(None, map(_declared_language, candidates)), ""):
        return language
    named = node.css_first(f".{NAME_CLASS}")
    name = named.text().strip().lower() if named else ""
    return name if name in LANGUAGES else ""


def _declared_language(node: LexborNode) -> str:
    attributes = node.attributes
    declared = attributes.get("data-lang") or attributes.get("data-language") or ""
    classes = attributes.get("class") or ""
    forms = (_language, _source_code, _before_hljs) if classes else ()
    match = next(filter(None, (form.search(classes) for form in forms)), None)
    language = declared or (match[1] if match else "")
    is_listing = node.tag in ("code", "pre") or CODE_CLASSES.search(classes)
    if language.lower() in ("", *NO_LANGUAGE) and is_listing:
        language = next((one for one in classes.lower().split() if one in LANGUAGES), "")
    # GitHub names the grammar of HTML so.
    language = language.strip().lower().removesuffix("-basic")
    if not re.fullmatch(r"[a-z0-9+#_.-]{1,30}", language) or language in NO_LANGUAGE:
        return ""
    return language


def preformatted_text(node: LexborNode) -> str:
    """Return the text of *node* with its lines and indentation, without line numbers.

    Generators write non-breaking spaces where authors wrote spaces.
    """
    parts: list[str] = []
    _collect(node, parts, 0)
    text = "".join(parts).replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\u200b", "").replace("\xa0", " ")


def _collect(node: LexborNode, parts: list[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        parts.append(node.text())
        return
    child = node.child
    while child is not None:
        tag = child.tag or ""
        if tag == "-text":
            parts.append(child.text_content or "")
        elif tag == "br":
            parts.append("\n")
        elif (
            tag in SKIPPED_ELEMENTS
            or is_number(child, attributes := child.attributes)
            or attributes.get("class") in SIDE_CLASSES
        ):
            pass
        elif tag in LINE_ELEMENTS or _block_style.search(attributes.get("style") or ""):
            # Hugo and rehype give each line a style.
            _break_line(parts)
            _collect(child, parts, depth + 1)
            _break_line(parts)
        else:
            _collect(child, parts, depth + 1)
        child = child.next


def _break_line(parts: list[str]) -> None:
    last = next((part for part in reversed(parts) if part), "\n")
    if not last.endswith("\n"):
        parts.append("\n")


def is_number(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Return whether *node* with *attributes* has line numbers only."""
    if not attributes:
        return False
    classes = attributes.get("class")
    if classes and not NUMBER_CLASSES.isdisjoint(classes.split()):
        # Prism gives the whole listing such a class.
        return not any(map(str.isalpha, node.text()))
    is_marked = (
        "data-nosnippet" in attributes
        or "data-line-number" in attributes
        or _unselectable.search(attributes.get("style") or "") is not None
    )
    return is_marked and not (node.text() or "").strip().strip("0123456789")


def code_of_table(table: LexborNode) -> str | None:
    """Return the code of a *table* with line numbers and code; None if it is another table."""
    # Pygments has the name of the file in a row of its own.
    rows = [cells for row in _rows(table) if (cells := [*_cells(row)])]
    if not rows or any(len(row) != 2 for row in rows):
        return None
    is_marked = bool(CODE_CLASSES.search(table.attributes.get("class") or ""))
    if not is_marked and not all(_is_code(row[1]) for row in rows):
        return None
    numbers = [_numbers(row[0]) for row in rows]
    if any(one is None for one in numbers):
        return None
    found = [number for one in numbers for number in one or ()]
    if any(after <= before for before, after in pairwise(found)):
        return None
    texts = [_cell_text(row[1]) for row in rows]
    if len(rows) == 1:
        return texts[0] if found or is_marked else None
    return "\n".join(text.removesuffix("\n") for text in texts)


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    for part in table.iter():
        if part.tag == "tr":
            yield part
        elif part.tag in ("tbody", "thead", "tfoot"):
            yield from (row for row in part.iter() if row.tag == "tr")


def _cells(row: LexborNode) -> Iterator[LexborNode]:
    return (cell for cell in row.iter() if cell.tag in ("td", "th") and not _is_caption(cell))


def _is_caption(cell: LexborNode) -> bool:
    """Return whether *cell* is the file name above the code (Pygments)."""
    return cell.tag == "th" and "filename" in classes_of(cell)


def _is_code(cell: LexborNode) -> bool:
    is_marked = not {"code", "blob-code"}.isdisjoint(classes_of(cell))
    return is_marked or cell.css_first("pre") is not None


def _numbers(cell: LexborNode) -> list[int] | None:
    """Return the line numbers in *cell*; None if it has anything else."""
    words = fold_whitespace(cell.text(separator=" ")).split()
    if not all(_digits.fullmatch(word) for word in words):
        return None
    if not words:
        attribute = cell.attributes.get("data-line-number") or ""
        return [int(attribute)] if _digits.fullmatch(attribute) else []
    return [int(word) for word in words]


def _cell_text(cell: LexborNode) -> str:
    return preformatted_text(cell.css_first("pre") or cell)
