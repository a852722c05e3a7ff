"""Statements of tdmrep.json and of RSL license files, and which of them decide about a URL."""

import json

import pytest

from gossamer.web.robots import parse_robots
from gossamer.web.usage.files import MAX_CARRIED_STATEMENTS, UsageFile
from gossamer.web.usage.reading import read_usage_file

HOST = "https://a.test"
TDMREP, LICENSE = f"{HOST}/.well-known/tdmrep.json", f"{HOST}/license.xml"
RESERVED, OPEN = {"train-ai": False, "ai-input": False}, {"train-ai": True, "ai-input": True}


def read(body: bytes, url: str = TDMREP) -> UsageFile:
    return UsageFile(url, *read_usage_file(body, url, HOST))


def tdmrep(*entries: object) -> UsageFile:
    return read(json.dumps(entries).encode())


def rsl(content: str) -> UsageFile:
    return read(f'<rsl xmlns="https://rslstandard.org/rsl">{content}</rsl>'.encode(), LICENSE)


def says(file: UsageFile, path: str = "/p") -> list[dict[str, bool]]:
    return [one.says for one in file.statements_about(HOST + path)]


def test_first_matching_entry_of_tdmrep_decides() -> None:
    file = tdmrep(
        {"location": "/a/", "tdm-reservation": 1, "tdm-policy": "https://a.test/policy"},
        {"location": "/a/open/", "tdm-reservation": 0},
        {"location": "/*.pdf$", "tdm-reservation": 0},
    )
    (found,) = file.statements_about(f"{HOST}/a/open/x")
    assert (found.place, found.says) == ("entry 1", RESERVED)
    assert found.license and found.license.url == "https://a.test/policy"
    assert '"tdm-reservation": 1' in found.text
    assert says(file, "/x.pdf") == [OPEN]
    assert says(file, "/x.pdf?q") == says(file, "/b") == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, RESERVED), (0, OPEN), ("1", RESERVED), (1.0, RESERVED), (2, {}), (None, {}), (True, {})],
)
def test_other_values_of_a_reservation_are_unset(value: object, expected: dict[str, bool]) -> None:
    assert says(tdmrep({"location": "/", "tdm-reservation": value})) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><title>Just a moment</title>",
        b'{"error": "not found", "status": 404}',
        b"[" * 100_000,
        b"\xff\xfe[]",
    ],
)
def test_response_without_a_key_of_the_protocol_says_nothing(body: bytes) -> None:
    file = read(body)
    assert (file.statements, bool(file.fault)) == ((), True)


def test_entry_without_an_array_is_read() -> None:
    assert says(read(b'{"location": "/", "tdm-reservation": 1}')) == [RESERVED]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"tdm-reservation": 1}', [RESERVED]),  # eprint.iacr.org in 2026
        (
            b'{"tdm-reservation": 1, "policy": "https://a.test/tdm", "contact": "a@a.test"}',
            [RESERVED],
        ),
        (b'{"tdm-reservation": 0}', []),
        (b'{"rules": [{"location": "/", "tdm-reservation": 1}]}', [RESERVED]),
        (b"[{'location': '/', 'tdm-reservation': 1}]", [RESERVED]),
        (
            b'[{"location": "/", "tdm-reservation": 1, "tdm-licence": "https://a.test/l"},]',
            [RESERVED],
        ),
        ('[{"location": "/", "tdm-reservation": 1}]'.encode("utf-16"), [RESERVED]),
    ],
)
def test_tdmrep_of_another_form_is_read_or_reserved(
    body: bytes, expected: list[dict[str, bool]]
) -> None:
    assert says(read(body)) == expected


def test_empty_tdmrep_says_nothing() -> None:
    assert says(read(b"[]")) == []


def test_carried_file_says_the_same_about_its_urls() -> None:
    file = tdmrep(*({"location": f"/{n}/", "tdm-reservation": n % 2} for n in range(100)))
    urls = [f"{HOST}/{n}/x" for n in (3, 40, 7)]
    carried = file.narrow_to(urls)
    assert len(carried.statements) == 3 < MAX_CARRIED_STATEMENTS
    for url in urls:
        assert carried.statements_about(url) == file.statements_about(url)


