"""Texts that are so different that no two pages are near duplicates."""

import random
from itertools import product

_SYLLABLES = "bar cel dor fen gal hol jun kel lor mar nor pel quin ros sal tor ven wil yar zan"
_ENDINGS = "ada eck ime olt une ant ish orp ury ean ost ile"
_ENGLISH = (
    "the of and in that with from where which near into when they have been was for on are as at "
    "by this had not but what all were we your can said there use an each she how their if will "
    "up other about out many then them these so some her would make like him has two more"
)
_STARTS, _ENDS, _COMMON = _SYLLABLES.split(), _ENDINGS.split(), _ENGLISH.split()
_WORDS = [a + b for a, b in product(_STARTS, _ENDS)] + [
    a + b + c for a, b, c in product(_STARTS, _STARTS, _ENDS) if a != b
]

SAMPLES = {
    "iso-8859-1": "Déjà vu à la crème brûlée, señor Müller.",
    "windows-1252": "“Smart quotes” cost 5 € — or so they say…",
    "shift_jis": "これは日本語の文章です。文字コードを確かめます。",
}
"""Characters whose bytes differ between encodings."""


def title(key: str) -> str:
    rng = random.Random(f"title/{key}")
    return " ".join(rng.choices(_WORDS, k=4)).capitalize()


def paragraphs(key: str) -> list[str]:
    """Return three paragraphs that are unique to `key`."""
    rng = random.Random(f"text/{key}")
    return [" ".join(_sentence(rng) for _ in range(4)) for _ in range(3)]


def _sentence(rng: random.Random) -> str:
    """Return a sentence with one common word: more would make pages near duplicates of each
    other."""
    words = [rng.choice(_COMMON), *rng.choices(_WORDS, k=11)]
    return " ".join(words).capitalize() + "."
