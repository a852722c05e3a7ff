"""The canonical form of each URL, and its keys."""

from hashlib import blake2b

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.web.url import (
    MAX_LENGTH,
    BadUrl,
    UrlTooLong,
    canonicalize,
    fingerprint,
    host_key,
    host_name,
    is_address,
    site_of,
)

SPELLINGS = [
    ("HTTP://Example.ORG", "http://example.org/"),
    ("https://example.org:443/a", "https://example.org/a"),
    ("http://example.org:80", "http://example.org/"),
    ("http://example.org:8080/a?b", "http://example.org:8080/a?b"),
    (" \thttp://example.org/a b\n", "http://example.org/a%20b"),
    ("http://example.org/a/../b/./c", "http://example.org/b/c"),
    ("http://example.org/%2e%2E/b", "http://example.org/b"),
    ("http://example.org\\a\\b", "http://example.org/a/b"),
    ("http://example.org/#top", "http://example.org/"),
    ("http://example.org/?#", "http://example.org/?"),
    ("http://example.org/?q#a#b", "http://example.org/?q"),
    ("http://user:secret@example.org/a@b", "http://example.org/a@b"),
    ("http://a@b@example.org:81/", "http://example.org:81/"),
    ("http://example.org/@a", "http://example.org/@a"),
    ("http://example.org/%7euser/%41%2d%5F", "http://example.org/~user/A-_"),
    ("http://example.org/a%2fb%3f", "http://example.org/a%2Fb%3F"),
    ("http://example.org/?a=%c3%a9&b=%41", "http://example.org/?a=%C3%A9&b=A"),
    ("http://example.org/%%34%31", "http://example.org/A"),
    ("http://example.org/100%", "http://example.org/100%"),
    ("http://example.org/é", "http://example.org/%C3%A9"),
    ("http://münchen.example/", "http://xn--mnchen-3ya.example/"),
    ("http://EXAMPLE。org/", "http://example.org/"),
    ("http://example.org./a", "http://example.org/a"),
    ("http://example.org.:8080/a.", "http://example.org:8080/a."),
    ("http://1.2.3.4./", "http://1.2.3.4/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080/"),
    ("http://[::ffff:1.2.3.4]/", "http://[::ffff:102:304]/"),
]
REFUSED = [
    "", "example.org", "/path", "ftp://example.org/", "mailto:a@example.org",
    "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ws://example.org/",
    "http://", "http:///", "http://./", "http://..:80/", "http://exa mple.org/",
    "http://example.org:99999/", "http://[::1/", "http://999.1.1.1/", "http://a<b>/",
    "http://\ud800/", "http://example.org:25/", "https://[::1]:6667/", "http://example.org.:0/",
]  # fmt: skip


@pytest.mark.parametrize(("url", "spelt"), SPELLINGS)
def test_url_has_one_canonical_form(url: str, spelt: str) -> None:
    assert canonicalize(url) == spelt
    assert canonicalize(spelt) == spelt


@pytest.mark.parametrize("url", REFUSED)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(BadUrl, match="is not a URL to visit: ") as refused:
        canonicalize(url)
    assert not isinstance(refused.value, UrlTooLong)


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ("b", "http://example.org/a/b"),
        ("../b", "http://example.org/b"),
        ("/b", "http://example.org/b"),
        ("?b", "http://example.org/a/?b"),
        ("//other.example/b", "http://other.example/b"),
        ("#top", "http://example.org/a/?q"),
        ("", "http://example.org/a/?q"),
        ("https:other", "https://other/"),
    ],
)
def test_links_are_resolved(link: str, found: str) -> None:
    assert canonicalize(link, "http://example.org/a/?q") == found


def test_bad_base_is_refused() -> None:
    with pytest.raises(BadUrl):
        canonicalize("b", "not a url")


