"""Results by status, media type and body."""

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import Link, PageParsed, Purpose
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import restore_identity
from gossamer.web.usage import judge, read_headers, read_meta
from gossamer.web.validators import Validators
from tests.conformance.measures import f1_and_recall
from tests.parser.articles import ARTICLES
from tests.parser.pages import NOW, OPTIONS, check_invariants, page_response, parse_response
from tests.support.inline_parser import InlineParser


def test_result_has_identity_of_page() -> None:
    page = page_response(b"<title>x</title>")
    parsed = parse(page, OPTIONS, NOW)
    assert (parsed.at, parsed.fetched_at, parsed.status) == (NOW, page.started_at, 200)
    assert (parsed.visit, parsed.site, parsed.host) == (page.visit, page.site, page.host)
    assert (parsed.content_type, parsed.charset, parsed.size) == ("text/html", "utf-8", 16)


def test_payload_digest_is_of_encoded_body() -> None:
    assert parse_response(b"").payload_digest == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    packed = gzip.compress(b"<p>x")
    headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")]
    assert parse_response(packed, *headers).payload_digest == parse_response(packed).payload_digest


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 300])
def test_redirect_yields_only_one_link(status: int) -> None:
    parsed = parse_response(
        "<title>Moved</title><a href=/a>", ("location", "../new#f"), status=status
    )
    assert parsed.links == (Link("http://www.example.org/new", redirect=True),)
    assert (parsed.title, parsed.text, parsed.digest, parsed.hazards) == ("", None, "", ())


@pytest.mark.parametrize("location", ["", "http://[", "mailto:a@b.org", "/" + "x" * 3000])
def test_redirect_without_target_has_no_link(location: str) -> None:
    assert parse_response("<a href=/a>", ("Location", location), status=302).links == ()


@pytest.mark.parametrize("status", [404, 410, 403, 500, 503])
def test_error_page_is_not_read(status: int) -> None:
    parsed = parse_response("<title>Sorry</title><a href=/a>words", status=status)
    assert parsed.status == status
    assert (parsed.links, parsed.title, parsed.text, parsed.digest) == ((), "", None, "")


@pytest.mark.parametrize("encoding", ["gzip", "zebra"])
def test_plain_body_with_content_encoding_is_read(encoding: str) -> None:
    headers = [("Content-Type", "text/html"), ("Content-Encoding", encoding)]
    parsed = parse_response("<title>plain", *headers)
    assert (parsed.title, parsed.truncated) == ("plain", False)


