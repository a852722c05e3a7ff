"""Valid, broken and hostile documents: PDF, office files, XHTML and JSON."""

# ruff: noqa: RUF001 - other alphabets

import io
import json
import random
import zipfile
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.log.codec import encode
from gossamer.services.parser.page import READERS, parse
from gossamer.web.sniffing import OFFICE
from tests.parser.pages import NOW, OPTIONS, page_response, parse_response, targets
from tests.parser.pdfs import pdf
from tests.parser.test_listings import mutants

PDF = ("Content-Type", "application/pdf")
LEAP = datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp()
WORDS = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all. "
INFO = (
    "/Title(A  title)/Author(Ann Author)/Subject(About foxes)"
    "/CreationDate(D:20240229130000+01'00')/ModDate(D:20240301120000Z)"
)
WHOLE = pdf(WORDS, WORDS * 3, link="/next", info=INFO, catalog="/Lang(en-GB)")


def test_pdf_has_text_links_and_metadata() -> None:
    parsed = read_at(WHOLE)
    assert (parsed.title, parsed.author, parsed.description) == (
        "A title",
        "Ann Author",
        "About foxes",
    )
    assert (parsed.published_at, parsed.modified_at) == (LEAP, LEAP + 86400)
    assert parsed.language == "en" and parsed.charset == ""
    assert parsed.text and parsed.text.count("quick brown fox") == 4
    assert targets(parsed) == ["http://www.example.org/next"]
    assert parsed.digest == parse_response(pdf(WORDS, WORDS * 3), PDF).digest, (
        "the digest is of the text"
    )
    assert len(parsed.simhash) == 16 and parsed.blocks and parsed.sketch


@pytest.mark.parametrize("name", ["Title", "Author", "Subject"])
def test_pdf_with_a_cut_character_in_its_metadata_is_read(name: str) -> None:
    """browser-use/browser-harness#676, dgtlmoon/changedetection.io#2597: half of an emoji."""
    parsed = parse_response(pdf(WORDS, link="/next", info=f"/{name}<FEFF04210020D83D>"), PDF)
    assert "\u0421 \ufffd" in (parsed.title, parsed.author, parsed.description)
    assert targets(parsed) == ["http://www.example.org/next"] and "fox" in (parsed.text or "")
    encode(parsed)


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        ("てすとdayoアイウエオ".encode(), "てすとdayoアイウエオ"),
        ("Rapport détaillé – été".encode(), "Rapport détaillé – été"),
        # 0x9F and 0xAD are not characters of PDFDocEncoding: PDFium loses them.
        ("한국어".encode(), "한\ufffd어"),
        ("\ufeffÉté".encode(), "Été"),
        ("Été".encode("latin-1"), "Été"),
        (b"\x80 Caf\xe9 \x84 \xc3", "• Café — Ã"),
        ("\ufeffΑ Ã©".encode("utf-16-be"), "Α Ã©"),
    ],
)
def test_title_of_a_pdf_in_utf_8_is_read(octets: bytes, expected: str) -> None:
    """boazsegev/combine_pdf#192, fschutt/printpdf#237: UTF-8 without a byte order mark."""
    assert parse_response(pdf(WORDS, info=f"/Title<{octets.hex()}>"), PDF).title == expected


def test_hyphen_at_the_end_of_a_line_of_a_pdf_joins_the_word() -> None:
    """`Seige_of_Vicksburg_Sample_OCR.pdf` of py-pdf/pypdf: `dan\\x02gerous`."""
    line = "The guns of the fleet and those beyond the great river were very, very danger-ous "
    text = parse_response(pdf(line + "for us all, and for the people in caves."), PDF).text
    assert text and "were very, very dangerous" in text


def test_glyph_without_a_character_does_not_divide_a_word() -> None:
    """`issue918.pdf` of mozilla/pdf.js: a ligature whose name is unknown."""
    text = parse_response(pdf("what it signi\x1ces, and conv\x02x or a\\rpart"), PDF).text
    assert text == "what it signi\ufffdes, and conv\ufffdx or a\ufffdpart"


