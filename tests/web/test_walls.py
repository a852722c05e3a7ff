"""Walls: what each product sends, and documents that only look like a wall."""

import base64
import gzip
import json
import sys

import pytest

from gossamer.web import walls
from gossamer.web.http import Headers
from gossamer.web.walls import (
    MAX_WALL_BYTES,
    SIGNATURES,
    UNKNOWN,
    Wall,
    WallKind,
    Walls,
    find_refusal,
)

URL = "https://a.test/page?n=1"
WORDS = " ".join(f"word{n}" for n in range(400)).encode()
ARTICLE = b"<html><body><h1>How walls work</h1><p>" + WORDS + b"</p>%s</body></html>"
APP = (
    b'<!doctype html><html><head><title>App</title><script src="/assets/app.js"></script></head>'
    b'<body><div id="root"></div><noscript>You need JavaScript.</noscript></body></html>'
)
RSL = 'License error="invalid_request", error_description="A license is needed"'


def find(status: int, body: bytes = b"", *headers: tuple[str, str], url: str = URL) -> Wall | None:
    return Walls().find(url, status, headers, body, "text/html")


CHALLENGES: dict[str, tuple[str, int, Headers, bytes]] = {
    "cloudflare": ("Cloudflare", 403, (("CF-Mitigated", "challenge"),), b""),
    "cloudflare with 429": ("Cloudflare", 429, (("cf-mitigated", "challenge"),), b"x"),
    "cloudflare without header": (
        "Cloudflare", 503, (),
        b"<title>Just a moment...</title><script>window._cf_chl_opt={};a.src="
        b"'/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'</script>"),
    "vercel": ("Vercel", 429, (("X-Vercel-Mitigated", "challenge"),), b""),
    "aws challenge": ("AWS WAF", 202, (("x-amzn-waf-action", "challenge"),), b""),
    "aws captcha": ("AWS WAF", 405, (("x-amzn-waf-action", "captcha"),), b""),
    "anubis": (
        "Anubis", 200, (("Set-Cookie", "techaro.lol-anubis-cookie-verification=1; Path=/"),),
        b"<title>Making sure you're not a bot!</title><script type=module>work()</script>"),
    "anubis markup": (
        "Anubis", 202, (),
        b'<script id="anubis_challenge" type="application/json">{"rules":{}}</script><p>Wait'),
    "anubis refusal": (
        "Anubis", 200, (),
        b'<link rel=stylesheet href="/.within.website/x/cmd/anubis/static/x.css"><p>Oh no!'),
    "go-away": (
        "go-away", 418, (),
        b"<meta http-equiv=refresh content='1; url=/.well-known/.git.gammaspectra.live/git/go-away/"
        b"cmd/go-away/challenge'><p>Checking"),
    "akamai": (
        "Akamai", 200, (("Set-Cookie", "ak_bmsc=1"),),
        b"<meta http-equiv=\"refresh\" content=\"5; URL='/page?bm-verify=AAQ'\"><script></script>"),
    "akamai crypto": (
        "Akamai", 428, (), b'<script src="/_sec/cp_challenge/ak-challenge-4.js"></script>'),
    "akamai denied": (
        "Akamai", 403, (("Server", "AkamaiGHost"),),
        b"<TITLE>Access Denied</TITLE>No permission.<P>Reference&#32;&#35;18&#46;7f"),
    "datadome": (
        "DataDome", 403, (("X-DataDome", "protected"),),
        b"<script>var dd={'cid':'a'}</script>"
        b"<script src='https://ct.captcha-delivery.com/c.js'></script>"),
    "human": ("HUMAN", 403, (), b"<script>window._pxAppId='PX1';</script><p>Press &amp; Hold"),
    "human captcha": ("HUMAN", 429, (), b'<div id="px-captcha"></div>'),
    "imperva": (
        "Imperva", 403, (("X-Iinfo", "1-2"),),
        b'<iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=1">Request unsuccessful.'),
    "imperva incident": ("Imperva", 200, (), b"Incapsula incident ID: 1-2"),
    "imperva script": (
        "Imperva", 200, (),
        b'<head><script src="/_Incapsula_Resource?SWJIYLWA=1"></script></head><body></body>'),
    "sucuri": (
        "Sucuri", 200, (),
        b"<title>You are being redirected...</title><script>var sucuri_cloudproxy_js=''</script>"),
    "sucuri block": ("Sucuri", 403, (("X-Sucuri-Block", "BNP005"),), b""),
    "ddos-guard": (
        "DDoS-Guard", 403, (), b'<script src="/.well-known/ddos-guard/check/a.js"></script>'),
    "siteground": (
        "SiteGround", 202, (),
        b'<meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F">'),
    "testcookie": (
        "testcookie", 200, (),
        b'<script src="/aes.js"></script><script>document.cookie="__test="+toHex('
        b'slowAES.decrypt(c,2,a,b));location.href="/page?i=1"</script>'),
    "refresh": (
        UNKNOWN, 200, (),
        b'<html><head><meta http-equiv="refresh" content="2"><script>s()</script></head></html>'),
    "refresh to its URL": (
        UNKNOWN, 200, (), b"<meta content='0; url=/page?n=1' http-equiv=refresh>"),
    "reload": (
        UNKNOWN, 200, (),
        b"<p>One moment</p><script>document.cookie='a=1';window.location.reload(true)</script>"),
    "assigned location": (
        UNKNOWN, 200, (),
        b"<script>document.cookie='a=1';location.href = window.location.href</script>"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "status", "headers", "body"), CHALLENGES.values(), ids=CHALLENGES)
