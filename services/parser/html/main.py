"""The choice of the blocks that are the main text of a document.

An extractor finds the main text, but loses parts that every reader sees: text directly in a div,
captions, lists in cells of tables. Its result says which blocks are main text. Those between them
belong to the text, too, unless they are links or are in an element beside the text.
"""

import re
from collections import Counter
from collections.abc import Sequence

from gossamer.services.parser.html.blocks import Block, BlockKind
from gossamer.text.blocks import letters_of

MIN_KEY_LENGTH = 24
"""Minimum letters of a block that is searched in the whole main text. A shorter block counts only
directly behind the block before it."""
PREFIX_LENGTH = 40
"""Letters at the beginning of a block by which it is found if the extractor dropped parts of it."""
MIN_FOUND = 0.5
"""Least share of the main text that must be found in blocks."""
MIN_EXTRACTED, MIN_EXTRACTED_OF_ARTICLE = 0.7, 0.2
"""Least share of the paragraphs of a page that are its main text, and of a page that states that it
is an article, below which there may be comments. An extractor that found less found another part of
the page: the introduction of a newsletter, a form, the answer to a question, one post of a thread.
A page that does not state that it is an article has many parts if its main text is less than this
share of all text that is not beside it.
"""
MAX_LINKED = 0.35
"""Highest share of characters in links of a block that is added."""
MAX_LINKED_HEADING = 0.9
"""As MAX_LINKED, for a heading, which may name types that have pages."""
MIN_INSIDE = 0.9
"""Least share of the text in the element whose blocks are added."""
MIN_AROUND = 0.95
"""An element with at least this share of the text is not beside the text, whatever its name is."""
LABEL_ELEMENTS = frozenset(("body", "center", "div", "figure", "header", "section"))
POST_LABEL_ELEMENTS = frozenset(("dd", "div", "dt"))
"""Elements of a post with the rank of its author, a number of posts, or the name of a button."""
PARAGRAPH_ELEMENTS = frozenset(("dd", "dt", "figcaption", "li", "p", "pre"))
TITLE_ELEMENTS = frozenset(("caption", "dt", "legend", "summary"))
"""Elements whose text may repeat, because it is the title of what follows."""
MIN_TEXT, MIN_SENTENCE = 80, 30
"""Fewest characters of a text without an element of its own that is added, and of one with a
period. Labels are shorter."""
MIN_POST = 40
"""Fewest characters of a text without a period in a discussion that is not a label."""
MAX_SCANNED = 30_000_000
"""Most letters of the main text that are searched for all blocks together."""

_sentence = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]")
_digits = re.compile("[0-9]+")


def choose_blocks(
    blocks: Sequence[Block], main: str, is_manual: bool, is_thread: bool, is_article: bool
) -> list[Block]:
    """Return the blocks of the *main* text; [] if its text is hardly in the *blocks*.

    A page of a manual or of a discussion (*is_thread*) is text from its title to the end of the
    element with the text, and its lists of links, too, but not the labels of posts. So is a page
    with many parts, such as a list of goods or of courses, whose labels are text, too.
    """
    is_whole = is_manual or is_thread
    kept, found = _find_blocks(blocks, main)
    if not any(kept) or found < MIN_FOUND:
        return []
    paragraphs = [_is_paragraph(block) for block in blocks]
    total = sum(_length(block) for block, one in zip(blocks, paragraphs, strict=True) if one)
    if len(main) < (MIN_EXTRACTED_OF_ARTICLE if is_article else MIN_EXTRACTED) * total:
        kept = [one or other for one, other in zip(kept, paragraphs, strict=True)]
    length = sum(sum(map(len, block.lines)) for block in blocks if not block.apart)
    has_parts = not (is_article or is_whole) and len(main) < MIN_EXTRACTED * length
    _complete(blocks, kept, is_whole or has_parts, has_parts, is_thread)
    return [block for block, is_kept in zip(blocks, kept, strict=True) if is_kept]


def _is_paragraph(block: Block) -> bool:
    """Return whether *block* has a sentence and is neither beside the text nor a link."""
    return not block.apart and block.linked <= MAX_LINKED and _length(block) >= MIN_TEXT


def _length(block: Block) -> int:
    return max(map(len, block.lines), default=0)


