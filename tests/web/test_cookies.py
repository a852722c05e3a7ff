"""Cookies: which are stored, and to which hosts they are sent (RFC 6265)."""

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.settings import FetcherSettings
from gossamer.web.cookies import (
    MAX_COOKIE_SECONDS,
    SESSION_COOKIE_SECONDS,
    SITE_BYTES,
    Cookie,
    Jar,
    cookie_date,
    cookies_for,
    merge_cookies,
    parse_cookie,
)
from gossamer.web.url import host_key, site_of

NOW = 1_700_000_000.0
URL = "https://www.example.org/shop/cart?x=/y/z"


def jar(*set_cookies: str, url: str = URL, most: int = 10, size: int = 100) -> Jar:
    found = Jar((), most, size)
    found.take(url, [*(("Set-Cookie", text) for text in set_cookies)], NOW)  # type: ignore[arg-type]
    return found


def cookie_header(jar: Jar, url: str, later: float = 0.0) -> str:
    return dict(jar.header(url, NOW + later)).get("Cookie", "")


def test_cookie_is_sent_only_to_its_host_below_its_path() -> None:
    kept = jar("id=7; HttpOnly; SameSite=Strict")
    assert cookie_header(kept, "https://www.example.org/shop/") == "id=7"
    assert cookie_header(kept, "http://www.example.org:8080/shop/x?y") == "id=7"
    assert cookie_header(kept, "https://www.example.org/shop") == "id=7"
    for elsewhere in (
        "https://www.example.org/",
        "https://www.example.org/shopping",
        "https://example.org/shop/",
        "https://a.www.example.org/shop/",
        "https://wwww.example.org/shop/",
    ):
        assert cookie_header(kept, elsewhere) == ""


def test_cookie_with_domain_is_sent_to_all_its_hosts() -> None:
    kept = jar("id=7; Domain=.Example.ORG; Path=/")
    for url in ("https://example.org/", "http://www.example.org/", "https://a.b.example.org/x"):
        assert cookie_header(kept, url) == "id=7"
    assert cookie_header(kept, "https://notexample.org/") == ""


@pytest.mark.parametrize(
    "domain",
    ["org", "co.uk", "github.io", "other.org", "a.www.example.org", "le.org", "example.org.", "x"],
)
def test_cookie_for_a_public_or_foreign_domain_is_refused(domain: str) -> None:
    assert cookie_header(jar(f"id=7; Domain={domain}; Path=/"), "https://www.example.org/") == ""


@pytest.mark.parametrize("host", ["github.io", "localhost", "192.0.2.1", "[2001:db8::1]", "com"])
def test_host_that_is_a_public_suffix_has_its_own_cookies(host: str) -> None:
    for url in (f"http://{host}/", f"http://a.{host}/"):
        kept = jar(f"id=7; Domain={host}", url=f"http://{host}/")
        assert cookie_header(kept, url) == ("id=7" if url == f"http://{host}/" else "")


def test_site_on_a_platform_cannot_set_cookies_of_others() -> None:
    assert (
        cookie_header(
            jar("a=b; Domain=github.io", url="https://me.github.io/"), "https://me.github.io/"
        )
        == ""
    )
    mine = jar("a=b; Domain=me.github.io", url="https://me.github.io/")
    assert cookie_header(mine, "https://you.github.io/") == ""


def test_secure_cookie_is_sent_over_https_only() -> None:
    kept = jar("a=b; Secure; Path=/")
    assert cookie_header(kept, "https://www.example.org/") == "a=b"
    assert cookie_header(kept, "http://www.example.org/") == ""
    assert jar("a=b; Secure", url="http://www.example.org/").changes() == ()


def test_cookies_expire() -> None:
    kept = jar(
        "s=1", "m=1; Max-Age=10; Expires=Fri, 01 Jan 2038 00:00:00 GMT", "z=1; Max-Age=9999999999"
    )
    url = "https://www.example.org/shop/"
    assert cookie_header(kept, url) == "s=1; m=1; z=1"
    assert cookie_header(kept, url, later=10) == "s=1; z=1"
    assert cookie_header(kept, url, later=SESSION_COOKIE_SECONDS) == "z=1"
    assert cookie_header(kept, url, later=MAX_COOKIE_SECONDS) == ""


