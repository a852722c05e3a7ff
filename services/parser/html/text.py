"""The text of an HTML document: the main text, or all visible text.

Trafilatura, in its `fast` mode and without comments, has the best F1 on 181 real pages (0.96, at 11
ms per page). It chooses the blocks of the page that are published (`main.py`). Its time is linear
in the size of the page, hence the limits. It takes a third less if the elements that it discards
are removed from lexbor's tree. Resiliparse takes a sixth of the time, with an F1 of 0.90. (Version
2 of resiliparse walks trees a hundred times more slowly, so version 1 is used.)

The visible text replaces a missing or poor main text: in forums whose posts are marked as comments,
on contact pages, in galleries, and in documents that are nested too deep for the extraction. Its
lines end where a browser ends them. The cells of a table row share a line.
"""

import re
import sys
from collections.abc import Sequence
from itertools import islice
from types import ModuleType
from typing import NamedTuple

from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser

from gossamer.services.parser.html.blocks import Block, Document
from gossamer.services.parser.html.hidden import remove_hidden
from gossamer.services.parser.html.main import choose_blocks, join_lines
from gossamer.services.parser.html.markdown import join_blocks, lines_to_markdown
from gossamer.services.parser.html.rendering import (
    expand_frames,
    expand_shadow_trees,
    write_as_displayed,
)
from gossamer.services.parser.options import Options
from gossamer.services.parser.parts import Part, read_part
from gossamer.services.parser.text import ExtractedText, TextKind, finish_text, read_language
from gossamer.text.blocks import SEPARATOR, split_pieces, words_of


class _Babel(ModuleType):
    """The two names of Babel that courlan imports to detect languages in URL paths.

    Trafilatura imports courlan but never uses that function. Babel takes 33 MB, and the lock files
    exclude it.
    """

    Locale = None
    UnknownLocaleError = LookupError


sys.modules.setdefault("babel", _Babel("babel"))

import trafilatura  # noqa: E402
from trafilatura.core import (  # noqa: E402
    ESCALATION_ACCEPT_RATIO,
    ESCALATION_MAX_LENGTH,
    ESCALATION_PAGE_SHARE,
)
from trafilatura.settings import MANUALLY_CLEANED, Extractor  # noqa: E402

FIRST = Extractor(output_format="txt", fast=True, comments=False)
FIRST.focus = "first"
"""Options of the extraction of each page. They are made once, because they read a configuration.
Not `balanced`: trafilatura would then read the whole page again to see whether it found little."""
AGAIN = Extractor(output_format="txt", fast=True, comments=False, recall=True)
"""Options of a second extraction, where the first one found little of the page."""

MAX_CHARACTERS = 1_000_000
"""Most characters of HTML that are searched for the main text."""
MAX_TAGS = 50_000
"""Most tags of HTML that are searched for the main text. Trafilatura takes 0.1 ms per element, and
an element may have four characters. None of 181 real pages has more than 3,300."""
NON_MAIN_ELEMENTS = [*sorted({*MANUALLY_CLEANED} - {"head", "form"}), "img", "link", "meta", "wbr"]
"""Elements that trafilatura discards. A form may contain the whole document."""
BLOCK_SELECTOR = ",".join(
    words_of("""
        address article aside blockquote body br caption center dd details dialog div dl dt fieldset
        figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol option
        p pre search section summary table tr ul
    """)
)
"""Elements on lines of their own."""
CELL_SELECTOR = "td, th, button, select, textarea"
"""Elements that are separated by a space."""
MIN_SQUARE_RATIO = 10
"""A main text is poor if `len(main) ** 2 < 10 * len(visible)`."""
MIN_VISIBLE_CHARACTERS = 300
"""A page with this much visible text does not need its scripts."""
SCRIPT_ROOTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #react-root, #app-root, #q-app, app-root, "
    "app, [ng-app], [ng-version], [data-reactroot], [data-server-rendered]"
)
"""Elements that common frameworks fill by script."""

