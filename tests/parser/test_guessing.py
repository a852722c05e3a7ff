"""Texts in the encodings that were usual before UTF-8, of which nobody says which it is."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.parser.charset import DEFAULT_ENCODING, ENCODINGS, codec_of, decode_text
from tests.parser.legacy import GREEK, RUSSIAN, TEXTS
from tests.parser.pages import read


@pytest.mark.parametrize(("encoding", "text"), TEXTS, ids=[encoding for encoding, _ in TEXTS])
@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_an_encoding_that_nobody_declares_is_guessed(encoding: str, text: str, kind: str) -> None:
    body = text if kind == "text/plain" else f"<title>{text[:20]}</title><p>{text}</p>"
    parsed = read(body.encode(codec_of(encoding)), ("Content-Type", kind))
    assert text in (parsed.text or "")
    assert parsed.charset_source == "guess"
    assert parsed.charset in ENCODINGS
    assert "charset_conflict" not in parsed.hazards


@pytest.mark.parametrize(
    ("body", "header", "source"),
    [
        (b"\xef\xbb\xbfa", "text/html", "bom"),
        (b"a", "text/html;charset=koi8-r", "header"),
        (b"<meta charset=koi8-r>", "text/html", "meta"),
        (b"<!--" + b"-" * 2000 + b"--><meta charset=koi8-r>\xc1", "text/html", "meta"),
        ("é".encode(), "text/html", "bytes"),
        (b"plain ASCII", "text/html", "bytes"),
        (RUSSIAN.encode("koi8-r"), "text/html", "guess"),
    ],
)
def test_a_page_says_where_its_encoding_is_from(body: bytes, header: str, source: str) -> None:
    assert read(body, ("Content-Type", header)).charset_source == source


def test_what_is_declared_is_not_guessed_at() -> None:
    body = RUSSIAN.encode("koi8-r")
    found = decode_text(body, "text/html; charset=windows-1251", is_html=True)
    assert (found.encoding, found.source) == ("windows-1251", "header")


def test_a_text_far_behind_much_markup_is_looked_at() -> None:
    body = b"<style>" + b" " * 200_000 + b"</style><p>" + GREEK.encode("cp1253") * 3
    assert GREEK in decode_text(body, "text/html", is_html=True).text


@pytest.mark.parametrize("byte", range(0x80, 0xA0))
def test_no_control_of_windows_1252_is_lost(byte: int) -> None:
    """HTML standard: of these bytes 27 are characters; the other five decode to controls."""
    header = "text/html; charset=iso-8859-1"
    text = decode_text(b"a" + bytes([byte]) + b"z", header, is_html=True).text
    assert len(text) == 3 and "\ufffd" not in text
    if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D):
        assert text[1] == chr(byte)


def test_a_byte_that_an_encoding_does_not_have_is_replaced() -> None:
    found = decode_text(b"\xaa\x81\xe1", "text/html; charset=windows-1253", is_html=True)
    assert found.text == "\ufffd\x81\u03b1"
    assert found.conflict, "the bytes are not in the encoding that is declared"


@given(st.binary(min_size=1))
def test_any_bytes_are_decoded(body: bytes) -> None:
    found = decode_text(body, "", is_html=True)
    assert found.encoding in ENCODINGS
    codecs.lookup(codec_of(found.encoding))


@pytest.mark.slow
def test_real_pages_in_english_stay_what_they_are(pages: list[bytes]) -> None:
    wrong = 0
    for page in pages:
        text = page.decode("utf-8", "replace")
        body = text.encode("cp1252", "xmlcharrefreplace").replace(b"charset", b"c")
        wrong += decode_text(body, "", is_html=True).text != body.decode("cp1252", "replace")
    assert wrong <= len(pages) // 50


def test_a_few_bytes_tell_nothing() -> None:
    found = decode_text(b"\x93caf\xe9\x94 \xa9 2024", "text/html", is_html=True)
    assert (found.text, found.encoding) == ("“café” © 2024", DEFAULT_ENCODING)
    assert found.source == "default"
