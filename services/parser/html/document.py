"""HTML and XHTML documents: metadata, text, headings and links, as browsers read them.

Lexbor builds the tree that the HTML standard prescribes (1,296 of 1,296 tests of html5lib).

XHTML is parsed as XML, where `<script src="…"/>` ends at once. Browsers reject XHTML that is not
well-formed, but most of it is HTML with another media type, and its authors tested it as HTML. So
it is parsed as HTML. Well-formed XHTML is serialized as HTML, and the rest is common to both. An
entity that the document declares is its text, and not the entity of this name in HTML.
"""

from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from math import inf

from lxml import etree
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from gossamer.events import PageFetched, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.services.parser.charset import decode_text
from gossamer.services.parser.html.about import (
    DESCRIPTION_NAMES,
    TITLE_NAMES,
    Fields,
    Meta,
    collect_meta,
    is_article,
    is_thread,
    read_about,
)
from gossamer.services.parser.html.blocks import Block, Document
from gossamer.services.parser.html.content import read_blocks
from gossamer.services.parser.html.cost import truncate_costly
from gossamer.services.parser.html.elements import Elements
from gossamer.services.parser.html.headings import find_headings, remove_permalinks
from gossamer.services.parser.html.hidden import has_concealed_text, remove_hidden
from gossamer.services.parser.html.links import collect_links
from gossamer.services.parser.html.rendering import (
    expand_frames,
    expand_shadow_trees,
    write_as_displayed,
)
from gossamer.services.parser.html.text import (
    NON_MAIN_ELEMENTS,
    extract_text,
    needs_rendering,
    split_lines,
)
from gossamer.services.parser.links import Resolver
from gossamer.services.parser.options import Options
from gossamer.services.parser.parts import Part, read_part
from gossamer.services.parser.received import ReceivedDocument
from gossamer.services.parser.result import add_hazards, add_hazards_if, add_usage
from gossamer.services.parser.simhash import simhash_of
from gossamer.services.parser.text import TextKind, compare_fields, finish_text
from gossamer.services.parser.xml import SAFE_OPTIONS
from gossamer.text.blocks import SEPARATOR, fold_whitespace, split_pieces
from gossamer.web.directives import meta_names, parse_directives
from gossamer.web.http import joined_values
from gossamer.web.markup import expand_entities
from gossamer.web.usage import names_of_meta, read_meta

NAMESPACE = "{http://www.w3.org/1999/xhtml}"
MAX_TITLE_LENGTH = 500
MAX_DESCRIPTION_LENGTH = 1000
MAX_TITLES = 5
"""Most headings that are tried as the title of a page without one."""
DOCUMENT_END = "</body></html>"
LINKED_DATA_SELECTOR = "script[type='application/ld+json']"
MIN_WORDS = 50
"""Visible words up to which the pictures of a page are part of the compared text."""
RUBY_ELEMENTS = ["ruby", "rb", "rt", "rtc", "rp"]
MEDIA = ("img", "source", "video", "audio", "iframe", "frame", "embed", "object")
"""Elements that show the content of another URL."""


def read_html(received: ReceivedDocument) -> PageParsed:
    """Return the contents of an HTML document."""
    parsed, decoded = received.decode(is_html=True)
    return read_markup(parsed, decoded.text, decoded.encoding, received.options)


def read_xhtml(received: ReceivedDocument) -> PageParsed:
    """Return the contents of an XHTML document."""
    parsed, decoded = received.decode(is_html=True)
    return read_markup(parsed, xhtml_to_html(decoded.text), decoded.encoding, received.options)


def decode_html(page: PageFetched, body: bytes, kind: str) -> str:
    """Return the decoded *body* of *page*, which is HTML or XHTML by its *kind*, as HTML."""
    header = joined_values(page.headers, "content-type")
    text = decode_text(body, header, is_html=True).text
    return xhtml_to_html(text) if kind == "application/xhtml+xml" else text


