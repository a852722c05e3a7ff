"""Scopes: the URLs inside, and the deciding rule."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import BadSettings
from gossamer.web.scope import RULES, parse_scope

WWW = "https://www.example.org/a/b?c=d"


@pytest.mark.parametrize(
    ("rule", "url", "depth", "inside"),
    [
        ("any()", WWW, 99, True),
        ('host("www.example.org")', WWW, 0, True),
        ('host("WWW.Example.org")', WWW, 0, True),
        ('host("example.org")', WWW, 0, False),
        ('host("a", "www.example.org")', WWW, 0, True),
        ('host("www.example.org")', "http://www.example.org:8080/", 0, True),
        ('host("[::1]")', "http://[::1]:80/", 0, True),
        ('domain("example.org")', WWW, 0, True),
        ('domain("org")', WWW, 0, True),
        ('domain(".Example.org.")', WWW, 0, True),
        ('domain("www.example.org")', "https://example.org/", 0, False),
        ('domain("example.org")', "https://badexample.org/", 0, False),
        ('domain("example.org")', "https://example.org.evil.net/", 0, False),
        ('domain("example.org")', "https://evil.net/?example.org", 0, False),
        ('prefix("https://www.example.org/a/")', WWW, 0, True),
        ('prefix("http://www.example.org/a/")', WWW, 0, False),
        ('prefix("https://x/", "https://www.example.org/")', WWW, 0, True),
        ('pattern("[?&]c=")', WWW, 0, True),
        ('pattern("^c=")', WWW, 0, False),
        (r'pattern(r"/\w/\w\?")', WWW, 0, True),
        ("depth(3)", WWW, 3, True),
        ("depth(3)", WWW, 4, False),
        ("depth(0)", WWW, 0, True),
    ],
)
def test_every_rule(rule: str, url: str, depth: int, inside: bool) -> None:
    assert parse_scope(rule).evaluate(url, depth).inside is inside


def test_every_rule_is_tested_above() -> None:
    assert set(RULES) == {"any", "host", "domain", "prefix", "pattern", "depth"}


@pytest.mark.parametrize(
    ("scope", "depth", "inside", "rule"),
    [
        # A single rule decides, and is named as written.
        ("depth(5)", 5, True, "depth(5)"),
        ("not depth(5)", 5, False, "not depth(5)"),
        # A conjunction holds as a whole, and fails by its first failing part.
        ("any() and depth(5)", 5, True, "any() and depth(5)"),
        ("any() and depth(5) and depth(4)", 6, False, "depth(5)"),
        ("any() and not depth(5)", 5, False, "not depth(5)"),
        # A disjunction holds by its first part that holds, and fails as a whole.
        ("depth(1) or depth(5) or any()", 5, True, "depth(5)"),
        ("depth(1) or depth(2)", 5, False, "depth(1) or depth(2)"),
        # Nested expressions follow the same rules.
        ("any() and (depth(1) or depth(2))", 5, False, "depth(1) or depth(2)"),
        ("depth(1) or (any() and depth(9))", 5, True, "any() and depth(9)"),
        ("any() and (depth(9) and (any() and depth(2)))", 5, False, "depth(2)"),
        ("not (depth(1) or depth(9))", 5, False, "not (depth(1) or depth(9))"),
    ],
)
def test_evaluation_names_the_deciding_rule(
    scope: str, depth: int, inside: bool, rule: str
) -> None:
    evaluation = parse_scope(scope).evaluate(WWW, depth)
    assert (evaluation.inside, evaluation.rule) == (inside, rule)


def test_example_of_the_docstring() -> None:
    text = 'domain("example.org") and not prefix("https://example.org/private/") and depth(5)'
    scope = parse_scope(text)
    assert scope.evaluate("https://example.org/", 5).inside
    private = scope.evaluate("https://example.org/private/x", 1)
    assert (private.inside, private.rule) == (False, "not prefix('https://example.org/private/')")
    assert scope.evaluate("https://example.net/", 1).rule == "domain('example.org')"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "not an expression"),
        ("depth(5", "not an expression"),
        ("any() any()", "not an expression"),
        ("any()\nany()", "not an expression"),
        ("any()\0", "not an expression"),
        ("(" * 300 + "any()" + ")" * 300, "not an expression"),
        ("not " * 3000 + "any()", "not an expression"),
        ("any", "'any' is not a rule"),
        ("nay()", "'nay()' is not a rule"),
        ("any() and 5", "'5' is not a rule"),
        ("any() & any()", "'any() & any()' is not a rule"),
        ("any() if any() else any()", "is not a rule"),
        ("lambda: 1", "is not a rule"),
        ("__import__('os').system('x')", "is not a rule"),
        ("gossamer.host('a')", "is not a rule"),
        ("host(name='a')", "is not a rule"),
        ("any(1)", "'any(1)' is not valid"),
        ("host()", "'host()' is not valid"),
        ("host('')", "is not valid"),
        ("host(x)", "is not valid"),
        ("host(5)", "is not valid"),
        ("host(*['a'])", "is not valid"),
        ("host('a' + 'b')", "is not valid"),
        ("domain(b'a')", "is not valid"),
        ("prefix(None)", "is not valid"),
        ("pattern()", "is not valid"),
        ("pattern(5)", "is not valid"),
        ("pattern('[')", "is not valid"),
        ("pattern('a{2000}')", "is not valid"),
        ("depth()", "is not valid"),
        ("depth(-1)", "is not valid"),
        ("depth('5')", "is not valid"),
        ("depth(True)", "is not valid"),
        ("depth(1.5)", "is not valid"),
        ("depth(1, 2)", "is not valid"),
    ],
)
def test_invalid_scope_is_refused_with_its_invalid_part(text: str, named: str) -> None:
    with pytest.raises(BadSettings, match=r"^scope: ") as refused:
        parse_scope(text)
    assert named in str(refused.value)


@pytest.mark.parametrize("pattern", ["a(?=b)", "(?<!a)b", r"(a)\1", "a*+"])
def test_pattern_beyond_linear_time_is_refused_with_a_remedy(pattern: str) -> None:
    with pytest.raises(
        BadSettings, match=r"linear time, without lookahead.*combine rules with and"
    ):
        parse_scope(f"pattern({pattern!r})")


@pytest.mark.timeout(60)
def test_longest_url_matches_an_ambiguous_pattern_quickly() -> None:
    slugs = parse_scope(r"""pattern("/([a-z0-9]+-?)+\\.html$")""")
    url = "https://www.example.org/" + "a" * 2000
    assert not slugs.evaluate(url, 1).inside
    assert slugs.evaluate(f"{url}.html", 1).inside


def test_scope_is_never_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr("os.system", ran.append)
    for text in ("__import__('os').system('x')", "host(__import__('os').system('x'))"):
        with pytest.raises(BadSettings):
            parse_scope(text)
    assert ran == []


Brute = tuple[str, Callable[[int], bool]]

leaves: st.SearchStrategy[Brute] = st.integers(0, 4).map(
    lambda n: (f"depth({n})", lambda depth: depth <= n)
)


def join(parts: list[Brute], word: str) -> Brute:
    fold = all if word == "and" else any
    text = f" {word} ".join(f"({text})" for text, _ in parts)
    return text, lambda depth: fold(holds(depth) for _, holds in parts)


def negate(part: Brute) -> Brute:
    text, holds = part
    return f"not ({text})", lambda depth: not holds(depth)


scopes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(join, st.lists(inner, min_size=2, max_size=4), st.sampled_from(["and", "or"])),
        inner.map(negate),
    ),
    max_leaves=12,
)


@given(scopes, st.integers(0, 5))
def test_composed_scope_evaluates_as_its_parts(scope: Brute, depth: int) -> None:
    text, holds = scope
    evaluation = parse_scope(text).evaluate(WWW, depth)
    assert evaluation.inside is holds(depth)
    # The named rule alone has the same result.
    assert parse_scope(evaluation.rule).evaluate(WWW, depth).inside is evaluation.inside


@pytest.mark.parametrize("name", ["MÜNCHEN.de", "münchen.de.", "xn--mnchen-3ya.de"])
def test_names_are_compared_in_canonical_form(name: str) -> None:
    for rule in (f'host("{name}")', f'domain("{name}")'):
        assert parse_scope(rule).evaluate("http://xn--mnchen-3ya.de/", 0).inside


@pytest.mark.parametrize("name", ["a.test:8080", "a.test/x", "a test", "user@a.test"])
def test_rule_with_more_than_a_host_name_is_refused(name: str) -> None:
    with pytest.raises(BadSettings):
        parse_scope(f'host("{name}")')
