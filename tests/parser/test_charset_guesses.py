"""Guesses of undeclared legacy encodings."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.parser.charset import DEFAULT_ENCODING, ENCODINGS, codec_of, decode_text
from tests.parser.legacy import GREEK, RUSSIAN, TEXTS
from tests.parser.pages import parse_response


@pytest.mark.parametrize(("encoding", "text"), TEXTS, ids=[encoding for encoding, _ in TEXTS])
@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_undeclared_encoding_is_guessed(encoding: str, text: str, kind: str) -> None:
    body = text if kind == "text/plain" else f"<title>{text[:20]}</title><p>{text}</p>"
    parsed = parse_response(body.encode(codec_of(encoding)), ("Content-Type", kind))
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
def test_encoding_source_is_published(body: bytes, header: str, source: str) -> None:
    assert parse_response(body, ("Content-Type", header)).charset_source == source


def test_declared_encoding_is_not_guessed() -> None:
    body = RUSSIAN.encode("koi8-r")
    decoded = decode_text(body, "text/html; charset=windows-1251", is_html=True)
    assert (decoded.encoding, decoded.source) == ("windows-1251", "header")


def test_guess_samples_text_after_long_markup() -> None:
    body = b"<style>" + b" " * 200_000 + b"</style><p>" + GREEK.encode("cp1253") * 3
    assert GREEK in decode_text(body, "text/html", is_html=True).text


@pytest.mark.parametrize("byte", range(0x80, 0xA0))
def test_every_c1_byte_of_windows_1252_is_decoded(byte: int) -> None:
    """HTML standard: 27 of these bytes are characters, and the other five decode to controls."""
    header = "text/html; charset=iso-8859-1"
    text = decode_text(b"a" + bytes([byte]) + b"z", header, is_html=True).text
    assert len(text) == 3 and "\ufffd" not in text
    if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D):
        assert text[1] == chr(byte)


def test_undefined_byte_is_replaced() -> None:
    decoded = decode_text(b"\xaa\x81\xe1", "text/html; charset=windows-1253", is_html=True)
    assert decoded.text == "\ufffd\x81\u03b1"
    assert decoded.conflict, "the bytes are invalid in the declared encoding"


@given(st.binary(min_size=1))
def test_any_bytes_are_decoded(body: bytes) -> None:
    decoded = decode_text(body, "", is_html=True)
    assert decoded.encoding in ENCODINGS
    codecs.lookup(codec_of(decoded.encoding))


@pytest.mark.slow
def test_english_pages_in_windows_1252_are_decoded(pages: list[bytes]) -> None:
    wrong = 0
    for page in pages:
        text = page.decode("utf-8", "replace")
        body = text.encode("cp1252", "xmlcharrefreplace").replace(b"charset", b"c")
        wrong += decode_text(body, "", is_html=True).text != body.decode("cp1252", "replace")
    assert wrong <= len(pages) // 50


def test_few_bytes_fall_back_to_windows_1252() -> None:
    decoded = decode_text(b"\x93caf\xe9\x94 \xa9 2024", "text/html", is_html=True)
    assert (decoded.text, decoded.encoding) == ("“café” © 2024", DEFAULT_ENCODING)
    assert decoded.source == "default"
