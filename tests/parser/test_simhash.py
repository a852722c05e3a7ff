"""Our simhash is that of the package with another hash, and works where the package fails."""

import re
import struct
from string import ascii_lowercase as LETTERS

import numpy
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from simhash import Simhash

from gossamer.services.dedup.content import distance
from gossamer.services.parser.simhash import simhash_of
from tests.parser.articles import ARTICLES
from tests.parser.pages import parse_response

WORDS = [f"word{n} of some text" for n in range(60)]
TEXT = " ".join(WORDS)


MASK = 2**64 - 1


def features_of(text: str) -> list[int]:
    """Return each four letters of a *text*, as 64 bits of UTF-16."""
    letters = "".join(re.findall(r"[\w\U00010000-\U0010ffff]+", text.lower()))
    encoded = letters.encode("utf-16-le")
    encoded += " ".encode("utf-16-le") * (4 - len(encoded) // 2)
    units = struct.unpack(f"<{len(encoded) // 2}H", encoded)
    four = zip(units, units[1:], units[2:], units[3:], strict=False)
    return [one << 48 | two << 32 | three << 16 | last for one, two, three, last in four]


def hash_of(feature: int) -> int:
    """Return the hash of a feature; the constants are those of splitmix64."""
    hashed = feature + 0x9E3779B97F4A7C15 & MASK
    hashed = (hashed ^ hashed >> 30) * 0xBF58476D1CE4E5B9 & MASK
    hashed = (hashed ^ hashed >> 27) * 0x94D049BB133111EB & MASK
    return hashed ^ hashed >> 31


def simhash_by_definition(text: str) -> str:
    """Return the bits that are set in more than half of the hashes."""
    hashes = [hash_of(feature) for feature in features_of(text)]
    bits = (2 * sum(one >> bit & 1 for one in hashes) > len(hashes) for bit in range(64))
    return f"{sum(is_set << bit for bit, is_set in enumerate(bits)):016x}"


@given(st.text(min_size=1))
@example("𐌰𐌱𐌲𐌳𐌴𐌵 and what takes one unit")
@example("a smile 😀 and another one 😃 count")
@example("“Quoted” and naïve… « too »")
@example("short text " * 200)
def test_simhash_equals_that_of_package_with_our_hash(text: str) -> None:
    # The package calls the hash for b"test", too, which is a number to the base 36.
    features = [numpy.base_repr(feature, 36) for feature in features_of(text)]
    try:
        theirs = Simhash(features, hashfunc=lambda feature: hash_of(int(feature, 36))).value
    except OverflowError:
        return
    assert simhash_of(f"{text} ", 1) == (f"{theirs:016x}" if text.split() else "")


@pytest.mark.parametrize("times", [255, 256, 700, 5000])
def test_frequent_feature_counts_each_time(times: int) -> None:
    """The package cannot count a feature more than 255 times."""
    text = "spam" * times + "".join(f"{n:04}" for n in range(50 + times))
    assert simhash_of(text, 1) == simhash_by_definition(text)


def test_each_bit_is_set_in_about_half_of_the_hashes() -> None:
    """Features differ in few bits, and their hashes must not."""
    words = (f"{a}{b}{c}d" for a in LETTERS for b in LETTERS for c in LETTERS)
    hashes = numpy.array([hash_of(features_of(word)[0]) for word in words], ">u8")
    bits = numpy.unpackbits(hashes.view(numpy.uint8)).reshape(-1, 64)
    assert (abs(bits.mean(axis=0) - 0.5) < 0.02).all()
    assert (abs(numpy.corrcoef(bits.T) - numpy.eye(64)) < 0.05).all()


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
