"""Each kind is an honest site: closed, reachable, without copies, with texts that differ."""

import re
from urllib.parse import urljoin

import pytest

from tests.honest import prose
from tests.honest.kinds import KINDS
from tests.honest.page import Pages

SIZE = 60
WITH_COPIES = {"branches", "exhibitions", "installations", "shops", "studios"}
"""Kinds with equal pages at different hosts: the copies are what makes them look like traps."""


def links_of(at: str, page: bytes) -> list[str]:
    found = re.findall(rb'<a href="([^"]+)"', page)
    return [urljoin(at, link.decode().replace("&amp;", "&")) for link in found]


def reachable(pages: Pages) -> set[str]:
    """Return the URLs to which links lead from the home pages."""
    found = {at for at in pages if at.count("/") == 3 and at.endswith("/")}
    waiting = [*found]
    while waiting:
        at = waiting.pop()
        new = {*links_of(at, pages[at])} - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_links_lead_to_all_pages_of_a_kind_and_nowhere_else(kind: str) -> None:
    pages = KINDS[kind](SIZE)
    assert reachable(pages) == {*pages}
    assert SIZE <= len(pages) <= 1.25 * SIZE


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_a_kind_differ(kind: str) -> None:
    pages = KINDS[kind](SIZE)
    copies = len(pages) - len({*pages.values()})
    assert (copies > 0) == (kind in WITH_COPIES)


def test_sizes_and_keys_alone_determine_the_pages() -> None:
    assert all(make(SIZE) == make(SIZE) for make in KINDS.values())


def test_texts_repeat_no_more_runs_of_words_than_technical_papers_do() -> None:
    seen, repeated = set[str](), list[float]()
    for number in range(200):
        words = prose.text(200, "runs", number).split()
        runs = {" ".join(words[at : at + 6]) for at in range(len(words) - 5)}
        repeated.append(len(runs & seen) / len(runs))
        seen |= runs
    assert sum(repeated) / len(repeated) < 0.015


def test_translation_has_one_word_for_each_word() -> None:
    text = "the clock and the tower"
    words = prose.translated(text, "de").split()
    assert len(words) == len(text.split())
    assert words[0] == words[3] != words[1]
    assert prose.translated(text, "fr") != prose.translated(text, "de")
