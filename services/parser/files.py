"""PDF and office files.

PDFium, the library of Chromium, reads text, links and metadata of a PDF. It is native code and has
had security holes, so it runs in a child process with limits and without files or network. Metadata
that the dictionary Info lacks is read from XMP.

Office files are ZIP archives with a small XML file of metadata (ECMA-376, part 2, 11; ODF 1.3, part
3, 4.3). Only this file is unpacked, up to a limit: title, author, dates and language are read.

Encrypted files, and files broken beyond repair, yield nothing.
"""

# ruff: noqa: RUF001 - characters of an encoding

import ctypes
import re
import zlib
from codecs import BOM_UTF16_BE
from collections.abc import Iterator, Mapping
from contextlib import closing
from io import BytesIO
from itertools import islice
from struct import error as StructError
from typing import Any, NamedTuple
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import pypdfium2
from lxml import etree
from msgspec.structs import replace
from pypdfium2 import raw

from gossamer.events import PageParsed
from gossamer.events.pages import Source
from gossamer.services.parser.charset import decode_text
from gossamer.services.parser.dates import parse_web_date
from gossamer.services.parser.html.document import MAX_DESCRIPTION_LENGTH, MAX_TITLE_LENGTH
from gossamer.services.parser.parts import Part, read_part
from gossamer.services.parser.received import ReceivedDocument, add_links, add_text
from gossamer.services.parser.text import language_of_tag
from gossamer.services.parser.xml import Element, local_name, read_document, text_of
from gossamer.services.parser.xmp import read_xmp
from gossamer.text.blocks import fold_whitespace
from gossamer.web.http import decode_urls
from gossamer.web.markup import REPLACEMENT

INFO_KEYS = ("Title", "Author", "Subject", "CreationDate", "ModDate")
MAX_TEXT_LENGTH = 1_000_000
"""Maximum characters of text that are read."""
MAX_PAGES = 2_000
"""Maximum pages that are read."""
MAX_BOOKMARKS = 2_000
"""Most bookmarks whose links are read."""
MAX_URI_SIZE = 2048
"""Maximum bytes of a URI. A longer one cannot be visited."""
_url_scheme = re.compile("https?://", re.IGNORECASE)
_begins_with_host = re.compile(rb"www\.", re.IGNORECASE)
PDF_DOC_CHARACTERS = {0x18: "˘ˇˆ˙˝˛˚˜", 0x80: "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž", 0xA0: "€"}
"""The characters of PDFDocEncoding that differ from Latin-1, from a code on (ISO 32000, D.2)."""
PDF_DOC_CODES = {
    character: start + place
    for start, characters in PDF_DOC_CHARACTERS.items()
    for place, character in enumerate(characters)
}
UNDEFINED_CODES = (0x9F, 0xAD)
"""Codes above ASCII that have no character there. PDFium returns NUL for both."""
_unreadable = re.compile("[\0-\x08\x0b-\x1f\x7f]")
"""Codes of glyphs whose characters are unknown. White space among them would divide words."""
SOFT_HYPHEN, HYPHEN_IN_AREA = "\ufffe", "\x02"
"""PDFium's characters for a hyphen at the end of a line, in a text and in the text of an area."""
METADATA_FILES = ("docprops/core.xml", "meta.xml")
METADATA_EXTENSION = ".psmdcp"
"""The extension of the metadata in files of .NET, whose name is random."""
MAX_METADATA_SIZE = 1 << 20
"""Maximum bytes of metadata that are unpacked."""
ARCHIVE_ERRORS = (
    BadZipFile,
    zlib.error,
    StructError,
    EOFError,
    KeyError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)
"""Errors that `zipfile` raises for damaged, encrypted or malicious archives."""


class PdfPages(NamedTuple):
    """The text and the links of the pages of a PDF."""

    text: str = ""
    targets: tuple[str, ...] = ()
    """The targets of the links, or else the URLs in the text, and those of the bookmarks."""
    is_whole: bool = True
    """Whether the document was read to its end."""


def read_pdf(received: ReceivedDocument) -> PageParsed:
    """Return the contents of a PDF; nothing if it cannot be opened."""
    parsed, options = received.parsed, received.options
    try:
        with closing(pypdfium2.PdfDocument(received.body)) as document:
            titled = read_part(
                Part.METADATA, options, lambda: _add_pdf_metadata(received, document), parsed
            )
            pages = read_part(Part.TEXT, options, lambda: _read_pdf_pages(document), PdfPages())
    except pypdfium2.PdfiumError:
        return parsed
    parsed = add_text(add_links(titled, pages.targets, options), pages.text, options)
    return parsed if pages.is_whole else replace(parsed, cut=(*parsed.cut, "text"))


