"""Reads PDF as Chromium does, with PDFium: text, links, and what the document says of itself.

PDFium is native code that has had its holes, as every reader of PDF: it runs where pages are read,
in a process with limits and without files or network. What is encrypted, or broken beyond repair,
says nothing.
"""

import ctypes
from collections.abc import Iterator
from contextlib import closing

import pypdfium2
from msgspec.structs import replace
from pypdfium2 import raw

from gossamer.events import PageParsed
from gossamer.events.pages import Source
from gossamer.text.folding import fold_whitespace
from services.parser.dates import parse_pdf_date
from services.parser.html.document import MAX_DESCRIPTION_LENGTH, MAX_TITLE_LENGTH
from services.parser.readers.base import ReceivedDocument, add_links, add_text

MAX_TEXT_LENGTH = 1_000_000
"""Characters of text that are read …"""
MAX_PAGES = 2_000
"""… and pages of the document."""
MAX_URI_SIZE = 2048
"""Bytes of a target: longer ones are none to visit."""
SOFT_HYPHEN = "\ufffe"
"""What PDFium writes for a hyphen at the end of a line."""


def read(received: ReceivedDocument) -> PageParsed:
    """Return what a PDF says; nothing if it cannot be opened."""
    parsed, options = received.parsed, received.options
    try:
        with closing(pypdfium2.PdfDocument(received.body)) as document:
            described = _add_metadata(parsed, document)
            text, targets, whole = _read_pages(document)
    except pypdfium2.PdfiumError:
        return parsed
    said = add_text(add_links(described, targets, options), text, options)
    return replace(said, cut=said.cut if whole else (*said.cut, "text"))


def _add_metadata(parsed: PageParsed, document: pypdfium2.PdfDocument) -> PageParsed:
    said = document.get_metadata_dict()
    created, changed = parse_pdf_date(said["CreationDate"]), parse_pdf_date(said["ModDate"])
    return replace(
        parsed,
        title=fold_whitespace(said["Title"])[:MAX_TITLE_LENGTH],
        author=fold_whitespace(said["Author"])[:MAX_TITLE_LENGTH],
        description=fold_whitespace(said["Subject"])[:MAX_DESCRIPTION_LENGTH],
        published_at=created,
        published_by=Source.FILE.of(created),
        modified_at=changed,
        modified_by=Source.FILE.of(changed),
        language=_read_language(document),
    )


def _read_language(document: pypdfium2.PdfDocument) -> str:
    buffer = (ctypes.c_ushort * 64)()
    size = raw.FPDFCatalog_GetLanguage(document, buffer, ctypes.sizeof(buffer))
    whole = size <= ctypes.sizeof(buffer)
    return bytes(buffer)[:size].decode("utf-16-le", "ignore").rstrip("\0") if whole else ""


def _read_pages(document: pypdfium2.PdfDocument) -> tuple[str, list[str], bool]:
    """Return the text, where the links lead (if there are none, the URLs in the text), and whether
    that is all."""
    texts, targets, written, room = list[str](), list[str](), list[str](), MAX_TEXT_LENGTH
    for number in range(min(len(document), MAX_PAGES)):
        try:
            with closing(document[number]) as page, closing(page.get_textpage()) as on_page:
                texts.append(on_page.get_text_bounded()[:room])
                targets += _link_targets(document, page)
                written += _written_urls(on_page)
        except pypdfium2.PdfiumError:
            continue  # One page is broken.
        room -= len(texts[-1])
        if not room:
            break
    whole = bool(room) and len(document) <= MAX_PAGES
    return _join_pages(texts), targets or written, whole


def _join_pages(pages: list[str]) -> str:
    return (
        "\n\n".join(pages)
        .replace("\r\n", "\n")
        .replace(SOFT_HYPHEN + "\n", "")
        .replace(SOFT_HYPHEN, "")
    )


def _link_targets(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[str]:
    """Yield the URIs of the links that can be clicked on."""
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    buffer = ctypes.create_string_buffer(MAX_URI_SIZE)
    while raw.FPDFLink_Enumerate(page, position, link):
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            size = raw.FPDFAction_GetURIPath(document, action, buffer, MAX_URI_SIZE)
            if 0 < size <= MAX_URI_SIZE:
                yield buffer.raw[: size - 1].decode("utf-8", "replace")


def _written_urls(on_page: pypdfium2.PdfTextPage) -> Iterator[str]:
    """Yield the URLs that are written out in the text."""
    found = raw.FPDFLink_LoadWebLinks(on_page)
    if not found:
        return
    buffer = (ctypes.c_ushort * MAX_URI_SIZE)()
    try:
        for number in range(raw.FPDFLink_CountWebLinks(found)):
            size = raw.FPDFLink_GetURL(found, number, buffer, MAX_URI_SIZE)
            if 0 < size < MAX_URI_SIZE:
                yield bytes(buffer)[: 2 * (size - 1)].decode("utf-16-le", "replace")
    finally:
        raw.FPDFLink_CloseWebLinks(found)
