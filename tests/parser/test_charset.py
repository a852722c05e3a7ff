"""Character encodings: declared encodings, their order, and conflicts."""

import pytest

from gossamer.services.parser.charset import CODECS, ENCODINGS, codec_of, decode_text, encoding_of
from tests.parser.pages import parse_response


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_the_standard_has_a_codec(encoding: str) -> None:
    assert "abc".encode(codec_of(encoding)).decode(codec_of(encoding)) == "abc"
    assert encoding in CODECS or encoding_of(encoding) == encoding


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("ISO-8859-1", "windows-1252"),
        (" us-ascii\n", "windows-1252"),
        ("latin5", "windows-1254"),
        ("GB2312", "gbk"),
        ("ks_c_5601-1987", "euc-kr"),
        ("unicode", "utf-16le"),
        ("iso-2022-kr", ""),
        ("rot13", ""),
        ("base64", ""),
        ("utf-7", ""),
    ],
)
def test_labels_map_to_encodings_of_the_standard(label: str, encoding: str) -> None:
    assert encoding_of(label) == encoding


CASES = [
    (b"\xef\xbb\xbf\xc3\xa9", "text/html; charset=koi8-r", "utf-8", "é"),
    (b"\xff\xfe\xe9\x00", "text/html", "utf-16le", "é"),
    ("привет".encode("cp1251"), 'text/html; charset="windows-1251"', "windows-1251", "привет"),
    (b"<meta charset=koi8-r>\xe9", "text/html;charset=latin1", "windows-1252", "é"),
    (b"<meta charset=shift_jis>\x93\xfa\x96\x7b", "text/html", "shift_jis", "日本"),
    (b"<meta charset=euc-kr>\xc7\xd1", "text/html;charset=nonsense", "euc-kr", "한"),
    (b"<?xml version='1.0' encoding='iso-8859-2'?>\xb1", "text/html", "iso-8859-2", "ą"),
    ("é".encode(), "text/html", "utf-8", "é"),
    (b"\x93\xe9\x94", "text/html", "windows-1252", "“é”"),
    ("é日".encode()[:-1], "text/html", "utf-8", "é"),
]


@pytest.mark.parametrize(("body", "header", "encoding", "end"), CASES)
def test_bom_precedes_header_and_header_precedes_meta(
    body: bytes, header: str, encoding: str, end: str
) -> None:
    decoded = decode_text(body, header, is_html=True)
    assert decoded.encoding == encoding
    assert decoded.text.endswith(end)
    assert not decoded.text.startswith("\ufeff")


@pytest.mark.parametrize(
    ("body", "header", "conflict"),
    [
        (b"<meta charset=koi8-r>", "text/html;charset=utf-8", True),
        (b"\xe9 alone", "text/html;charset=utf-8", True),
        (b"<meta charset=utf8>", "text/html;charset=UTF-8", False),
        (b"\xe9 alone", "text/html", False),
        ("good � bad".encode(), "text/html;charset=utf-8", False),
        ("naïve cafés — déjà vu".encode(), "text/html;charset=iso-8859-1", True),
        ("<meta charset=windows-1251>Привет".encode(), "text/html", True),
        ("naïve cafés, déjà vu".encode("latin-1"), "text/html;charset=iso-8859-1", False),
        ("Привет всем".encode("cp1251"), "text/html;charset=windows-1251", False),
        ("日本語の文章".encode("iso2022_jp"), "text/html;charset=iso-2022-jp", False),
    ],
)
def test_conflicting_declarations_are_a_hazard(body: bytes, header: str, conflict: bool) -> None:
    assert (
        "charset_conflict" in parse_response(body, ("Content-Type", header)).hazards
    ) is conflict


def test_meta_in_plain_text_is_ignored() -> None:
    assert decode_text(b"<meta charset=koi8-r>", "text/plain", is_html=False).encoding == "utf-8"


@pytest.mark.parametrize(
    ("start", "encoding"),
    [
        (b"<meta http-equiv='Content-Type' content='text/html; charset=iso-8859-2'>", "iso-8859-2"),
        (b"<META content=\"x;charset = 'koi8-r'\" HTTP-EQUIV=content-type>", "koi8-r"),
        (b"<meta\ncharset\t=\rEUC-JP >", "euc-jp"),
        (b"<meta charset=euc-jp/>", "windows-1252"),
        (b"<meta charset='koi8-r' charset=euc-jp>", "koi8-r"),
        (b"<meta content='text/html; charset=koi8-r'>", "windows-1252"),
        (b"<meta http-equiv=refresh content='0; charset=koi8-r'>", "windows-1252"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=euc-jp>", "euc-jp"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=koi8-r>'><meta charset=euc-jp>", "euc-jp"),
        (b"<p charset=koi8-r><meta charset=euc-jp>", "euc-jp"),
        (b"</p charset=koi8-r><? charset=x ?><meta charset=euc-jp>", "euc-jp"),
        (b"<meta charset=nonsense><meta charset=euc-jp>", "euc-jp"),
        (b"<meta charset=utf-16le>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
    ],
)
def test_prescan_finds_declared_encoding(start: bytes, encoding: str) -> None:
    """HTML standard, 13.2.3.2. The last byte makes the body invalid UTF-8."""
    assert decode_text(start + b"\xfe", "text/html", is_html=True).encoding == encoding