def _add_pdf_metadata(received: ReceivedDocument, document: pypdfium2.PdfDocument) -> PageParsed:
    """Return the result with the metadata in the dictionary Info, or else in XMP."""
    parsed = received.parsed
    info = {key: _read_pdf_info(document, key) for key in INFO_KEYS}
    metadata = {key: _restore_utf_8(value).strip() for key, value in info.items()}
    metadata["Language"] = _read_pdf_language(document)
    if not all(metadata.values()):
        xmp = read_xmp(received.body)
        metadata = {key: value or xmp.get(key, "") for key, value in metadata.items()}
    return _add_metadata(parsed, metadata)


def _add_metadata(parsed: PageParsed, metadata: Mapping[str, str]) -> PageParsed:
    """Return *parsed* with *metadata* by the keys of a PDF's dictionary Info, and `Language`."""
    created_at = parse_web_date(metadata["CreationDate"], parsed.fetched_at)
    modified_at = parse_web_date(metadata["ModDate"], parsed.fetched_at)
    return replace(
        parsed,
        title=fold_whitespace(metadata["Title"])[:MAX_TITLE_LENGTH],
        author=fold_whitespace(metadata["Author"])[:MAX_TITLE_LENGTH],
        description=fold_whitespace(metadata["Subject"])[:MAX_DESCRIPTION_LENGTH],
        published_at=created_at,
        published_by=Source.FILE.of(created_at),
        modified_at=modified_at,
        modified_by=Source.FILE.of(modified_at),
        language=metadata["Language"],
    )


def _read_pdf_info(document: pypdfium2.PdfDocument, key: str) -> str:
    """Return a value of the dictionary Info; a character that is cut in half is U+FFFD."""
    name = key.encode() + b"\0"
    buffer = ctypes.create_string_buffer(raw.FPDF_GetMetaText(document, name, None, 0))
    raw.FPDF_GetMetaText(document, name, buffer, len(buffer))
    return buffer.raw.decode("utf-16-le", "replace").rstrip("\0")


def _restore_utf_8(text: str) -> str:
    """Return *text*, which was read as PDFDocEncoding, as UTF-8 if it is that.

    Many writers leave out the byte order mark. A character with an octet that is lost is U+FFFD.
    """
    readings = list[str]()
    for undefined in UNDEFINED_CODES if not text.isascii() else ():
        codes = [PDF_DOC_CODES.get(one, ord(one)) if one != "\0" else undefined for one in text]
        try:
            readings.append(bytes(codes).decode())
        except ValueError:
            return text
    pairs = zip(*readings, strict=True)
    return "".join(one if one == other else REPLACEMENT for one, other in pairs) or text


def _read_pdf_language(document: pypdfium2.PdfDocument) -> str:
    buffer = (ctypes.c_ushort * 64)()
    size = raw.FPDFCatalog_GetLanguage(document, buffer, ctypes.sizeof(buffer))
    if size > ctypes.sizeof(buffer):
        return ""
    return bytes(buffer)[:size].decode("utf-16-le", "ignore").rstrip("\0")


def _read_pdf_pages(document: pypdfium2.PdfDocument) -> PdfPages:
    texts, targets, written = list[str](), list[str](), list[str]()
    characters_left = MAX_TEXT_LENGTH
    for number in range(min(len(document), MAX_PAGES)):
        try:
            with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
                texts.append(_text_of_page(text_page)[:characters_left])
                targets += _link_targets(document, page)
                written += _written_urls(text_page)
        except pypdfium2.PdfiumError:
            continue  # This page is broken.
        characters_left -= len(texts[-1])
        if not characters_left:
            break
    is_whole = bool(characters_left) and len(document) <= MAX_PAGES
    found = (*(targets or written), *_bookmark_targets(document))
    return PdfPages(_join_pages(texts), found, is_whole)


def _text_of_page(text_page: pypdfium2.PdfTextPage) -> str:
    """Return the text within the page."""
    text: str = text_page.get_text_bounded()
    found = text.count(HYPHEN_IN_AREA)
    # It may also be the code of a glyph whose character is unknown.
    if found and found <= text_page.get_text_range().count(SOFT_HYPHEN):
        return text.replace(HYPHEN_IN_AREA, SOFT_HYPHEN)
    return text


