"""Settings of the parser."""

from typing import Annotated

from pydantic import Field

from gossamer.settings.units import Bytes, Natural, Positive, Seconds, Section, unit
from gossamer.text.modes import TextMode
from gossamer.web.directives import Signal


class ParserSettings(Section):
    """How pages are read."""

    workers: Annotated[Natural, unit("processes")] = 0
    """Number of parser processes. 0 means one for each core."""
    text: TextMode = "main"
    """Extraction of the main text. `main` uses trafilatura (F1 0.96), and all visible text if there
    is hardly any main text. `fast` uses resiliparse in a sixth of the time (F1 0.91). `off`
    extracts no text and more than halves the time for a page."""
    markdown: bool = False
    """Whether the main text is also published as Markdown with headings, lists and emphasis, for
    use with language models. It takes as much time again as `main`."""
    word_limit: Annotated[Natural, unit("characters")] = 30
    """Maximum number of characters of a word. Longer runs of characters are dropped from the text
    as garbage (hazard misread_text). Languages with compound words have twice this limit. 0 keeps
    all text."""
    physical_markup: bool = True
    """Whether text that looks like a heading by font size, bold type or centring is recorded as a
    heading (hazard physical_markup)."""
    simhash_words: Annotated[Natural, unit("words")] = 50
    """Minimum number of words of a text that is compared for near duplicates. Shorter texts of a
    site are too similar to each other. 0 turns near-duplicate detection off, which saves 0.15 ms
    for 1,000 characters."""
    page_limit: Seconds = 10.0
    """Maximum CPU time for a page. A page that exceeds it becomes a dead letter. The limit of the
    elapsed time is ten times as long, so that a busy machine does not fail pages."""
    memory_limit: Bytes = 512 << 20
    """Maximum memory for a page, beyond the memory of the idle parser process."""
    letters_limit: Annotated[Natural, unit("pages")] = 10
    """Maximum number of unreadable pages of a host that each process stores as dead letters.
    Further ones are only logged and counted."""
    decoded_limit: Bytes = 2 << 20
    """Maximum size of a decompressed body. The rest is cut (hazard decompression_bomb)."""
    pdf_limit: Bytes = 20 << 20
    """Maximum size of a decompressed PDF or office file. A larger one is unusable, because it
    cannot be read in part."""
    sitemap_limit: Bytes = 50 << 20
    """Maximum size of a decompressed sitemap (sitemaps.org allows 50 MB)."""
    ratio_limit: Annotated[Positive, unit("times")] = 1000
    """Maximum ratio of decompressed to compressed size. Decompression stops beyond it, because text
    does not compress this well (hazard decompression_bomb)."""
    links_limit: Annotated[Positive, unit("links")] = 10_000
    """Maximum number of links of a page. The rest is dropped (hazard too_many_links)."""
    links_bytes: Annotated[Bytes, Field(le=4 << 20)] = 2 << 20
    """Maximum size of a page's links in its event. The rest is dropped (hazard too_many_links)."""
    entries_limit: Annotated[Positive, unit("entries")] = 50_000
    """Maximum number of entries of a sitemap (sitemaps.org allows 50,000) or a feed. The rest is
    dropped (hazard too_many_links)."""
    not_indexed: Annotated[tuple[Signal, ...], unit("list of directives")] = (
        "noindex",
        "unavailable_after",
    )
    """Directives in robots meta elements and X-Robots-Tag headers that keep a page out of `pages`.
    `tdm-reservation`, `noai` and others may be added. `[]` publishes every page with its text. The
    fields `directives` and `usage` of a page contain all its directives."""
    not_followed: Annotated[tuple[Signal, ...], unit("list of directives")] = ("nofollow",)
    """Directives in robots meta elements and X-Robots-Tag headers that keep a page's links from
    being followed."""
    script_links: bool = True
    """Whether scripts and event handlers are searched for URLs of pages, which are visited last
    (hazard script_links)."""
    requisites_limit: Annotated[Natural, unit("URLs")] = 200
    """Maximum number of URLs of images, styles, scripts and other requisites that are recorded for
    a page. They are not visited. 0 records none."""
