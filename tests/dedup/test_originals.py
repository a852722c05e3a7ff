"""Two hosts are one by a heuristic, and the evidence decides which of the two is the original."""

import pytest

from gossamer.services.dedup.originals import (
    EVIDENCE,
    HEURISTICS,
    Claim,
    Comparison,
    choose_original,
    is_alias,
)
from gossamer.web.url import HostKey

ONE, OTHER = HostKey("http://real-name.test"), HostKey("http://fake.test")

ROWS = {
    "canonical": (Claim(ONE, canonical=1), Claim(OTHER, redirects=9, in_links=90.0, first=40)),
    "redirect": (Claim(ONE, redirects=1), Claim(OTHER, in_links=90.0, first=40)),
    "certificate": (
        Claim(HostKey("https://real-name.test"), in_links=0.0),
        Claim(OTHER, in_links=90.0, first=40),
    ),
    "in-links": (Claim(ONE, in_links=5.0), Claim(OTHER, in_links=1.0, first=40)),
    "first": (Claim(ONE, first=4), Claim(OTHER, first=1)),
    "name": (
        Claim(HostKey("http://b.test"), first=4),
        Claim(HostKey("http://www.a.test"), first=3),
    ),
}
"""Name of the evidence → the claim of the original and the claim of the other host, which all
weaker evidence favours."""


def test_every_row_of_the_evidence_has_a_case() -> None:
    assert [*ROWS] == [evidence.name for evidence in EVIDENCE]


@pytest.mark.parametrize("name", ROWS)
def test_original_is_chosen_by_the_strongest_evidence(name: str) -> None:
    one, other = ROWS[name]
    assert choose_original(one, other) == choose_original(other, one) == (one.host, name)


@pytest.mark.parametrize("name", ROWS)
def test_established_original_is_replaced_by_strong_evidence_only(name: str) -> None:
    one, other = ROWS[name]
    is_replaced = name in ("canonical", "redirect", "in-links")
    expected = one.host if is_replaced else other.host
    assert choose_original(one, other, established=other.host)[0] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(Claim(ONE, canonical=2), Claim(OTHER, canonical=1), id="canonical"),
        pytest.param(Claim(ONE, redirects=2), Claim(OTHER, redirects=1), id="redirects"),
        pytest.param(Claim(ONE, in_links=4.0), Claim(OTHER, in_links=1.0), id="few in-links"),
        pytest.param(Claim(ONE, in_links=9.0), Claim(OTHER), id="unknown in-links"),
        pytest.param(Claim(ONE, first=2), Claim(OTHER, first=1), id="first"),
    ],
)
def test_unclear_evidence_leaves_the_choice_to_the_name(one: Claim, other: Claim) -> None:
    assert choose_original(one, other) == (OTHER, "name")


def test_name_without_www_is_the_original() -> None:
    bare, www = Claim(HostKey("http://long.example.org")), Claim(HostKey("http://www.a.org"))
    assert choose_original(www, bare) == (bare.host, "name")


HOME, OTHER_HOME = Comparison(has_equal_home=True), Comparison(has_other_home=True)


@pytest.mark.parametrize(
    ("pages", "proving"),
    [
        (HOME, {"same_home"}),
        (HOME._replace(equal=6), {"same_home", "same_home_and_1_doc"}),
        (HOME._replace(equal=7), {*HEURISTICS} - {"none"}),
        (Comparison(equal=9), set()),
        (Comparison(equal=10), {"dups60", "dups80", "dups100"}),
        (Comparison(equal=12, others=3), {"dups60", "dups80"}),
        (Comparison(equal=12, others=4), {"dups60"}),
        (OTHER_HOME._replace(equal=9), set()),
        (OTHER_HOME._replace(equal=10), {"dups60"}),
        (OTHER_HOME._replace(equal=12), {"dups60", "dups80"}),
        (HOME._replace(equal=1, others=9), {"same_home", "same_home_and_1_doc"}),
    ],
)
def test_hosts_are_one_by_the_heuristics(pages: Comparison, proving: set[str]) -> None:
    assert {name for name, proves in HEURISTICS.items() if proves(pages)} == proving


@pytest.mark.parametrize(
    ("pages", "is_one"),
    [
        (HOME, True),
        (Comparison(equal=1), False),
        (Comparison(equal=2), True),
        (Comparison(equal=2, others=1), False),
        (OTHER_HOME._replace(equal=2), False),
    ],
)
def test_names_with_and_without_www_are_one_host(pages: Comparison, is_one: bool) -> None:
    assert is_alias(pages) is is_one
