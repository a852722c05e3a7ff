"""The steps that merge URLs, and the laws of all steps."""

from contextlib import suppress
from itertools import pairwise, permutations
from uuid import UUID

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gossamer.errors import BadSettings
from gossamer.schemas.reference import URL_STEPS
from gossamer.web import url_steps
from gossamer.web.url import STEPS as EVERYWHERE
from gossamer.web.url import BadUrl, canonicalize, host_key, trace_steps
from gossamer.web.url_steps import (
    ALL_STEPS,
    HOST_STEPS,
    STEPS,
    check_steps,
    is_token,
    merge_url,
    reject_repeated_path,
    rewrite_by_rule,
    rewrite_by_rules,
    token_in,
)

HOST = "http://a.test"
MERGED = [
    ("session_id", "/a?PHPSESSID=1", "/a"),
    ("session_id", "/a?b=1&phpsessid=2&c=3", "/a?b=1&c=3"),
    ("session_id", "/a?CFID=1&CFTOKEN=2", "/a"),
    ("session_id", "/a?ASPSESSIONIDQQQ=x&b", "/a?b"),
    ("session_id", "/a;jsessionid=0A.w1?b=c", "/a?b=c"),
    ("session_id", "/a;JSESSIONID=0A/b;v=1", "/a/b;v=1"),
    ("session_id", "/a/..;jsessionid=1/b", "/b"),
    ("session_id", "/a?sid=1", "/a?sid=1"),
    ("session_id", "/a?myphpsessid=1", "/a?myphpsessid=1"),
    ("session_id", "/phpsessid=1?a;jsessionid=1", "/phpsessid=1?a;jsessionid=1"),
    ("tracking", "/a?utm_source=x&UTM_Medium=y", "/a"),
    ("tracking", "/a?gclid=1&id=2", "/a?id=2"),
    ("tracking", "/a?utmost=1", "/a?utmost=1"),
    ("directory_reorder", "/a/?N=D", "/a/"),
    ("directory_reorder", "/a/?C=M;O=A", "/a/"),
    ("directory_reorder", "/?C=S&O=D", "/"),
    ("directory_reorder", "/a/?C=N;O=D;V=1;P=*.gz", "/a/"),
    ("directory_reorder", "/a?N=D", "/a?N=D"),
    ("directory_reorder", "/a/?C=M;O=A&page=2", "/a/?C=M;O=A&page=2"),
    ("directory_reorder", "/a/?N=Dogs", "/a/?N=Dogs"),
    ("repeated_path", "/a/b/c/c/c/d", ""),
    ("repeated_path", "/a/b/c/c/d", "/a/b/c/c/d"),
    ("repeated_path", "/x/a/b/a/b", ""),
    ("repeated_path", "/a/b/c/a/b", "/a/b/c/a/b"),
    ("repeated_path", "/x/a/b/c/a/b/c/y", ""),
    ("repeated_path", "/a/b/c/d/e/a/b/c/d/e/", ""),
    ("repeated_path", "/docs/docs/docs/x", ""),
    ("repeated_path", "/en/en/", "/en/en/"),
    ("repeated_path", "/1/2/1/2/1/2/", "/1/2/1/2/1/2/"),
    ("repeated_path", "/spider/x/spider/", "/spider/x/spider/"),
    ("repeated_path", "/2012/12/12/12/12", "/2012/12/12/12/12"),
    ("repeated_path", "/a////b", "/a////b"),
    ("repeated_path", "/?a/a/a/a", "/?a/a/a/a"),
]
TOKEN = "5f8d0d55b54764421b7156d9"
IMAGES = [
    ("/a/index.html", {"default_document": "/a/"}),
    ("/INDEX.SHTML", {"default_document": "/", "letter_case": "/index.shtml"}),
    ("/default.htm", {"default_document": "/"}),
    ("/index.php", {}),
    ("/index.html?a", {}),
    ("/myindex.html", {}),
    ("/a?sid=1&b=2", {"session_id sid": "/a?b=2"}),
    (
        "/a?Session_ID=1&sid=2",
        {"session_id session_id": "/a?sid=2", "session_id sid": "/a?Session_ID=1"},
    ),
    (f"/s/{TOKEN}/a?b=1", {"session_id /1": "/s/*/a?b=1"}),
    (f"/a?key={TOKEN}&b=1", {"session_id ?key": "/a?key=*&b=1"}),
    (f"/a?b=1&sid={TOKEN}", {"session_id sid": "/a?b=1", "session_id ?sid": "/a?b=1&sid=*"}),
    ("/A%C3%A9?B", {"letter_case": "/a%C3%A9?B"}),
    ("/a%C3%A9?B", {}),
]  # fmt: skip


