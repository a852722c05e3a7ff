"""The kind of each response, by which alone dedup handles it."""

import pytest
from msgspec.structs import replace

from gossamer.events import PageFetched, PageKind, Purpose
from gossamer.web.soft_404 import Signature
from gossamer.web.validators import Validators
from services.parser.page import parse
from services.parser.result import classify, report_unreadable
from tests.parser.pages import NOW, OPTIONS, fetched

TEXT = b"<title>A page</title><p>Words."
FEED = b"<rss version='2.0'><channel><item><link>http://a.example/</link></item></channel></rss>"
XML = ("Content-Type", "application/xml")
TO = ("Location", "/there")
IMAGE = ("Content-Type", "image/png")
WITH_TEXT = Signature(status=200, digest=parse(fetched(TEXT), OPTIONS, NOW).digest, at=1.0)
REDIRECTING = Signature(status=302, location="/there", at=1.0)


def kind(page: PageFetched) -> PageKind:
    return classify(page, parse(page, OPTIONS, NOW)).kind


def conditional(page: PageFetched) -> PageFetched:
    visit = replace(page.visit, validators=Validators('"1"'), conditional=True)
    return replace(page, visit=visit)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (fetched(TEXT), PageKind.DOCUMENT),
        (fetched(b"", status=204), PageKind.DOCUMENT),
        (fetched(b"\x89PNG", IMAGE), PageKind.DOCUMENT),
        (fetched(FEED, XML), PageKind.LISTING),
        (fetched(FEED, XML, purpose=Purpose.SITEMAP), PageKind.LISTING),
        (fetched(TEXT, purpose=Purpose.SITEMAP), PageKind.DOCUMENT),
        (conditional(fetched(status=304)), PageKind.NOT_MODIFIED),
        (fetched(status=304), PageKind.INCONCLUSIVE),
        (fetched(b"", TO, status=301), PageKind.MOVED),
        (fetched(b"", TO, status=308), PageKind.MOVED),
        (fetched(b"", TO, status=302), PageKind.REDIRECTED),
        (fetched(b"", TO, status=300), PageKind.REDIRECTED),
        (fetched(status=301), PageKind.INCONCLUSIVE),
        (fetched(b"", ("Location", "mailto:x"), status=302), PageKind.INCONCLUSIVE),
        (fetched(TEXT, status=404), PageKind.MISSING),
        (fetched(TEXT, status=410), PageKind.REMOVED),
        (fetched(TEXT, status=403), PageKind.REFUSED),
        (fetched(TEXT, status=412), PageKind.INCONCLUSIVE),
        (fetched(TEXT, status=429), PageKind.INCONCLUSIVE),
        (fetched(TEXT, status=503), PageKind.INCONCLUSIVE),
        (fetched(TEXT, purpose=Purpose.PROBE), PageKind.PROBE),
        (fetched(TEXT, status=404, purpose=Purpose.PROBE), PageKind.INCONCLUSIVE),
        (fetched(b"", TO, status=302, purpose=Purpose.PROBE), PageKind.INCONCLUSIVE),
    ],
)
def test_kind_of_response(page: PageFetched, expected: PageKind) -> None:
    assert kind(page) is expected


def test_response_with_signature_of_missing_page_is_soft_404() -> None:
    assert kind(replace(fetched(TEXT), signature=WITH_TEXT)) is PageKind.SOFT_404
    there = replace(fetched(b"", TO, status=302), signature=REDIRECTING)
    assert kind(there) is PageKind.SOFT_404_REDIRECT
    assert kind(replace(there, status=301)) is PageKind.MOVED
    feed = fetched(FEED, XML)
    everywhere = replace(WITH_TEXT, digest=parse(feed, OPTIONS, NOW).digest)
    assert kind(replace(feed, signature=everywhere)) is PageKind.SOFT_404


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (fetched(TEXT), PageKind.UNREADABLE),
        (fetched(TEXT, status=404), PageKind.MISSING),
        (fetched(b"", TO, status=301), PageKind.INCONCLUSIVE),
        (fetched(TEXT, purpose=Purpose.PROBE), PageKind.PROBE),
    ],
)
def test_kind_of_unreadable_response(page: PageFetched, expected: PageKind) -> None:
    assert report_unreadable(page, "the parser died", NOW).kind is expected
