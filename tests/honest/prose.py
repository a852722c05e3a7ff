"""Running text that differs from page to page, made of sentences that other people wrote.

The sentences are those of the docstrings of Python's standard library and of its reference, which
every Python has. A sentence keeps its grammar, and other words replace its longer words. A key
always gives the same text.
"""

import ast
import random
import re
import sysconfig
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics

from tests.synthweb.words import title as invented_words

SENTENCE = re.compile(r"(?<![^.:\n] )\b[A-Z][a-z]* [^.:*=<>|(){}\[\]\\_\"`/]{30,240}\.(?=\s|$)")
WORD = re.compile(r"\b[a-z]{5,}\b")
ENDINGS = ("ing", "ed", "ly", "s")
KEPT_WORDS = 60
"""The most frequent words of five letters and more, which stay: "which", "other", "there"."""
NAMES = [
    *dict.fromkeys(word.capitalize() for n in range(900) for word in invented_words(str(n)).split())
]


def rng(*key: object) -> random.Random:
    return random.Random("/".join(map(str, key)))


def name(*key: object) -> str:
    """Return an invented proper name."""
    return rng("name", *key).choice(NAMES)


def names(count: int, *key: object) -> list[str]:
    """Return different proper names in lower case, for hosts and paths."""
    found = rng("names", *key).sample(NAMES, min(count, len(NAMES)))
    return [it.lower() for it in found] + [
        f"{found[n % len(found)].lower()}{n}" for n in range(len(found), count)
    ]


@cache
def _source() -> tuple[list[str], dict[str, list[str]]]:
    """Return the sentences, and the words that may replace each other, by their ending."""
    found = [it for text in _documents() for it in SENTENCE.findall(text)]
    sentences = [*dict.fromkeys(" ".join(it.split()) for it in found)]
    words = WORD.findall(" ".join(sentences))
    kept = {word for word, _ in Counter(words).most_common(KEPT_WORDS)}
    by_ending: dict[str, list[str]] = defaultdict(list)
    for word in words:
        if word not in kept:
            by_ending[_ending(word)].append(word)
    return sentences, by_ending


def _documents() -> Iterator[str]:
    yield from (topics[key] for key in sorted(topics))
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""


def _ending(word: str) -> str:
    return next((ending for ending in ENDINGS if word.endswith(ending)), "")


def sentences(count: int, *key: object) -> list[str]:
    """Return sentences of about twenty words, different for each key."""
    originals, words = _source()
    chosen = rng("sentences", *key)

    def other(found: re.Match[str]) -> str:
        choices = words[_ending(found[0])]
        return chosen.choice(choices) if choices else found[0]

    return [WORD.sub(other, chosen.choice(originals)) for _ in range(count)]


def text(words: int, *key: object) -> str:
    """Return about that many *words*, in whole sentences."""
    return " ".join(sentences(max(1, round(words / MEAN_WORDS)), *key))


MEAN_WORDS = 12
"""The mean number of words of a sentence."""


def title(*key: object) -> str:
    """Return a headline of a few words."""
    words = sentences(1, "title", *key)[0].rstrip(".").split()
    return " ".join([name(*key), *words[:6]])


def translated(text: str, language: str) -> str:
    """Return *text* in an invented language: each of its words has one translation."""
    return re.sub(r"\w+", lambda found: name("word", language, found[0].lower()).lower(), text)
