"""robots.txt: the RFC's examples, mistakes that Google accepts, and laws of every file."""

import re
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.web.robots import LIMIT, RobotsFile, RobotsRules, Rule, is_token, parse_robots
from gossamer.web.robots.reader import MAX_SITEMAPS

ROOT = "http://example.org"


def parse(text: str | bytes, product: str = "gossamer", cut: bool = False) -> RobotsFile:
    body = text.encode() if isinstance(text, str) else text
    return parse_robots(body, product, 1000.0, 500.0, f"{ROOT}/robots.txt", cut)


def rules(text: str | bytes, product: str = "gossamer") -> RobotsRules:
    return parse(text, product).rules


def disallowing(*patterns: str) -> RobotsRules:
    return rules("User-agent: *\n" + "".join(f"Disallow: {one}\n" for one in patterns))


MATCHES = [
    # RFC 9309, 2.2.2, the table of encodings: both sides of each row, in both directions.
    ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
    ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
    ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
    ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"),
    ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
    # 2.2.3, special characters and their escapes.
    ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
    ("/path/foo-%24", "/path/foo-$"),
    ("/this/*/exactly", "/this/path/exactly"),
    ("*.gif$", "/a/b.gif"),
    ("/a$b", "/a$bc"),
    ("/**/x", "/a/x"),
    ("/fish*", "/fishheads/yummy.html"),
    ("/a b", "/a%20b"),
    ("/à", "/%C3%A0"),
    ("/?", "/?x"),
    ("/?$", "/?"),
    ("/*?", "/a?b=c"),
    ("/~joe/", "/%7Ejoe/x"),
    # 2.2.2: an escaped reserved character is data; a slash in a query is data in both forms.
    ("/*%2F*", "/a%2fb"),
    ("/*%2F*", "/a?b=%2Fc"),
    ("/*%2F*", "/a?b=c/d"),
    ("/*/print", "/a?to=%2Fprint"),
    ("/*%2F?x%2Fy$", "/a%2F?x/y"),
    ("/100%", "/100%25"),
]
MISSES = [
    ("/fish", "/Fish.asp"),
    ("/fish/", "/fish"),
    ("/*.php$", "/filename.php?parameters"),
    ("/*.php$", "/filename.php5"),
    ("/a*a$", "/a"),
    ("/*?", "/what%3F"),
    ("/*&sort=", "/?next=%2Fa%26sort%3D1"),
    ("/this/*/exactly", "/this/exactly"),
    ("fish", "/fish"),
    ("/$", "/x"),
    ("/*%2F*", "/a/b"),
    ("/x%2F", "/x/"),
    ("/x/", "/x%2F"),
    ("/a%252Fb", "/a%2Fb"),
]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [*((*row, True) for row in MATCHES), *((*row, False) for row in MISSES)],
)
def test_pattern_matches_a_path(pattern: str, path: str, matches: bool) -> None:
    assert disallowing(pattern).allows(ROOT + path) is not matches


def test_longest_rule_decides_and_allow_wins_a_tie() -> None:
    found = rules("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /a/b/c\n")
    assert found.deciding_rule(f"{ROOT}/a/b/c") == Rule(True, "/a/b/c", 5)
    assert found.deciding_rule(f"{ROOT}/a/b") == Rule(True, "/a/b", 3)
    assert found.deciding_rule(f"{ROOT}/ab") == Rule(False, "/a", 2)
    assert found.deciding_rule(f"{ROOT}/b") is None


def test_explanation_names_the_deciding_line() -> None:
    found = rules("# hello\r\n\r\nuser-agent: *\r\nDISALLOW: /private/ # keep out\r\nallow:/x\r\n")
    assert found.explain(f"{ROOT}/private/x") == "line 4: Disallow: /private/"
    assert found.explain(f"{ROOT}/x") == "line 5: Allow: /x"
    assert found.explain(f"{ROOT}/y") == "no rule of robots.txt applies"
    assert found.explain(f"{ROOT}/robots.txt") == "/robots.txt itself may always be visited"
    assert RobotsRules(forbidden="it is down").explain(ROOT) == "it is down"


def test_unreachable_file_disallows_all_but_itself() -> None:
    found = RobotsRules(forbidden="robots.txt answer 503")
    assert not found.allows(f"{ROOT}/")
    assert not found.allows(f"{ROOT}/robots.txt?x")
    assert found.allows(f"{ROOT}/robots.txt")


def test_groups_that_name_us_are_merged_and_hide_the_default() -> None:
    text = """
        User-agent: *
        Disallow: /everyone
        User-agent: other
        User-agent: GOSSAMER/1.0 (like something)
        Disallow: /a
        Sitemap: http://example.org/s.xml
        User-agent: other
        Disallow: /c
        User-agent: gossamer
        Crawl-delay: 3
        User-agent: gossamer-images
        Disallow: /b
    """
    found = rules(text)
    assert [rule.pattern for rule in found.rules] == ["/a", "/b"]
    assert [rule.pattern for rule in rules(text, "nobody").rules] == ["/everyone"]
    assert found.crawl_delay == 3.0


