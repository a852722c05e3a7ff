"""Writes the results on third-party test data into docs/conformance.md.

python -m tests.conformance.page      (scripts/suites measure runs this)
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from gossamer.schemas.markdown import row, table
from tests.conformance.measures import (
    Agreement,
    MainTexts,
    Precision,
    measure_cookie_dates,
    measure_cookies,
    measure_domains,
    measure_encodings,
    measure_main_texts,
    measure_near_duplicates,
    measure_other_schemes,
    measure_page_kinds,
    measure_robots,
    measure_sitemaps,
    measure_urls,
    measure_web_cookies,
)
from tests.suites import ROOT, folder_of, is_complete, load_suites

FILE = ROOT / "docs" / "conformance.md"

Result = Agreement | Precision | MainTexts


class Measure(NamedTuple):
    """A row of the table and a section of the page."""

    title: str
    suite: str
    """Its name in tests/suites.toml."""
    run: Callable[[Path], Result]
    text: str
    """The measured quantity, in one sentence."""


MEASURES = {
    "robots": Measure(
        "robots.txt, RFC 9309", "robots", measure_robots,
        "For each robots.txt, crawler and URL of Google's suite, our matcher decides whether the "
        "crawler may visit the URL.",
    ),
    "urls": Measure(
        "URLs, WHATWG standard", "urls", measure_urls,
        "Each URL that the standard refuses must be refused, and each `http` or `https` URL must "
        "get the spelling that the standard gives it, except for the steps in [URLs](urls.md).",
    ),
    "other_schemes": Measure(
        "URLs of other schemes", "urls", measure_other_schemes,
        "Each URL that the standard parses, and whose scheme is neither `http` nor `https`, must "
        "be refused.",
    ),
    "domains": Measure(
        "International domain names", "urls", measure_domains,
        "The host of a URL must be the ASCII form of each domain, and the URL must be refused if "
        "the domain has none.",
    ),
    "encodings": Measure(
        "Encodings, html5lib", "encodings", measure_encodings,
        "The encoding that a page declares in its first bytes must be found as the HTML standard "
        "says.",
    ),
    "sitemaps": Measure(
        "Sitemaps and feeds", "sitemaps", measure_sitemaps,
        "Each sitemap, sitemap index and feed must be read with all its entries, and without a "
        "hazard.",
    ),
    "web_cookies": Measure(
        "Cookies, web-platform-tests", "cookies-wpt", measure_web_cookies,
        "Each response sets cookies, and a later request must have exactly those that browsers "
        "send, octet for octet. The cases are those of browsers' tests that need no script.",
    ),
    "cookies": Measure(
        "Cookies, http-state", "cookies", measure_cookies,
        "Each response sets cookies, and a later request must have exactly those that the working "
        "group of RFC 6265 expected. It disabled some of its cases itself.",
    ),
    "cookie_dates": Measure(
        "Dates of cookies, http-state", "cookies", measure_cookie_dates,
        "The instant of each Expires must be found, or that it names none.",
    ),
    "near_duplicates": Measure(
        "Near duplicates", "near_duplicates", measure_near_duplicates,
        "A pair of texts is found if their simhashes differ in at most 3 bits; it is near if at "
        "least 90 % of their words are the same.",
    ),
    "main_texts": Measure(
        "Main text", "pages", measure_main_texts,
        "The words of the main text that we find in an article page are compared with those of "
        "the article in the suite's ground truth. F1 is the harmonic mean of precision and recall.",
    ),
    "page_kinds": Measure(
        "Main text of other pages", "page_kinds", measure_page_kinds,
        "The words of the main text that we find in a page of another kind than an article are "
        "compared with those of the suite's ground truth. A `collection` lists goods of a shop, a "
        "`product` is a page about one of them, a `listing` lists other things, and a `service` is "
        "a page of a company about its offer. The pages are those that the suite holds out for "
        "tests: none of our rules was made for them.",
    ),
}  # fmt: skip


def score(result: Result) -> str:
    """Return *result* in a few words."""
    match result:
        case Agreement():
            return f"{result.agreed} of {result.cases}"
        case Precision():
            return f"precision {result.precision:.3f}, recall {result.recall:.3f}"
        case MainTexts():
            return f"mean F1 {result.mean_f1:.3f}, recall {result.mean_recall:.3f}"


def with_result(page: str, name: str, result: Result) -> str:
    """Return *page* with the new row and section of the measure *name*."""
    title = re.escape(MEASURES[name].title)
    page = _replace(rf"^\| \[{title}\][^\n]*", table_row(name, result), page)
    return _replace(rf"^## {title}\n.*?(?=^## |\Z)", "\n".join(_section(name, result)), page)


def _replace(pattern: str, text: str, page: str) -> str:
    replaced, count = re.subn(pattern, lambda _: text, page, flags=re.MULTILINE | re.DOTALL)
    if count != 1:
        raise ValueError(f"{FILE.name} has {count} places for {pattern}")
    return replaced


def table_row(name: str, result: Result) -> str:
    """Return the line of the measure *name* in the page's table."""
    measure = MEASURES[name]
    anchor = re.sub(r"[^\w\- ]", "", measure.title.lower()).replace(" ", "-")
    suite = load_suites()[1][measure.suite]
    source = f"{suite.repository} `{suite.commit[:7]}`"
    return row(f"[{measure.title}](#{anchor})", score(result), source, suite.license)


def _section(name: str, result: Result) -> Iterator[str]:
    yield f"## {MEASURES[name].title}"
    yield ""
    yield MEASURES[name].text
    yield ""
    match result:
        case Agreement(deviations=[]):
            yield f"{result.agreed} of {result.cases} cases agree."
        case Agreement():
            yield f"{result.agreed} of {result.cases} cases agree. We deviate on purpose from:"
            yield ""
            yield from table(("case", "we", "reason"), sorted(result.deviations))
        case Precision():
            yield (
                f"{result.near} of {result.pairs} pairs are near, {result.found} are found, and "
                f"{result.correct} are both: precision {result.precision:.3f}, recall "
                f"{result.recall:.3f}."
            )
        case MainTexts():
            over = sum(one.f1 > 0.9 for one in result)
            yield (
                f"The mean F1 of {len(result)} pages is {result.mean_f1:.3f}, and their mean "
                f"recall {result.mean_recall:.3f}. F1 is above 0.9 for {over} of them. Pages "
                f"without a text: {result.without_text}."
            )
            if len(kinds := result.by_kind()) > 1:
                yield ""
                head = ("kind of page", "pages", "mean F1", "mean recall", "without text")
                yield from table(head, (_kind_row(*one) for one in kinds.items()))
    yield ""
    yield ""


def _kind_row(kind: str, texts: MainTexts) -> tuple[str, ...]:
    figures = f"{texts.mean_f1:.3f}", f"{texts.mean_recall:.3f}"
    return kind, str(len(texts)), *figures, str(texts.without_text)


def main() -> int:
    """Measure, and write the page; return the exit code."""
    missing = {one.suite for one in MEASURES.values() if not is_complete(one.suite)}
    page = FILE.read_text(encoding="utf-8")
    for name, measure in MEASURES.items():
        if measure.suite not in missing:
            result = measure.run(folder_of(measure.suite))
            print(f"{measure.title}: {score(result)}")
            page = with_result(page, name, result)
    FILE.write_text(page, encoding="utf-8")
    for suite in sorted(missing):
        print(f"{suite}: the data is missing, its results were left as they are", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
