"""The CPU of each step of parsing a page, and the F1 of its main text.

    .venv/bin/python -m bench.reading --pages FOLDER --truth FILE.json.gz

FOLDER has real pages, `NAME.html.gz`; FILE their true texts, `{NAME: {"articleBody": …}}`. The
score is that of scrapinghub's article-extraction-benchmark: precision and recall of runs of four
words, averaged over the pages. Milliseconds are CPU of this process in the best round; a step's
time does not include the steps within it.
"""

import argparse
import gzip
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from gossamer.events import PageFetched, PageParsed, Visit
from gossamer.settings import Settings
from services.parser import links, page, text
from services.parser.html import document
from services.parser.html import text as html_text
from services.parser.options import Options
from services.parser.readers import base, html
from services.parser.wiring import options_of

RUN = 4
STEPS: tuple[tuple[str, ModuleType | type, str], ...] = (
    ("content coding", page, "decoded"),
    ("type", page, "media_type"),
    ("decode", base, "decode_text"),
    ("scan", html, "truncate_costly"),
    ("tree", document, "LexborHTMLParser"),
    ("links", links.LinkCollector, "add"),
    ("rest of the document", document, "read_document"),
    ("main text", html_text, "extract_main_text"),
    ("visible text", html_text, "extract_visible_text"),
    ("misread text", text, "drop_misread_words"),
    ("language", text, "detect_language"),
    ("headings", document, "find_headings"),
    ("digests", html, "digest_of"),
    ("digests", page, "digest_of"),
    ("digests", page, "payload_digest"),
    ("sketch", html, "make_sketch"),
    ("blocks", document, "make_blocks"),
    ("simhash", html, "simhash_of"),
    ("rest", page, "parse"),
)
"""The name of each step, and its function: in a module or a class."""

_word = re.compile(r"\w+")


class Stopwatch:
    """Adds up the CPU time of steps, each without the steps within it."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._inner = [0.0]

    def measure_step(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return *function* with its calls added to *step*."""

        @wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            self._inner.append(0.0)
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.process_time() - start
                self.spent[step] += took - self._inner.pop()
                self._inner[-1] += took

        return call


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    pages = {
        path.name.split(".")[0]: page_of(gzip.decompress(path.read_bytes()))
        for path in sorted(arguments.pages.glob("*.html.gz"))
    }
    options = options_of(Settings())
    found = {name: page.parse(one, options, 0.0) for name, one in pages.items()}
    truth = json.loads(gzip.decompress(arguments.truth.read_bytes()))
    _scores(truth, found)
    _costs(pages, options, arguments.rounds)


def page_of(body: bytes) -> PageFetched:
    """Return a page with *body* in UTF-8."""
    headers = (("Content-Type", "text/html; charset=utf-8"),)
    return PageFetched(
        at=0, site="", host="", visit=Visit("", "http://page.test/"), started_at=0, took=0,
        status=200, headers=headers, body=body,
    )  # fmt: skip


def _scores(truth: Mapping[str, Any], found: Mapping[str, PageParsed]) -> None:
    compared = [
        (runs(truth[name]["articleBody"]), runs(parsed.text or ""))
        for name, parsed in found.items()
    ]
    precision = _mean([share(other, one) for one, other in compared if other])
    recall = _mean([share(one, other) for one, other in compared if one])
    score = 2 * precision * recall / (precision + recall)
    print(f"{len(found)} pages: precision {precision:.3f}, recall {recall:.3f}, F1 {score:.4f}")


def runs(words: str) -> Counter[tuple[str, ...]]:
    """Return the runs of four words of a text."""
    found = _word.findall(words)
    starts = range(max(1, len(found) - RUN + 1)) if found else ()
    return Counter(tuple(found[at : at + RUN]) for at in starts)


def share(of: Counter[tuple[str, ...]], found: Counter[tuple[str, ...]]) -> float:
    """Return the fraction of the runs *of* a text that are in *found*."""
    return (of & found).total() / of.total()


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _costs(pages: Mapping[str, PageFetched], options: Options, rounds: int) -> None:
    watch = Stopwatch()
    for step, owner, name in STEPS:
        setattr(owner, name, watch.measure_step(step, getattr(owner, name)))
    best: dict[str, float] = {}
    for _ in range(rounds):
        watch.spent.clear()
        for one in pages.values():
            page.parse(one, options, 0.0)
        for step, spent in watch.spent.items():
            best[step] = min(best.get(step, spent), spent)
    for step, spent in best.items():
        print(f"{step:>22} {1000 * spent / len(pages):7.3f} ms")
    print(f"{'total':>22} {1000 * sum(best.values()) / len(pages):7.3f} ms")


if __name__ == "__main__":
    main()
