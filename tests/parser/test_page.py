"""What becomes of a response, by its status, its type and its bytes."""

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import Link, PageParsed, Purpose
from gossamer.web.validators import Validators
from services.parser.page import parse
from tests.conformance.measures import f1_of
from tests.parser.articles import ARTICLES
from tests.parser.pages import NOW, OPTIONS, fetched, holds, read, targets
from tests.support.inline_parser import InlineParser


def test_a_page_keeps_where_it_comes_from() -> None:
    page = fetched(b"<title>x</title>")
    parsed = parse(page, OPTIONS, NOW)
    assert (parsed.at, parsed.fetched_at, parsed.status) == (NOW, page.started_at, 200)
    assert (parsed.visit, parsed.site, parsed.host) == (page.visit, page.site, page.host)
    assert (parsed.content_type, parsed.charset, parsed.size) == ("text/html", "utf-8", 16)


def test_the_payload_digest_is_of_the_body_as_received() -> None:
    assert read(b"").payload_digest == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    packed = gzip.compress(b"<p>x")
    headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")]
    assert read(packed, *headers).payload_digest == read(packed).payload_digest


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 300])
def test_a_redirect_is_one_link_and_nothing_else(status: int) -> None:
    parsed = read("<title>Moved</title><a href=/a>", ("location", "../new#f"), status=status)
    assert parsed.links == (Link("http://www.example.org/new", redirect=True),)
    assert (parsed.title, parsed.text, parsed.digest, parsed.hazards) == ("", None, "", ())


def test_a_location_may_be_utf_8() -> None:
    location = "/é".encode().decode("latin-1")
    assert targets(read("", ("Location", location), status=301)) == [
        "http://www.example.org/%C3%A9"
    ]
    assert targets(read("", ("Location", "/é"), status=301)) == ["http://www.example.org/%C3%A9"]


@pytest.mark.parametrize("location", ["", "http://[", "mailto:a@b.org", "/" + "x" * 3000])
def test_a_redirect_to_nowhere_has_no_link(location: str) -> None:
    assert read("<a href=/a>", ("Location", location), status=302).links == ()


@pytest.mark.parametrize("status", [404, 410, 403, 500, 503])
def test_nothing_is_read_of_an_error_page(status: int) -> None:
    parsed = read("<title>Sorry</title><a href=/a>words", status=status)
    assert parsed.status == status
    assert (parsed.links, parsed.title, parsed.text, parsed.digest) == ((), "", None, "")


@pytest.mark.parametrize("encoding", ["gzip", "zebra"])
def test_a_plain_page_is_read_whatever_coding_its_server_claims(encoding: str) -> None:
    headers = [("Content-Type", "text/html"), ("Content-Encoding", encoding)]
    parsed = read("<title>plain", *headers)
    assert (parsed.title, parsed.truncated) == ("plain", False)


def test_a_bomb_is_read_to_the_limit_and_named() -> None:
    bomb = gzip.compress(bytes(30 << 20))
    parsed = read(bomb, ("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
    assert parsed.size <= OPTIONS.decoded_limit
    assert parsed.truncated
    assert "decompression_bomb" in parsed.hazards


def test_plain_text_is_its_own_text() -> None:
    text = (
        "Dear reader,\n\n  this is a plain text of some length, and http://example.org is no link. "
    )
    parsed = read(text * 3, ("Content-Type", "text/plain; charset=utf-8"))
    assert (parsed.content_type, parsed.text, parsed.links) == ("text/plain", text * 3, ())
    assert parsed.language == "en"
    assert (
        parsed.digest == read(text.replace("  ", "\t") * 3, ("Content-Type", "text/plain")).digest
    )


@pytest.mark.parametrize(
    ("declared", "body", "kind", "wrong"),
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
def test_the_type_is_what_the_server_declares_unless_the_bytes_show_another(
    declared: str, body: bytes, kind: str, wrong: bool
) -> None:
    parsed = read(body, ("Content-Type", declared))
    assert parsed.content_type == kind
    assert ("wrong_content_type" in parsed.hazards) is wrong


def test_other_types_have_a_digest_and_no_more() -> None:
    parsed = read(b"%PDF-1.7 <a href=/x>", ("Content-Type", "application/pdf"))
    assert (parsed.text, parsed.links, parsed.title) == (None, (), "")
    assert parsed.digest and parsed.size == 20


def test_what_the_fetcher_noticed_is_kept() -> None:
    page = replace(fetched(b"<a href=mailto:x>"), truncated="length", hazards=("infinite_body",))
    page = replace(page, usage={"content-usage": "train-ai=n"})
    parsed = parse(page, OPTIONS, NOW)
    assert parsed.truncated and parsed.usage == page.usage
    assert parsed.hazards == ("infinite_body", "non_web_link")


def test_pages_are_parsed_and_robots_files_are_not() -> None:
    parser = InlineParser(OPTIONS)
    assert [answer.title for answer in parser.handle(fetched(b"<title>x"), NOW)] == ["x"]
    assert not list(parser.handle(fetched(b"User-agent: *", purpose=Purpose.ROBOTS), NOW))


PIECES = """<a href= /x http://b.org?é ' " > <base href= </a> <div> <table> <svg> <template> <!--
--> <script> </script> <meta charset=koi8-r> <meta name=robots content=none> <title> &amp; mailto:x
<iframe src= <link rel=next href= //[ javascript:x %zz <plaintext>"""
MARKUP = st.lists(
    st.sampled_from([*PIECES.split(), " ", "\0", "\ud7ff"]) | st.text(max_size=8)
).map("".join)


@pytest.mark.slow
@given(MARKUP)
def test_any_markup_is_read(markup: str) -> None:
    holds(read(markup.encode("utf-8", "surrogatepass")))


MODIFIED = "Tue, 14 Nov 2023 22:14:20 GMT"
KNOWN = Validators('"1"', MODIFIED)


def not_modified(conditional: bool, *headers: tuple[str, str]) -> PageParsed:
    page = fetched(b"", ("Content-Type", "text/html"), *headers, status=304)
    asked = replace(page.visit, validators=KNOWN, conditional=conditional)
    return parse(replace(page, visit=asked), OPTIONS, NOW)


def test_the_validators_of_a_page_are_passed_on() -> None:
    found = read("<p>Hello", ("ETag", KNOWN.etag), ("Last-Modified", KNOWN.last_modified))
    assert found.validators == KNOWN
    assert read("<p>Hello", ("ETag", "1")).validators == Validators()
    assert read("not here", ("ETag", KNOWN.etag), status=404).validators == Validators()


def test_a_page_that_is_as_it_was_keeps_the_validators_that_are_not_repeated() -> None:
    assert not_modified(True).validators == KNOWN
    assert not_modified(True, ("ETag", 'W/"2"')).validators == Validators('W/"2"', MODIFIED)
    found = not_modified(True, ("Location", "/there"))
    assert (found.status, found.digest, found.links, found.text) == (304, "", (), None)


def test_an_answer_to_a_condition_that_was_not_sent_says_nothing() -> None:
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
def test_any_bytes_under_any_headers_are_read(
    body: bytes, headers: list[tuple[str, str]], status: int
) -> None:
    holds(parse(fetched(body, *headers, status=status), OPTIONS, NOW))


@pytest.mark.parametrize("name", ARTICLES)
def test_the_main_text_of_an_article_is_found(name: str) -> None:
    article = ARTICLES[name]
    parsed = read(article.html, ("Content-Type", "text/html; charset=utf-8"))
    holds(parsed)
    assert f1_of(parsed.text or "", article.text) > 0.95
