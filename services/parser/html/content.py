"""The content of an HTML document as blocks: paragraphs, headings, code and tables, in their order.

A block has the text that a browser displays, and its Markdown. Blocks are the unit in which the
main text is chosen (`main.py`), so the text and its Markdown have the same content.
"""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from gossamer.services.parser.html.blocks import Block, BlockKind, Container
from gossamer.services.parser.html.code import (
    FRAGMENT_CLASSES,
    code_of_table,
    is_number,
    language_of,
    preformatted_text,
)
from gossamer.services.parser.html.elements import classes_of
from gossamer.services.parser.html.markdown import (
    Inline,
    format_table,
    make_heading,
    unescape_start,
)
from gossamer.services.parser.html.rendering import TEX
from gossamer.services.parser.links import Resolver
from gossamer.text.blocks import fold_whitespace, word_set

MAX_NODES = 100_000
"""Most nodes that are read, as many as the elements and texts that an extractor reads."""
MAX_DEPTH = 100
"""Most levels of nested elements whose structure is read. Deeper text is one paragraph."""
MAX_COLUMNS = 100
"""Most columns of a table."""
MAX_CELL_LENGTH = 400
"""Most characters of a cell of a table of data, on average. Longer cells lay out the page."""

BLOCK_ELEMENTS = word_set("""
    address article aside blockquote body center dd details dialog div dl dt fieldset figcaption
    figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre
    search section summary table td th tr ul caption tbody thead tfoot optgroup listing xmp
""")
"""Elements whose text begins on a line of its own."""
SKIPPED_ELEMENTS = word_set("""
    audio button canvas datalist embed head iframe input meter noembed object progress script
    select style svg template textarea title video -comment !doctype
""")
"""Nodes without content: controls, media and comments."""
PANEL_STATES = frozenset(("aria-controls", "aria-expanded"))
"""Attributes of a button that opens a panel. In a heading, it is the title of the panel."""
LINES_OF_HEADINGS = frozenset(("center", "div", "p", "section"))
"""Elements that are lines of the heading that they are in."""
APART_ELEMENTS = frozenset(("aside", "dialog", "footer", "menu", "nav"))
"""Elements beside the text."""
STRONG_ELEMENTS = frozenset(("dt", "summary", "caption", "legend"))
"""Elements whose lines are titles of what follows."""
CALLOUTS = word_set("""
    admonition admonitionblock callout custom-block custom-container hint hint-container
    markdown-alert nextra-callout notecard starlight-aside theme-admonition NOTE TIP IMPORTANT
    WARNING CAUTION
""")
"""Classes of boxes with a note, in documentation."""
NOTES = re.compile(
    r"(?:^|[\s_-])(?:note|tip|hint|info|warning|caution|danger|important|quote)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Classes and roles of asides that are notes to the text, or quotations in it."""
FOOTNOTES = re.compile(r"(?:^|[\s_-])footnotes?(?:$|[\s_-])", re.IGNORECASE)
"""Classes and roles of asides that belong to the text."""
_title = re.compile(
    r"(?:^|\s)(?:(?:admonition|callout|markdown-alert|custom-block|custom-container|"
    r"hint-container|blockquote-tag|topic|sidebar)-title|admonition-heading|callout-title-container|"
    r"starlight-aside__title|admonitionHeading\w*|codeBlockTitle\w*|code-block-caption|"
    r"code-block-title|code-block-filename|nextra-code-filename|filename|rubric)(?=\s|$)"
)
"""Classes of the titles of notes and listings. Docusaurus adds a hash to its names."""
TITLED = re.compile(r"(?:[a-z]+block|[uod]list|colist|content|paragraph)(?:\s|$)")
"""Classes of the parents of a title of Asciidoctor."""
VERSES = "line-block"
"""The class of lines of docutils, each of which is an element."""
SUMMARY = "summary-table"
"""The class of a table of Javadoc, which is a grid of cells without rows."""
_names_beside = (
    # A modifier (BEM) such as `card--banner` says how an element looks.
    r"(?:^|[\s_-])(?<!code-)(?<!--)(?<!elementor-)"
    r"(?:share|sharing|shar\w*-?bar|social\w*|related|newsletter|breadcrumbs?|sidebar|"
    r"cookies?|consent|footer|advert\w*|promo\w*|banner|navbar|nav|menu|toolbar|"
    r"popup|modal|pagination|pager|subscribe|subscription|recommend\w*|widget\w*|teaser\w*|"
    r"most-?(?:read|popular)|toc|ads?|sponsor\w*|outbrain|taboola%s)(?:$|[\s_-])"
)
_comments = r"|comments?"
# `tag-bridges` is the class of an entry with this tag.
_metadata = r"|tags|tag(?!-(?!list|links|cloud))|rating|byline|author\w*|meta\w*"
_apart = re.compile(_names_beside % (_comments + _metadata), re.IGNORECASE)
"""Names of classes of elements beside the text of an article."""
_apart_in_thread = re.compile(_names_beside % _metadata, re.IGNORECASE)
"""As `_apart`, in a discussion, whose posts may be named comments."""
_apart_in_parts = re.compile(_names_beside % _comments, re.IGNORECASE)
"""As `_apart`, in another page, such as a list of goods with their ratings."""
_invisible_operators = re.compile("[\u2061-\u2064]")


def read_blocks(
    body: LexborNode,
    resolver: Resolver,
    rich: bool,
    is_article: bool = True,
    is_thread: bool = False,
) -> list[Block]:
    """Return the blocks of *body*; *rich*: with Markdown, whose URLs *resolver* resolves.

    The comments of a thread are not beside its text, nor is the metadata of the parts of a page
    that is no article either.
    """
    apart = _apart_in_thread if is_thread else _apart if is_article else _apart_in_parts
    reader = _Reader(resolver, rich, apart, is_thread)
    reader.read(body)
    reader.end_block()
    return reader.blocks


class _Reader:
    """Reads elements in their order, and collects blocks."""

    def __init__(
        self, resolver: Resolver, rich: bool, apart: re.Pattern[str], is_thread: bool
    ) -> None:
        self.blocks: list[Block] = []
        self._is_thread, self._in_post = is_thread, False
        self._is_apart = apart.search
        self._resolver, self._rich = resolver, rich
        self._inline = Inline(resolver) if rich else None
        self._text: list[str] = []
        self._linked = 0
        self._links = 0
        self._containers: tuple[Container, ...] = ()
        self._parents: tuple[int, ...] = (0,)
        self._apart: tuple[int, ...] = ()
        self._strong = 0
        self._in_heading = False
        self._count = 0
        self._nodes_left = MAX_NODES
        self._tag = "body"

    def read(self, node: LexborNode, depth: int = 0) -> None:
        """Read the children of *node*."""
        if depth > MAX_DEPTH:
            self._add_text(node.text(separator=" "))
            return
        child = node.child
        while child is not None and self._nodes_left > 0:
            self._nodes_left -= 1
            tag = child.tag or ""
            if tag == "-text":
                self._add_text(child.text_content or "")
            elif tag in BLOCK_ELEMENTS:
                if self._in_heading and tag in LINES_OF_HEADINGS:
                    self._add_break()
                    self.read(child, depth + 1)
                    self._add_break()
                else:
                    self._read_block(child, tag, depth + 1)
            elif tag == "br":
                self._add_break()
            elif tag == "math":
                self._read_formula(child)
            elif tag == "img":
                if self._inline:
                    self._add_text("")
                    self._inline.add_image(child.attributes)
            elif tag == "a":
                # Only a link counts as one: old pages have anchors around text.
                is_link = "href" in child.attributes
                self._links += is_link
                self._read_inline(child, tag, depth + 1)
                self._links -= is_link
            elif tag not in SKIPPED_ELEMENTS:
                if tag == "span" and self._tag == "div" and _is_file_name(child):
                    self._read_block(child, "caption", depth + 1)
                else:
                    self._read_inline(child, tag, depth + 1)
            elif tag == "button" and (self._in_heading or self._tag == "dt"):
                if not PANEL_STATES.isdisjoint(child.attributes):
                    self._read_inline(child, tag, depth + 1)
            elif tag == "input" and self._inline:
                self._inline.add_input(child.attributes)
            elif tag == "textarea" and "code" in classes_of(child):
                self._read_block(child, "pre", depth + 1)
            child = child.next

    def _read_inline(self, node: LexborNode, tag: str, depth: int) -> None:
        if self._inline and self._inline.open(tag, node):
            self.read(node, depth)
            self._inline.close()
        else:
            self.read(node, depth)

    def _read_formula(self, node: LexborNode) -> None:
        """Read a formula; one that is displayed on a line of its own is a paragraph."""
        attributes, tag = node.attributes, self._tag
        is_display = attributes.get("display") == "block"
        if is_display:
            self.end_block()
            self._tag = "math"
        text = _invisible_operators.sub("", fold_whitespace(node.text()))
        self._text.append(text)
        if self._inline:
            self._inline.add_formula(text, attributes.get(TEX) or "", is_display)
        if is_display:
            self.end_block()
            self._tag = tag

    def _add_text(self, text: str) -> None:
        self._text.append(text)
        if self._links:
            self._linked += len(text)
        if self._inline:
            self._inline.add_text(text)

    def _add_break(self) -> None:
        self._text.append("\x1e")
        if self._inline:
            self._inline.add_break()

    def _read_block(self, node: LexborNode, tag: str, depth: int) -> None:
        self.end_block()
        attributes = node.attributes
        names = attributes.get("class") or ""
        if tag == "div":
            # The id of a section or of a heading is made of its title.
            names = f"{names} {attributes.get('id') or ''}".strip()
        is_callout = bool(names) and not CALLOUTS.isdisjoint(names.split())
        kind = f"{names} {attributes.get('role') or ''}" if tag == "aside" else ""
        is_footnote = bool(kind) and FOOTNOTES.search(kind) is not None
        is_callout = is_callout or (bool(kind) and NOTES.search(kind) is not None)
        # The author of a quotation.
        is_attribution = tag == "footer" and any(one.kind == "quote" for one in self._containers)
        is_inside = is_callout or is_footnote or is_attribution
        apart = tag in APART_ELEMENTS or (bool(names) and self._is_apart(names) is not None)
        apart = apart and not is_inside
        before = self._containers, self._parents, self._tag, self._apart, self._in_post
        self._in_post |= self._is_thread and attributes.get("itemprop") == "text"
        # A short post in a div looks like a label.
        self._tag = "p" if self._in_post and tag in ("div", "section") else tag
        self._parents = (*self._parents, node.mem_id)
        if apart:
            self._apart = (*self._apart, node.mem_id)
        is_title = tag in STRONG_ELEMENTS or bool(names and _is_title(node, names))
        if is_title and tag == "div":
            self._tag = "caption"
        self._strong += is_title
        if is_callout or tag == "blockquote":
            self._containers = (*self._containers, self._container("quote"))
        if tag in ("pre", "listing", "xmp"):
            if not is_number(node, attributes):
                self._add_code(preformatted_text(node), node)
        elif tag == "div" and names and not FRAGMENT_CLASSES.isdisjoint(names.split()):
            self._tag = "pre"
            self._add_code(preformatted_text(node), node)
        elif tag == "table":
            self._read_table(node, depth)
        elif tag == "div" and SUMMARY in names.split():
            self._read_rows(node, _grid_rows(node), [], depth)
        elif tag in ("ul", "ol", "menu"):
            self._read_list(node, tag, depth)
        else:
            heading = int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit() else 0
            has_verses = bool(names) and VERSES in names.split()
            self._in_heading, outer = heading > 0 or has_verses, self._in_heading
            if has_verses or names.strip() == "attribution":
                self._tag = "p"
            self.read(node, depth)
            self.end_block(heading)
            self._in_heading = outer
        self._strong -= is_title
        self._containers, self._parents, self._tag, self._apart, self._in_post = before

    def _container(self, kind: str, parent: int = 0) -> Container:
        self._count += 1
        return Container(kind, self._count, parent)

    def _read_list(self, node: LexborNode, tag: str, depth: int) -> None:
        self._count += 1
        parent, outer = self._count, self._containers
        number, step = _numbers_of(node) if tag == "ol" else (0, 0)
        child = node.child
        while child is not None:
            if child.tag == "li":
                if tag == "ol":
                    number = _number(child.attributes.get("value"), number)
                marker = f"{number}." if tag == "ol" else "-"
                number += step
                self._containers = (*outer, self._container(marker, parent))
                self._read_block(child, "li", depth)
            elif child.tag == "-text":
                self._add_text(child.text_content or "")
            elif child.tag in ("ul", "ol"):
                # A list directly in a list belongs to the item before it.
                self._read_block(child, child.tag, depth)
            elif child.tag not in SKIPPED_ELEMENTS:
                self._containers = outer
                self._read_block(child, child.tag or "", depth)
            child = child.next
        self.end_block()
        self._containers = outer

    def _add_code(self, text: str, node: LexborNode) -> None:
        lines = [line if line.strip() else "" for line in text.split("\n")]
        while lines and not lines[-1].strip():
            lines.pop()
        while lines and not lines[0].strip():
            lines.pop(0)
        if lines:
            self._append(
                BlockKind.CODE,
                tuple(line.rstrip() for line in lines),
                _fence(lines, language_of(node)) if self._rich else "",
            )

    def _read_table(self, node: LexborNode, depth: int) -> None:
        code = code_of_table(node)
        if code is not None:
            self._add_code(code, node)
            return
        icon = node.css_first("td.icon") if self._containers else None
        if icon is not None:
            self._read_note(node, icon, depth)
            return
        rows, outside = list[list[LexborNode]](), list[LexborNode]()
        for child in _table_parts(node):
            if child.tag == "tr":
                rows.append([cell for cell in child.iter() if cell.tag in ("td", "th")])
            else:
                outside.append(child)
        self._read_rows(node, rows, outside, depth)

    def _read_note(self, table: LexborNode, icon: LexborNode, depth: int) -> None:
        """Read a note of Asciidoctor, which is a table of an icon and the text."""
        named = icon.css_first("[title]")
        title = icon.text().strip() or (named.attributes.get("title") if named else "")
        self._strong += 1
        self._tag = "caption"
        self._add_text(title or "")
        self.end_block()
        self._strong -= 1
        for cell in table.css("td.content")[:1]:
            self._read_block(cell, "td", depth)

    def _read_rows(
        self,
        node: LexborNode,
        elements: list[list[LexborNode]],
        others: list[LexborNode],
        depth: int,
    ) -> None:
        """Read the table *node* of rows of *elements*; *others*: its caption."""
        outside = [block for one in others for block in self._read_apart(one, one.tag or "", depth)]
        rows = [
            [
                (self._read_apart(cell, cell.tag or "", depth), _tag_of(cell), cell.attributes)
                for cell in row
            ]
            for row in elements
        ]
        self.blocks += outside
        blocks = [block for row in rows for cell, _, _ in row for block in cell]
        if _is_layout(rows, blocks):
            self.blocks += blocks
            return
        lines = tuple(
            " | ".join(filter(None, (_plain_cell(cell) for cell, _, _ in row))) for row in rows
        )
        lines = tuple(filter(None, lines))
        if not lines:
            return
        markdown = ""
        if self._rich:
            grid = _make_grid(rows)
            has_header = bool(rows[0]) and all(tag == "th" for _, tag, _ in rows[0])
            markdown = format_table(grid, has_header)
        total = sum(sum(map(len, block.lines)) for block in blocks) or 1
        linked = sum(sum(map(len, block.lines)) * block.linked for block in blocks)
        self._append(BlockKind.TABLE, lines, markdown, linked / total)

    def _read_apart(self, node: LexborNode, tag: str, depth: int) -> list[Block]:
        """Return the blocks of *node* alone."""
        before, self.blocks = self.blocks, []
        self._read_block(node, tag, depth + 1)
        found, self.blocks = self.blocks, before
        return found

    def end_block(self, heading: int = 0) -> None:
        """End the current paragraph or heading."""
        if not self._text:
            return
        text, linked = "".join(self._text), self._linked
        self._text, self._linked = [], 0
        markdown = self._inline.take() if self._inline else ""
        lines = tuple(filter(None, map(fold_whitespace, text.split("\x1e"))))
        if not lines and not markdown:
            return
        if heading:
            kind, markdown = BlockKind.HEADING, make_heading(markdown, heading)
            lines = tuple(filter(None, (line.strip("\u200b ") for line in lines)))
        else:
            kind = BlockKind.PARAGRAPH
            if self._strong and markdown and "**" not in markdown and "\n" not in markdown:
                markdown = f"**{unescape_start(markdown)}**"
        self._append(kind, lines, markdown, linked / max(1, len(text)))

    def _append(
        self, kind: BlockKind, lines: tuple[str, ...], markdown: str, linked: float = 0.0
    ) -> None:
        self.blocks.append(
            Block(
                kind,
                self._tag,
                lines,
                markdown,
                self._containers,
                min(1.0, linked),
                self._apart,
                self._parents,
            )
        )


Rows = list[list[tuple[list[Block], str, dict[str, str | None]]]]


def _is_title(node: LexborNode, names: str) -> bool:
    if names.strip() == "title" and node.parent is not None:
        return TITLED.match(node.parent.attributes.get("class") or "") is not None
    return _title.search(names) is not None


def _is_file_name(node: LexborNode) -> bool:
    """Return whether *node* is the name of the file of a listing (MkDocs Material)."""
    return node.attributes.get("class") == "filename"


def _tag_of(cell: LexborNode) -> str:
    """Return "th" for the header of a column, also in a grid."""
    return "th" if "table-header" in classes_of(cell) else cell.tag or ""


def _grid_rows(grid: LexborNode) -> list[list[LexborNode]]:
    """Return the rows of a grid of Javadoc, each of as many cells as it has headers."""
    cells = [*grid.iter()]
    columns = max(1, sum(_tag_of(cell) == "th" for cell in cells))
    return [cells[at : at + columns] for at in range(0, len(cells), columns)]


def _table_parts(table: LexborNode) -> Iterator[LexborNode]:
    for part in table.iter():
        if part.tag in ("tbody", "thead", "tfoot"):
            yield from part.iter()
        else:
            yield part


def _is_layout(rows: Rows, blocks: list[Block]) -> bool:
    if max((len(row) for row in rows), default=0) < 2:
        return True
    if any(
        block.kind in (BlockKind.HEADING, BlockKind.TABLE)
        or (block.kind is BlockKind.CODE and len(block.lines) > 1)
        for block in blocks
    ):
        return True
    cells = sum(len(row) for row in rows)
    return sum(len(line) for block in blocks for line in block.lines) > cells * MAX_CELL_LENGTH


def _plain_cell(blocks: list[Block]) -> str:
    return " ".join(line for block in blocks for line in block.lines)


def _rich_cell(blocks: list[Block]) -> str:
    parts = (
        f"`{block.lines[0]}`" if block.kind is BlockKind.CODE else unescape_start(block.markdown)
        for block in blocks
    )
    return "<br>".join(part.replace("  \n", "<br>") for part in parts if part)


def _make_grid(rows: Rows) -> list[list[str]]:
    """Return the cells of a table in their columns; a cell that spans several is in the first."""
    grid: list[list[str]] = []
    spans: dict[int, int] = {}
    for row in rows:
        line: list[str] = []
        for cell, _, attributes in row:
            while spans.get(len(line), 0) > 0 and len(line) < MAX_COLUMNS:
                line.append("")
            columns = min(_number(attributes.get("colspan"), 1) or 1, MAX_COLUMNS - len(line))
            if columns < 1:
                break
            height = min(_number(attributes.get("rowspan"), 1) or 1, len(rows))
            for column in range(len(line), len(line) + columns):
                spans[column] = height
            line += [_rich_cell(cell), *[""] * (columns - 1)]
        spans = {column: left - 1 for column, left in spans.items() if left > 1}
        grid.append(line)
    return grid


def _number(text: str | None, default: int) -> int:
    match = re.match(r"\s*(\d{1,9})", text or "", re.ASCII)
    return int(match[1]) if match else default


def _numbers_of(node: LexborNode) -> tuple[int, int]:
    """Return the first number of an ordered list, and the step to the next one."""
    attributes = node.attributes
    if "reversed" not in attributes:
        return _number(attributes.get("start"), 1), 1
    return _number(attributes.get("start"), sum(child.tag == "li" for child in node.iter())), -1


def _fence(lines: list[str], language: str) -> str:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((f"{fence}{language}", *lines, fence))
