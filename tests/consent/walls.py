"""Walls: responses that a site sends instead of its pages, of four kinds.

A challenge demands that a script runs: Anubis answers 202 with a script, Cloudflare 403 with
`cf-mitigated`, and a wall of unknown make 200 with a script and a refresh. A payment wall answers
402 with a price. A license wall answers 401 with `WWW-Authenticate: License` (RSL 1.0). A signature
wall answers 401 or 403 with `Accept-Signature` (RFC 9421, 5.1) until a request is signed.

The body of a wall contains `MARK`, so that a test finds it wherever it was stored.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from tests.synthweb.answers import HTML, Answer

MARK = "wall-of-the-consent-web"
PRICE = "USD 0.01"
ACCEPTED = 'sig1=("@authority");created;keyid;tag="web-bot-auth"'
LICENSE_PATH = "/license.xml"


class Kind(StrEnum):
    """What a wall demands."""

    CHALLENGE = "challenge"
    PAYMENT = "payment"
    LICENSE = "license"
    SIGNATURE = "signature"


def anubis() -> Answer:
    """Return a proof of work, as Anubis asks for it."""
    body = (
        '<!doctype html><html lang="en"><head><title>Making sure you&#39;re not a bot!</title>'
        '<link rel="stylesheet" href="/.within.website/x/xess/xess.min.css">'
        '<script id="anubis_version" type="application/json">"v1.21.3"</script>'
        '<script id="anubis_challenge" type="application/json">'
        f'{{"rules":{{"algorithm":"fast","difficulty":4}},"challenge":"{MARK}"}}</script></head>'
        '<body id="top"><main><h1 id="title">Making sure you&#39;re not a bot!</h1>'
        '<p id="status">Loading...</p><script async type="module" '
        'src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script>'
        "<noscript><p>Sadly, you must enable JavaScript to get past this challenge.</p></noscript>"
        "</main></body></html>"
    )
    cookie = "techaro.lol-anubis-cookie-verification=0199; Path=/; HttpOnly"
    return Answer(202, body.encode(), {"Content-Type": HTML, "Set-Cookie": cookie})


def cloudflare() -> Answer:
    """Return a managed challenge, as Cloudflare sends it."""
    body = (
        '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>'
        '<meta name="robots" content="noindex,nofollow">'
        '<meta http-equiv="refresh" content="390"></head><body><div class="main-wrapper">'
        "<noscript><span>Enable JavaScript and cookies to continue</span></noscript></div>"
        f"<script>window._cf_chl_opt={{cType:'managed',cRay:'{MARK}'}};"
        "var a=document.createElement('script');"
        "a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=9a1';"
        "document.head.appendChild(a);</script></body></html>"
    )
    headers = {"Content-Type": HTML, "Server": "cloudflare", "cf-mitigated": "challenge"}
    return Answer(403, body.encode(), {**headers, "CF-RAY": "9a1b2c3d4e5f-FRA"})


def script() -> Answer:
    """Return a page without text that sets a cookie by a script and loads itself again."""
    body = (
        '<html><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">'
        f"<script>document.cookie='checked={MARK}; path=/';</script></head>"
        "<body><script>setTimeout(function(){location.reload()},1500)</script></body></html>"
    )
    return Answer(200, body.encode(), {"Content-Type": HTML, "Cache-Control": "no-store"})


def payment() -> Answer:
    """Return a price, as Cloudflare's pay per crawl does."""
    body = f"<html><body><p>Payment required ({MARK}).</p></body></html>"
    return Answer(402, body.encode(), {"Content-Type": HTML, "crawler-price": PRICE})


def license_needed() -> Answer:
    """Return the demand for a license, as RSL 1.0 defines it."""
    asked = 'License error="invalid_request", error_description="A license is required"'
    headers = {
        "Content-Type": HTML,
        "WWW-Authenticate": asked,
        "Link": f'<{LICENSE_PATH}>; rel="license"; type="application/rsl+xml"',
    }
    return Answer(401, f"<html><body><p>{MARK}</p></body></html>".encode(), headers)


def unsigned(status: int) -> Answer:
    """Return the demand for a signature."""
    headers = {"Content-Type": HTML, "Accept-Signature": ACCEPTED}
    return Answer(status, f"<html><body><p>{MARK}</p></body></html>".encode(), headers)


class Wall(NamedTuple):
    """A wall of a host."""

    kind: Kind
    answer: Callable[[], Answer]
    max_requests: int
    """The number of requests for one URL after which the refusal is final."""
    admits_signed: bool = False
    """Whether a request with a valid signature passes."""


MAX_CHALLENGED = 3
"""Requests for a challenged URL in a crawl of minutes: a challenge may be lifted."""

WALLS: Mapping[str, Wall] = {
    "anubis": Wall(Kind.CHALLENGE, anubis, MAX_CHALLENGED),
    "cloudflare": Wall(Kind.CHALLENGE, cloudflare, MAX_CHALLENGED),
    "script": Wall(Kind.CHALLENGE, script, MAX_CHALLENGED),
    "payment": Wall(Kind.PAYMENT, payment, 1),
    "license": Wall(Kind.LICENSE, license_needed, 1),
    "signature-403": Wall(Kind.SIGNATURE, lambda: unsigned(403), 2, admits_signed=True),
    "signature-401": Wall(Kind.SIGNATURE, lambda: unsigned(401), 2, admits_signed=True),
    # Asks for a signature, and refuses those that it gets.
    "signature-vain": Wall(Kind.SIGNATURE, lambda: unsigned(403), 2),
}
