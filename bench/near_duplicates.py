"""Precision and recall of near-duplicate detection, and the accuracy of sketches, on third-party
texts.

    .venv/bin/python -m bench.near_duplicates [--pairs FILE.jsonl.gz] [--pages FOLDER]

FILE has pairs of texts, `{"a", "b", "similarity", "kind"}` a line, FOLDER real pages, `*.html.gz`;
by default those of the suites (`scripts/suites`). Two texts are near duplicates if nine of ten
words are the same. The tables show precision and recall by the number of bits in which simhashes
may differ: for the pairs, and for the pages' main texts with edited copies and with each other.
Last comes the accuracy of the change that sketches estimate.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import correlation
from typing import Any

from gossamer.services.dedup.content import distance
from gossamer.services.parser.html.cost import truncate_costly
from gossamer.services.parser.html.document import read_document
from gossamer.services.parser.html.text import extract_main_text
from gossamer.services.parser.simhash import simhash_of
from gossamer.services.parser.wiring import options_of
from gossamer.settings import Settings
from gossamer.text.blocks import fold_whitespace
from gossamer.text.sketch import estimate_change, make_sketch
from tests.conformance.measures import SIMHASH_WORDS, TextPair, compare_pairs, count_found
from tests.suites import data_folder

DISTANCES = range(9)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Fractions of a text's words that an edit replaces."""


def main() -> None:
    """Print the tables."""
    suites = data_folder()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pairs", type=Path, default=suites / "near-duplicate-pairs.jsonl.gz")
    parser.add_argument("--pages", type=Path, default=suites / "pages")
    arguments = parser.parse_args()
    pairs = list(map(json.loads, gzip.decompress(arguments.pairs.read_bytes()).splitlines()))
    compared = compare_pairs(arguments.pairs)
    _table(f"{len(compared)} pairs of texts", compared)
    _table("Real pages: with edited copies, and pairs", list(_edit_pairs(_texts(arguments.pages))))
    _sketches(pairs)


def _texts(folder: Path) -> list[str]:
    found, options = [], options_of(Settings())
    for path in sorted(folder.glob("*.html.gz")):
        html = truncate_costly(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
        text = extract_main_text(read_document(html, "http://page.test/", "utf-8", options).markup)
        found.append(fold_whitespace(text))
    return [text for text in found if simhash_of(text, SIMHASH_WORDS)]


def _edit_pairs(texts: list[str]) -> Iterator[TextPair]:
    chance = random.Random(1)
    whole = [simhash_of(text, SIMHASH_WORDS) for text in texts]
    others = [word for text in texts for word in text.split()]
    for text, simhash in zip(texts, whole, strict=True):
        for share in SHARES:
            for edit in (_scatter_words, _replace_piece):
                copy = simhash_of(
                    " ".join(edit(text.split(), share, others, chance)), SIMHASH_WORDS
                )
                if copy:  # A copy with shorter words may be too short for a simhash.
                    yield TextPair(distance(simhash, copy), 1 - share)
    for at, one in enumerate(whole):
        yield from (TextPair(distance(one, other), 0.0) for other in whole[:at])


def _scatter_words(
    words: list[str], share: float, others: list[str], chance: random.Random
) -> list[str]:
    for at in chance.sample(range(len(words)), round(share * len(words))):
        words[at] = chance.choice(others)
    return words


def _replace_piece(
    words: list[str], share: float, others: list[str], chance: random.Random
) -> list[str]:
    length = round(share * len(words))
    start, source = chance.randrange(len(words) - length + 1), chance.randrange(len(others))
    words[start : start + length] = (others * 2)[source : source + length]
    return words


def _table(title: str, compared: list[TextPair]) -> None:
    near = count_found(compared, 0).near
    print(f"\n{title}: {near} of {len(compared)} are near duplicates")
    print(f"{'distance':>10} {'found':>7} {'precision':>10} {'recall':>7}")
    for limit in DISTANCES:
        one = count_found(compared, limit)
        print(f"{limit:>10} {one.found:>7} {one.precision:>10.3f} {one.recall:>7.3f}")


def _sketches(pairs: Iterable[dict[str, Any]]) -> None:
    estimated = [
        1 - estimate_change(make_sketch(pair["a"]), make_sketch(pair["b"])) for pair in pairs
    ]
    true = [pair["similarity"] for pair in pairs]
    error = sum(abs(a - b) for a, b in zip(estimated, true, strict=True)) / len(estimated)
    print(
        f"\nSketches: correlation with the similarity {correlation(estimated, true):.3f}, ", end=""
    )
    print(f"mean error {error:.3f}")


if __name__ == "__main__":
    main()