def _find_blocks(blocks: Sequence[Block], main: str) -> tuple[list[bool], float]:
    """Return whether each block is in *main*, and the share of *main* that is in blocks."""
    lines = [letters_of(line) for line in main.split("\n")]
    letters = "".join(lines)
    keys = [[letters_of(line) for line in block.lines] for block in blocks]
    places = _find_lines(lines, keys)
    kept, at, found = [False] * len(blocks), 0, bytearray(len(letters))
    for key, place in places.items():
        found[place : place + len(key)] = b"1" * len(key)
    # A header and a menu may repeat the title.
    elsewhere = {
        key for index, block in enumerate(blocks) if not block.apart for key in keys[index]
    }
    searches_left = MAX_SCANNED // max(1, len(letters))
    for index, block in enumerate(blocks):
        matched = 0
        for key in keys[index]:
            if block.apart and key in elsewhere:
                continue
            if (place := places.pop(key, -1)) >= 0:
                at = place + len(key)
                matched += len(key)
                continue
            is_next = letters.startswith(key, at)
            searches_left -= not is_next and len(key) >= MIN_KEY_LENGTH
            place, length = (at, len(key)) if is_next else (at, 0)
            if not is_next and searches_left > 0:
                is_whole = block.kind is BlockKind.TABLE
                place, length = _find(letters, key, at, is_whole)
            if length and 2 * found.count(b"1", place, place + length) < length:
                at = place + length
                found[place:at] = b"1" * length
                matched += len(key)
        kept[index] = 2 * matched >= sum(map(len, keys[index])) > 0
    return kept, found.count(b"1") / max(1, len(letters))


def _find_lines(lines: list[str], keys: list[list[str]]) -> dict[str, int]:
    """Return the places of long lines of the main text that are also lines of blocks."""
    known = {key for block in keys for key in block if len(key) >= MIN_KEY_LENGTH}
    places: dict[str, int] = {}
    at = 0
    for line in lines:
        if line in known:
            places.setdefault(line, at)
        at += len(line)
    return places


