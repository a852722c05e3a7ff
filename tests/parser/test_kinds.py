"""The kind of each response, which alone decides how dedup handles it."""

import pytest
from msgspec.structs import replace

from gossamer.events import PageFetched, PageKind, Purpose
from gossamer.web.soft_404 import Signature
from gossamer.web.validators import Validators
from gossamer.web.walls import Wall, WallKind
from services.parser.page import parse
from services.parser.result import classify, report_unreadable
from tests.parser.pages import NOW, OPTIONS, page_response

TEXT = b"<title>A page</title><p>Words."
FEED = b"<rss version='2.0'><channel><item><link>http://a.example/</link></item></channel></rss>"
XML = ("Content-Type", "application/xml")
TO = ("Location", "/there")
IMAGE = ("Content-Type", "image/png")
WITH_TEXT = Signature(status=200, digest=parse(page_response(TEXT), OPTIONS, NOW).digest, at=1.0)
REDIRECTING = Signature(status=302, location="/there", at=1.0)


def kind(page: PageFetched) -> PageKind:
    return classify(page, parse(page, OPTIONS, NOW)).kind


def conditional(page: PageFetched) -> PageFetched:
    visit = replace(page.visit, validators=Validators('"1"'), conditional=True)
    return replace(page, visit=visit)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (page_response(TEXT), PageKind.DOCUMENT),
        (page_response(b"", status=204), PageKind.DOCUMENT),
        (page_response(b"\x89PNG", IMAGE), PageKind.DOCUMENT),
        (page_response(FEED, XML), PageKind.LISTING),
        (page_response(FEED, XML, purpose=Purpose.SITEMAP), PageKind.LISTING),
        (page_response(TEXT, purpose=Purpose.SITEMAP), PageKind.DOCUMENT),
        (conditional(page_response(status=304)), PageKind.NOT_MODIFIED),
        (page_response(status=304), PageKind.INCONCLUSIVE),
        (page_response(b"", TO, status=301), PageKind.MOVED),
        (page_response(b"", TO, status=308), PageKind.MOVED),
        (page_response(b"", TO, status=302), PageKind.REDIRECTED),
        (page_response(b"", TO, status=300), PageKind.REDIRECTED),
        (page_response(status=301), PageKind.INCONCLUSIVE),
        (page_response(b"", ("Location", "mailto:x"), status=302), PageKind.INCONCLUSIVE),
        (page_response(TEXT, status=404), PageKind.MISSING),
        (page_response(TEXT, status=410), PageKind.REMOVED),
        (page_response(TEXT, status=403), PageKind.REFUSED),
        (page_response(TEXT, status=412), PageKind.INCONCLUSIVE),
        (page_response(TEXT, status=429), PageKind.INCONCLUSIVE),
        (page_response(TEXT, status=503), PageKind.INCONCLUSIVE),
        (page_response(TEXT, purpose=Purpose.PROBE), PageKind.PROBE),
        (page_response(TEXT, status=404, purpose=Purpose.PROBE), PageKind.INCONCLUSIVE),
        (page_response(b"", TO, status=302, purpose=Purpose.PROBE), PageKind.INCONCLUSIVE),
    ],
)
def test_kind_of_response(page: PageFetched, expected: PageKind) -> None:
    assert kind(page) is expected


@pytest.mark.parametrize("purpose", [Purpose.PAGE, Purpose.PROBE, Purpose.SITEMAP])
@pytest.mark.parametrize("status", [200, 202, 403])
def test_challenge_says_nothing_about_the_page(status: int, purpose: Purpose) -> None:
    body = b"<title>Wait</title><a href=/trap>On</a><script>x()</script>"
    page = page_response(body, status=status, purpose=purpose)
    page = replace(page, wall=Wall(WallKind.CHALLENGE, "Anubis", "its cookie"))
    parsed = classify(page, parse(page, OPTIONS, NOW))
    assert parsed.kind is PageKind.INCONCLUSIVE
    assert (parsed.links, parsed.title, parsed.needs_rendering) == ((), "", False)


def test_demand_for_a_payment_is_a_refusal() -> None:
    page = replace(page_response(TEXT, status=402), wall=Wall(WallKind.PAYMENT, "402", "402"))
    assert kind(page) is PageKind.REFUSED


def test_response_with_signature_of_missing_page_is_soft_404() -> None:
    assert kind(replace(page_response(TEXT), signature=WITH_TEXT)) is PageKind.SOFT_404
    there = replace(page_response(b"", TO, status=302), signature=REDIRECTING)
    assert kind(there) is PageKind.SOFT_404_REDIRECT
    assert kind(replace(there, status=301)) is PageKind.MOVED
    feed = page_response(FEED, XML)
    everywhere = replace(WITH_TEXT, digest=parse(feed, OPTIONS, NOW).digest)
    assert kind(replace(feed, signature=everywhere)) is PageKind.SOFT_404


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (page_response(TEXT), PageKind.UNREADABLE),
        (page_response(TEXT, status=404), PageKind.MISSING),
        (page_response(b"", TO, status=301), PageKind.INCONCLUSIVE),
        (page_response(TEXT, purpose=Purpose.PROBE), PageKind.PROBE),
    ],
)
def test_kind_of_unreadable_response(page: PageFetched, expected: PageKind) -> None:
    assert report_unreadable(page, "the parser died", NOW).kind is expected
