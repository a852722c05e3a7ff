"""The kind of each response, which alone decides how dedup handles it."""

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from msgspec.structs import replace

from gossamer.events import Event, PageFetched, PageKind, PageParsed, Purpose
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify, find_coding_fault, report_unreadable
from gossamer.services.parser.service import DeadLetterLimiter, Parser
from gossamer.web.soft_404 import Signature
from gossamer.web.validators import Validators
from gossamer.web.walls import Wall, WallKind
from tests.parser.pages import NOW, OPTIONS, page_response

TEXT = b"<title>A page</title><p>Words."
FEED = b"<rss version='2.0'><channel><item><link>http://a.example/</link></item></channel></rss>"
LONG = TEXT + b"".join(b"<p>Word %d." % n for n in range(500))
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


@pytest.mark.parametrize("text", [TEXT, LONG])
@pytest.mark.parametrize(
    ("coding", "encode", "is_coded"),
    [
        ("x-deflate", zlib.compress, True),
        ("compress", zlib.compress, True),
        ("UTF-8", zlib.compress, True),
        ("br", zlib.compress, True),
        ("zstd", brotli.compress, True),
        ("gzip", zstd.compress, True),
        ("x-deflate, gzip", lambda text: gzip.compress(zlib.compress(text)), True),
        # The signature of gzip makes it a document of another type.
        ("UTF-8", gzip.compress, False),
        ("br", brotli.compress, False),
        ("deflate", zlib.compress, False),
        ("UTF-8", bytes, False),
        ("aws-chunked", bytes, False),
        ("none", bytes, False),
        ("br", bytes, False),
        ("windows-1251", lambda text: text + "Слово. ".encode("cp1251") * 50, False),
        ("utf-16", lambda text: text.decode().encode("utf-16"), False),
        ("gzip", lambda text: gzip.compress(text)[:-20], False),
        ("gzip", lambda text: gzip.compress(text + b"\0"), False),
    ],
)
def test_body_is_still_coded_if_it_is_not_text(
    coding: str, encode: Callable[[bytes], bytes], is_coded: bool, text: bytes
) -> None:
    """Reports donsetch #290, versitygw #2398, aws-sdk-java-v2 #5769: words that are not codings."""
    headers = [("Content-Type", "text/html"), ("Content-Encoding", coding)]
    fault = find_coding_fault(page_response(encode(text), *headers))
    assert (fault is not None and repr(coding) in fault) is is_coded


def test_only_texts_have_a_coding_fault() -> None:
    """Report donsetch #290."""
    coded, odd = zlib.compress(LONG), ("Content-Encoding", "x-deflate")
    assert find_coding_fault(page_response(coded, XML, odd))
    assert find_coding_fault(page_response(coded, XML, odd, purpose=Purpose.SITEMAP))
    for page in (
        page_response(b"%PDF-1.4\0", ("Content-Type", "application/pdf"), odd),
        page_response(coded, XML, odd, status=404),
        page_response(gzip.compress(LONG), XML, odd, purpose=Purpose.SITEMAP),
    ):
        assert find_coding_fault(page) is None


async def test_coded_body_is_unreadable_and_no_dead_letter() -> None:
    """Report donsetch #290."""
    emitted = list[Event]()
    no_pool: Any = None
    parser = Parser(no_pool, OPTIONS, DeadLetterLimiter(10), lambda: NOW)
    odd = ("Content-Encoding", "x-deflate")
    page = page_response(zlib.compress(LONG), ("Content-Type", "text/html"), odd)
    await parser.work(page, emitted.append)
    [parsed] = emitted
    assert isinstance(parsed, PageParsed) and parsed.kind is PageKind.UNREADABLE
    assert parsed.reason == "the body is still coded: its Content-Encoding is 'x-deflate'"
