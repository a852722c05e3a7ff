"""Markdown of blocks (CommonMark, with the tables of GitHub).

Only characters that Markdown would read as marks are escaped, so that the text stays legible.
"""

import re
from collections.abc import Iterable, Sequence

from selectolax.lexbor import LexborNode

from gossamer.services.parser.html.blocks import Block, Container
from gossamer.services.parser.html.requisites import choose_candidate
from gossamer.services.parser.links import Resolver
from gossamer.text.blocks import fold_whitespace

MAX_URL_CHARACTERS = 500_000
"""Most characters of the URLs of a document's links and images. The rest keeps its text only. A
long base URL would make a long text of a short page."""
MARKS = {
    **dict.fromkeys(("b", "strong"), "**"),
    **dict.fromkeys(("em", "i"), "*"),
    **dict.fromkeys(("del", "s", "strike"), "~~"),
    **dict.fromkeys(("code", "samp", "tt", "kbd"), "`"),
}
BREAK = "\x1e"
START, END = "\x1c", "\x1d"
"""Stand around emphasis until its block is complete."""
IMAGE_ATTRIBUTES = ("src", "data-src", "data-original", "data-lazy-src", "data-actualsrc")
"""Attributes with the URL of an image, which many pages load late."""

_escaped_start = re.compile(r"^(\d{1,9}(?=\\[.)]))?\\(?=[.)#+>=~-])")
"""An escape at the beginning of a line that is not needed behind another mark."""
_special = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|[*`]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|<(?=[A-Za-z/!?])|"
    r"&(?=#?[A-Za-z0-9]{1,32};)|~~"
)
_unescaped_bracket = re.compile(r"(?<!\\)[\[\]](?!\()")
_punctuation = r"(?:[^\w\s`*~\[\]\\<>$!])+"
_opening = re.compile(rf"(\w){START}(\*\*?|~~)({_punctuation})")
_closing = re.compile(rf"({_punctuation})(\*\*?|~~){END}(\w)")
_line_start = re.compile(
    r"(?:#{1,6}(?=\s|$)|[+-](?=\s|$)|>|={2,}$|-{2,}$|~{3,})|(?P<number>\d{1,9})(?=[.)](?:\s|$))"
)
"""A mark of a block at the beginning of a line."""


class Inline:
    """Builds the Markdown of the inline elements of one block after the other."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._open: list[tuple[str, str]] = []
        """The mark and the URL of each open element."""
        self._parts: list[list[str]] = [[]]
        """The text of the block, and of each open element."""
        self._url_characters = 0
        self._in_code = 0

    def open(self, tag: str, node: LexborNode) -> bool:
        """Open an element; return whether it has a mark, so that it must be closed."""
        if self._in_code:
            return False
        if tag == "a":
            url = self._resolve(node.attributes.get("href") or "")
            if not url or any(mark == "a" for mark, _ in self._open):
                return False
            self._open.append(("a", url))
        elif mark := MARKS.get(tag):
            if any(mark == other for other, _ in self._open):
                return False
            self._open.append((mark, ""))
            self._in_code += mark == "`"
        else:
            return False
        self._parts.append([])
        return True

    def close(self) -> None:
        """Close the innermost element."""
        mark, url = self._open.pop()
        self._in_code -= mark == "`"
        self._close(mark, url)

    def _close(self, mark: str, url: str) -> None:
        text = "".join(self._parts.pop())
        content = text.strip(f"{BREAK} \t\n\r\f\xa0")
        if not content:
            self._parts[-1].append(text)
            return
        start = text.index(content)
        if mark == "a":
            content = content.replace(BREAK, " ")
            if content.count("[") != content.count("]"):
                content = _unescaped_bracket.sub(r"\\\g<0>", content)
            marked = f"[{content}]({url})"
        else:
            lines = filter(None, map(str.strip, content.split(BREAK)))
            marked = BREAK.join(_mark(mark, line) for line in lines)
            if mark == "`" and "".join(self._parts[-1][-3:]).endswith("`") and not start:
                # The marks of two code spans side by side would be one.
                marked = f" {marked}"
        self._parts[-1] += [text[:start], marked, text[start + len(content) :]]

    def add_text(self, text: str) -> None:
        """Add displayed *text*."""
        self._parts[-1].append(text if self._in_code else _special.sub(r"\\\g<0>", text))

    def add_break(self) -> None:
        """Add a line break."""
        self._parts[-1].append(BREAK)

    def add_formula(self, text: str, tex: str, is_display: bool) -> None:
        """Add a formula as TeX, or as *text* if its TeX is not known."""
        if self._in_code or not tex:
            self.add_text(text)
        else:
            mark = "$$" if is_display else "$"
            self._parts[-1].append(f"{mark}{tex}{mark}")

    def add_image(self, attributes: dict[str, str | None]) -> None:
        """Add the image of an img element, or its alternative text without a URL."""
        alternative = fold_whitespace(attributes.get("alt") or "")
        source = _find_source(attributes)
        is_tiny = {attributes.get("width"), attributes.get("height")} <= {"0", "1"}
        url = "" if is_tiny or self._in_code else self._resolve(source)
        alternative = _special.sub(r"\\\g<0>", alternative)
        self._parts[-1].append(f"![{alternative}]({url})" if url else alternative)

    def add_input(self, attributes: dict[str, str | None]) -> None:
        """Add the check box of a list of tasks."""
        if (attributes.get("type") or "").lower() == "checkbox" and not "".join(
            map("".join, self._parts)
        ).strip():
            self._parts[-1].append("[x] " if "checked" in attributes else "[ ] ")

    def take(self) -> str:
        """Return the Markdown of the block, and begin the next one in the same open elements."""
        for mark, url in reversed(self._open):
            self._close(mark, url)
        text = _move_punctuation("".join(self._parts[0]))
        self._parts = [[] for _ in range(len(self._open) + 1)]
        lines = filter(None, map(fold_whitespace, text.split(BREAK)))
        return "  \n".join(map(_escape_start, lines))

    def _resolve(self, target: str) -> str:
        target = target.strip()
        if not target or target[:11].lower() == "javascript:" or target.startswith("data:"):
            return ""
        scheme = re.match(r"(mailto|tel):", target, re.IGNORECASE)
        url = target if scheme else self._resolver.resolve(target)
        if not url:
            return ""
        fragment = target.partition("#")[2]
        if fragment and not scheme and "#" not in url:
            url = f"{url}#{fragment}"
        self._url_characters += len(url)
        if self._url_characters > MAX_URL_CHARACTERS:
            return ""
        return re.sub(r"[\s<>()\\|]", lambda one: f"%{ord(one[0]):02X}", url)


def _find_source(attributes: dict[str, str | None]) -> str:
    sources = [attributes.get(name) or "" for name in IMAGE_ATTRIBUTES]
    sources += [choose_candidate(attributes.get(name) or "") for name in ("srcset", "data-srcset")]
    return next((source for source in sources if source and not source.startswith("data:")), "")


def _mark(mark: str, line: str) -> str:
    if mark == "`":
        return code_span(line)
    # The end of a link is not punctuation.
    ends = "" if line.endswith(")") and "](" in line else END
    return f"{START}{mark}{line}{mark}{ends}"


def _move_punctuation(text: str) -> str:
    """Return *text* with punctuation moved out of emphasis where it would hide the mark.

    A mark between punctuation and a letter is not a mark (CommonMark 0.31, 6.2): `**Mark(1)**down`.
    """
    if START in text:
        text = _opening.sub(r"\1\3\2", text)
        text = _closing.sub(r"\2\1\3", text)
        text = text.replace(START, "").replace(END, "")
    return text


def _escape_start(line: str) -> str:
    match = _line_start.match(line)
    if not match:
        return line
    at = match.end() if match["number"] else 0
    return f"{line[:at]}\\{line[at:]}"


def code_span(text: str) -> str:
    """Return *text* as a code span."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def unescape_start(line: str) -> str:
    """Return *line*, which is behind another mark, without the escape at its beginning."""
    return _escaped_start.sub(r"\1", line)


