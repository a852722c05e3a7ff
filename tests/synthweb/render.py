"""Renders pages as bytes."""

import struct
import zlib
from collections.abc import Callable
from html import escape

from .atlas import Atlas
from .page import HTML, SITEMAP, Link, Page, Spot
from .words import SAMPLES, paragraphs, title


def body_of(atlas: Atlas, page: Page) -> bytes:
    """Return the body before any transfer coding."""
    kind = page.traits.type
    if kind in HTML:
        return _html(atlas, page).encode(page.traits.charset, "xmlcharrefreplace")
    if kind == SITEMAP:
        return _sitemap(atlas, page).encode()
    return _OTHERS[kind]("\n\n".join(paragraphs(page.text)))


def content_type(page: Page) -> str:
    traits = page.traits
    spoken = traits.declared == "header" and traits.type.startswith(("text/", "application/xhtml"))
    return f"{traits.type}; charset={traits.charset}" if spoken else traits.type


def _html(atlas: Atlas, page: Page) -> str:
    heading = title(page.text)
    texts = [*paragraphs(page.text), *filter(None, [SAMPLES.get(page.traits.charset)])]
    prose = "\n".join(f"<p>{escape(text)}</p>" for text in texts)
    heads = [link for link in page.links if link.tag == "link"]
    rest = [link for link in page.links if link.tag != "link"]
    return (
        f'{_prologue(page)}<html lang="en"{_namespace(page)}>\n<head>{_meta(page)}'
        f"<title>{escape(heading)}</title>\n"
        + "".join(_element(atlas, page.spot, link) for link in heads)
        + f"</head>\n<body>\n<main><article><h1>{escape(heading)}</h1>\n{prose}\n</article></main>"
        + "\n<nav>\n"
        + "".join(_element(atlas, page.spot, link) for link in rest)
        + "</nav>\n</body>\n</html>\n"
    )


def _sitemap(atlas: Atlas, page: Page) -> str:
    entries = (
        f"<url><loc>{escape(atlas.url(link.to))}</loc><lastmod>2024-02-29</lastmod></url>\n"
        for link in page.links
    )
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<urlset xmlns="{namespace}">\n{"".join(entries)}</urlset>\n'


def _prologue(page: Page) -> str:
    if page.traits.type == "application/xhtml+xml":
        return '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
    return "<!DOCTYPE html>\n"


def _namespace(page: Page) -> str:
    return ' xmlns="http://www.w3.org/1999/xhtml"' if page.traits.type != "text/html" else ""


def _meta(page: Page) -> str:
    traits = page.traits
    charset = f'<meta charset="{traits.charset}" />' if traits.declared == "meta" else ""
    robots = '<meta name="robots" content="nofollow" />' if traits.robots == "meta" else ""
    base = '<base href="/beyond/" />' if traits.based else ""
    return charset + robots + base


def _element(atlas: Atlas, here: Spot, link: Link) -> str:
    href = escape(_SPELL[link.spelling](atlas, here, link.to), quote=True)
    words = escape(f"to {link.to[0]}{link.to[1]}")
    rel = ' rel="nofollow"' if link.nofollow else ""
    return _ELEMENTS[link.tag].format(href=href, words=words, rel=rel)


_ELEMENTS = {
    "a": '<p><a href="{href}"{rel}>{words}</a></p>\n',
    "area": '<map name="m"><area href="{href}" alt="{words}"{rel} /></map>\n',
    "link": '<link rel="next" href="{href}" />\n',
    "iframe": '<iframe src="{href}" title="{words}"></iframe>\n',
}


def _odd_case(atlas: Atlas, _here: Spot, to: Spot) -> str:
    return f"HTTP://{atlas.roles.names[to[0]].title()}:{atlas.port}{to[1]}"


def _relative(here: Spot, to: Spot, above: int = 0) -> str:
    """Return a relative link that climbs to the root, or above it, which is the root again."""
    climbs = here[1].partition("?")[0].count("/") - 1 + above
    return "../" * climbs + to[1][1:] or "./"


def _absolute_dots(atlas: Atlas, _here: Spot, to: Spot) -> str:
    return atlas.url((to[0], f"/gone/./../{to[1][1:]}"))


_SPELL: dict[str, Callable[[Atlas, Spot, Spot], str]] = {
    "absolute": lambda atlas, here, to: atlas.url(to),
    "rooted": lambda atlas, here, to: to[1],
    "relative": lambda atlas, here, to: _relative(here, to),
    "dots": lambda atlas, here, to: "./" + _relative(here, to, above=1),
    "fragment": lambda atlas, here, to: atlas.url(to) + "#part-2",
    "odd-case": _odd_case,
    "schemeless": lambda atlas, here, to: atlas.url(to).removeprefix("http:"),
    "absolute-dots": _absolute_dots,
    "based": lambda atlas, here, to: to[1].rpartition("/")[2],
    "mailto": lambda atlas, here, to: "mailto:nobody@" + atlas.roles.names[to[0]],
    "telephone": lambda atlas, here, to: "tel:+000",
    "self": lambda atlas, here, to: "#top",
}


def location(atlas: Atlas, page: Page) -> str | None:
    """Return the Location header, if the page has one."""
    if page.target is None:
        return None
    spell = "relative" if page.traits.relative else "absolute"
    return _SPELL[spell](atlas, page.spot, page.target)


def _png(text: str) -> bytes:
    """Return an image of one grey dot, with the text as a comment."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    chunks = [
        _chunk(b"IHDR", header),
        _chunk(b"tEXt", b"Comment\0" + text.encode()),
        _chunk(b"IDAT", zlib.compress(b"\0\x80")),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _pdf(text: str) -> bytes:
    """Return a PDF of one page; readers rebuild the missing cross-reference table."""
    stream = f"BT /F1 9 Tf 20 700 Td ({text[:200]}) Tj ET".replace("\n", " ")
    return (
        "%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n"
        "2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj\n"
        "3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources "
        "<</Font <</F1 <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>>>>>>> endobj\n"
        f"4 0 obj <</Length {len(stream)}>> stream\n{stream}\nendstream endobj\n"
        "trailer <</Root 1 0 R>>\n%%EOF\n"
    ).encode()


_OTHERS: dict[str, Callable[[str], bytes]] = {
    "text/plain": str.encode,
    "image/png": _png,
    "application/pdf": _pdf,
}