@pytest.mark.parametrize(
    "over", ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01-Jan-1970 00:00:00 GMT"]
)
def test_expired_cookie_deletes_the_stored_one(over: str) -> None:
    url = "https://www.example.org/shop/"
    assert cookie_header(jar("a=b", "c=d", f"a=x; {over}"), url) == "c=d"
    assert cookie_header(jar("a=b", f"a=x; {over}; Path=/"), url) == "a=b"
    assert jar(f"a=x; {over}").changes() == ()


def test_cookies_are_sent_by_path_length_and_age() -> None:
    kept = jar("a=1; Path=/", "b=2; Path=/shop", "c=3; Path=/")
    kept.take(URL, (("set-cookie", "a=9; Path=/"),), NOW)
    assert cookie_header(kept, URL) == "b=2; a=9; c=3"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("a=b=c", "a", "b=c"),
        (' a = "b c" ;Path', "a", '"b c"'),
        ("a=", "a", ""),
        # 6265bis, 5.6, and wpt cookies/name: a cookie without a name; octets are kept.
        ("pass", "", "pass"),
        ("=7", "", "7"),
        ("a=é", "a", "é"),
        ("é=1", "é", "1"),
        ("a=b\tc", "a", "b\tc"),
        ("a=b; Path=/" + "x" * 1024, "a", "b"),
        ("a=b; Path=relative; Domain; Max-Age=soon; Expires=never", "a", "b"),
    ],
)
def test_cookies_are_parsed_as_in_browsers(text: str, name: str, value: str) -> None:
    found = parse_cookie(text, URL, NOW)
    until = NOW + SESSION_COOKIE_SECONDS
    assert found == Cookie(name, value, "www.example.org", "/shop", until, used_at=NOW)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        *((text, False) for text in ("", ";", "a=\x01", "a=b\x7f", "; a=b", " = ")),
        *((text, False) for text in ("=__Host-a", "__Secure-a")),
        ("__Host-a=b; Secure; Path=/", True),
        ("__Host-a=b; Secure", False),
        ("__Host-a=b; Path=/", False),
        ("__host-a=b; Secure; Path=/; Domain=example.org", False),
        ("__Secure-a=b; Secure", True),
        ("__Secure-a=b", False),
    ],
)
def test_invalid_cookie_and_broken_promise_of_its_name_are_ignored(text: str, taken: bool) -> None:
    assert (parse_cookie(text, URL, NOW) is not None) is taken


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777.0),
        ("Sun Nov  6 08:49:37 1994", 784111777.0),
        ("6 november 94 8:49:37", 784111777.0),
        ("Wed, 09 Jun 2021 10:18:14 GMT", 1623233894.0),
        ("01 Jan 70 0:0:1", 1.0),
        ("01 Jan 69 00:00:00", 3124224000.0),
        ("31 Feb 2020 00:00:00", None),
        ("1 Jan 2020 24:00:00", None),
        ("1 Jan 2020", None),
        ("1 Jan 20200 00:00:00", None),
        ("", None),
        ("0", None),
    ],
)
def test_cookie_dates_follow_the_standard(text: str, at: float | None) -> None:
    assert cookie_date(text) == at


def test_least_recently_used_cookie_makes_room() -> None:
    """RFC 6265, 5.3: a new cookie is never ignored because the store is full."""
    kept = jar("a=1", "b=2", "c=3", "D=4; Domain=example.org", "e=" + "x" * 100, most=2)
    assert cookie_header(kept, URL) == "b=2; c=3; D=4"
    kept.take(URL, (("Set-Cookie", "b=9"),), NOW + 7200)
    kept.take(URL, (("Set-Cookie", "d=5"),), NOW + 7201)
    assert cookie_header(kept, URL) == "b=9; D=4; d=5"