def test_group_without_rules_hides_the_default() -> None:
    assert rules("User-agent: *\nDisallow: /\n\nUser-agent: gossamer\nDisallow:\n").allows(ROOT)


@pytest.mark.parametrize(
    ("value", "delay"),
    [("10", 10.0), ("0.5", 0.5), ("1e9", 1e9), ("-1", 0.0), ("nan", 0.0), ("inf", 0.0),
     ("1e999", 0.0), ("soon", 0.0), ("", 0.0), ("10 # please", 10.0),
     ("10s", 10.0), ("10 s", 10.0), ("2.5 Seconds", 2.5),
     ("5 sec.", 5.0), ("1,5", 1.5), ("10;", 10.0), ("500ms", 0.5), ("2 min", 120.0),
     ("10 m", 600.0), ("1h", 3600.0), ("s", 0.0), ("10 apples", 0.0), ("-3s", 0.0),
     ("1,000,000", 0.0), ("1 10", 0.0)],
)  # fmt: skip
def test_crawl_delay_is_a_number_of_seconds(value: str, delay: float) -> None:
    assert rules(f"User-agent: *\nCrawl-delay: {value}\n").crawl_delay == delay


def test_unit_of_a_crawl_delay_is_a_mistake() -> None:
    """Report reppy #27: the intention is beyond doubt."""
    found = [
        parse(f"User-agent: *\nCrawl-delay: {value}\n").malformed for value in ("3", "3s", "1,5")
    ]
    assert found == [0, 1, 1]


def test_longest_crawl_delay_counts() -> None:
    text = "User-agent: *\nCrawl-delay: 5\nCrawl-delay: 9\nCrawl-delay: 2\nDisallow: /a\n"
    assert rules(text).crawl_delay == 9.0


SPELLINGS = [
    b"User-agent: *\rDisallow: /a",
    b"user-agent:*\r\n\r\nDISALLOW:/a\r\n",
    b"\xef\xbb\xbfUser-Agent: *\nDisallow: /a",
    b"\xef\xbbUser-Agent: *\nDisallow: /a",
    b"\xefUser-Agent: *\nDisallow: /a",
    b"useragent *\ndisalow /a",
    b"<html>\n\x00\xff\xfe\nUser agent: *\n<br>\nDissallow : \t/a  # x",
    b"User-agent: *\nnonsense\nAllow\n: \nDisallow: /a\nDisallow: \xff",
    b"User-agent: *<BR>\r\nDisallow: /a<br />",
    b"User-agent: *<br>Disallow: /a<BR/>Allow: /b",
    b"useg-agent: *\nDesallow: /a",
    b"User_agents: *\nDissalow: /a",
    b"User.Agent: *\nDisallowed: /a",
]


@pytest.mark.parametrize("body", SPELLINGS)
def test_misspelt_keys_are_corrected(body: bytes) -> None:
    assert not rules(body).allows(f"{ROOT}/a")
    assert rules(body).allows(f"{ROOT}/b")


NAMES = [
    ("Googlebot, gossamer", True),
    ("gossamer; other", True),
    ("other gossamer", True),
    ("gossamer the crawler", True),
    ("Mozilla/5.0 (compatible; gossamer/1.0)", True),
    ("other, *", True),
    ("other, gossamers", False),
    ("not-gossamer", False),
    ("", False),
]


@pytest.mark.parametrize(("names", "ours"), NAMES)
def test_line_may_name_several_crawlers(names: str, ours: bool) -> None:
    assert rules(f"User-agent: {names}\nDisallow: /a\n").allows(f"{ROOT}/a") is not ours


def test_line_that_names_us_hides_the_default_group() -> None:
    text = "User-agent: *\nDisallow: /\nUser-agent: one, gossamer two\nDisallow: /a\n"
    assert rules(text).allows(f"{ROOT}/b")


WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-8"]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_file_is_read_in_every_unicode_encoding(encoding: str, mark: str) -> None:
    body = (mark + "User-agent: *\r\nDisallow: /caf\xe9\r\nDisallow: /half").encode(encoding)
    found = parse(body, cut=True).rules
    assert [rule.pattern for rule in found.rules] == ["/caf%C3%A9"]