def test_decompression_bomb_is_truncated_and_a_hazard() -> None:
    bomb = gzip.compress(bytes(30 << 20))
    parsed = parse_response(bomb, ("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
    assert parsed.size <= OPTIONS.decoded_limit
    assert parsed.truncated
    assert "decompression_bomb" in parsed.hazards


def test_plain_text_is_stored_whole() -> None:
    text = (
        "Dear reader,\n\n  this is a plain text of some length, and http://example.org is no link. "
    )
    parsed = parse_response(text * 3, ("Content-Type", "text/plain; charset=utf-8"))
    assert (parsed.content_type, parsed.text, parsed.links) == ("text/plain", text * 3, ())
    assert (parsed.text_kind, parsed.language) == ("plain", "en")
    assert (
        parsed.digest
        == parse_response(text.replace("  ", "\t") * 3, ("Content-Type", "text/plain")).digest
    )


@pytest.mark.parametrize(
    ("declared", "body", "media_type", "wrong"),
    [
        ("text/html", b"x", "text/html", False),
        ("Text/HTML; charset=x", b"x", "text/html", False),
        ("application/xhtml+xml", b"<a href=/x>", "application/xhtml+xml", False),
        ("", b" \n<!doctype HTML><a href=/x>", "text/html", True),
        ("nonsense", b"<html>", "text/html", True),
        ("*/*", b"<html>", "text/html", True),
        ("", b"\xef\xbb\xbf<p>x", "text/html", True),
        ("text/plain", b"<p>x", "text/plain", False),
        ("application/octet-stream", b"<!--x", "text/html", True),
        ("application/octet-stream", b"words", "application/octet-stream", False),
        ("text/plain", b"words", "text/plain", False),
        ("text/plain", b"<3 words", "text/plain", False),
        ("text/plain", b"a\0b", "application/octet-stream", True),
        ("text/html", b"PK\x03\x04 zip", "application/zip", True),
        ("text/html", b"%PDF-1.7", "application/pdf", True),
        ("application/json", b"<html>", "application/json", False),
        ("image/png", b"\x89PNG\r\n\x1a\n", "image/png", False),
    ],
)
def test_media_type_is_as_declared_unless_bytes_disagree(
    declared: str, body: bytes, media_type: str, wrong: bool
) -> None:
    parsed = parse_response(body, ("Content-Type", declared))
    assert parsed.content_type == media_type
    assert ("wrong_content_type" in parsed.hazards) is wrong


def test_unreadable_pdf_has_only_a_digest() -> None:
    parsed = parse_response(b"%PDF-1.7 <a href=/x>", ("Content-Type", "application/pdf"))
    assert (parsed.text, parsed.links, parsed.title) == (None, (), "")
    assert parsed.digest and parsed.size == 20


def test_hazards_of_fetcher_are_kept() -> None:
    page = replace(
        page_response(b"<a href=mailto:x>"), truncated="length", hazards=("infinite_body",)
    )
    page = replace(page, usage_statements=read_headers((("Content-Usage", "train-ai=n"),), ""))
    parsed = parse(page, OPTIONS, NOW)
    assert parsed.truncated and parsed.usage_statements == page.usage_statements
    assert parsed.hazards == ("infinite_body", "non_web_link")


def test_inline_parser_skips_robots_txt() -> None:
    parser = InlineParser(OPTIONS)
    assert [answer.title for answer in parser.handle(page_response(b"<title>x"), NOW)] == ["x"]
    assert not list(parser.handle(page_response(b"User-agent: *", purpose=Purpose.ROBOTS), NOW))


PIECES = """<a href= /x http://b.org?é ' " > <base href= </a> <div> <table> <svg> <template> <!--
--> <script> </script> <meta charset=koi8-r> <meta name=robots content=none> <title> &amp; mailto:x
<iframe src= <link rel=next href= //[ javascript:x %zz <plaintext>"""
MARKUP = st.lists(
    st.sampled_from([*PIECES.split(), " ", "\0", "\ud7ff"]) | st.text(max_size=8)
).map("".join)


@pytest.mark.slow
@given(MARKUP)
def test_any_markup_is_read(markup: str) -> None:
    check_invariants(parse_response(markup.encode("utf-8", "surrogatepass")))


MODIFIED = "Tue, 14 Nov 2023 22:14:20 GMT"
VALIDATORS = Validators('"1"', MODIFIED)


def not_modified(conditional: bool, *headers: tuple[str, str]) -> PageParsed:
    page = page_response(b"", ("Content-Type", "text/html"), *headers, status=304)
    visit = replace(page.visit, validators=VALIDATORS, conditional=conditional)
    return parse(replace(page, visit=visit), OPTIONS, NOW)


def test_validators_of_page_are_published() -> None:
    parsed = parse_response(
        "<p>Hello", ("ETag", VALIDATORS.etag), ("Last-Modified", VALIDATORS.last_modified)
    )
    assert parsed.validators == VALIDATORS
    assert parse_response("<p>Hello", ("ETag", "1")).validators == Validators()
    assert (
        parse_response("not here", ("ETag", VALIDATORS.etag), status=404).validators == Validators()
    )


def test_304_keeps_validators_that_it_does_not_repeat() -> None:
    assert not_modified(True).validators == VALIDATORS
    assert not_modified(True, ("ETag", 'W/"2"')).validators == Validators('W/"2"', MODIFIED)
    parsed = not_modified(True, ("Location", "/there"))
    assert (parsed.status, parsed.digest, parsed.links, parsed.text) == (304, "", (), None)


def test_304_without_condition_is_ignored() -> None:
    assert not_modified(False, ("ETag", '"2"')).validators == Validators()


@pytest.mark.slow
@given(
    st.binary(max_size=2000),
    st.lists(
        st.tuples(
            st.sampled_from(["Content-Type", "Content-Encoding", "Location", "X-Robots-Tag", "x"]),
            st.sampled_from(["text/html", "text/plain; charset=utf-16", "gzip", "br", "deflate"])
            | st.text(st.characters(max_codepoint=255), max_size=20),
        ),
        max_size=4,
    ),
    st.sampled_from([200, 206, 299, 301, 304, 404]),
)
@example(b"\xff\xfe\x00\xd8", [("Content-Type", "text/html")], 200)
def test_any_bytes_with_any_headers_are_read(
    body: bytes, headers: list[tuple[str, str]], status: int
) -> None:
    check_invariants(parse(page_response(body, *headers, status=status), OPTIONS, NOW))


@pytest.mark.parametrize("name", ARTICLES)
def test_main_text_of_article_is_extracted(name: str) -> None:
    article = ARTICLES[name]
    parsed = parse_response(article.html, ("Content-Type", "text/html; charset=utf-8"))
    check_invariants(parsed)
    f1, _ = f1_and_recall(parsed.text or "", article.text)
    assert f1 > 0.95


def test_reply_of_a_child_can_only_add_meta_elements_to_the_usage() -> None:
    stated = read_headers((("Content-Usage", "train-ai=n"),), "gossamer")
    page = replace(page_response(b""), usage_statements=stated)
    added = read_meta([("robots", "noarchive")], "gossamer")
    lifted = read_headers((("Content-Usage", "train-ai=y"),), "gossamer")
    forged = replace(parse(page, OPTIONS, NOW), usage={}, usage_statements=(*lifted, *added))
    found = restore_identity(page, forged, NOW)
    assert found.usage_statements == (*stated, *added)
    assert found.usage == judge(found.usage_statements)