def test_challenge_is_recognised(name: str, status: int, headers: Headers, body: bytes) -> None:
    wall = find(status, body, *headers)
    assert wall and (wall.kind, wall.name) == (WallKind.CHALLENGE, name)
    assert wall.text.startswith("challenged by ") and wall.evidence in wall.text
    packed = find(status, gzip.compress(body), *headers, ("Content-Encoding", "gzip"))
    assert packed == wall


def test_each_product_of_the_table_has_a_captured_shape() -> None:
    assert {row.name for row in SIGNATURES} == {name for name, *_ in CHALLENGES.values()} - {
        UNKNOWN
    }
    assert all(row.source.startswith("https://") for row in SIGNATURES)


HONEST: dict[str, tuple[int, Headers, bytes]] = {
    "application": (200, (), APP),
    "application that may reload": (
        200, (), APP.replace(b"</head>", b"<script>onerror=()=>location.reload()</script></head>")),
    "language chooser": (
        200, (), b"<script>document.cookie='lang=en';location.href='/en/'</script>"),
    "redirect by refresh": (200, (), b'<meta http-equiv=refresh content="0; url=/home">'),
    "redirect without a mark": (200, (), b'<meta http-equiv=refresh content="0 url=/home">'),
    "redirect to a language": (200, (), b"<meta http-equiv=refresh content='0;url=?n=1&lang=de'>"),
    "invalid refresh": (200, (), b"<meta http-equiv=refresh content='url=/home'>"),
    "refresh without scripts": (
        200, (), b'<noscript><meta http-equiv=refresh content="0"></noscript><script>x()</script>'),
    "live page": (
        200, (), b'<meta http-equiv=refresh content="60"><p>' + WORDS + b"<script>x()</script>"),
    "webcam": (200, (), b'<meta http-equiv=refresh content="60"><img src=/now.jpg>'),
    "passed Cloudflare": (200, (("Server", "cloudflare"), ("CF-RAY", "1")), ARTICLE % b""),
    "passed DataDome": (
        200, (("X-DataDome", "protected"),), ARTICLE % b"<script src=//js.datadome.co/tags.js>"),
    "passed Akamai": (200, (("Set-Cookie", "_abck=1"), ("Set-Cookie", "bm_sz=2")), ARTICLE % b""),
    "passed Imperva": (
        200, (("X-Iinfo", "1"),),
        ARTICLE % b'<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>'),
    "passed Anubis": (200, (("Set-Cookie", "techaro.lol-anubis-auth=1"),), ARTICLE % b"<script>"),
    "article about walls": (
        200, (), ARTICLE % b'<pre>&lt;script id="anubis_challenge"> bm-verify= captcha</pre>'),
    "article with raw marks": (
        200, (), ARTICLE % b'<script id="anubis_challenge"></script> Incapsula incident ID: 1'),
    "list of links": (200, (), b"<a href=/>x</a>" * 20 + b"Incapsula incident ID"),
    "plain 403": (403, (), b"<h1>403 Forbidden</h1>"),
    "application with 403": (403, (), APP),
    "server error": (503, (), b"<h1>503 Service Unavailable</h1>"),
    "empty": (202, (), b""),
    "redirect": (307, (), b"<script>document.cookie='a=1';location.reload()</script>"),
    "signed requests only": (
        403, (("Accept-Signature", 'sig1=("@authority")'), ("cf-mitigated", "challenge")), b""),
    "password": (401, (("WWW-Authenticate", 'Basic realm="our license"'),), b"Log in"),
    "password with a comma": (401, (("WWW-Authenticate", 'Basic realm="a, license b"'),), b""),
    "frame that refreshes": (
        200, (), b'<meta http-equiv=refresh content="60"><iframe src=/board></iframe>'),
    "licensed page": (200, (("Link", '</license.xml>; rel="license"'),), ARTICLE % b""),
    "other link with 403": (403, (("Link", "</x>; rel=alternate"),), b"no"),
}  # fmt: skip