def _find(letters: str, key: str, at: int, is_whole: bool) -> tuple[int, int]:
    """Return the index of *key* in *letters*, preferably from *at* on, and the matched length.

    *is_whole*: whether its beginning and its end must be found.
    """
    if len(key) < MIN_KEY_LENGTH:
        return at, 0
    beginning, end = key[:PREFIX_LENGTH], key[-PREFIX_LENGTH // 2 :]
    # Most blocks are not in the main text at all. One search shows that, and saves three.
    starts = [place for place in _places(letters, beginning, at) if place >= 0]
    if starts and ((whole := letters.find(key, at)) >= 0 or (whole := letters.find(key)) >= 0):
        return whole, len(key)
    if len(key) < 2 * PREFIX_LENGTH:
        return at, 0
    for place in starts:
        if (last := letters.find(end, place, place + len(key))) >= 0:
            return place, last + len(end) - place
    # The dropped part may be the beginning or the end, such as a label or a formula.
    most = len(key) * 4 // 5
    parts = (key[:most], key[-most:]) if starts else (key[-most:],)
    for part in () if is_whole else parts:
        if (place := letters.find(part)) >= 0:
            return place, most
    return at, 0


def _places(letters: str, part: str, at: int) -> tuple[int, int]:
    """Return the first index of *part* in *letters* from *at* on, and before; -1 for none."""
    return letters.find(part, at), letters.find(part, 0, at + len(part) - 1)


def _complete(
    blocks: Sequence[Block], kept: list[bool], is_whole: bool, has_parts: bool, is_thread: bool
) -> None:
    """Drop links beside the text from the *kept* blocks, and add blocks that belong to the text."""
    weights = _weigh_parents(blocks, kept)
    if not weights:
        return
    around = {parent for parent, weight in weights.items() if weight >= MIN_AROUND}
    apart = [not around.issuperset(block.apart) for block in blocks]
    whole = is_whole or any(
        is_kept and block.kind is BlockKind.CODE
        for block, is_kept in zip(blocks, kept, strict=True)
    )
    inside = _find_inside(blocks, weights, apart, whole)
    for index, block in enumerate(blocks):
        kept[index] = kept[index] and not (apart[index] and block.linked > MAX_LINKED)
    inner = [index for index, block in enumerate(blocks) if kept[index] and inside in block.parents]
    if not inner:
        return
    seen = {line for index, block in enumerate(blocks) if kept[index] for line in block.lines}
    # A short answer is not written twice.
    labels = Counter(map(_pattern_of, filter(_is_label, blocks)) if is_thread else ())
    first = _find_title(blocks, inner[0], inside, apart)
    last = len(blocks) if whole else _last_known(blocks, inside, seen)
    for index in range(first, last):
        block = blocks[index]
        # The members of a class are a table of links.
        is_reference = block.kind is BlockKind.HEADING or (whole and block.kind is BlockKind.TABLE)
        most_linked = MAX_LINKED_HEADING if is_reference else MAX_LINKED
        if (
            not kept[index]
            and not apart[index]
            and inside in block.parents
            and (is_whole or block.linked <= most_linked)
            # Each group of tabs has the same labels.
            and (not seen.issuperset(block.lines or [""]) or block.tag in TITLE_ELEMENTS)
            and (
                # The name of an item may be in a div.
                (has_parts or _is_text(block) or (whole and bool(block.containers)))
                if index > inner[0] or whole
                else _is_lede(block)
            )
            and not (_is_label(block) and labels[_pattern_of(block)] > 1)
        ):
            kept[index] = True
            seen.update(block.lines)


def _find_inside(
    blocks: Sequence[Block], weights: dict[int, float], apart: Sequence[bool], whole: bool
) -> int:
    """Return the innermost element with the text; of a *whole* text, with its title, too.

    The list of the methods that a type inherits may be most of its page.
    """
    candidates = [parent for parent, weight in weights.items() if weight >= MIN_INSIDE]
    if not whole:
        return candidates[-1]
    tag = "h1" if any(block.tag == "h1" for block in blocks) else "h2"
    titled = {
        parent
        for block, beside in zip(blocks, apart, strict=True)
        if block.tag == tag and not beside
        for parent in block.parents
    }
    return next((parent for parent in reversed(candidates) if parent in titled), candidates[-1])


def _find_title(blocks: Sequence[Block], first: int, inside: int, apart: Sequence[bool]) -> int:
    """Return the index of the title before the block *first* in the element *inside*; else *first*.

    The title is the h1 before it, or the first h2 of a page without one.
    """
    inner = [
        index
        for index in range(first)
        if blocks[index].tag in ("h1", "h2")
        and inside in blocks[index].parents
        and not apart[index]
    ]
    titles = [index for index in inner if blocks[index].tag == "h1"]
    if titles:
        return titles[-1]
    has_title = any(block.tag == "h1" for block in blocks)
    return inner[0] if inner and not has_title else first


def _last_known(blocks: Sequence[Block], inside: int, seen: set[str]) -> int:
    """Return the index of the last block in the element *inside* that repeats kept text.

    An extractor may drop a repeated paragraph.
    """
    return max(
        index
        for index, block in enumerate(blocks)
        if inside in block.parents and block.lines and seen.issuperset(block.lines)
    )


def _weigh_parents(blocks: Sequence[Block], kept: Sequence[bool]) -> dict[int, float]:
    """Return the share of the text of *kept* blocks in each element, outer elements first."""
    weights: dict[int, float] = {}
    total = 0
    for block, is_kept in zip(blocks, kept, strict=True):
        if is_kept and not (block.apart and block.linked > MAX_LINKED):
            weight = sum(map(len, block.lines))
            total += weight
            # A long paragraph is not the element that has the text.
            own = block.tag in PARAGRAPH_ELEMENTS or block.kind is BlockKind.HEADING
            for parent in block.parents[:-1] if own else block.parents:
                weights[parent] = weights.get(parent, 0) + weight
    return {parent: weight / max(1, total) for parent, weight in weights.items()}


def _is_text(block: Block) -> bool:
    """Return whether *block* is not a label, a button or a name. It may be an image."""
    is_quoted = any(container.kind == "quote" for container in block.containers)
    if is_quoted or block.tag not in LABEL_ELEMENTS or not block.lines:
        return True
    text = max(block.lines, key=len)
    return len(text) >= MIN_TEXT or (len(text) >= MIN_SENTENCE and bool(_sentence.search(text)))


def _is_label(block: Block) -> bool:
    """Return whether *block* of a post may be a name, a number or a button."""
    is_quoted = any(container.kind == "quote" for container in block.containers)
    return (
        block.tag in POST_LABEL_ELEMENTS
        and not is_quoted
        and sum(map(len, block.lines)) < MIN_POST
        and not any(map(_sentence.search, block.lines))
    )


def _pattern_of(block: Block) -> tuple[str, ...]:
    """Return the lines of *block* without the numbers in them."""
    return tuple(_digits.sub("0", line) for line in block.lines)


def _is_lede(block: Block) -> bool:
    """Return whether *block*, which is before the text, is more than a date or a name."""
    return block.kind is BlockKind.PARAGRAPH and _length(block) >= MIN_TEXT


def join_lines(blocks: Sequence[Block]) -> str:
    """Return the text of *blocks*."""
    return "\n".join(line for block in blocks for line in block.lines)
