"""Texts: English sentences that differ from page to page, and babble without information."""

import random
from functools import lru_cache

from tests.synthweb.words import title as invented_words

_ADJECTIVES = (
    "old narrow quiet early wooden famous northern distant careful heavy gentle ancient public "
    "bright private steep local simple rapid hollow modern patient open curious formal warm"
)
_NOUNS = (
    "bridge harbour letter market garden river school museum engine village forest teacher "
    "painter council factory library valley winter journey festival harvest kitchen railway "
    "chapel island archive meadow captain doctor orchard theatre lantern workshop mountain "
    "station cellar printer weaver clock map road mill tower ship song wall field story"
)
_VERBS = (
    "repaired described visited painted measured abandoned bought opened remembered designed "
    "crossed studied collected improved photographed rebuilt explained guarded recorded moved "
    "founded inherited borrowed planted questioned translated decorated inspected"
)
_PLACES = "near behind above beyond beside inside outside below across"
ADJECTIVES, NOUNS = _ADJECTIVES.split(), _NOUNS.split()
VERBS, PLACES = _VERBS.split(), _PLACES.split()
STARTS = (
    "In {year} the {adjective} {noun} {place} {name} was {verb} by {other}",
    "{name} {verb} a {adjective} {noun} and sold it to {other} in {year}",
    "Visitors from {name} rarely see the {noun} that {other} once {verb}",
    "Nobody {verb} {name} before {year}, when {other} found a {noun} {place} the {thing}",
    "Two {adjective} letters mention {name}, whose {noun} {other} later {verb}",
    "Every spring {name} opens its {adjective} {noun} to children of {other}",
    "A {thing} {place} {name} keeps the {noun} which {other} {verb} during {year}",
    "Most guides praise {other}; we prefer the {adjective} {noun} {place} {name}",
)
CLAUSES = (
    "and the {noun} has not changed since then",
    "although nobody could say who owned the {thing}",
    "because its {adjective} {noun} was no longer safe",
    "which explains why that {noun} still carries such a name",
    "but only few {noun} records have survived at {name}",
    "so people could use the {thing} again",
    "while {name} waited for better {noun} plans",
    "after {number} years of work on another {noun}",
    "with {number} {adjective} pictures by {name}",
    "if the weather permits",
    "as {name} explains in {number} pages about the {thing}",
    "until a {noun} burned down",
)
NAMES = [
    *dict.fromkeys(
        word.capitalize() for n in range(1500) for word in invented_words(str(n)).split()
    )
]
SENTENCES, PARAGRAPHS = 4, 3
HEADLINES = 20_000
"""The number of cached headlines."""


def name(rng: random.Random) -> str:
    """Return an invented proper name."""
    return rng.choice(NAMES)


@lru_cache(HEADLINES)
def headline(key: str) -> str:
    rng = random.Random(f"headline/{key}")
    return f"The {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)} of {name(rng)}"


def paragraphs(key: str) -> list[str]:
    """Return paragraphs of at least eighty words altogether, different for each `key`."""
    rng = random.Random(f"paragraphs/{key}")
    return [" ".join(_sentence(rng) for _ in range(SENTENCES)) for _ in range(PARAGRAPHS)]


def _sentence(rng: random.Random) -> str:
    return f"{_filled(rng, rng.choice(STARTS))}, {_filled(rng, rng.choice(CLAUSES))}."


def _filled(rng: random.Random, template: str) -> str:
    return template.format(
        year=rng.randrange(1600, 2020),
        number=rng.randrange(2, 90),
        name=name(rng),
        other=name(rng),
        adjective=rng.choice(ADJECTIVES),
        noun=rng.choice(NOUNS),
        thing=rng.choice(NOUNS),
        verb=rng.choice(VERBS),
        place=rng.choice(PLACES),
    )


def jumble(key: str) -> list[str]:
    """Return paragraphs of ordinary words in a random order."""
    rng = random.Random(f"jumble/{key}")
    words = [*ADJECTIVES, *NOUNS, *VERBS, *PLACES, "the", "of", "and", "was"]
    return [" ".join(rng.choices(words, k=60)) for _ in range(PARAGRAPHS)]


def babble(key: str) -> list[str]:
    """Return paragraphs of words that no other page has."""
    rng = random.Random(f"babble/{key}")
    return [" ".join(_new_word(rng) for _ in range(60)) + "." for _ in range(PARAGRAPHS)]


def _new_word(rng: random.Random) -> str:
    """Return a word from a chain of alternating consonants and vowels."""
    letters = (rng.choice("bcdfghklmnprstvz") + rng.choice("aeiou") for _ in range(4))
    return "".join(letters)[: rng.randrange(4, 9)]
