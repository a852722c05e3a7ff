"""The relevance of pages, by their facts."""

import pytest
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import PageParsed, Visit
from gossamer.relevance import RULES, Facts, facts_of, parse_relevance
from gossamer.web.scope import RULES as SCOPE_RULES
from gossamer.web.scope import Found
from gossamer.web.url import HostKey, Site

URL = "http://a.test/x?y"
PAGE = PageParsed(
    at=0.0,
    site=Site("a.test"),
    host=HostKey("http://a.test"),
    visit=Visit(id=f"1.1.0@{URL}", url=URL, depth=2),
    fetched_at=0.0,
    status=200,
    content_type="text/html",
    language="pt",
)


@pytest.mark.parametrize(
    ("text", "read", "before"),
    [
        ('language("pt")', True, None),
        ('language("en", "gl")', False, None),
        ('type("text/html")', True, True),
        ('type("text/*")', True, True),
        ('type("application/pdf")', False, False),
        ('host("a.test") and depth(2)', True, True),
        ('pattern("z") and language("pt")', False, False),
        ('language("pt") and pattern("z")', False, False),
        ('pattern("y") or language("en")', True, True),
        ('language("en") or pattern("y")', True, True),
        ('not language("en")', True, None),
        ('not (language("en") and type("image/png"))', True, True),
        ('domain("test") and prefix("http://a") and any()', True, True),
    ],
)
def test_unknown_facts_decide_nothing(text: str, read: bool | None, before: bool | None) -> None:
    relevance = parse_relevance(text)
    assert relevance.evaluate(facts_of(PAGE)).inside is read
    unread = Facts(Found(URL, 2), "text/html")
    assert relevance.evaluate(unread).inside is before
    assert relevance.evaluate(replace_type(unread)).inside in (None, before)


def replace_type(facts: Facts) -> Facts:
    """Return *facts* of a page whose type is unknown."""
    return Facts(facts.found)


def test_page_without_language_has_a_name_for_it() -> None:
    nameless = facts_of(replace(PAGE, language=""))
    assert parse_relevance('language("pt", "")').evaluate(nameless).inside is True
    assert parse_relevance('language("pt")').evaluate(nameless).inside is False


@pytest.mark.parametrize(
    ("language", "code", "is_relevant"),
    [
        *[("sh", code, True) for code in ("sh", "sr", "hr", "bs")],
        *[("no", code, True) for code in ("no", "nb", "nn")],
        ("nb", "no", True),
        ("nb", "nn", False),
        ("sr", "sh", True),
        ("sr", "hr", False),
        ("sv", "no", False),
        ("", "no", False),
    ],
)
def test_macrolanguage_and_its_languages_match_each_other(
    language: str, code: str, is_relevant: bool
) -> None:
    facts = facts_of(replace(PAGE, language=language))
    assert parse_relevance(f'language("{code}")').evaluate(facts).inside is is_relevant


@pytest.mark.parametrize(
    ("language", "declared", "code", "is_relevant"),
    [
        ("hr", "", "bs", True),
        ("hr", "en-US", "bs", True),
        ("hr", "hr-HR", "bs", False),
        ("bs", "", "hr", True),
        ("bs", "bs_BA", "hr", False),
        ("hr", "", "sr", False),
        ("sr", "", "bs", False),
    ],
)
def test_bosnian_and_croatian_match_each_other_unless_a_page_declares_one(
    language: str, declared: str, code: str, is_relevant: bool
) -> None:
    facts = facts_of(replace(PAGE, language=language, declared_language=declared))
    assert parse_relevance(f'language("{code}")').evaluate(facts).inside is is_relevant


def test_deciding_rule_is_named() -> None:
    evaluation = parse_relevance('type("text/*") and language("en")').evaluate(facts_of(PAGE))
    assert evaluation == (False, "language('en')")


@pytest.mark.parametrize(
    "text",
    ["language()", 'language("PT")', "type(1)", 'type("html")', 
     "image()", 'language("pt") if any() else any()', "1 +"],
)  # fmt: skip
def test_invalid_expression_is_refused_with_its_setting(text: str) -> None:
    with pytest.raises(BadSettings, match=r"^relevant: "):
        parse_relevance(text)


def test_all_rules_of_scopes_exist() -> None:
    assert set(RULES) == {"language", "type", *SCOPE_RULES}
