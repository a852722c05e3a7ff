"""What near duplicates and changes are told by, measured on texts that others have collected.

    .venv/bin/python -m bench.near_duplicates [--pairs FILE.jsonl.gz] [--pages FOLDER]

FILE has pairs of texts, `{"a", "b", "similarity", "kind"}` a line, FOLDER real pages, `*.html.gz`;
by default they are those of the suites (`scripts/suites`).
Two texts are near duplicates if nine of ten words are the same. Printed are precision and recall by
how many bits of the simhashes may differ: on the pairs, and on the pages' main texts beside edited
copies of themselves and beside each other. Last, how well sketches tell how much has changed.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import correlation
from typing import Any

from gossamer.settings import Settings
from gossamer.text.folding import fold_whitespace
from gossamer.text.sketch import estimate_change, make_sketch
from services.dedup.near import distance
from services.parser.html.cost import truncate_costly
from services.parser.html.document import read_document
from services.parser.html.text import extract_main_text
from services.parser.simhash import simhash_of
from services.parser.wiring import options_of
from tests.conformance.measures import SIMHASH_WORDS, Compared, compare_pairs, count_found
from tests.suites import data_folder

DISTANCES = range(9)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Parts of a text's words that an edit replaces."""


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
    _table("Real pages: edited copies, and each other", list(_edited(_texts(arguments.pages))))
    _sketches(pairs)


def _texts(folder: Path) -> list[str]:
    found, options = [], options_of(Settings())
    for path in sorted(folder.glob("*.html.gz")):
        html = truncate_costly(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
        text = extract_main_text(read_document(html, "http://page.test/", "utf-8", options).markup)
        found.append(fold_whitespace(text))
    return [text for text in found if simhash_of(text, SIMHASH_WORDS)]


def _edited(texts: list[str]) -> Iterator[Compared]:
    chance = random.Random(1)
    whole = [simhash_of(text, SIMHASH_WORDS) for text in texts]
    others = [word for text in texts for word in text.split()]
    for text, simhash in zip(texts, whole, strict=True):
        for share in SHARES:
            for edit in (_scattered, _in_one_piece):
                copy = simhash_of(
                    " ".join(edit(text.split(), share, others, chance)), SIMHASH_WORDS
                )
                if copy:  # A copy with shorter words may be too short for one.
                    yield Compared(distance(simhash, copy), 1 - share)
    for at, one in enumerate(whole):
        yield from (Compared(distance(one, other), 0.0) for other in whole[:at])


def _scattered(
    words: list[str], share: float, others: list[str], chance: random.Random
) -> list[str]:
    for at in chance.sample(range(len(words)), round(share * len(words))):
        words[at] = chance.choice(others)
    return words


def _in_one_piece(
    words: list[str], share: float, others: list[str], chance: random.Random
) -> list[str]:
    length = round(share * len(words))
    start, source = chance.randrange(len(words) - length + 1), chance.randrange(len(others))
    words[start : start + length] = (others * 2)[source : source + length]
    return words


def _table(title: str, compared: list[Compared]) -> None:
    near = count_found(compared, 0).near
    print(f"\n{title}: {near} of {len(compared)} are near duplicates")
    print(f"{'distance':>10} {'found':>7} {'precision':>10} {'recall':>7}")
    for limit in DISTANCES:
        one = count_found(compared, limit)
        print(f"{limit:>10} {one.found:>7} {one.precision:>10.3f} {one.recall:>7.3f}")


def _sketches(pairs: Iterable[dict[str, Any]]) -> None:
    told = [1 - estimate_change(make_sketch(pair["a"]), make_sketch(pair["b"])) for pair in pairs]
    true = [pair["similarity"] for pair in pairs]
    error = sum(abs(a - b) for a, b in zip(told, true, strict=True)) / len(told)
    print(f"\nSketches: correlation with the similarity {correlation(told, true):.3f}, ", end="")
    print(f"mean error {error:.3f}")


if __name__ == "__main__":
    main()