def test_link_of_a_pdf_to_the_name_of_a_host_is_absolute() -> None:
    """mozilla/pdf.js#3741."""
    parsed = parse_response(pdf(WORDS, link="www.example.com/a"), PDF)
    assert targets(parsed) == ["http://www.example.com/a"]


def test_bookmark_of_a_pdf_is_a_link() -> None:
    """mozilla/pdf.js#3214, and its `outlines_for_editor.pdf`."""
    outlines = (
        "<</Type/Outlines/First 8 0 R/Last 9 0 R/Count 2>>",
        "<</Title(a)/Parent 7 0 R/Next 9 0 R/A<</S/URI/URI(/next)>>>>",
        "<</Title(b)/Parent 7 0 R/Prev 8 0 R/A<</S/GoToR/F(other.pdf)/D(x)>>>>",
    )
    words = f"{WORDS} http://www.example.org/written"
    parsed = parse_response(pdf(words, catalog="/Outlines 7 0 R", objects_behind=outlines), PDF)
    assert targets(parsed) == [
        "http://www.example.org/written",
        "http://www.example.org/next",
        "http://www.example.org/dir/other.pdf",
    ]


def test_pdf_with_half_of_an_emoji_as_its_language_is_read() -> None:
    """browser-use/browser-harness#676, the kind."""
    parsed = parse_response(pdf(WORDS, catalog="/Lang<FEFFD83D>"), PDF)
    assert "fox" in (parsed.text or "")
    encode(parsed)


XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
xmlns:xmp="http://ns.adobe.com/xap/1.0/" {}>{}</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>"""
ELEMENTS = """<dc:title><rdf:Alt><rdf:li xml:lang="de">Ein Titel</rdf:li>
<rdf:li xml:lang="x-default">A  title</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Ann Author</rdf:li><rdf:li>Bo</rdf:li></rdf:Seq></dc:creator>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">About foxes</rdf:li></rdf:Alt>
</dc:description>"""
DATE_ELEMENTS = """<xmp:CreateDate>2024-02-29T13:00:00+01:00</xmp:CreateDate>
<xmp:ModifyDate>2024-03-01T12:00Z</xmp:ModifyDate>"""
DATE_ATTRIBUTES = 'xmp:CreateDate="2024-02-29T13:00:00+01:00" xmp:ModifyDate="2024-03-01T12:00Z"'
PACKETS = {
    "elements": XMP.format("", ELEMENTS + DATE_ELEMENTS),
    "attributes": XMP.format(DATE_ATTRIBUTES, ELEMENTS),
}
OTHER_PACKET = XMP.format("", "<dc:title>The title of an image</dc:title>")


def stream(text: str, is_packed: bool = False) -> str:
    """Return a metadata stream, as Latin-1 characters."""
    data = zlib.compress(text.encode()) if is_packed else text.encode()
    packing = "/Filter/FlateDecode" if is_packed else ""
    head = f"<</Type/Metadata/Subtype/XML{packing}/Length {len(data)}>>"
    return f"{head}stream\n{data.decode('latin-1')}\nendstream"


def read_at(body: bytes, kind: str = PDF[1], at: float = 1.9e9) -> PageParsed:
    page = replace(page_response(body, ("Content-Type", kind)), started_at=at)
    return parse(page, OPTIONS, at)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS)
def test_pdf_without_info_has_its_metadata_in_xmp(packet: str, is_packed: bool) -> None:
    """alephdata/ingest-file#354: PDF 2.0 deprecates Info, and PDF/A-4 forbids it."""
    behind = (stream(OTHER_PACKET), stream(packet, is_packed))
    parsed = read_at(pdf(WORDS, catalog="/Metadata 8 0 R", objects_behind=behind))
    assert (parsed.title, parsed.author, parsed.description) == (
        "A title",
        "Ann Author, Bo",
        "About foxes",
    )
    assert (parsed.published_at, parsed.modified_at) == (LEAP, LEAP + 86400)
    assert parsed.published_by == parsed.modified_by == "file"