def test_license_has_its_terms_and_its_place() -> None:
    file = rsl(
        '<content url="/"><license><permits type="usage">ai-train, search</permits>'
        '<permits type="geo">DE</permits><prohibits type="usage">ai-input</prohibits>'
        '<payment type="crawl"><amount currency="USD">0.01</amount>'
        "<standard>https://a.test/rates</standard></payment></license></content>"
    )
    (found,) = file.statements_about(f"{HOST}/p")
    assert found.place == f"{LICENSE}, license 1"
    license = found.license
    assert license and license.url == LICENSE
    assert license.permits == ("ai-train", "search", "geo: DE")
    assert license.prohibits == ("ai-input",)
    assert license.payment == {
        "type": "crawl",
        "currency": "USD",
        "amount": "0.01",
        "standard": "https://a.test/rates",
    }
    assert found.says == {"search": False, "train-ai": False, "ai-input": False}


ALLOWED = {"search": True, "archive": True, "train-ai": True, "ai-input": True}
LICENSES = {
    "nothing": ("<license/>", [ALLOWED]),
    "one use is prohibited": (
        '<license><prohibits type="usage">ai-train</prohibits></license>',
        [{**ALLOWED, "train-ai": False}],
    ),
    "unlisted uses are prohibited": (
        '<license><permits type="usage">search</permits></license>',
        [{"search": True, "train-ai": False, "ai-input": False}],
    ),
    "all uses are prohibited": (
        '<license><prohibits type="usage">all</prohibits></license>',
        [dict.fromkeys(ALLOWED, False)],
    ),
    "a price": ('<license><payment type="purchase"/></license>', [dict.fromkeys(ALLOWED, False)]),
    "an attribution is no price": ('<license><payment type="attribution"/></license>', [ALLOWED]),
    "a price or a free license": (
        '<license><permits type="usage">ai-train</permits><payment type="crawl"/></license>'
        '<license><permits type="usage">all</permits><payment type="free"/></license>',
        [{}, ALLOWED],
    ),
    "for some users only": (
        '<license><permits type="usage">search</permits><permits type="user">education</permits>'
        "</license>",
        [{"train-ai": False, "ai-input": False}],
    ),
}


@pytest.mark.parametrize(("licenses", "expected"), LICENSES.values(), ids=LICENSES)
def test_licenses_of_a_content_are_alternatives(
    licenses: str, expected: list[dict[str, bool]]
) -> None:
    assert says(rsl(f'<content url="/">{licenses}</content>')) == expected


def test_content_with_a_license_server_needs_a_license() -> None:
    file = rsl('<content url="/" server="https://l.test/api"><license/></content>')
    (found,) = file.statements_about(f"{HOST}/p")
    assert not any(found.says.values()) and found.license
    assert found.license.payment["server"] == "https://l.test/api"


def test_longest_pattern_of_a_license_file_decides() -> None:
    closed = '<license><prohibits type="usage">all</prohibits></license>'
    file = rsl(
        f'<content url="/"><license/></content>'
        f'<content url="{HOST}/images/*">{closed}</content>'
        f'<content url="https://other.test/">{closed}</content>'
    )
    assert says(file) == [ALLOWED]
    assert says(file, "/images/1") == [dict.fromkeys(ALLOWED, False)]
    assert len(file.statements) == 2


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rsl xmlns="https://rslstandard.org/rsl"/>'


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html><body>Just a moment</body></html>",
        '<rsl xmlns="urn:other"><content url="/"/></rsl>',
        '{"license": "none"}',
    ],
)
def test_response_without_an_element_of_rsl_says_nothing(body: str) -> None:
    file = read(body.encode(), LICENSE)
    assert (file.statements, bool(file.fault)) == ((), True)


@pytest.mark.parametrize(
    "body",
    [
        '<rsl xmlns="https://rslstandard.org/rsl"><content>',
        '<rss xmlns:rsl="https://rslstandard.org/rsl"><rsl:content url="/"/></rss>',
        '<!DOCTYPE rsl SYSTEM "http://x.test/x.dtd"><rsl xmlns="https://rslstandard.org/rsl"/>',
        BOMB,
        '<rsl xmlns="https://rslstandard.org/rsl">' + "<a>" * 1000,
    ],
)
def test_license_file_that_cannot_be_read_is_reserved(body: str) -> None:
    file = read(body.encode(), LICENSE)
    assert says(file) == [dict.fromkeys(ALLOWED, False)] and file.fault


def test_license_lines_of_robots_txt_are_for_their_group_or_for_all() -> None:
    body = (
        b"License: https://a.test/all.xml\n\nUser-agent: otherbot\nLicense: /other.xml\n\n"
        b"User-agent: *\nDisallow: /x\nLicense: /ours.xml\nLicense: http://[\n"
    )
    rules = parse_robots(body, "gossamer", 0.0, 60.0, f"{HOST}/robots.txt").rules
    assert [(one.url, one.line) for one in rules.licenses] == [
        (f"{HOST}/all.xml", 1),
        (f"{HOST}/ours.xml", 8),
    ]
