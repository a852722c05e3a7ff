"""The matcher decides like a naive one that tries each pattern octet by octet."""

from collections.abc import Sequence
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.robots import RobotsRules, Rule, format_rules

ROOT = "http://example.org"
PIECES = ["a", "b", "ab", "aa", "é", "/", "*", "**", "$", "?", "%2F", "%2f", "%3F", "%61", "%",
          "%25", "%24", "%2A", "=", "/ab", "/aab", "abab"]  # fmt: skip
UNRESERVED = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~$*")

patterns = st.lists(st.sampled_from(PIECES), max_size=7).map(lambda pieces: "/" + "".join(pieces))
rule_sets = st.lists(st.tuples(st.booleans(), patterns), max_size=30).map(
    lambda found: [Rule(allow, pattern, line) for line, (allow, pattern) in enumerate(found)]
)
urls = patterns.map(lambda path: ROOT + path)


def symbols(text: str) -> list[str]:
    """Return the octets of *text*; escaped reserved octets differ from bare ones."""
    octets, found, at = text.encode(), [], 0
    while at < len(octets):
        octet = octets[at]
        code = octets[at + 1 : at + 3]
        if (
            octet == ord("%")
            and len(code) == 2
            and all(c in b"0123456789abcdefABCDEF" for c in code)
        ):
            octet, at = int(code, 16), at + 2
            data = octet in UNRESERVED or octet > 127
            found.append(chr(octet) if data else f"%{octet:02X}")
        else:
            found.append("%25" if octet == ord("%") else chr(octet))
        at += 1
    return found


def naive(pattern: str, url: str) -> bool:
    """Return whether *pattern* matches, by trying every possibility."""
    bare = pattern.removesuffix("$")
    want: list[str | None] = []
    for number, piece in enumerate(bare.split("*")):
        want += [None] if number else []
        want += symbols(piece)
    path = symbols(url.removeprefix(ROOT))
    query = path.index("?") if "?" in path else len(path)

    def same(wanted: str | None, at: int) -> bool:
        slash = {wanted, path[at]} <= {"/", "%2F"} and at > query
        return wanted == path[at] or slash

    @cache
    def match(i: int, at: int) -> bool:
        if i == len(want):
            return bare == pattern or at == len(path)
        if want[i] is None:
            return any(match(i + 1, later) for later in range(at, len(path) + 1))
        return at < len(path) and same(want[i], at) and match(i + 1, at + 1)

    return match(0, 0)


def octets(pattern: str) -> int:
    return sum(len(one) for one in symbols(pattern))


def naively_allowed(rules: Sequence[Rule], url: str) -> tuple[int, bool] | None:
    matching = [(octets(one.pattern), one.allow) for one in rules if naive(one.pattern, url)]
    return max(matching, default=None)


@pytest.mark.slow
@given(rule_sets, urls)
def test_matcher_equals_a_naive_matcher(found: list[Rule], url: str) -> None:
    rule = RobotsRules(format_rules(found)).deciding_rule(url)
    decided = (octets(rule.pattern), rule.allow) if rule else None
    assert decided == naively_allowed(found, url)


@pytest.mark.slow
@given(rule_sets, st.lists(urls, max_size=5))
def test_carried_rules_decide_the_same_about_the_urls_of_the_order(
    found: list[Rule], ordered: list[str]
) -> None:
    filling = tuple(Rule(False, f"/filling/{number}", number) for number in range(3000))
    rules = RobotsRules(format_rules((*found, *filling)), crawl_delay=3.0)
    carried = rules.narrow_to(ordered)
    assert len(carried.rules) <= len(ordered)
    assert carried.crawl_delay == 3.0
    assert [carried.explain(url) for url in ordered] == [rules.explain(url) for url in ordered]


def test_small_rules_are_carried_whole() -> None:
    rules = RobotsRules(format_rules(Rule(False, f"/{number}", number) for number in range(100)))
    assert rules.narrow_to([f"{ROOT}/1"]) is rules


def test_file_with_too_many_candidates_disallows_the_url() -> None:
    letters = [sample for sample in product("abcdefgh", repeat=4) if list(sample) != sorted(sample)]
    rules = tuple(Rule(True, "/*" + "*".join(one), line) for line, one in enumerate(letters, 1))
    hostile = RobotsRules(format_rules(rules))
    url = f"{ROOT}/abcdefgh?*é$"
    assert not hostile.allows(url)
    assert "too many rules" in hostile.explain(url)
    carried = hostile.narrow_to([url, f"{ROOT}/x"])
    assert (carried.allows(url), carried.allows(f"{ROOT}/x")) == (False, True)
    assert (carried.explain(url), len(carried.rules)) == (hostile.explain(url), 1)