def xhtml_to_html(text: str) -> str:
    """Return the XML *text* serialized as HTML; *text* itself if it is not well-formed."""
    text = expand_entities(text)
    try:
        body = text.lstrip("\ufeff \t\r\n").encode(errors="replace")
        root = etree.fromstring(body, etree.XMLParser(**SAFE_OPTIONS))
        for element in root.iter(f"{NAMESPACE}*"):
            element.tag = element.tag.removeprefix(NAMESPACE)
        html = etree.tostring(root, method="html", encoding="unicode", doctype="<!DOCTYPE html>")
    except (etree.LxmlError, ValueError):
        return text
    return str(html)


def read_markup(parsed: PageParsed, whole: str, encoding: str, options: Options) -> PageParsed:
    """Return *parsed* with the contents of the HTML *whole*, which was received in *encoding*."""
    html = truncate_costly(whole)
    page = read_document(
        html, parsed.visit.url, encoding, options, parsed.fetched_at, parsed.declared_language
    )
    text = (
        finish_text(page.compared_text, TextKind.VISIBLE, page.language, options)
        if options.compared
        else extract_text(html, page, options)
    )
    main = text.text if text.kind == TextKind.MAIN else None
    is_empty = needs_rendering(html, page.visible)
    conditions = {
        Hazard.MALFORMED_HTML: len(html) < len(whole),
        Hazard.MISREAD_TEXT: text.misread,
        Hazard.PHYSICAL_MARKUP: any(heading.physical for heading in page.headings),
        Hazard.NEEDS_RENDERING: is_empty,
    }
    parsed = add_hazards_if(add_hazards(parsed, sorted(page.hazards)), conditions)
    return replace(
        add_usage(parsed, page.usage_statements),
        **page.about,
        needs_rendering=is_empty,
        title=page.title,
        description=page.description,
        language=text.language,
        text=text.text,
        text_kind=text.kind,
        markdown=text.markdown,
        headings=page.headings,
        **compare_fields(page.compared, options),
        simhash=simhash_of(main or page.visible, options.simhash_words),
        directives=tuple(dict.fromkeys((*parsed.directives, *page.directives))),
    )


def read_document(
    text: str, url: str, charset: str, options: Options, now: float = inf, language: str = ""
) -> Document:
    """Read *text*, a document at the canonical *url* in *charset*; ignore times after *now*.
    *language* is the one that the headers state."""
    tree = LexborHTMLParser(text)
    has_all_frames = expand_frames(tree)
    expand_shadow_trees(tree)
    elements = Elements(tree, options.requisites)
    meta = collect_meta(elements)
    robots = [value for name in meta_names(options.product) for value in meta.get(name, [])]
    stated = [(name, one) for name in names_of_meta(options.product) for one in meta.get(name, [])]
    links = collect_links(elements, url, charset, options)
    about = read_part(
        Part.METADATA,
        options,
        lambda: read_about(elements, meta, links.resolver, url, now),
        Fields(),
    )
    linked_title, linked_description = about.pop("title", ""), about.pop("description", "")
    title = _find_title(elements, meta, linked_title, tree)[:MAX_TITLE_LENGTH]
    language = _find_language(elements, meta, tree, language)
    description = _first_words(*_values(meta, DESCRIPTION_NAMES), unescape(linked_description))
    statements = about.get("linked_data", ())
    states_thread = is_thread(statements, elements)
    states_article = not states_thread and is_article(statements, meta, elements)
    # Linked data sometimes contains the whole article.
    linked_data = "" if options.text == "off" else _linked_data_markup(tree)
    write_as_displayed(tree)
    remove_hidden(tree)
    is_manual = remove_permalinks(tree)
    conditions = {
        Hazard.HIDDEN_TEXT: has_concealed_text(tree),
        Hazard.MALFORMED_HTML: not has_all_frames,
    }
    hazards = {hazard for hazard, is_met in conditions.items() if is_met}
    pieces = _visible_pieces(tree)
    lines = split_lines(tree, between_nodes=" ") if options.compared else []
    compared_text = (
        "\n".join(_add_title_and_media(title, lines, elements)) if options.compared else ""
    )
    content: list[Block] = read_part(
        Part.MAIN_TEXT,
        options,
        lambda: _content_blocks(tree, links.resolver, options, states_article, states_thread),
        [],
    )
    return Document(
        title=title,
        description=description[:MAX_DESCRIPTION_LENGTH],
        language=language,
        directives=parse_directives(robots, options.product),
        headings=read_part(
            Part.HEADINGS, options, lambda: find_headings(tree, options.physical_markup), ()
        ),
        markup="" if options.text == "off" else _main_text_markup(tree, linked_data),
        usage_statements=read_meta(stated, options.product),
        content=content,
        is_manual=is_manual,
        is_article=states_article,
        is_thread=states_thread,
        visible=" ".join(pieces),
        compared=_add_title_and_media(title, pieces, elements) if pieces else [],
        compared_text=compared_text,
        about={**about, **links.fields(), "declared_language": language},
        hazards=links.hazards | hazards,
    )