def test_language_of_a_pdf_is_in_xmp_if_its_catalog_has_none() -> None:
    languages = "<dc:language><rdf:Bag><rdf:li>de-CH</rdf:li></rdf:Bag></dc:language>"
    packet = XMP.format("", languages).encode().decode("latin-1")
    stream = f"<</Type/Metadata/Length {len(packet)}>>stream\n{packet}\nendstream"
    body = pdf("Worte", catalog="/Metadata 7 0 R", objects_behind=(stream,))
    assert parse_response(body, PDF).language == "de"


def test_info_of_a_pdf_wins_over_xmp_and_an_image_has_no_title() -> None:
    behind = (stream(PACKETS["elements"]),)
    given = pdf(WORDS, info="/Title(Another)", catalog="/Metadata 7 0 R", objects_behind=behind)
    assert (read_at(given).title, read_at(given).author) == ("Another", "Ann Author, Bo")
    assert read_at(pdf(WORDS, objects_behind=(stream(PACKETS["elements"]),))).title == "A title"
    assert read_at(pdf(WORDS, objects_behind=(stream(OTHER_PACKET),) * 2)).title == ""


@pytest.mark.parametrize(
    "packet", ["", "<", "<x:xmpmeta>", XMP, PACKETS["elements"][:500], "\ud7ff" * 9]
)
def test_broken_xmp_leaves_the_rest_of_a_pdf(packet: str) -> None:
    parsed = read_at(pdf(WORDS, catalog="/Metadata 7 0 R", objects_behind=(stream(packet),)))
    assert "fox" in (parsed.text or "")


@pytest.mark.parametrize("date", ["D:20990101000000Z", "D:19800101", "2099-01-01"])
def test_implausible_date_of_a_file_is_not_published(date: str) -> None:
    parsed = read_at(pdf(WORDS, info=f"/CreationDate({date})/ModDate({date})"))
    assert (parsed.published_at, parsed.published_by, parsed.modified_at) == (0.0, "", 0.0)
    core = CORE.replace("2024-02-29T12:00:00Z", "2099-01-01").replace("2024-03-01", "1899-12-30")
    parsed = read_at(archive(docProps__core_xml=core), OFFICE[0])
    assert (parsed.title, parsed.published_at, parsed.modified_at) == ("A title", 0.0, 0.0)


def test_iso_date_in_a_pdf_is_read() -> None:
    parsed = read_at(pdf(WORDS, info="/CreationDate(2024-02-29T13:00:00+01:00)"))
    assert (parsed.published_at, parsed.published_by) == (LEAP, "file")


@pytest.mark.parametrize(
    ("action", "target"),
    [
        ("/S/GoToR/F(part two.pdf)/D[0/Fit]", "/dir/part%20two.pdf"),
        ("/S/GoToR/F(../a/b.pdf)", "/a/b.pdf"),
        ("/S/GoToR/F(a\\\\b.pdf)", "/dir/a/b.pdf"),
        ("/S/GoToR/F<</Type/Filespec/F(x.pdf)/UF(x.pdf)>>", "/dir/x.pdf"),
        ("/S/GoToR/F<</Type/Filespec/FS/URL/F(http://www.example.org/y.pdf)>>", "/y.pdf"),
        ("/S/Launch/F(list.xls)", "/dir/list.xls"),
        ("/S/GoToR/F(100% #1.pdf)", "/dir/100%25%20%231.pdf"),
        ("/S/GoToR/F(C:\\\\Users\\\\me.pdf)", ""),
        ("/S/GoToR/F(/C/Users/me.pdf)", ""),
        ("/S/URI/URI(other.html)", "/dir/other.html"),
        ("/S/URI/URI<FEFF002F0078>", "/x"),
        ("/S/URI/URI(/caf\xe9)", "/caf%E9"),
        ("/S/URI/URI(/caf\xc3\xa9)", "/caf%C3%A9"),
    ],
)
def test_pdf_links_to_other_files(action: str, target: str) -> None:
    expected = [f"http://www.example.org{target}"] if target else []
    assert targets(read_at(pdf(WORDS, action=action))) == expected


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude0a", "\ufffd"])
def test_url_with_half_of_a_character_is_not_a_link(half: str) -> None:
    """dgtlmoon/changedetection.io#4273, the kind: nobody wrote the URL with U+FFFD."""
    body = f'{{"name": "x {half}", "url": "http://a.org/{half}", "more": [{{"url": "http://a.org/"}}]}}'
    parsed = parse_response(body, ("Content-Type", "application/json"))
    assert (parsed.title, targets(parsed)) == ("x \ufffd", ["http://a.org/"])
    assert Hazard.MALFORMED_URL in parsed.hazards