@pytest.mark.parametrize(("status", "headers", "body"), HONEST.values(), ids=HONEST)
def test_other_response_is_not_a_wall(status: int, headers: Headers, body: bytes) -> None:
    assert find(status, body, *headers) is None


def test_json_with_a_mark_is_not_a_wall() -> None:
    body = b'{"text": "Incapsula incident ID"}'
    assert Walls().find(URL, 200, (), body, "application/json") is None


def test_document_larger_than_any_wall_is_not_searched() -> None:
    assert find(200, CHALLENGES["anubis markup"][3] + b" " * MAX_WALL_BYTES) is None


@pytest.mark.parametrize("status", [202, 403, 429, 503])
def test_same_empty_document_for_another_url_is_a_challenge(status: int) -> None:
    walls = Walls()
    assert walls.find("https://a.test/1", status, (), APP, "text/html") is None
    assert walls.find("https://a.test/1", status, (), APP, "text/html") is None
    wall = walls.find("https://a.test/2", status, (), APP, "text/html")
    assert wall and wall.name == UNKNOWN and "https://a.test/1" in wall.evidence


def test_application_with_one_document_for_all_urls_is_not_a_wall() -> None:
    walls = Walls()
    assert not any(walls.find(f"https://a.test/{n}", 200, (), APP, "text/html") for n in range(9))


@pytest.mark.parametrize(
    ("value", "amount", "currency"),
    [
        ("USD 0.01", "0.01", "USD"),
        ("eur 12", "12", "EUR"),
        ("free for all", "", ""),
        ("$1", "", ""),
    ],
)
def test_price_of_pay_per_crawl_is_recorded(value: str, amount: str, currency: str) -> None:
    wall = find(402, b"<p>Pay", ("Crawler-Price", value))
    assert wall and (wall.kind, wall.name) == (WallKind.PAYMENT, "pay per crawl")
    assert (wall.price, wall.amount, wall.currency) == (value, amount, currency)
    assert wall.text == f"payment required: {value} (pay per crawl)"