def _join_pages(texts: list[str]) -> str:
    text = "\n\n".join(texts).replace("\r\n", "\n")
    text = text.replace(SOFT_HYPHEN + "\n", "").replace(SOFT_HYPHEN, "")
    return _unreadable.sub(REPLACEMENT, text)


def _link_targets(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[str]:
    """Yield the targets of the link annotations."""
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page, position, link):
        if target := _target_of(document, raw.FPDFLink_GetAction(link)):
            yield target


def _bookmark_targets(document: pypdfium2.PdfDocument) -> Iterator[str]:
    """Yield the targets of bookmarks that lead out of the document."""
    for bookmark in islice(document.get_toc(), MAX_BOOKMARKS):
        if target := _target_of(document, raw.FPDFBookmark_GetAction(bookmark)):
            yield target


def _target_of(document: pypdfium2.PdfDocument, action: Any) -> str:
    """Return the URI of *action*, or the file that it opens; "" for other actions."""
    buffer = ctypes.create_string_buffer(MAX_URI_SIZE)
    kind = raw.FPDFAction_GetType(action) if action else None
    if kind == raw.PDFACTION_URI:
        size = raw.FPDFAction_GetURIPath(document, action, buffer, MAX_URI_SIZE)
    elif kind in (raw.PDFACTION_REMOTEGOTO, raw.PDFACTION_LAUNCH):
        size = raw.FPDFAction_GetFilePath(action, buffer, MAX_URI_SIZE)
    else:
        return ""
    if not 0 < size <= MAX_URI_SIZE:
        return ""
    target = buffer.raw[: size - 1]
    if target.startswith(BOM_UTF16_BE):
        target = target.decode("utf-16", "replace").encode()
    if kind != raw.PDFACTION_URI:
        return _url_of_file(target)
    # Viewers complete the name of a host.
    return decode_urls(b"http://" + target if _begins_with_host.match(target) else target)


def _url_of_file(octets: bytes) -> str:
    """Return the relative URL of a file beside the document; "" for a file of the author's machine.

    A file specification may be a URL (ISO 32000, 7.11.5).
    """
    path = octets.decode("utf-8", "replace")
    if _url_scheme.match(path):
        return path
    path = path.replace("\\", "/")
    is_local = path.startswith("/") or ":" in path.partition("/")[0] or REPLACEMENT in path
    return "" if is_local else quote(path)


def _written_urls(text_page: pypdfium2.PdfTextPage) -> Iterator[str]:
    """Yield the URLs in the text."""
    links = raw.FPDFLink_LoadWebLinks(text_page)
    if not links:
        return
    buffer = (ctypes.c_ushort * MAX_URI_SIZE)()
    try:
        for number in range(raw.FPDFLink_CountWebLinks(links)):
            size = raw.FPDFLink_GetURL(links, number, buffer, MAX_URI_SIZE)
            if 0 < size < MAX_URI_SIZE:
                yield bytes(buffer)[: 2 * (size - 1)].decode("utf-16-le", "replace")
    finally:
        raw.FPDFLink_CloseWebLinks(links)


def read_office(received: ReceivedDocument) -> PageParsed:
    """Return the metadata of an office file; nothing for another archive."""
    texts = dict[str, str]()
    for element in _office_metadata(received.body):
        texts.setdefault(local_name(element), text_of(element))

    def first(*names: str) -> str:
        return next((texts[name] for name in names if texts.get(name)), "")

    metadata = {
        "Title": first("title"),
        "Author": first("initial-creator", "creator"),
        "Subject": first("description", "subject"),
        "CreationDate": first("created", "creation-date"),
        "ModDate": first("modified", "date"),
        "Language": language_of_tag(first("language")),
    }
    return _add_metadata(received.parsed, metadata)


def _office_metadata(body: bytes) -> Iterator[Element]:
    try:
        decoded = decode_text(_unpack_metadata(body), "", is_html=True)
        root = read_document(decoded.text).tree()
    except (*ARCHIVE_ERRORS, etree.LxmlError):
        return
    if root is not None:
        yield from root.iter()


def _unpack_metadata(body: bytes) -> bytes:
    with ZipFile(BytesIO(body)) as archive:
        # Some writers separate folders as Windows does, and readers accept it.
        files = {one.filename.replace("\\", "/").lower(): one for one in archive.infolist()}
        others = (name for name in files if name.endswith(METADATA_EXTENSION))
        name = next((name for name in (*METADATA_FILES, *others) if name in files), "")
        file = files[name]
        if file.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise NotImplementedError
        with archive.open(file) as member:
            return member.read(MAX_METADATA_SIZE)