def test_urls_in_pdf_text_are_links_without_annotations() -> None:
    assert targets(parse_response(pdf("See http://a.org/x for more"), PDF)) == ["http://a.org/x"]


def test_pdf_without_text_has_digest_of_bytes() -> None:
    empty = parse_response(pdf(""), PDF)
    assert empty.text is None and empty.digest != parse_response(pdf("", ""), PDF).digest


def test_pdf_served_as_octet_stream_is_read() -> None:
    assert parse_response(WHOLE, ("Content-Type", "application/octet-stream")).title == "A title"


def test_pdf_has_a_size_limit_of_its_own() -> None:
    page = page_response(WHOLE, PDF)
    assert parse(page, replace(OPTIONS, decoded_limit=100), NOW).title == "A title"
    cut = parse(page, replace(OPTIONS, pdf_limit=100), NOW)
    assert cut.truncated and not cut.title


@pytest.mark.slow
def test_long_pdf_text_is_truncated() -> None:
    parsed = parse_response(pdf(*["word " * 12_000] * 20), PDF)
    assert len(parsed.text or "") <= 1_100_000 and parsed.cut == ("text",)


def archive(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as into:
        for name, text in files.items():
            into.writestr(name.replace("__", "/").replace("_", "."), text)
    return buffer.getvalue()


CORE = """<?xml version="1.0"?><cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t">
<dc:title>A  title</dc:title><dc:creator>Ann Author</dc:creator><dc:language>de-DE</dc:language>
<dc:description>About foxes</dc:description><dcterms:created>2024-02-29T12:00:00Z</dcterms:created>
<dcterms:modified>2024-03-01T12:00:00Z</dcterms:modified></cp:coreProperties>"""
META = """<office:document-meta xmlns:office="o" xmlns:meta="m" xmlns:dc="d"><office:meta>
<meta:initial-creator>Ann Author</meta:initial-creator><dc:creator>Somebody</dc:creator>
<meta:creation-date>2024-02-29T12:00:00</meta:creation-date><dc:date>2024-03-01T12:00:00</dc:date>
<dc:title>A title</dc:title><dc:description>About foxes</dc:description>
<dc:language>de</dc:language></office:meta></office:document-meta>"""
DOCX, ODT = archive(docProps__core_xml=CORE), archive(meta_xml=META)


# dotnet/Open-XML-SDK#1128, langgenius/dify#23967, PHPOffice/PhpSpreadsheet#3472.
WINDOWS = archive(**{"docProps\\core_xml": CORE})
# Part names are found by relationships (ECMA-376, part 2, 8). .NET makes them up.
PACKAGED = archive(**{"package__services__metadata__core-properties__0a1b_psmdcp": CORE})


@pytest.mark.parametrize("body", [DOCX, ODT, WINDOWS, PACKAGED])
@pytest.mark.parametrize("kind", [*OFFICE, "application/octet-stream"])
def test_office_file_has_metadata(body: bytes, kind: str) -> None:
    parsed = read_at(body, kind)
    assert (parsed.title, parsed.author, parsed.description) == (
        "A title",
        "Ann Author",
        "About foxes",
    )
    assert (parsed.published_at, parsed.modified_at, parsed.language) == (LEAP, LEAP + 86400, "de")
    assert (parsed.text, parsed.links) == (None, ())


def test_other_archives_yield_nothing() -> None:
    assert parse_response(archive(readme_txt="x"), ("Content-Type", "application/zip")).title == ""


@pytest.mark.slow
def test_archive_bomb_is_unpacked_up_to_limit() -> None:
    bomb = archive(docProps__core_xml=CORE[:-20] + " " * 100_000_000)
    assert len(bomb) < 1_000_000
    assert parse_response(bomb, ("Content-Type", OFFICE[0])).title == "A title"


XHTML = """<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de"><head><title>A &amp; B</title>
<script src="x.js"/><style/></head><body><p>Eins&nbsp;zwei<br/><a href="/a">drei</a></p>
<script><![CDATA[if (1 < 2) document.write("<a href='/no'>")]]></script>
<iframe src="/b"/></body></html>"""
STRICTLY = ("Content-Type", "application/xhtml+xml")


@pytest.mark.parametrize("kind", ["application/xhtml+xml", "application/xml", "text/xml"])
def test_self_closing_script_in_xhtml_is_empty(kind: str) -> None:
    parsed = parse_response(XHTML, ("Content-Type", kind))
    assert (parsed.title, parsed.language) == ("A & B", "de")
    links = [link.url for link in parsed.links if link.kind != "script"]
    assert links == ["http://www.example.org/a", "http://www.example.org/b"]
    assert (
        parsed.listing is None
        and parsed.digest
        == parse_response(XHTML.replace('<script src="x.js"/><style/>', ""), STRICTLY).digest
    )


def test_xhtml_with_namespace_prefix_is_read() -> None:
    body = """<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:head><h:title>T</h:title></h:head>
    <h:body><h:a href="/a">x</h:a></h:body></h:html>"""
    parsed = parse_response(body, STRICTLY)
    assert (parsed.title, targets(parsed)) == ("T", ["http://www.example.org/a"])


@pytest.mark.parametrize("body", ["<p>&prod; a&nbsp;b</p>", "<p>&prod; a&nbsp;b<br>"])
def test_entity_that_xhtml_declares_is_its_text(body: str) -> None:
    """JuliaData/XML.jl#130, and XML 1.0, 5.1. `&prod;` and `&copy` are others in HTML."""
    entities = {"prod": "Gizmo &#38; Co", "copy": "http://x.test/a", "nbsp": "&#160;"}
    declared = "".join(f'<!ENTITY {name} "{text}">' for name, text in entities.items())
    kind = f"<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x.dtd' [{declared}]>"
    head = "<head><title>&prod;</title></head>"
    text = f"<html xmlns='http://www.w3.org/1999/xhtml'>{head}<body>{body}<a href='&copy;/b'/>"
    parsed = parse_response(f"<?xml version='1.0'?>\n{kind}\n{text}</body></html>", STRICTLY)
    assert parsed.title == "Gizmo & Co"
    assert (parsed.text or "").strip() == "Gizmo & Co a b"
    assert targets(parsed) == ["http://x.test/a/b"]


def test_malformed_xhtml_is_read_as_html() -> None:
    parsed = parse_response(
        "<html xmlns='http://www.w3.org/1999/xhtml'><title>T<p><a href=/a>x", STRICTLY
    )
    assert parsed.title.startswith("T")
    parsed = parse_response("<title>T</title><br><a href=/a>x &nbsp; &copy;", STRICTLY)
    assert (parsed.title, targets(parsed)) == ("T", ["http://www.example.org/a"])


def test_other_xml_is_not_read() -> None:
    parsed = parse_response(
        "<note><title>T</title><url>http://a.org/</url></note>", ("Content-Type", "text/xml")
    )
    assert (parsed.title, parsed.links, parsed.listing) == ("", (), None)


def test_json_has_a_title_and_links() -> None:
    body = {
        "@context": "https://schema.org",
        "@graph": [
            {
                "@type": "Article",
                "headline": "H",
                "url": "http://a.org/1",
                "isPartOf": {"@id": "HTTP://a.org/2"},
            },
            {"@id": "#local", "name": "N", "url": ["http://a.org/3"], "text": "http://a.org/4"},
        ],
    }
    parsed = parse_response(json.dumps(body), ("Content-Type", "application/ld+json"))
    assert (parsed.title, parsed.text) == ("H", None)
    assert targets(parsed) == ["http://a.org/1", "http://a.org/2"]


def test_json_links_are_limited() -> None:
    body = json.dumps([{"url": f"http://a.org/{n}"} for n in range(20)])
    page = page_response(body.encode(), ("Content-Type", "application/json"))
    parsed = parse(page, replace(OPTIONS, links_limit=10), NOW)
    assert len(parsed.links) == 10 and Hazard.TOO_MANY_LINKS in parsed.hazards


SOUND = {
    "application/pdf": WHOLE,
    OFFICE[0]: DOCX,
    OFFICE[3]: ODT,
    "application/xhtml+xml": XHTML.encode(),
    "application/ld+json": b'{"@id": "http://a.org/", "name": ["x", {"url": 1}], "b": null}',
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SOUND)
def test_mutated_files_are_read(kind: str) -> None:
    for mutant in mutants(SOUND[kind], 400):
        encode(parse_response(mutant, ("Content-Type", kind)))


def test_truncated_pdf_is_read() -> None:
    for end in range(0, len(WHOLE), 7):
        encode(parse_response(WHOLE[:end], PDF))


HOSTILE = {
    "nested": ("text/xml", "<html xmlns='http://www.w3.org/1999/xhtml'>" + "<div>" * 200_000),
    "attributes": (
        "application/xhtml+xml", f"<html {' '.join(f'a{n}=1' for n in range(9000))}/>"
    ),
    "entities": (
        "application/xhtml+xml",
        "<!DOCTYPE u [<!ENTITY e0 'xxxxxxxxxx'>"
        + "".join(f"<!ENTITY e{n + 1} '{f'&e{n};' * 10}'>" for n in range(9))
        + "]><html xmlns='http://www.w3.org/1999/xhtml'><body title='&e9;'>&e9;</body></html>",
    ),
    "external": (
        "application/xhtml+xml",
        '<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
        "<html xmlns='http://www.w3.org/1999/xhtml'><body>&x;</body></html>",
    ),
    "json": ("application/json", '{"a":' * 300_000),
    "pages": (
        "application/pdf",
        pdf().decode("latin-1").replace("/Count 0/Kids[]", "/Count 9999999/Kids[2 0 R]"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_yields_a_small_result(name: str) -> None:
    kind, body = HOSTILE[name]
    parsed: PageParsed = parse_response(body, ("Content-Type", kind))
    assert len(encode(parsed).value) < 10_000
    assert "xxxxxxxxxxxxxxxxxxxx" not in (parsed.text or "")


@given(st.binary(), st.sampled_from(sorted(READERS)))
def test_any_bytes_are_read_by_any_reader(body: bytes, kind: str) -> None:
    encode(parse_response(body, ("Content-Type", kind)))


@pytest.mark.slow
def test_noise_after_any_signature_is_read() -> None:
    chance = random.Random(7)
    for start in (b"%PDF-1.7\n", b"PK\x03\x04", b"\x1f\x8b\x08", b"<html xmlns='", b"{"):
        for _ in range(50):
            for kind in ("application/pdf", "application/zip", "application/gzip", "text/xml"):
                encode(parse_response(start + chance.randbytes(500), ("Content-Type", kind)))