def test_price_of_x402_is_recorded_from_body_or_header() -> None:
    first = {"scheme": "exact", "network": "base", "maxAmountRequired": "10000", "asset": "0x83"}
    body = json.dumps({"x402Version": 1, "accepts": [first], "error": "pay"}).encode()
    wall = Walls().find(URL, 402, (), body, "application/json")
    assert wall and (wall.name, wall.amount, wall.currency) == ("x402", "10000", "0x83 base")
    second = {"scheme": "exact", "network": "eip155:8453", "amount": "300", "asset": "0x83"}
    text = json.dumps({"x402Version": 2, "accepts": [second]}).encode()
    wall = find(402, b"", ("PAYMENT-REQUIRED", base64.b64encode(text).decode()))
    assert wall and (wall.amount, wall.currency) == ("300", "0x83 eip155:8453")


@pytest.mark.parametrize("body", [b"", b"{}", b'{"x402Version": "x"}', b"[1]", b'{"accepts": 3}'])
def test_402_without_a_readable_price_is_a_payment_wall(body: bytes) -> None:
    wall = find_refusal(URL, 402, (("Payment-Required", "%%%"),), body)
    assert wall == Wall(WallKind.PAYMENT, "402", "status 402")
    assert wall.text == "payment required: no price stated (402)"


def test_offer_with_hostile_values_is_cut() -> None:
    offer = {"x402Version": 1, "accepts": [{"amount": "9" * 5000, "asset": "a" * 5000}]}
    wall = find_refusal(URL, 402, (), json.dumps(offer).encode())
    assert wall and wall.amount == "" and len(wall.price) <= 300 >= len(wall.currency)


@pytest.mark.parametrize("status", [401, 402, 403])
def test_demand_for_a_license_is_recognised(status: int) -> None:
    link = ("Link", '<https://b.test/x>; rel=next, </license.xml>; rel="license"; type="a/b"')
    wall = find(status, b"<p>License", ("WWW-Authenticate", RSL), link)
    assert wall and (wall.kind, wall.name) == (WallKind.LICENSE, "RSL")
    assert wall.license_url == "https://a.test/license.xml"
    assert wall.text == "license required: https://a.test/license.xml (RSL)"


def test_license_without_link_is_named_by_its_server() -> None:
    asked = ("WWW-Authenticate", f'Basic realm="a", {RSL}, server="https://licenses.test/api"')
    wall = find(401, b"", asked)
    assert wall and wall.license_url == "https://licenses.test/api"
    wall = find(401, b"", ("WWW-Authenticate", "License"))
    assert wall and wall.text == "license required: no license named (RSL)"


def test_403_with_a_link_to_its_license_demands_one() -> None:
    wall = find(403, b"no", ("Link", '<https://b.test/l.xml>; rel="license"'))
    assert wall and wall.license_url == "https://b.test/l.xml"


def test_402_with_price_and_license_is_a_payment_wall() -> None:
    link = ("Link", '</l.xml>; rel="license"')
    wall = find(402, b"", ("crawler-price", "USD 1"), ("WWW-Authenticate", RSL), link)
    assert wall and (wall.kind, wall.license_url) == (WallKind.PAYMENT, "https://a.test/l.xml")


# Without bounds, a search whose time grows with the square of such an input would run for hours.
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "value",
    ["License " + "a" * 100_000, "rel=" * 25_000, "<" * 90_000, '<x>;rel="license ' * 6000,
     "License " + '="http://' * 10_000, "," * 100_000, '"' * 99_999],
)  # fmt: skip
def test_hostile_header_is_searched_in_linear_time(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walls, "MAX_HEADER", sys.maxsize)
    for name in ("WWW-Authenticate", "Link", "crawler-price", "payment-required"):
        assert find(402, b"", (name, value * 30), ("WWW-Authenticate", "License"))
        find(403, b"", (name, value * 30))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "body",
    [b"<script" * 9000, b"<meta " * 10_000, b"<!--" * 16_000, b"<" * 60_000, b"</script" * 8000,
     b"<meta http-equiv=refresh content=" * 480, b"refresh<meta http-equiv='" * 640],
)  # fmt: skip
def test_hostile_document_is_searched_in_linear_time(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walls, "MAX_WALL_BYTES", sys.maxsize)
    assert find(202, body * 50) is None
    assert find(403, body * 50) is None