_tag = re.compile("<")
_scripts = "script:not([type='application/ld+json'])"
_mentions_javascript = re.compile(r"java\s?script", re.IGNORECASE)
_placeholder = re.compile(
    r"\W*(?:(?:loading|please wait|redirecting|one moment|checking your browser)\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
_visible_elements = "a[href], area[href], frame, iframe, img, form, video, object, embed"


class MainText(NamedTuple):
    """The main text of a page, and the blocks that it is made of; () if they are not known."""

    text: str = ""
    blocks: Sequence[Block] = ()


def extract_text(html: str, page: Document, options: Options) -> ExtractedText:
    """Return the main text of *page*, or the visible text of *html* if the main text is poor."""
    main = read_part(Part.MAIN_TEXT, options, lambda: _extract_main(page, options), MainText())
    if main.text:
        text = finish_text(main.text, TextKind.MAIN, page.language, options)
        if not options.markdown or not text.text:
            return text
        lines = join_blocks(main.blocks) if main.blocks else lines_to_markdown(text.text)
        return text._replace(markdown=lines)
    if options.text == "off":
        return ExtractedText(None, "", read_language(page.visible, page.language, options))
    return finish_text(extract_visible_text(html), TextKind.VISIBLE, page.language, options)


def _extract_main(page: Document, options: Options) -> MainText:
    """Return the main text of *page*; "" if it is poor."""
    if options.text == "off":
        return MainText()
    if options.text == "fast":
        found = extract_fast_text(page.markup)
    elif options.text == "rust":
        found = extract_rust_text(page.markup)
    else:
        length = sum(sum(map(len, block.lines)) for block in page.content)
        found = extract_main_text(page.markup, length)
    kinds = page.is_manual, page.is_thread, page.is_article
    chosen = choose_blocks(page.content, found, *kinds) if found else []
    main = join_lines(chosen) if chosen else found
    return MainText(main, chosen) if main and not is_poor(main, page.visible) else MainText()


def truncate(html: str) -> str:
    """Return the beginning of *html* that is searched for the main text."""
    html = html[:MAX_CHARACTERS]
    if html.count("<") <= MAX_TAGS:
        return html
    first_beyond = next(islice(_tag.finditer(html), MAX_TAGS, None))
    return html[: first_beyond.start()]


def extract_main_text(html: str, length: int = 0) -> str:
    """Return the main text of *html*, whose blocks have *length* characters; "" if there is none.

    A text that is little of the page is extracted again, in the recall mode. trafilatura does so by
    itself, but reads the page for its length.
    """
    html = truncate(html)
    found = trafilatura.extract(html, options=FIRST) or ""
    if 0 < len(found) < min(ESCALATION_MAX_LENGTH, ESCALATION_PAGE_SHARE * length):
        again = trafilatura.extract(html, options=AGAIN) or ""
        least = max(ESCALATION_ACCEPT_RATIO * len(found), AGAIN.min_extracted_size)
        return again if len(again) > least else found
    return found


def extract_fast_text(html: str) -> str:
    """Return the main text of *html* by resiliparse."""
    return str(
        extract_plain_text(truncate(html), main_content=True, links=False, list_bullets=False)
    )


def extract_rust_text(html: str) -> str:
    """Return the main text of *html* by etrafilatura, a port of trafilatura to Rust."""
    import etrafilatura  # It is an extra.

    return etrafilatura.extract(truncate(html), fast=True, include_comments=False) or ""


def extract_visible_text(html: str) -> str:
    """Return the visible text of *html*, line by line."""
    tree = LexborHTMLParser(html)
    expand_frames(tree)
    expand_shadow_trees(tree)
    write_as_displayed(tree)
    remove_hidden(tree)
    for node in tree.css(CELL_SELECTOR):
        node.insert_after(" ")
    return "\n".join(split_lines(tree))


def split_lines(tree: LexborHTMLParser, between_nodes: str = "") -> list[str]:
    """Return the lines of the text of *tree*, with *between_nodes* between two text nodes. The tree
    changes."""
    for node in tree.css(BLOCK_SELECTOR):
        node.insert_before(SEPARATOR)
        node.insert_after(SEPARATOR)
    return split_pieces(tree.body.text(separator=between_nodes)) if tree.body else []


def is_poor(main: str, visible: str) -> bool:
    """Return whether *main* is too short for a page with the *visible* text.

    A poor main text is short and a small part: "Logo" on a contact page. The poorest main text of
    181 real articles has 464 of 12,083 characters, and its square is 18 times the visible text.
    """
    return len(main) ** 2 < MIN_SQUARE_RATIO * len(visible)


def needs_rendering(html: str, visible: str) -> bool:
    """Return whether scripts seem to make the text of the page *html*.

    Little *visible* text is not enough. The page must have scripts, and an empty framework root,
    a noscript element that mentions JavaScript, or nothing else to display.
    """
    if len(visible) >= MIN_VISIBLE_CHARACTERS:
        return False
    # Parsed again, because scripts were removed from the first tree. Such pages are small.
    tree = LexborHTMLParser(html)
    if tree.css_first(_scripts) is None:
        return False
    if any(_mentions_javascript.search(node.text()) for node in tree.css("noscript")):
        return True
    tree.strip_tags(["script", "style", "noscript", "template"], recursive=True)
    if any(not node.text().strip() for node in tree.css(SCRIPT_ROOTS)):
        return True
    return bool(_placeholder.fullmatch(visible)) and tree.css_first(_visible_elements) is None
