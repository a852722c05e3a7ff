"""The text of a document that is kept: its main text, or all that is visible."""

from enum import StrEnum
from typing import NamedTuple

from services.parser.document import Document
from services.parser.misread import without_misread
from services.parser.options import Options
from services.parser.text import fast_text, language_of, main_text, markdown_of
from services.parser.visible import is_poor, visible_text


class Kind(StrEnum):
    """Which text is kept of a document."""

    MAIN = "main"
    VISIBLE = "visible"
    PLAIN = "plain"


class Text(NamedTuple):
    """What is kept of it."""

    text: str | None
    kind: str
    language: str
    markdown: str | None = None
    misread: bool = False
    """Whether something is left out that can be no words."""


def text_of(html: str, said: Document, options: Options) -> Text:
    """Return the text of the document *html*, of which *said* is known."""
    main = _main(said, options)
    if main and not is_poor(main, said.visible):
        text = kept(main, Kind.MAIN, said.language, options)
        markdown = markdown_of(said.markup) if options.markdown and text.text else None
        return text._replace(markdown=markdown)
    if options.text == "off":
        return Text(None, "", language_of(said.visible, said.language))
    return kept(visible_text(html), Kind.VISIBLE, said.language, options)


def _main(said: Document, options: Options) -> str:
    if options.text == "off":
        return ""
    return fast_text(said.markup) if options.text == "fast" else main_text(said.markup)


def kept(text: str, kind: Kind, declared: str, options: Options) -> Text:
    """Return what is kept of *text*, in a language that is *declared* to be this one, or ""."""
    language = language_of(text, declared)
    words = without_misread(text, options.word_limit, language)
    misread = len(words) < len(text)
    if options.text == "off" or not words.strip():
        return Text(None, "", language, misread=misread)
    return Text(words, kind, language, misread=misread)
