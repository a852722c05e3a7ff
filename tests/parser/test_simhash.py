"""Our simhash equals that of the package, and works where the package fails."""

from collections import Counter
from hashlib import md5
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from simhash import Simhash

from services.dedup.content import distance
from services.parser.simhash import simhash_of
from tests.parser.articles import ARTICLES
from tests.parser.pages import parse_response

WORDS = [f"word{n} of some text" for n in range(60)]
TEXT = " ".join(WORDS)


@given(st.text(min_size=1))
@example("𐌰𐌱𐌲𐌳𐌴𐌵 and what takes one unit")
def test_simhash_equals_that_of_package(text: str) -> None:
    try:
        theirs = Simhash(text).value
    except OverflowError:
        return
    ours = simhash_of(f"{text} ", 1)
    assert ours == (f"{theirs:016x}" if text.split() else "")


def test_simhash_of_long_text_equals_that_of_package() -> None:
    assert simhash_of(TEXT, 50) == f"{Simhash(TEXT).value:016x}"


@pytest.mark.parametrize("times", [255, 256, 700, 5000])
def test_frequent_feature_counts_each_time(times: int) -> None:
    """By definition, a bit is set if it is set in more than half of all features."""
    text = "spam" * times + "".join(f"{n:04}" for n in range(50 + times))
    assert simhash_of(text, 1) == simhash_by_definition(text)


@pytest.mark.slow
def test_simhash_does_not_depend_on_cache() -> None:
    """More features than the cache holds, so that most replace another one."""
    chance = Random(1)
    texts = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyzéä語", k=60_000)) for _ in range(4)]
    assert [simhash_of(text, 1) for text in texts] == [
        simhash_by_definition(text) for text in texts
    ]
    assert simhash_of(texts[0], 1) == simhash_by_definition(texts[0])


def simhash_by_definition(text: str) -> str:
    """Return the simhash of a text of lower-case letters."""
    features = Counter(text[at : at + 4] for at in range(len(text) - 3))
    votes = [0] * 64
    for feature, count in features.items():
        hashed = int.from_bytes(md5(feature.encode()).digest()[-8:], "big")
        for bit in range(64):
            votes[bit] += count * (hashed >> bit & 1)
    bits = sum((vote > features.total() / 2) << bit for bit, vote in enumerate(votes))
    return f"{bits:016x}"


def test_short_text_has_no_simhash() -> None:
    assert simhash_of("one two three", 4) == ""
    assert len(simhash_of("one two three", 3)) == 16
    assert simhash_of(TEXT, 0) == "", "simhashes are disabled"
    assert simhash_of("", 1) == ""


def test_text_without_spaces_has_simhash() -> None:
    assert simhash_of("維基百科是一個自由內容、公開編輯且多語言的網路百科全書" * 20, 50)


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_result_has_simhash_of_text(kind: str) -> None:
    body = f"<p>{TEXT}</p>" if kind == "text/html" else TEXT
    parsed = parse_response(body, ("Content-Type", kind))
    assert parsed.simhash == simhash_of(parsed.text or "", 50) != ""


def test_similar_texts_have_similar_simhashes() -> None:
    """Near duplicates differ in at most three bits, other texts in about half of the bits."""
    article, *others = (article.text for article in ARTICLES.values())
    edited = article.replace("Tuesday", "Friday").replace("sixty", "seventy")
    assert edited != article
    assert distance(simhash_of(article, 50), simhash_of(edited, 50)) <= 3
    for other in others:
        assert distance(simhash_of(article, 50), simhash_of(other, 50)) > 20
