"""Novelty: how much of a page's text no earlier page of its site had."""

import pytest

from gossamer.events import PageKind, PageParsed
from gossamer.services.dedup.novelty import MAX_BYTES, MIN_NOVELTY, Novelty, SeenRuns
from gossamer.web.url import Site
from tests.dedup.harness import parsed_page

SITE = Site("a.test")


def page(number: int, text: str | None, site: Site = SITE) -> PageParsed:
    return parsed_page(f"http://{site}/{number}", kind=PageKind.DOCUMENT, text=text)


def words(start: int, count: int) -> str:
    return " ".join(f"word{n}" for n in range(start, start + count))


def test_text_after_a_long_preface_is_compared() -> None:
    novelty, preface = Novelty(), words(0, 2000)
    measured = [novelty.measure(page(n, f"{preface} {words(10_000 * n, 1000)}")) for n in range(9)]
    assert all(found and found > 0.25 for found in measured)
    assert novelty.measure(page(9, f"{preface} {words(10_000, 1000)}")) == 0.0


def test_passage_is_found_wherever_it_stands() -> None:
    novelty = Novelty()
    novelty.measure(page(0, f"{words(0, 1500)} {words(5000, 1500)}"))
    moved = novelty.measure(page(1, f"{words(5000, 1500)} {words(0, 1500)}"))
    assert moved is not None and moved < MIN_NOVELTY


def test_new_text_is_new_and_a_second_copy_of_it_is_not() -> None:
    novelty = Novelty()
    assert novelty.measure(page(1, words(0, 100))) == 1.0
    assert novelty.measure(page(2, words(0, 100))) == 0.0


def test_text_with_other_names_on_another_site_has_little_novelty() -> None:
    novelty = Novelty()
    novelty.measure(page(1, words(0, 100)))
    share = novelty.measure(page(1, f"torquinada {words(0, 100)}", site=Site("b.test")))
    assert share is not None and share < 0.1
    assert novelty.measure(page(1, words(500, 100), site=Site("c.test"))) == 1.0


def test_page_that_adds_a_few_words_to_known_ones_has_little_novelty() -> None:
    novelty = Novelty()
    novelty.measure(page(1, words(0, 200)))
    share = novelty.measure(page(2, words(0, 200) + " " + words(1000, 10)))
    assert share is not None and 0.05 < share < 0.15


@pytest.mark.parametrize("repeated", [150, 600, 2000])
def test_short_passage_is_new_however_long_the_text_is_that_each_page_repeats(
    repeated: int,
) -> None:
    novelty = Novelty()
    for n in range(9):
        post = words(10_000 * (n + 1), 40)
        share = novelty.measure(page(n, f"{words(0, 250)} {post} {words(500, repeated)}"))
        assert share is not None and share > MIN_NOVELTY


@pytest.mark.parametrize("repeated", [150, 600, 2000, 8000])
def test_few_changed_words_in_a_long_text_are_not_new(repeated: int) -> None:
    novelty, shares = Novelty(), list[float | None]()
    for n in range(40):
        date = f"{n + 1} May"
        text = f"{date} {words(0, repeated)} today is {date} {words(10_000, 100)} {date}"
        shares.append(novelty.measure(page(n, text)))
    assert max(share or 0.0 for share in shares[1:]) <= MIN_NOVELTY


def test_few_words_have_little_novelty_however_new_they_are() -> None:
    novelty = Novelty()
    assert novelty.measure(page(1, None)) is None
    assert novelty.measure(page(2, "March 2031")) == 0.0
    share = novelty.measure(page(3, "no events in April 2031"))
    assert share is not None and 0.0 < share <= 0.2


def test_visit_that_is_handled_again_has_its_novelty_again() -> None:
    novelty = Novelty()
    assert novelty.measure(page(1, words(0, 100))) == 1.0
    assert novelty.measure(page(1, words(0, 100))) == 1.0


def test_pages_of_a_large_site_stay_new_and_its_filters_stay_small() -> None:
    seen = SeenRuns()
    shares = [sum(seen.add([*range(n * 1000, n * 1000 + 100)])) / 100 for n in range(2000)]
    assert min(shares) > 0.7 and sum(shares[-100:]) / 100 > 0.8
    assert seen.size <= 2 * MAX_BYTES


def test_texts_without_spaces_are_compared_by_characters() -> None:
    def text(start: int) -> str:
        return "".join(chr(0x4E00 + n % 5000) for n in range(start, start + 300)) + " "

    novelty = Novelty()
    assert (novelty.measure(page(1, text(0) + text(300))) or 0.0) > 0.98
    assert novelty.measure(page(2, text(0) + text(300))) == 0.0
    share = novelty.measure(page(3, text(1000) + text(2000)))
    assert share is not None and share > 0.8