@pytest.mark.parametrize(
    ("line", "urls"),
    [
        (b"Sitemap: http://h.example/plan-caf\xe9.xml", ("http://h.example/plan-caf%E9.xml",)),
        (b"Sitemap: /plan-caf\xc3\xa9.xml", ("http://example.org/plan-caf%C3%A9.xml",)),
        (b"Sitemap: http://caf\xc3\xa9.example/s", ("http://xn--caf-dma.example/s",)),
        (b"Sitemap: http://caf\xe9.example/s", ()),
        (b"Sitemap:", ()),
        (b"Sitemap: # none", ()),
    ],
)
def test_octets_of_a_sitemap_line_are_kept(line: bytes, urls: tuple[str, ...]) -> None:
    """The kind of scrapy #2321. An empty line is not the URL of the robots.txt itself."""
    found = parse_robots(line, "gossamer", 0.0, 1.0, "http://example.org/robots.txt")
    assert found.sitemaps == urls
    is_empty = not line.partition(b":")[2].partition(b"#")[0].strip()
    assert found.malformed == (not is_empty and (b"://" not in line or not urls))


def test_octets_of_a_license_line_are_kept() -> None:
    body = b"License: /caf\xe9.xml\nLicense:\n"
    found = parse_robots(body, "gossamer", 0.0, 1.0, "http://example.org/robots.txt")
    assert found.malformed == 0
    assert [one.url for one in found.rules.licenses] == ["http://example.org/caf%E9.xml"]


def test_sitemaps_are_independent_of_groups() -> None:
    text = """
        Sitemap: https://example.org/one.xml
        User-agent: other
        Site-map: http://elsewhere.example/two.xml#x
        sitemap: /three.xml.gz
        Sitemap: mailto:me
        Sitemap: https://example.org/one.xml
    """
    assert parse(text).sitemaps == (
        "https://example.org/one.xml",
        "http://elsewhere.example/two.xml",
        f"{ROOT}/three.xml.gz",
    )


def test_usage_lines_are_parsed() -> None:
    text = """
        User-agent: *
        Content-Signal: search=yes, ai-train=no
        Content-Usage: train-ai=n
        Content-Usage: /free/ train-ai=y
        Content-Usage: /free/ search=y
        Disallow: /no
        User-agent: other
        Content-Usage: train-ai=y
    """
    found = rules(text)
    assert list(map(str, found.usage_of(f"{ROOT}/x"))) == [
        "robots.txt line 3: Content-Signal: search=yes, ai-train=no",
        "robots.txt line 4: Content-Usage: train-ai=n",
    ]
    assert list(map(str, found.usage_of(f"{ROOT}/free/x"))) == [
        "robots.txt line 3: Content-Signal: search=yes, ai-train=no",
        "robots.txt line 5: Content-Usage: /free/ train-ai=y",
        "robots.txt line 6: Content-Usage: /free/ search=y",
    ]
    assert rules("User-agent: *\nDisallow: /\n").usage_of(ROOT) == ()


def test_only_a_slash_begins_the_path_of_a_usage_line() -> None:
    found = rules("User-agent: *\nContent-Usage: *x train-ai=n\nContent-Usage: /a*x train-ai=n\n")
    assert [one.pattern for one in found.usage] == ["/", "/a*x"]
    assert [one.says for one in found.usage_of(f"{ROOT}/x")] == [{}]
    assert [one.says for one in found.usage_of(f"{ROOT}/abx")] == [{"train-ai": False}]


def test_usage_lines_with_equally_long_paths_all_count() -> None:
    found = rules("User-agent: *\nContent-Usage: /ab train-ai=n\nContent-Usage: /*b train-ai=y\n")
    assert [one.says["train-ai"] for one in found.usage_of(f"{ROOT}/ab")] == [False, True]


def test_long_usage_statement_is_read_as_a_whole_and_cut_afterwards() -> None:
    found = rules(f"User-agent: *\nContent-Usage: {'x=1, ' * 100}train-ai=n\n")
    (statement,) = found.usage_of(ROOT)
    assert (len(statement.text), statement.says) == (300, {"train-ai": False})


def test_usage_lines_of_one_file_are_limited() -> None:
    found = rules("User-agent: *\n" + "Content-Usage: train-ai=n\n" * 1000)
    assert len(found.usage) == 100


SOUND = [
    "",
    "# nothing",
    "User-agent: *\nDisallow:\nAllow: /a # yes\nCrawl-delay: 2.5\nHost: example.org",
    "Sitemap: http://example.org/s.xml\r\nuser-agent:a\r\nDISALLOW:/*.gif$\r\n",
]
MALFORMED = [
    "Disallow: /a", "User-agent: *\nDisalow: /a", "User-agent: *\nDisallow /a",
    "User-agent: *\nDisallow: a", "User-agent: *\nCrawl-delay: soon",
    "User-agent: *<br>Disallow: /a", "Sitemap: nowhere", "<html>", "\ufeffUser-agent: *",
]  # fmt: skip


@pytest.mark.parametrize("text", [*SOUND, *MALFORMED])
def test_malformed_lines_are_counted(text: str) -> None:
    assert (parse(text).malformed > 0) is (text in MALFORMED)


