"""Reader options: the settings that the parent sends to the processes that read pages."""

from msgspec import Struct

from gossamer.text import TextMode


class Options(Struct, frozen=True):
    """Options for all pages of a process. The defaults are those of the settings."""

    product: str = "gossamer"
    """Our product token in robots meta elements and X-Robots-Tag headers, as in robots.txt."""
    text: TextMode = "main"
    """How the main text is extracted."""
    compared: bool = False
    """Whether the text is the one that is compared with other versions, and not the main text."""
    simhash_words: int = 50
    """Fewest words of a text with a simhash; 0: no simhashes."""
    decoded_limit: int = 2 << 20
    """Most bytes of a body that are read after its content codings are decoded."""
    pdf_limit: int = 20 << 20
    """Most decoded bytes of a PDF or an office file."""
    sitemap_limit: int = 50 << 20
    """Most decoded bytes of a sitemap."""
    ratio_limit: int = 1000
    """Highest ratio of decoded to encoded size."""
    links_limit: int = 10_000
    """Most links of a page."""
    links_bytes: int = 2 << 20
    """Most bytes of a page's links in the event."""
    entries_limit: int = 50_000
    """Most entries of a sitemap or a feed."""
    markdown: bool = False
    """Whether the main text is also published as Markdown."""
    word_limit: int = 30
    """Most letters of a word: longer runs are dropped as misread text. 0: no limit."""
    physical_markup: bool = True
    """Whether text that looks like a heading is recorded as a heading."""
    not_indexed: tuple[str, ...] = ("noindex", "unavailable_after")
    """Signals that keep a page out of the index."""
    not_followed: tuple[str, ...] = ("nofollow",)
    """Signals that keep a page's links from being followed."""
    script_links: bool = True
    """Whether scripts are searched for links."""
    requisites_limit: int = 200
    """Most URLs of images, styles and scripts that are recorded of a page, and most URLs of audio
    and video."""
    rules_limit: float = 5.0
    """Most CPU seconds that each function of a rules file may take for a page."""
    without: tuple[str, ...] = ()
    """The parts (`parts.Part`) that are left out: nobody needs them, or reading them has failed."""
    requisites: bool = False
    """Whether requisites are visited. Then the styles in a page are searched for URLs, too."""
    all_candidates: bool = False
    """Whether all candidates of each srcset are requisites, and not only the chosen one."""