@pytest.mark.parametrize(("step", "path", "known_as"), MERGED)
def test_step_merges_urls_of_one_page(step: str, path: str, known_as: str) -> None:
    changed = path != known_as
    found = merge_url(HOST + path, (step,))
    assert found == (known_as and HOST + known_as, (step,) if changed else ())
    others = tuple(name for name in STEPS if name != step)
    assert merge_url(HOST + path, others).url == HOST + path or step == "repeated_path"


@pytest.mark.parametrize(("path", "images"), IMAGES)
def test_rules_of_hosts_rewrite_urls(path: str, images: dict[str, str]) -> None:
    found = {
        rule: image.removeprefix(HOST) for rule, image in rewrite_by_rules(HOST + path, ALL_STEPS)
    }
    assert found == images
    assert list(rewrite_by_rules(HOST + path, ())) == []


def test_every_step_is_tested_above() -> None:
    rules = {rule.partition(" ")[0] for _, images in IMAGES for rule in images}
    assert ({step for step, _, _ in MERGED}, rules) == (set(STEPS), set(HOST_STEPS))


components = st.sampled_from(
    ["a", "b", "A", "index.html", "Default.htm", "..", "..;jsessionid=1", "x;PHPSESSID=2", "7", ""]
)  # fmt: skip
parameters = st.sampled_from(
    [
        "PHPSESSID=1", "sid=2", "k=5f8d0d55b54764421b7156d9", "k", "utm_source=3", "a=1", "C=M",
        "C=M;O=A", "N=D", "SID=%41", "", "cfid",
    ]
)  # fmt: skip
paths = st.lists(components, max_size=6).map("/".join)
queries = st.lists(parameters, max_size=4).map("&".join)
addresses = st.builds(
    lambda path, query, mark: f"{HOST}/{path}{mark}{query}", paths, queries, st.sampled_from("?;&#")
)
wanted_steps = st.sets(st.sampled_from(ALL_STEPS))


years = st.integers(1990, 2030).map(str)
numbers_of_dates = st.integers(1, 31).map(lambda number: f"{number:02}")
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
dates = st.lists(years | numbers_of_dates | st.sampled_from("0123"), max_size=8)


@given(st.sets(words, max_size=6), dates, st.integers(0, 6), st.integers(0, 6))
def test_distinct_words_a_doubled_word_and_numbers_are_an_honest_path(
    distinct: set[str], numbers: list[str], at: int, doubled: int
) -> None:
    parts = sorted(distinct)
    if parts:
        word = parts[doubled % len(parts)]
        parts[parts.index(word) : parts.index(word) + 1] = [word, word]
    url = f"{HOST}/{'/'.join([*parts[:at], *numbers, *parts[at:]])}/"
    assert reject_repeated_path(url) == url


@given(
    st.lists(words, max_size=4),
    st.lists(words | years, min_size=1, max_size=12),
    st.lists(words, max_size=4),
)
def test_block_of_any_length_is_refused_at_its_third_repetition(
    before: list[str], block: list[str], after: list[str]
) -> None:
    assume(not all(map(str.isdecimal, block)))
    assert reject_repeated_path(f"{HOST}/{'/'.join([*before, *block * 3, *after])}") == ""


@pytest.mark.parametrize(
    "text",
    ["internationalization", "ThisIsACamelCaseTitle", "iphone-12-pro-max-128gb-5g", "2024-01-01",
     "photo_20240101123059abc", "article20240101", "123456789012345678", "IMG20240101WA0001"],
)  # fmt: skip
def test_word_date_or_number_is_no_token(text: str) -> None:
    assert not is_token(text)


