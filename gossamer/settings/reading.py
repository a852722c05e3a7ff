"""How pages are read."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from gossamer.settings.units import Bytes, Natural, Positive, Seconds, Section, unit
from gossamer.text.modes import TextMode
from gossamer.web.directives import Signal


def _mode(value: object) -> object:
    """Read what the setting was when it could only be on or off."""
    return {"true": "main", "false": "off"}.get(str(value).lower(), value)


class ParserSettings(Section):
    """How pages are read."""

    workers: Annotated[Natural, unit("processes")] = 0
    """Processes that read pages; 0: as many as there are cores."""
    text: Annotated[TextMode, BeforeValidator(_mode)] = "main"
    """`main`: the main text of a page as trafilatura finds it (F1 0.96), and all that a reader sees
    where there is none to speak of. `fast`: the same by resiliparse, in a sixth of the time (F1
    0.91). `off`: none, and reading a page is less than half the work."""
    markdown: bool = False
    """Whether the main text is published as Markdown besides, with its headings, lists and
    emphasis: for those who feed models. It costs as much again as `main`."""
    word_limit: Annotated[Natural, unit("characters")] = 30
    """What has more characters in a row without anything that sets words apart is no word, and is
    left out of the text (hazard misread_text); in languages that compound words, twice as many. 0:
    nothing is left out."""
    physical_markup: bool = True
    """Whether headings that are made of font sizes, bold type and centring are recorded besides
    those that say that they are some (hazard physical_markup)."""
    simhash_words: Annotated[Natural, unit("words")] = 50
    """Near duplicates are looked for among texts with so many words: shorter ones of a site are too
    much alike. 0: no simhashes are made (0.15 ms for 1,000 characters)."""
    page_limit: Seconds = 10.0
    """The most CPU time that reading a page may take; then it goes to the dead letters. By the
    clock it may take ten times as long: a busy machine condemns no page."""
    memory_limit: Bytes = 512 << 20
    """The most memory that reading a page may take, beyond what the process has to begin with."""
    letters_limit: Annotated[Natural, unit("pages")] = 10
    """How many pages of a host that cannot be read are kept as dead letters, by each process; the
    others are only logged and counted."""
    decoded_limit: Bytes = 2 << 20
    """How much of a body is read after decompression (hazard decompression_bomb)."""
    pdf_limit: Bytes = 20 << 20
    """The same for PDF and office files, which are of no use when they are cut."""
    sitemap_limit: Bytes = 50 << 20
    """The same for sitemaps (sitemaps.org allows 50 MB)."""
    ratio_limit: Annotated[Positive, unit("times")] = 1000
    """How much larger than it was sent a body may become: beyond that decompression stops, for text
    does not compress so well."""
    links_limit: Annotated[Positive, unit("links")] = 10_000
    """Most links that are taken of a page (hazard too_many_links)."""
    links_bytes: Annotated[Bytes, Field(le=4 << 20)] = 2 << 20
    """Most bytes that a page's links may have in its event (hazard too_many_links)."""
    entries_limit: Annotated[Positive, unit("entries")] = 50_000
    """Most entries that are taken of a sitemap (sitemaps.org allows 50,000) or a feed (hazard
    too_many_links)."""
    not_indexed: Annotated[tuple[Signal, ...], unit("list of directives")] = (
        "noindex",
        "unavailable_after",
    )
    """Which of what a page asks for in robots meta elements and X-Robots-Tag headers keeps it out
    of `pages`. `tdm-reservation`, `noai` and others may be added; `[]` publishes every page, with
    its text. `directives` and `usage` of a page have all that was said."""
    not_followed: Annotated[tuple[Signal, ...], unit("list of directives")] = ("nofollow",)
    """Which of it keeps its links from being followed."""
    script_links: bool = True
    """Whether scripts and the handlers of events are looked through for URLs of pages, which are
    tried last (hazard script_links)."""
    requisites_limit: Annotated[Natural, unit("URLs")] = 200
    """Most images, styles, scripts and the like of a page of which the URLs are kept; they are not
    visited. 0: none."""