@pytest.mark.parametrize("grown", [1, 3, 30])
def test_too_long_url_is_refused(grown: int) -> None:
    longest = "http://example.org/" + "a" * (MAX_LENGTH - 19)
    assert canonicalize(longest) == longest
    with pytest.raises(UrlTooLong, match=f"longer than {MAX_LENGTH}") as refused:
        canonicalize(longest + "b" * (MAX_LENGTH * grown // 3))
    assert len(str(refused.value)) < 400


def test_length_limit_applies_to_the_canonical_form() -> None:
    assert canonicalize("http://example.org/#" + "a" * 3000) == "http://example.org/"
    with pytest.raises(BadUrl):
        canonicalize("http://example.org/" + "é" * 500)


SIGNS = ["/", "//", "@", ":", "%", "%2", "%2e", "%25", ".", "..", "#", "?", "[", "]", "\\", "\t"]
WORDS = [
    "http:", "https:", "::1", "41", "example", "org", "80", "é", "。", "0x7f", "xn--", "\ud800",
]  # fmt: skip
pieces = st.sampled_from(SIGNS) | st.sampled_from(WORDS)
odd_urls = st.builds("".join, st.lists(pieces)) | st.text()


@given(odd_urls | odd_urls.map("http://example.org/".__add__) | odd_urls.map("http://".__add__))
@example("http://a/%%34%31")
@example("http://0x7f.1../")
def test_arbitrary_text_is_refused_or_has_one_canonical_form(text: str) -> None:
    try:
        spelt = canonicalize(text)
    except BadUrl:
        return
    assert canonicalize(spelt) == spelt
    assert spelt.isascii() and len(spelt) <= MAX_LENGTH
    assert "#" not in spelt and "@" not in host_key(spelt)
    assert spelt.startswith(host_key(spelt) + "/")
    assert host_name(spelt) in host_key(spelt)
    assert not host_name(spelt).endswith(".") and host_name(spelt)
    assert host_name(spelt).endswith(site_of(spelt)) and site_of(spelt)


GROUPED = [
    # URL, host key, host name, site
    (
        "http://www.example.org:8080/a?b",
        "http://www.example.org:8080", "www.example.org", "example.org",
    ),
    ("https://example.co.uk/", "https://example.co.uk", "example.co.uk", "example.co.uk"),
    (
        "https://www.shop.example.co.uk/a:b@c",
        "https://www.shop.example.co.uk", "www.shop.example.co.uk", "example.co.uk",
    ),
    ("https://a.github.io/x", "https://a.github.io", "a.github.io", "a.github.io"),
    ("https://b.a.github.io/x", "https://b.a.github.io", "b.a.github.io", "a.github.io"),
    ("https://github.io/", "https://github.io", "github.io", "github.io"),
    ("https://a.b.kawasaki.jp/", "https://a.b.kawasaki.jp", "a.b.kawasaki.jp", "a.b.kawasaki.jp"),
    (
        "https://x.city.kawasaki.jp/",
        "https://x.city.kawasaki.jp", "x.city.kawasaki.jp", "city.kawasaki.jp",
    ),
    ("http://localhost/", "http://localhost", "localhost", "localhost"),
    ("http://192.168.0.1:81/a", "http://192.168.0.1:81", "192.168.0.1", "192.168.0.1"),
    ("http://[::1]:81/a", "http://[::1]:81", "[::1]", "[::1]"),
    ("http://[2001:db8::1]/", "http://[2001:db8::1]", "[2001:db8::1]", "[2001:db8::1]"),
    (
        "http://www.xn--mnchen-3ya.example/",
        "http://www.xn--mnchen-3ya.example", "www.xn--mnchen-3ya.example", "xn--mnchen-3ya.example",
    ),
    ("http://a.b/?x=/y:z", "http://a.b", "a.b", "a.b"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "key", "name", "site"), GROUPED)
def test_keys_of_a_url(url: str, key: str, name: str, site: str) -> None:
    assert canonicalize(url) == url
    assert (host_key(url), host_name(url), site_of(url)) == (key, name, site)
    assert host_name(key) == name


@pytest.mark.parametrize(
    ("name", "address"),
    [("127.0.0.1", True), ("[::1]", True), ("1.2.3", False), ("a.1", False), ("", False)],
)
def test_addresses_are_distinguished_from_names(name: str, address: bool) -> None:
    assert is_address(name) is address


def test_fingerprint_is_128_bits_of_the_url() -> None:
    url = "http://example.org/"
    assert fingerprint(url) == blake2b(url.encode(), digest_size=16).hexdigest()
    assert len({fingerprint(f"{url}{i}") for i in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("domain", "ascii_form"),
    [
        ("aa--", "aa--"),
        ("-a", "-a"),
        ("straße.example", "xn--strae-oqa.example"),
        ("FAẞ.example", "xn--fa-hia.example"),
        ("a\u00adb.example", "ab.example"),
        ("\uff45xample\uff0eorg", "example.org"),
        ("xn--strae-oqa.example", "xn--strae-oqa.example"),
        ("日本語.jp", "xn--wgv71a119e.jp"),
        ("a\u200db.example", None),
        ("אa.example", None),
        ("\u0301a.example", None),
    ],
)
def test_domain_has_one_form_in_ascii(domain: str, ascii_form: str | None) -> None:
    if ascii_form is None:
        with pytest.raises(BadUrl):
            canonicalize(f"http://{domain}/")
    else:
        assert host_name(canonicalize(f"http://{domain}/")) == ascii_form
