"""Scores of pages and of their links, from 0 (worthless) to 1.

A score says how much a crawl gains from a page. The frontier visits links of pages with high scores
first, and counts pages with at least `GOOD_SCORE` as good pages. Code of the user orders links by
`priority` in `gossamer.rules`.

A link has the score of its page, because good pages mostly link to good pages (Craw4LLM, arXiv
2502.13347). Under the strategy `focused` a link's own words count as much as its page (*Shark
search*, Hersovici and others, 1998).
"""

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.events import PageParsed, Verdict
from gossamer.events.public import Gone
from gossamer.languages import codes_of
from gossamer.relevance import find_mentions, languages_of

HALF_TEXT_CHARS = 400
"""Characters of text that give half of the score for the amount of text: some 65 words."""
NO_TEXT = 0.2
"""Score of a new page without text. Its links may lead to good pages, so it is not 0."""
KNOWN_TEXT, FULL_NOVELTY = 0.2, 0.5
"""Factor of a page all of whose words the site has shown before, and the share of new words from
which the factor is 1."""
OTHER_LANGUAGE = 0.5
"""Factor of a page in a language that the crawl's relevance expression does not name."""
NOVELTY: Mapping[Verdict, float] = {
    Verdict.FIRST: 1.0,
    Verdict.CHANGED: 0.5,
    Verdict.UNCHANGED: 0.5,
    Verdict.NEAR_DUPLICATE: 0.2,
    Verdict.DUPLICATE: 0.0,
}
"""Verdict → factor. The change of a changed page is added to its factor."""
PUBLICATION: Mapping[Gone | None, float] = {
    None: 1.0,
    Gone.NOINDEX: 0.4,
    Gone.USAGE: 0.4,
    Gone.IRRELEVANT: 0.1,
    Gone.SOFT_404: 0.0,
}
"""Why a page is not published → factor; None for a published page."""
FOCUSED = "focused"


class ScoredPage(NamedTuple):
    """A page with the verdict on it: all that its score depends on."""

    page: PageParsed
    verdict: Verdict
    change: float | None
    """The change since the last visit, from 0 to 1; None at the first visit."""
    novelty: float | None
    """The share of the text that is new at the site, from 0 to 1; None if it is not known."""
    hidden: Gone | None
    """Why the page is not published; None if it is."""
    relevant: str
    """The crawl's relevance expression, or ""."""


class PageScore(NamedTuple):
    """The score of a page, and the scores of its links."""

    value: float
    links: Mapping[str, float] = {}
    """URL of a link → its score, if it differs from that of the page."""


def score_page(scored: ScoredPage) -> float:
    """Return the product of the amount of text, its novelty, its publication and its language."""
    page, change = scored.page, scored.change or 0.0
    chars = _count_chars_outside_links(page) if page.text is None else len(page.text)
    amount = NO_TEXT + (1 - NO_TEXT) * chars / (chars + HALF_TEXT_CHARS)
    novelty = NOVELTY.get(scored.verdict, 0.0)
    if scored.verdict is Verdict.CHANGED:
        novelty += (1 - novelty) * change
    if scored.novelty is not None:
        novelty *= KNOWN_TEXT + (1 - KNOWN_TEXT) * min(1.0, scored.novelty / FULL_NOVELTY)
    languages = languages_of(scored.relevant)
    codes = codes_of(page.language, page.declared_language)
    is_other = bool(languages) and codes.isdisjoint(languages)
    language = OTHER_LANGUAGE if is_other else 1.0
    return amount * novelty * language * PUBLICATION.get(scored.hidden, 0.0)


def _count_chars_outside_links(page: PageParsed) -> int:
    """Return the number of visible characters of a page whose text the parser's settings omit."""
    return max(0, page.compared_size - sum(len(link.text) for link in page.links))


def score(scored: ScoredPage, strategy: str) -> PageScore:
    """Return the score of a page, and those of its links under the crawl's *strategy*."""
    value = score_page(scored)
    return PageScore(value, score_links(scored, value, strategy))


def score_links(scored: ScoredPage, value: float, strategy: str) -> dict[str, float]:
    """Return the scores of links that differ from *value*, the score of their page.

    Under the strategy `focused`, a link has the mean of its page's score and of its words: 1 if a
    pattern of the crawl's relevance expression is found in its text or URL, and otherwise 0. Upper
    and lower case are equal. A negated pattern does not count. Without patterns, the score of the
    page is all that is known.
    """
    mentions = find_mentions(scored.relevant) if strategy == FOCUSED else None
    if mentions is None:
        return {}
    return {
        link.url: (value + mentions(f"{link.text} {link.url}")) / 2 for link in scored.page.links
    }