def test_octets_that_are_not_utf8_are_compared_literally() -> None:
    found = rules(b"User-agent: *\nDisallow: /caf\xe9\n")
    assert found.rules[0].pattern == "/caf%E9"
    assert not found.allows(f"{ROOT}/caf%e9/x")


def test_only_whole_lines_of_the_first_500_kib_are_parsed() -> None:
    start = b"User-agent: *\nDisallow: /first\n"
    filling = b"#" * (LIMIT - len(start) - 12) + b"\n"
    found = rules(start + filling + b"Disallow: /second\nDisallow: /third\n")
    assert [rule.pattern for rule in found.rules] == ["/first"]


def test_rules_have_fetch_and_expiry_times() -> None:
    found = rules(b"")
    assert (found.fetched_at, found.expires_at) == (1000.0, 1500.0)


def test_product_token_is_letters_hyphens_and_underscores() -> None:
    assert [is_token(one) for one in ("gossamer", "Goss_a-mer", "", "a b", "bot2", "é")] == [
        True, True, False, False, False, False
    ]  # fmt: skip


def test_pattern_of_many_stars_is_matched_quickly() -> None:
    found = disallowing("/" + "*a" * 40 + "b$", "/" + "*" * 5000 + "b$")
    assert found.allows(f"{ROOT}/{'a' * 2000}")
    assert not found.allows(f"{ROOT}/{'a' * 2000}b")


paths = st.text("ab/*$?%=é", max_size=12).map(lambda text: "/" + text)
files = st.lists(
    st.tuples(st.sampled_from(["User-agent", "Allow", "Disallow", "Crawl-delay", "x"]), st.text())
).map(lambda lines: "\n".join(f"{key}: {value}" for key, value in lines))


@given(st.binary() | files.map(str.encode), paths)
@example(b"\xef\xbb", "/")
def test_arbitrary_file_raises_nothing(body: bytes, path: str) -> None:
    found = parse_robots(body, "gossamer", 0.0, 1.0).rules
    url = ROOT + quote(path, safe="/*$?=%")
    rule = found.deciding_rule(url)
    assert found.allows(url) == (rule is None or rule.allow)
    assert found.explain(url)
    assert found.allows(f"{ROOT}/robots.txt")
    assert found.crawl_delay >= 0
    assert all(re.fullmatch(r"[\x21-\x7e]+", rule.pattern) for rule in found.rules)


@given(st.text("ab*$/", max_size=8), st.text("ab/", max_size=16))
def test_matching_equals_a_regular_expression(pattern: str, path: str) -> None:
    body, end = (pattern[:-1], "$") if pattern.endswith("$") else (pattern, "")
    expression = ".*".join(map(re.escape, body.split("*"))) + (r"\Z" if end else "")
    expected = re.match("/" + expression, "/" + path) is not None
    assert disallowing("/" + pattern).allows(f"{ROOT}/{path}") is not expected


@given(st.permutations(["/a", "/a/b", "/a/*", "/*b$", "/a/bc", "/b"]), paths)
def test_order_of_rules_makes_no_difference(patterns: list[str], path: str) -> None:
    url = ROOT + quote(path, safe="/*$?=%")
    lines = [f"{'Allow' if len(one) % 2 else 'Disallow'}: {one}" for one in patterns]
    shuffled, ordered = (rules("User-agent: *\n" + "\n".join(x)) for x in (lines, sorted(lines)))
    assert shuffled.allows(url) == ordered.allows(url)


@given(st.text("ab~é:c", min_size=1, max_size=10), st.integers(0, 2**10 - 1))
def test_escaping_a_character_makes_no_difference(text: str, which: int) -> None:
    octets = text.encode()
    spelt = "".join(
        f"%{octet:02x}" if octet > 127 or which >> at & 1 else chr(octet)
        for at, octet in enumerate(octets)
    )
    assert not disallowing("/" + text).allows(f"{ROOT}/{spelt}")
    assert not disallowing("/" + spelt).allows(f"{ROOT}/{quote(text)}")


def test_sitemaps_beyond_the_limit_are_counted() -> None:
    lines = [f"Sitemap: http://h.test/{number}.xml" for number in range(MAX_SITEMAPS)]
    url = "http://h.test/robots.txt"
    full = parse_robots("\n".join([*lines, lines[0]]).encode(), "gossamer", 0.0, 1.0, url)
    assert (len(full.sitemaps), full.malformed) == (MAX_SITEMAPS, 0) == (100, 0)
    more = [*lines, "Sitemap: http://h.test/more.xml", "User-agent: *", "Disallow: /a"]
    over = parse_robots("\n".join(more).encode(), "gossamer", 0.0, 1.0, url)
    assert (over.sitemaps, over.malformed) == (full.sitemaps, 1)
    assert over.rules.lines
