"""How long lexbor takes for a document, estimated from its tags.

Building a tree takes more than linear time in four ways. Start and end tags look through the
elements that are open, so depth costs. Formatting elements that nobody closes are opened anew in
whatever follows, and compared with each other. A misnested end tag of one rearranges what is open.
And each attribute of a tag is compared with those before it. What that costs was measured with
lexbor; what is open is followed roughly: an end tag is looked for among the innermost few, and
where a browser would find it farther out it is taken for lost. So a document that is not nested
properly seems deeper here than it is, by no more than a page for people can afford.
"""

from services.parser.tokens import FORMATTING, Tag, count_attributes

OPEN, REOPENED, COMPARED, REARRANGED, ATTRIBUTE = 4e-9, 400e-9, 60e-9, 15e-9, 4e-9
"""Seconds: for each open element at a tag, each formatting element that is opened anew, each
attribute of one compared with another, each open element that is looked at to rearrange them, each
pair of attributes."""
ROUNDS = 8
"""How often a misnested end tag rearranges (13.2.6.4.7, the outer loop)."""
REACH = 24
"""How far out an end tag is looked for."""
IDENTICAL = 3
"""Formatting elements that are the same, of which the last are kept (13.2.4.3)."""
SHORT = 200
"""Characters of attributes that are too few to cost anything."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names("area base br col embed hr img input keygen link meta param source track wbr")
SCOPE = _names("applet caption html marquee object table td template th")
"""What an end tag outside does not reach."""
CELLS = _names("caption td th")
ROWS = CELLS | _names("tbody tfoot thead tr")
"""In a table, they close all that is open there; elsewhere they are nothing."""
HEADINGS = _names("h1 h2 h3 h4 h5 h6")
BLOCKS = HEADINGS | _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form header hgroup li listing main menu nav ol p plaintext pre search section "
    "summary ul xmp"
)
"""They close a paragraph."""
SPECIAL = BLOCKS | SCOPE | ROWS | _names("body button frameset head iframe select")
"""What an end tag of a formatting or unknown element does not reach (13.2.4.2)."""
ITEMS = {
    "li": frozenset({"li"}), "dd": frozenset({"dd", "dt"}), "dt": frozenset({"dd", "dt"}),
}  # fmt: skip
"""What their start tags close, ..."""
AROUND_ITEMS = SPECIAL - {"address", "div", "p"}
"""... unless one of these is in between."""
PARAGRAPH = frozenset({"p"})
TABLES = frozenset({"table", "template"})


class Effort:
    """Adds up what tags cost."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._open: list[str] = []
        self._formats: list[tuple[str, str]] = []
        """Of formatting elements that were not closed: name and attributes."""
        self._kept: list[int] = []
        """For each open element, how many of them there were when it began."""
        self._standing = 0
        """Formatting elements that are open."""
        self._tables: list[int] = []
        """Where among the open elements tables and templates are."""
        self._merged: dict[str, int] = {}

    def add(self, tag: Tag) -> None:
        """Add what *tag* costs; the number of steps does not depend on the tags before it."""
        lost = max(0, len(self._formats) - self._standing)
        self.seconds += len(self._open) * OPEN + lost * REOPENED
        if tag.ends:
            self._end(tag.name)
        else:
            self._attributes(tag)
            self._begin(tag)

    def _attributes(self, tag: Tag) -> None:
        if len(tag.attributes) <= SHORT and tag.name not in ("body", "html"):
            return
        count = count_attributes(tag.attributes)
        before = self._merged.get(tag.name, 0)
        if tag.name in ("body", "html"):
            # Of several such tags the attributes become those of one element.
            self._merged[tag.name] = before + count
        self.seconds += count * (before + count) * ATTRIBUTE

    def _begin(self, tag: Tag) -> None:
        name = tag.name
        if name in BLOCKS:
            if name in ITEMS:
                self._close(ITEMS[name], AROUND_ITEMS)
            self._close(PARAGRAPH, SPECIAL)
        elif name in ROWS:
            if not self._tables:
                return
            self._drop(len(self._open) - self._tables[-1] - 1)
        if name in VOID or tag.attributes.endswith("/"):
            return
        if name in TABLES:
            self._tables.append(len(self._open))
        self._kept.append(len(self._formats))
        self._open.append(name)
        if name in FORMATTING:
            self._format((name, tag.attributes))

    def _format(self, element: tuple[str, str]) -> None:
        self._standing += 1
        if self._formats[-IDENTICAL:] != [element] * IDENTICAL:
            self._formats.append(element)
        attributes = 1 + (count_attributes(element[1]) if element[1] else 0)
        self.seconds += len(self._formats) * attributes * COMPARED

    def _end(self, name: str) -> None:
        if name in FORMATTING:
            self._end_format(name)
        elif name in TABLES:
            if self._tables:
                self._drop(len(self._open) - self._tables[-1])
        elif name in HEADINGS:
            self._close(HEADINGS, SCOPE)
        else:
            self._close(frozenset((name,)), SCOPE if name in SPECIAL else SPECIAL)

    def _end_format(self, name: str) -> None:
        for back in range(1, min(REACH, len(self._formats)) + 1):
            if self._formats[-back][0] == name:
                del self._formats[-back]
                break
        if not self._close(frozenset((name,)), SPECIAL):
            self.seconds += ROUNDS * (len(self._open) + len(self._formats)) * REARRANGED

    def _close(self, names: frozenset[str], limits: frozenset[str]) -> bool:
        """Close the innermost element of *names*, and what is in it; return whether there is one.

        It is not looked for beyond others of *limits*.
        """
        for back in range(1, min(REACH, len(self._open)) + 1):
            name = self._open[-back]
            if name in names:
                self._drop(back)
                return True
            if name in limits:
                break
        return False

    def _drop(self, back: int) -> None:
        for _ in range(back):
            name, kept = self._open.pop(), self._kept.pop()
            self._standing -= name in FORMATTING
            if name in TABLES:
                self._tables.pop()
            if name in CELLS:
                # What was opened in a cell is not opened anew in the next one.
                del self._formats[kept:]
