"""The blocklist: the form of rules, and the URLs that each covers."""

from ipaddress import ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.blocklist import Blocklist, describe_rule, parse_rule
from gossamer.errors import BadSettings, Poison
from gossamer.events import BlocklistChanged
from gossamer.web.url import BadUrl, canonicalize


def blocking(*rules: str) -> Blocklist:
    return Blocklist(BlocklistChanged(at=1.0, rule=rule) for rule in rules)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("WWW.Example.org.", "www.example.org"),
        ("https://www.example.org", "www.example.org"),
        ("http://www.example.org/", "www.example.org/"),
        ("www.example.org/*", "www.example.org"),
        ("www.example.org:8080/*", "www.example.org:8080"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.Example.org", "*.example.org"),
        ("example.org/a b?c#d", "example.org/a%20b?c"),
        ("example.org/login?next=http://b.example/*", "example.org/login?next=http://b.example/*"),
        ("http://example.org:81/a*", "example.org:81/a*"),
        ("192.0.2.7", "192.0.2.7/32"),
        ("http://192.0.2.7", "192.0.2.7/32"),
        ("192.0.2.7/24", "192.0.2.0/24"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("http://[2001:db8::1]", "2001:db8::1/128"),
        ("192.0.2.7:8080", "192.0.2.7:8080"),
    ],
)
def test_rule_has_one_canonical_form(text: str, rule: str) -> None:
    assert parse_rule(text) == parse_rule(rule) == rule
    assert describe_rule(rule)


@pytest.mark.parametrize(
    "text",
    [
        *("", "ftp://a.example", "*.192.0.2.7", "*.a.example:80", "a b", "http://192.0.2.0/24"),
        *("*", "*/", "*/*", "*.*", "www.*.example", "example.*", "http://*:80/a"),
    ],
)
def test_invalid_rule_is_refused(text: str) -> None:
    with pytest.raises(BadSettings):
        parse_rule(text)
    with pytest.raises(Poison):
        blocking(text)


URLS = (
    "http://a.example/", "https://a.example/x", "http://a.example:8080/x",
    "http://www.a.example/x/1", "http://www.a.example/x2", "http://ba.example/",
    "http://192.0.2.7/x", "http://[2001:db8::1]/",
)  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "forbidden"),
    [
        ("a.example", {0, 1, 2}),
        ("a.example:8080", {2}),
        ("*.a.example", {0, 1, 2, 3, 4}),
        ("*.example", {0, 1, 2, 3, 4, 5}),
        ("a.example/x", {1}),
        ("http://a.example/x", {1}),
        ("www.a.example/x*", {3, 4}),
        ("www.a.example/x/*", {3}),
        ("192.0.2.0/24", {6}),
        ("2001:db8::/32", {7}),
        ("192.0.2.8", set()),
    ],
)
def test_rule_applies_until_it_is_lifted(rule: str, forbidden: set[int]) -> None:
    blocklist = blocking(rule)
    assert {at for at, url in enumerate(URLS) if blocklist.of_url(url)} == forbidden
    assert {blocklist.of_url(URLS[at]) for at in forbidden} <= {parse_rule(rule)}
    blocklist.change(BlocklistChanged(at=2.0, rule=rule, lifted=True))
    assert not any(map(blocklist.of_url, URLS))


def test_robots_txt_is_allowed_unless_its_host_is_blocklisted() -> None:
    robots = "http://a.example/robots.txt"
    assert blocking("a.example/r*").of_url(robots) == ""
    assert blocking(robots).of_url(robots) == ""
    assert blocking("a.example").of_url(robots) == "a.example"


def test_network_rule_covers_its_addresses() -> None:
    blocklist = blocking("192.0.2.0/24", "198.51.100.7", "2001:db8::/32", "0.0.0.0/8")
    for address, rule in (
        ("192.0.2.255", "192.0.2.0/24"),
        ("198.51.100.7", "198.51.100.7/32"),
        ("2001:db8:1::", "2001:db8::/32"),
        ("192.0.3.0", ""),
        ("::1", ""),
    ):
        assert blocklist.of_address(ip_address(address)) == rule


def test_lifted_rule_is_visible_to_owners_of_parked_urls() -> None:
    lifts = [
        BlocklistChanged(at=2.0, rule=rule, lifted=True) for rule in ("a.example", "192.0.2.0/24")
    ]
    blocklist = blocking("a.example", "192.0.2.0/24")
    seen = [blocklist.lifted]
    for event in (*lifts, replace(lifts[0], lifted=False), replace(lifts[0], at=3.0)):
        blocklist.change(event)
        seen.append(blocklist.lifted)
    assert seen[0] == 0 and len(set(seen)) == len(seen) - (seen[1] == seen[3])
    assert Blocklist(lifts).lifted == Blocklist(lifts[::-1]).lifted == seen[2]


@example("1/1")
@example("1/*#")
@given(st.text(st.sampled_from("ab.:/*?%2[]1-#@ü "), max_size=12))
def test_canonical_rule_is_unchanged(text: str) -> None:
    try:
        rule = parse_rule(text)
    except BadSettings:
        return
    assert parse_rule(rule) == rule


@given(st.text(st.sampled_from("ab/?*&=."), max_size=8), st.integers(0, 8))
def test_url_is_blocklisted_by_itself_and_its_prefixes(path: str, length: int) -> None:
    try:
        url = canonicalize(f"http://a.example/{path}")
    except BadUrl:
        return
    if not url.endswith("*"):
        assert blocking(url).of_url(url)
    prefix = url[: len("http://a.example/") + length]
    if canonicalize(prefix) == prefix:
        assert blocking(prefix + "*").of_url(url)
