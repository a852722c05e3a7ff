"""An archived page as a document for a frame: nothing in it runs, loads or leads anywhere.

There are two independent barriers. The document has only the elements and attributes of
`gossamer.services.parser.display`, so it has no address that a browser could open. And
`FRAME_POLICY` forbids every request, script and form. The policy alone does not suffice: after a
click on a link in a sandboxed frame, Chromium connected to its target before it refused the
navigation.

The document is written here and never serialized from a tree of the page: every text and attribute
is escaped, and a style has no `<`.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape

from msgspec import Struct

from gossamer.inspection.archive.page_texts import describe_version, read_display
from gossamer.inspection.archive.versions import Version, decode_file, read_version
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.parser.display import ATTRIBUTES, ELEMENTS, MAX_DEPTH, VOID, DisplayNode

MAX_TEXT = 2 << 20
"""Characters of a text that is shown for a document that is not HTML."""
MAX_IMAGE = 2 << 20
"""Bytes of an image that is shown."""
IMAGE_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""First bytes → type of an image that is shown. SVG is never shown, because it is a document."""
FRAME_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'"
)
"""The Content-Security-Policy of the document."""
FRAME_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": f"sandbox; {FRAME_POLICY}; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""The headers that the document is served with, instead of the archived ones."""
_loading = re.compile(
    r"(?:url|src|image|image-set|cross-fade|element|expression|paint)\s*\(", re.IGNORECASE
)
_at_rule = re.compile(r"@\s*(?:import|namespace|charset|font-face)", re.IGNORECASE)


class ArchivedPage(Struct, frozen=True, kw_only=True):
    """A version of a page, as a document for a frame."""

    url: str
    position: CaptureRow
    content_type: str
    """The type of the archived document by its bytes."""
    html: str
    """The document, to be served with `FRAME_HEADERS`."""
    is_whole: bool
    """Whether nothing is missing because the document is too large."""


def read_archived_page(crawl: OpenCrawl, text: str, at: float | None = None) -> ArchivedPage:
    """Return the newest version of the URL *text* as a document for a frame; with *at*, the newest
    until then.

    HTML is shown without its images and styles at other addresses; an image is shown as it is, and
    any other document by its text. Raise GossamerError if there is no version or it cannot be read,
    and BadSettings for an invalid URL.
    """
    version = read_version(crawl, text, at)
    kind, html, is_whole = _document(crawl, version)
    row = version.row
    return ArchivedPage(url=row.url, position=row, content_type=kind, html=html, is_whole=is_whole)


def _document(crawl: OpenCrawl, version: Version) -> tuple[str, str, bool]:
    """Return the type, the document, and whether it is whole."""
    title = f"{version.row.url} at {instant(version.at)}"
    if version.capture.refers_to is None:
        body = decode_file(version.capture, MAX_IMAGE + 1)
        if (kind := image_type(body)) and len(body) <= MAX_IMAGE:
            source = f"data:{kind};base64,{b64encode(body).decode()}"
            return kind, _page(title, f'<img alt="{escape(title)}" src="{source}">'), True
    display = read_display(crawl, version)
    if display.nodes:
        return display.content_type, _page(title, write_html(display.nodes)), display.is_whole
    described = describe_version(crawl, version)
    shown = described.text or described.fault or "there is nothing to show"
    text = f"<pre>{escape(shown[:MAX_TEXT])}</pre>"
    return display.content_type, _page(title, text), len(shown) <= MAX_TEXT


def image_type(body: bytes) -> str:
    """Return the type of the image in *body* if it may be shown, or ""."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in IMAGE_TYPES.items() if body.startswith(magic)), "")


def _page(title: str, content: str) -> str:
    policy = f'<meta http-equiv="Content-Security-Policy" content="{escape(FRAME_POLICY)}">'
    return (
        f'<!doctype html><html><head><meta charset="utf-8">{policy}'
        f"<title>{escape(title)}</title></head>{content}</html>"
    )


def write_html(nodes: Iterable[DisplayNode]) -> str:
    """Return the HTML of *nodes*. Elements and attributes that may not be shown are left out,
    even if they are in *nodes*."""
    return "".join(_pieces(nodes))


def _pieces(nodes: Iterable[DisplayNode]) -> Iterator[str]:
    opened: list[str] = []
    for node in nodes:
        while len(opened) > max(0, node.depth):
            yield f"</{opened.pop()}>"
        if not node.tag:
            yield escape(node.text.replace("\0", ""))
        elif node.tag == "style":
            yield f"<style>{clean_css(node.text)}</style>"
        elif node.tag == "img":
            if alt := node.attributes.get("alt"):
                title = escape(node.attributes.get("title", ""))
                yield f'<span title="{title}">[image: {escape(alt)}]</span>'
        elif node.tag in ELEMENTS:
            yield f"<{node.tag}{''.join(_attributes(node))}>"
            if node.tag not in VOID and len(opened) < MAX_DEPTH:
                opened.append(node.tag)
    yield from (f"</{tag}>" for tag in reversed(opened))


def _attributes(node: DisplayNode) -> Iterator[str]:
    for name, value in node.attributes.items():
        if name not in ATTRIBUTES:
            continue
        shown = clean_css(value) if name == "style" else value.replace("\0", "")
        yield f' {name}="{escape(shown)}"'


def clean_css(text: str) -> str:
    """Return a style without anything that loads a resource, ends the style or hides a word."""
    plain = text.replace("\\", " ").replace("<", " ").replace("\0", "")
    return _at_rule.sub("@removed", _loading.sub("removed(", plain))