def test_use_of_a_cookie_is_remembered_across_orders() -> None:
    first = jar("a=1; Path=/a", "b=2; Path=/b")
    assert cookie_header(first, "https://www.example.org/a", 7200.0) == "a=1"
    again = Jar(merge_cookies((), first.changes(), NOW), 2, 100)
    again.take(URL, (("Set-Cookie", "c=3; Path=/"),), NOW + 7300)
    assert cookie_header(again, "https://www.example.org/a") == "a=1; c=3"
    assert cookie_header(again, "https://www.example.org/b") == "c=3"


def test_cookie_limits_are_those_of_rfc_6265() -> None:
    """RFC 6265, 6.1: a wall with 14 cookies, and one whose cookies have 4,096 bytes."""
    limits = FetcherSettings()
    texts = [f"c{n}={'x' * (4094 if n == 0 else 1000)}" for n in range(50)]
    kept = jar(*texts, most=limits.cookies, size=limits.cookie_size)
    assert cookie_header(kept, URL) == "; ".join(texts)
    assert cookie_header(jar("a=" + "x" * 4096, size=limits.cookie_size), URL) == ""


def test_cookies_of_a_site_are_bounded_in_bytes() -> None:
    domains = [f"h{n}.example.org" for n in range(100)]
    flood = [Cookie("a", "x" * 4000, one, expires_at=NOW + 9, used_at=NOW) for one in domains]
    kept = merge_cookies(flood, (), NOW)
    assert sum(len(one.value) for one in kept) <= SITE_BYTES
    assert [one.domain for one in kept] == domains[-len(kept) :]


def test_cookies_hold_across_ports_and_schemes() -> None:
    """Report scrapy #351; RFC 6265, 8.5. An http page does not replace a cookie of https."""
    kept = jar("a=1; Path=/", url="http://www.example.org:25080/")
    assert cookie_header(kept, "https://www.example.org/") == "a=1"
    kept.take(URL, (("Set-Cookie", "s=2; Path=/; Secure"),), NOW)
    kept.take("http://www.example.org/", (("Set-Cookie", "s=3; Path=/"),), NOW)
    assert cookie_header(kept, "http://www.example.org:25081/") == "a=1"
    assert cookie_header(kept, "https://www.example.org/") == "a=1; s=2"


def test_octets_of_a_cookie_are_sent_back() -> None:
    """6265bis, 5.7; wpt `cookies/bytes.window.js`, `cookies/encoding`."""
    kept = jar("a=caf\xc3\xa9", "b=caf\xe9", "only")
    assert cookie_header(kept, URL) == "a=caf\xc3\xa9; b=caf\xe9; only"


@pytest.mark.parametrize(
    ("text", "is_stored"),
    [
        ("a=1; Domain=other.test; Domain=", False),
        ("a=1; Domain=example.org; Domain=", True),
        ("a=1; Path=/shop\xe9", False),
        ("a=1; Path=/shop\xe9; Path=/shop", True),
        ("a=1; Path=\xe9", True),
        ("__Host-a=1; Secure; Path=/", True),
        ("__Host-a=1; Secure", False),
        ("__Host-a=1; Secure; Path=", False),
    ],
)
def test_attributes_are_read_as_browsers_read_them(text: str, is_stored: bool) -> None:
    """wpt `cookies/attributes/domain`, `path/non-ascii-path-attribute`, `prefix/__host`."""
    kept = jar(text, url="https://www.example.org/")
    assert bool(cookie_header(kept, "https://www.example.org/shop")) is is_stored


def test_limit_zero_stores_and_sends_no_cookies() -> None:
    known = Cookie("a", "b", "www.example.org", "/", NOW + 1)
    none = Jar((known,), 0, 100)
    none.take(URL, (("Set-Cookie", "c=d"),), NOW)
    assert (none.header(URL, NOW), none.changes()) == ((), ())


