"""Leaves out of a text what can be no words: what was read in the wrong way.

The signs are those of a crawler of the Portuguese Web (Gomes and Silva, *The Viúva Negra crawler*,
2.2.1): sequences of characters without a space are text of a wrong type, or of an encoding that it
is not in. Chinese, Japanese, Thai and others set no spaces; links, enumerations and rules are made
of more than letters; and some languages compound words without end.
"""

import re
from functools import cache

COMPOUNDING = frozenset({"da", "de", "et", "fi", "hu", "is", "nb", "nl", "nn", "no", "sv"})
"""Languages in which a word may have twice as many characters."""
SPACELESS = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
    "\u2e80-\ua4cf\ua9e0-\ua9ff\uaa60-\uaadf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Tai, Chinese, Japanese and Yi, with what they set between."""
BETWEEN = (
    r"!-/:-@\[-`{-~\u00a1\u00a7\u00a9\u00ab-\u00bb\u00bf\u00d7"
    r"\u200b-\u205e\u20a0-\u20bf\u2100-\u2bff\U0001f000-\U0001faff"
)
"""What sets the parts of a string apart: signs and symbols."""


def without_misread(text: str, longest: int, language: str = "") -> str:
    """Return *text* without the strings that have more than *longest* letters in a row.

    Of *text* as it is where there are none, or *longest* is 0.
    """
    if not longest:
        return text
    if language in COMPOUNDING:
        longest *= 2
    strings, words = _patterns(longest)
    kept = strings.sub(lambda found: found[0] if words.fullmatch(found[0]) else "", text)
    return text if len(kept) == len(text) else _tidy(kept)


@cache
def _patterns(longest: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    between = f"[{SPACELESS}{BETWEEN}]"
    word = f"(?:(?![{SPACELESS}])[^\\W_]){{1,{longest}}}"
    return (
        re.compile(rf"(?<!\S)\S{{{longest + 1},}}"),
        re.compile(f"{between}*+(?:{word}(?:{between}++{word})*+{between}*+)?"),
    )


def _tidy(text: str) -> str:
    lines = (re.sub(" {2,}", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