def make_heading(markdown: str, level: int) -> str:
    """Return a heading, which has one line."""
    text = fold_whitespace(markdown.replace("  \n", " ").replace("\u200b", ""))
    text = unescape_start(text)
    return f"{'#' * min(level, 6)} {text}" if text else ""


def format_table(rows: Sequence[Sequence[str]], has_header: bool) -> str:
    """Return a table; without a header, the first line has empty cells."""
    columns = max(map(len, rows))
    header, body = (rows[0], rows[1:]) if has_header else ([""] * columns, rows)
    return "\n".join(
        (
            _format_row(header, columns),
            "|" + " --- |" * columns,
            *(_format_row(row, columns) for row in body if any(row)),
        )
    )


def _format_row(cells: Sequence[str], columns: int) -> str:
    padded = [*cells, *[""] * (columns - len(cells))]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in padded) + " |"


def lines_to_markdown(text: str) -> str:
    """Return the lines of a *text* without structure as paragraphs."""
    lines = (_special.sub(r"\\\g<0>", line) for line in text.split("\n"))
    return "\n\n".join(map(_escape_start, lines))


def join_blocks(blocks: Iterable[Block]) -> str:
    """Return the Markdown of *blocks* in their lists and quotations."""
    lines: list[str] = []
    before: tuple[Container, ...] = ()
    started: set[int] = set()
    for block in blocks:
        if not block.markdown:
            continue
        containers = block.containers
        common = 0
        while common < min(len(before), len(containers)) and before[common] == containers[common]:
            common += 1
        if lines and not _is_tight(before, containers, common):
            lines.append(_prefix(containers[:common], started).rstrip())
        for line in block.markdown.split("\n"):
            prefix = _prefix(containers, started)
            lines.append(prefix + line if line else prefix.rstrip())
        before = containers
    return "\n".join(lines)


def _is_tight(before: tuple[Container, ...], after: tuple[Container, ...], common: int) -> bool:
    """Return whether the next block is an item of the list of the block before it."""
    if common >= len(after) or after[common].kind == "quote":
        return False
    if common == len(before):
        return common > 0 and before[-1].kind != "quote"
    return before[common].parent == after[common].parent


def _prefix(containers: Iterable[Container], started: set[int]) -> str:
    """Return the beginning of a line in *containers*; the first line of an item has its marker."""
    parts: list[str] = []
    for kind, number, _ in containers:
        if kind == "quote":
            parts.append("> ")
        elif number in started:
            parts.append(" " * (len(kind) + 1))
        else:
            started.add(number)
            parts.append(f"{kind} ")
    return "".join(parts)