@given(st.uuids(version=4), st.binary(min_size=24, max_size=48))
def test_most_random_values_are_tokens(one: UUID, other: bytes) -> None:
    """Some values have too few changes between letters and digits."""
    for text in (one.hex, other.hex()):
        changes = sum(a.isalpha() != b.isalpha() for a, b in pairwise(text))
        assert is_token(text) or changes < len(text) / 4


@given(st.sampled_from(["session_id /1", "session_id ?key"]), st.uuids(version=4))
def test_token_is_replaced_by_another_one(rule: str, random: UUID) -> None:
    url = f"{HOST}/s/{TOKEN}/a?key={TOKEN}&b=1"
    assert token_in(url, rule) == TOKEN
    replaced = rewrite_by_rule(url, rule, random.hex)
    assert token_in(replaced, rule) in (random.hex, "")
    assert rewrite_by_rule(replaced, rule, random.hex) == replaced
    assert replaced.replace(random.hex, TOKEN) == url


@given(addresses, wanted_steps)
@example(f"{HOST}/a/..;jsessionid=1/index.html?utm_source=1&PHPSESSID=2", set(ALL_STEPS))
def test_steps_are_idempotent_and_canonical(text: str, wanted: set[str]) -> None:
    url = canonicalize(text)
    found = merge_url(url, tuple(wanted))
    if not found.url:
        assert found.steps[-1] == "repeated_path"
        return
    assert merge_url(found.url, tuple(wanted)) == (found.url, ()), "once is enough"
    assert canonicalize(found.url) == found.url, "no step leaves the standard's spelling"
    assert host_key(found.url) == host_key(url), "no step leaves the host"
    assert len(found.url) <= len(url)
    assert (found.url != url) is bool(found.steps)
    assert set(found.steps) <= wanted


@given(addresses)
def test_order_of_the_steps_makes_no_difference(text: str) -> None:
    url = canonicalize(text)
    results, merging = set(), tuple(name for name in STEPS if name != "repeated_path")
    for order in permutations(merging):
        after, before = url, ""
        while after != before:
            before = after
            for name in order:
                after = merge_url(after, (name,)).url
        results.add(after)
    assert results == {merge_url(url, merging).url}


@given(addresses, wanted_steps)
def test_host_rules_are_idempotent_and_canonical(text: str, wanted: set[str]) -> None:
    url = canonicalize(text)
    for rule, image in rewrite_by_rules(url, wanted):
        assert image != url and canonicalize(image) == image
        assert host_key(image) == host_key(url) and len(image) <= len(url)
        assert rewrite_by_rule(url, rule) == image
        assert rewrite_by_rule(image, rule) == image, "once is enough"


@given(addresses, addresses)
def test_resolved_link_is_canonical(link: str, base: str) -> None:
    for relative in (link, link.removeprefix(HOST), link.removeprefix(f"{HOST}/")):
        with suppress(BadUrl):  # `//` has no host.
            found = canonicalize(relative, base)
            assert canonicalize(found, f"{HOST}/other") == canonicalize(found) == found


@given(st.text() | addresses)
def test_traced_steps_end_in_the_canonical_form(text: str) -> None:
    try:
        canonical = canonicalize(text)
    except BadUrl:
        return
    found = list(trace_steps(text))
    assert (found[-1][1] if found else text) == canonical
    assert {name for name, _ in found} <= {"standard", *EVERYWHERE}


def test_unknown_step_is_refused_by_name() -> None:
    check_steps(ALL_STEPS)
    with pytest.raises(BadSettings, match="unknown step 'capitals'; choose from session_id"):
        check_steps(("tracking", "capitals"))


def test_documentation_lists_the_steps() -> None:
    page = URL_STEPS.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in (*EVERYWHERE, *ALL_STEPS))


def test_parameters_are_listed_in_lower_case() -> None:
    names = url_steps.SESSION_IDS | url_steps.POSSIBLE_SESSION_IDS | url_steps.TRACKING_PARAMETERS
    assert {name.lower() for name in names} == names
