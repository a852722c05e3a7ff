"""Reads the metadata of office files: title, author, dates and language. Their text is not read.

Office files are ZIP archives with a small XML file of metadata (ECMA-376, part 2, 11; ODF 1.3,
part 3, 4.3). Only that file is unpacked, up to a limit. Broken and encrypted archives yield
nothing.
"""

import zlib
from collections.abc import Iterator
from io import BytesIO
from struct import error as StructError
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from lxml import etree
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.pages import Source
from gossamer.text.folding import fold_whitespace
from services.parser.dates import parse_date
from services.parser.html.document import MAX_DESCRIPTION_LENGTH, MAX_TITLE_LENGTH
from services.parser.readers.base import ReceivedDocument
from services.parser.readers.xml import SAFE_OPTIONS, Element, local_name, text_of
from services.parser.text import detect_language

METADATA_FILES = ("docProps/core.xml", "meta.xml")
MAX_METADATA_SIZE = 1 << 20
"""Most bytes of the metadata that are unpacked."""
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


def read(received: ReceivedDocument) -> PageParsed:
    """Return the metadata of an office file; nothing for another archive."""
    parsed, texts = received.parsed, dict[str, str]()
    for element in _metadata_elements(received.body):
        texts.setdefault(local_name(element), text_of(element))

    def first(*names: str) -> str:
        return next((texts[name] for name in names if texts.get(name)), "")

    created_at = parse_date(first("created", "creation-date"))
    modified_at = parse_date(first("modified", "date"))
    return replace(
        parsed,
        title=fold_whitespace(first("title"))[:MAX_TITLE_LENGTH],
        author=fold_whitespace(first("initial-creator", "creator"))[:MAX_TITLE_LENGTH],
        description=fold_whitespace(first("description", "subject"))[:MAX_DESCRIPTION_LENGTH],
        published_at=created_at,
        published_by=Source.FILE.of(created_at),
        modified_at=modified_at,
        modified_by=Source.FILE.of(modified_at),
        language=detect_language("", first("language")),
    )


def _metadata_elements(body: bytes) -> Iterator[Element]:
    try:
        parser = etree.XMLParser(recover=True, **SAFE_OPTIONS)
        root = etree.fromstring(_unpack_metadata(body), parser)
    except (*ARCHIVE_ERRORS, etree.LxmlError):
        return
    if root is not None:
        yield from root.iter()


def _unpack_metadata(body: bytes) -> bytes:
    with ZipFile(BytesIO(body)) as archive:
        files = {file.filename: file for file in archive.infolist()}
        file = files.get(METADATA_FILES[0]) or files[METADATA_FILES[1]]
        if file.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise NotImplementedError
        with archive.open(file) as member:
            return member.read(MAX_METADATA_SIZE)
