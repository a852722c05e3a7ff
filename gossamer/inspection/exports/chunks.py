"""Chunks of a document's Markdown: parts of limited size, cut at headings first.

A document, or a section of it, that fits into the limit is one chunk. A larger one is cut at the
headings of its highest level; a section that is still too large between blocks, then between lines,
sentences and words. Code in fences and rows of tables are never cut, so one of them may exceed the
limit. Parts below headings are joined again as far as they fit.

The id of a chunk consists of the id of its document and a hash of its headings and text: it is the
same in the next version of the document if the section has not changed, and an index embeds nothing
twice.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as a token. Tokenizers differ; most make fewer tokens of prose."""
ID_BYTES = 8
MAX_HEADING_LEVEL = 6

_containers = r"(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*"
_line = re.compile(r"[^\n]*\n?")
_fence = re.compile(rf"{_containers}(?P<fence>`{{3,}}(?=[^`\n]*$)|~{{3,}})", re.MULTILINE)
_fence_end = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*$")
_heading = re.compile(r"(?P<marks>#{1,6})(?:[ \t]+(?P<text>[^\n]*))?$")
_row = re.compile(rf"{_containers}\|")
_delimiter_row = re.compile(rf"{_containers}\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$")
_sentence_end = re.compile(r"(?:[.!?\u2026][\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]+)(?=\S)")
_word_end = re.compile(r"(?<=\s)(?=\S)")


BLOCK, LINE = MAX_HEADING_LEVEL + 1, MAX_HEADING_LEVEL + 2
"""Kinds of places to cut. Before a heading it is the level of the heading; a low number is cut
first."""


class Chunk(NamedTuple):
    """A part of a document's Markdown."""

    id: str
    headings: tuple[str, ...]
    """The texts of the headings that it is below, the highest first, and of its own first one."""
    start: int
    """Offset of its first character in the Markdown."""
    end: int
    tokens: int
    """Estimated number of tokens."""
    text: str


class _Line(NamedTuple):
    start: int
    end: int
    level: int
    """The level of a heading; 0 for other lines."""
    title: str
    cut: int
    """The kind of the place before it; 0 if nothing may be cut there."""
    is_solid: bool
    """Whether it is never cut: code, a row of a table, or a heading."""


def count_tokens(text: str) -> int:
    """Return the estimated number of tokens of *text*."""
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)


def split_markdown(markdown: str, most: int, trace: str) -> Iterator[Chunk]:
    """Yield the chunks of *markdown* with about *most* tokens each; *trace* begins their ids."""
    lines = [*_lines(markdown)]
    headings = iter([line for line in lines if line.level])
    following, path = next(headings, None), list[_Line]()
    repeated = Counter[str]()
    for start, end in _split(markdown, lines, most):
        text = markdown[start:end]
        start += len(text) - len(text.lstrip("\n"))
        text = text.strip("\n")
        if not text.strip():
            continue
        while following and following.start <= start:
            path = [one for one in path if one.level < following.level] + [following]
            following = next(headings, None)
        titles = tuple(one.title for one in path)
        hashed = "\n".join((*titles, "", text)).encode("utf-8", "replace")
        name = f"{trace}-{blake2b(hashed, digest_size=ID_BYTES).hexdigest()}"
        repeated[name] += 1
        suffix = f"-{repeated[name]}" if repeated[name] > 1 else ""
        yield Chunk(name + suffix, titles, start, start + len(text), count_tokens(text), text)


def _lines(markdown: str) -> Iterator[_Line]:
    """Yield the lines of *markdown*, with the kinds of places between them.

    Nothing is cut before a blank line, and between a heading and what follows it.
    """
    fence, before, is_behind_blank, is_behind_heading = "", "", False, False
    for found in _line.finditer(markdown):
        start, end = found.span()
        if start == end:
            return
        text = found[0].rstrip("\n")
        if fence:
            closing = _fence_end.match(text)
            if closing and closing["fence"].startswith(fence):
                fence = ""
            yield _Line(start, end, 0, "", 0, is_solid=True)
            continue
        is_blank = not text.strip(" \t>")
        level, title, is_solid = 0, "", is_blank
        cut = BLOCK if is_behind_blank else LINE
        if opening := _fence.match(text):
            fence, is_solid = opening["fence"], True
        elif heading := _heading.match(text):
            level, title, is_solid = len(heading["marks"]), heading["text"] or "", True
            cut = level
        elif _row.match(text):
            is_solid = True
            if _delimiter_row.match(text) and _row.match(before):
                cut = 0
        yield _Line(
            start, end, level, title.strip(), 0 if is_blank or is_behind_heading else cut, is_solid
        )
        is_behind_blank = is_blank
        if not is_blank:
            before, is_behind_heading = text, level > 0


def _split(markdown: str, lines: Sequence[_Line], most: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the chunks of *lines*."""
    if not lines:
        return
    span = lines[0].start, lines[-1].end
    if count_tokens(markdown[span[0] : span[1]]) <= most:
        yield span
        return
    best = min((line.cut for line in lines[1:] if line.cut), default=0)
    if not best:
        plain = [line for line in lines if not line.is_solid]
        yield from _cut(markdown, span, plain, most)
        return
    parts = list[list[_Line]]()
    for line in lines:
        if not parts or line.cut == best:
            parts.append([])
        parts[-1].append(line)
    spans = (found for part in parts for found in _split(markdown, part, most))
    yield from spans if best <= MAX_HEADING_LEVEL else _join(markdown, spans, most)


def _cut(
    markdown: str,
    span: tuple[int, int],
    plain: Sequence[_Line],
    most: int,
    kinds: Sequence[re.Pattern[str]] = (_sentence_end, _word_end),
) -> Iterator[tuple[int, int]]:
    """Yield the parts of *span*, cut within its *plain* lines: at the places of the first of
    *kinds* that suffices, and otherwise anywhere."""
    start, end = span
    if count_tokens(markdown[start:end]) <= most:
        yield span
        return
    places = list[int]()
    for line in plain:
        first, last = max(start, line.start), min(end, line.end)
        if kinds:
            ends = (found.end() for found in kinds[0].finditer(markdown, first, last))
            # What precedes the line, such as its heading, stays with it.
            places += [at for at in ends if at > line.start]
        else:
            places += range(first + most, last, most)
    inner = [place for place in places if start < place < end]
    parts: Iterable[tuple[int, int]] = pairwise((start, *inner, end))
    if kinds:
        parts = (
            part for smaller in parts for part in _cut(markdown, smaller, plain, most, kinds[1:])
        )
    yield from _join(markdown, parts, most)


def _join(markdown: str, spans: Iterable[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Yield adjacent *spans* joined as far as they fit."""
    begun: tuple[int, int] | None = None
    for start, end in spans:
        if begun and count_tokens(markdown[begun[0] : end]) <= most:
            begun = begun[0], end
            continue
        if begun:
            yield begun
        begun = start, end
    if begun:
        yield begun