def _visible_pieces(tree: LexborHTMLParser) -> list[str]:
    if not tree.body:
        return []
    return split_pieces(tree.body.text(separator=SEPARATOR, skip_empty=True))


def _add_title_and_media(title: str, texts: list[str], elements: Elements) -> list[str]:
    """Return the compared text: *title* and *texts*, and beside few words the sources of media.

    The pages of a gallery have few words, and differ in their pictures.
    """
    compared = [title, *texts] if title else [*texts]
    if len(" ".join(texts).split(None, MIN_WORDS)) <= MIN_WORDS:
        sources = (one.get("src") or one.get("data") for one in elements.of(*MEDIA))
        compared += filter(None, map(fold_whitespace, sources))
    return compared


def _find_title(elements: Elements, meta: Meta, linked: str, tree: LexborHTMLParser) -> str:
    """Return the first title with words: of a title element, of meta elements, *linked*, which is
    that of linked data, or of a heading."""
    # SVG has title elements, too.
    titles = (element.node for element in elements.of("title"))
    page_titles = (node for node in titles if node.parent and node.parent.tag in ("head", "body"))
    stated = (*(node.text() for node in page_titles), *_values(meta, TITLE_NAMES))
    if title := _first_words(*stated, unescape(linked)):
        return title
    for tag in ("h1", "h1 img"):
        headings = islice(tree.css(tag), MAX_TITLES)
        texts = (node.attributes.get("alt") or node.text() for node in headings)
        if title := _first_words(*texts):
            return title
    return ""


def _values(meta: Meta, names: Iterable[str]) -> Iterator[str]:
    return (value for name in names for value in meta.get(name, ()))


def _first_words(*texts: str) -> str:
    """Return the first of *texts* with words, white space folded; "" if none has any."""
    return next(filter(None, map(fold_whitespace, texts)), "")


def _linked_data_markup(tree: LexborHTMLParser) -> str:
    return "".join(node.html or "" for node in tree.css(LINKED_DATA_SELECTOR))


def _find_language(elements: Elements, meta: Meta, tree: LexborHTMLParser, sent: str) -> str:
    """Return the declared language: of the html or body element, of the pragma, which is ignored if
    it names several, the one *sent* in a header (HTML standard, 3.2.6.2), or that of OpenGraph."""
    for node in (tree.root, tree.body):
        attributes = node.attributes if node else {}
        if language := attributes.get("lang") or attributes.get("xml:lang"):
            return language
    pragmas = (
        element.get("content").strip()
        for element in elements.of("meta")
        if element.get("http-equiv").strip().lower() == "content-language"
    )
    named = (language for language in pragmas if language and "," not in language)
    return next(named, sent or _first_words(*meta.get("og:locale", ())).replace("_", "-"))


def _content_blocks(
    tree: LexborHTMLParser,
    resolver: Resolver,
    options: Options,
    states_article: bool,
    states_thread: bool,
) -> list[Block]:
    """Return the blocks of the text; [] if no main text is extracted."""
    if options.text == "off" or not tree.body:
        return []
    return read_blocks(tree.body, resolver, options.markdown, states_article, states_thread)


def _main_text_markup(tree: LexborHTMLParser, linked_data: str) -> str:
    # The extractor drops readings.
    tree.unwrap_tags(RUBY_ELEMENTS)
    tree.strip_tags(NON_MAIN_ELEMENTS, recursive=True)
    return (tree.html or "").removesuffix(DOCUMENT_END) + linked_data + DOCUMENT_END