def test_changes_are_reported_once() -> None:
    kept = jar("a=1; Max-Age=1000")
    assert [one.name for one in kept.changes()] == ["a"]
    kept.take(URL, (("Set-Cookie", "a=1; Max-Age=1000"),), NOW + 10)
    assert kept.changes() == ()
    kept.take(URL, (("Set-Cookie", "a=1; Max-Age=1000"),), NOW + 900)
    kept.take(URL, (("Set-Cookie", "b=1"), ("Set-Cookie", "b=2")), NOW + 900)
    assert [(one.name, one.value) for one in kept.changes()] == [("a", "1"), ("b", "2")]


def test_cookie_that_is_set_and_deleted_is_not_reported() -> None:
    flood = [text for n in range(500) for text in (f"n{n}=1", f"n{n}=; Max-Age=0")]
    kept = jar("a=1", *flood, "a=2", "b=1", most=2)
    assert [(one.name, one.value) for one in kept.changes()] == [("a", "2"), ("b", "1")]
    kept.take(URL, (("Set-Cookie", "a=; Max-Age=0"),), NOW)
    [gone] = kept.changes()
    assert (gone.name, gone.value, gone.expires_at) == ("a", "", 0.0)
    assert kept.changes() == ()


def test_cookie_value_is_not_in_its_repr() -> None:
    cookie = Cookie("id", "secret", "example.org")
    assert "secret" not in f"{cookie} {cookie!r} {(cookie,)}"


hosts = st.sampled_from(
    ["example.org", "www.example.org", "a.www.example.org", "other.org", "me.github.io",
     "you.github.io", "github.io", "192.0.2.1", "localhost", "example.co.uk", "co.uk"]
)  # fmt: skip
urls = st.builds(
    "{}://{}{}".format,
    st.sampled_from(["http", "https"]),
    hosts,
    st.sampled_from(["/", "/a", "/a/", "/a/b", "/ab?q=/a/"]),
)
texts = st.builds(
    "{}={}{}{}{}{}".format,
    st.sampled_from(["a", "b", "__Host-c", "__Secure-d"]),
    st.sampled_from(["1", "2", "x" * 90]),
    st.one_of(st.just(""), st.builds("; Domain={}".format, hosts)),
    st.one_of(st.just(""), st.builds("; Path={}".format, st.sampled_from(["/", "/a", "x"]))),
    st.one_of(st.just(""), st.builds("; Max-Age={}".format, st.integers(-1, 100))),
    st.sampled_from(["", "; Secure"]),
)
steps = st.lists(st.tuples(urls, st.lists(texts, max_size=4), st.floats(0, 60)), max_size=8).map(
    lambda drawn: [step for step in drawn if site_of(step[0]) == site_of(drawn[0][0])]
)
"""URLs of one site, as the visits of an order."""


@pytest.mark.slow
@given(steps, st.integers(0, 3))
def test_any_cookies_keep_site_limits_and_changes(
    given_steps: list[tuple[str, list[str], float]], most: int
) -> None:
    kept, told, now = Jar((), most, 80), tuple[Cookie, ...](), NOW
    for url, set_cookies, seconds in given_steps:
        now += seconds
        kept.take(url, tuple(("Set-Cookie", text) for text in set_cookies), now)
        changes = kept.changes()
        told = merge_cookies(told, changes, now)
        for one in changes:
            assert len(one.value) <= 80
            assert site_of(f"http://{one.domain}/") == site_of(url)
        text = cookie_header(kept, url, now - NOW)
        assert text.count("=") <= 3 * most
        # The reported changes suffice: the next order begins with them.
        again = Jar(cookies_for(host_key(url), told, now), most, 80)
        assert sorted(cookie_header(again, url, now - NOW).split("; ")) == sorted(text.split("; "))


@given(st.lists(st.text(max_size=60), max_size=5), urls)
def test_arbitrary_set_cookie_raises_nothing(set_cookies: Iterable[str], url: str) -> None:
    kept = Jar((), 10, 1000)
    kept.take(url, tuple(("Set-Cookie", text) for text in set_cookies), NOW)
    assert all(
        not re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text) for _, text in kept.header(url, NOW)
    )
