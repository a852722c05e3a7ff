"""The difference of two archived versions of a page: of their compared texts, or of their markup.

The compared text is the one by which dedup decides whether a page has changed: the title and all
visible text. So a page that has changed in its history has a difference here.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from gossamer.inspection.archive.captures import NotArchived
from gossamer.inspection.archive.page_texts import read_compared_texts
from gossamer.inspection.archive.versions import MAX_BODY_BYTES, Version, find_versions, read_row
from gossamer.inspection.basics.figures import instant, percent
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.parser.charset import decode_text
from gossamer.text.differences import MARKUP, WORDS, Piece, compare_texts
from gossamer.web.http import joined_values

MAX_MARKUP_BYTES = 2 << 20
"""Bytes of the decoded body whose markup is compared."""
Form = Literal["text", "html"]


class Comparison(Struct, frozen=True, kw_only=True):
    """The difference of two versions of a page."""

    url: str
    form: Form
    """What was compared: the title and the visible text, or the markup."""
    old: CaptureRow
    new: CaptureRow
    change: float
    """The share of words that differ, from 0 to 1."""
    answer: str
    """What differs, for people."""
    is_complete: bool
    """Whether all words were compared; false if a part counts as replaced to save time."""
    pieces: tuple[Piece, ...]


def compare_versions(
    crawl: OpenCrawl, text: str, since: float | None, until: float | None, form: Form
) -> Comparison:
    """Return how the page at the URL *text* changed between two times.

    The new version is the newest until *until*, or of all. The old version is the newest until
    *since*, or the last one before the new version with another body. Only documents count, and not
    errors and redirects. Raise GossamerError if there are no two versions, or one cannot be read.
    """
    url, rows = find_versions(crawl, text, until)
    documents = [row for row in rows if row.status // 100 == 2 or row.status == 304]
    if not documents:
        raise NotArchived(f"{url} has no archived document, only errors or redirects")
    new, *earlier = documents
    if since is not None:
        earlier = [row for row in documents if row.fetched_at <= since]
    other = [row for row in earlier if row.digest != new.digest] if since is None else earlier
    old = next(iter(other or earlier), None)
    if old is None:
        raise NotArchived(
            f"{url} has one archived document until {instant(new.fetched_at)}: there is nothing to "
            "compare it with"
            if since is None
            else f"{url} has no archived document until {instant(since)}: the first is of "
            f"{instant(documents[-1].fetched_at)}"
        )
    versions = [Version(row, read_row(crawl, row)) for row in (old, new)]
    before, after = _markups(versions) if form == "html" else read_compared_texts(crawl, versions)
    found = compare_texts(before, after, MARKUP if form == "html" else WORDS)
    answer = _answer(form, found.change, before, after, versions)
    return view_of(Comparison, found, url=url, form=form, old=old, new=new, answer=answer)


def _markups(versions: Sequence[Version]) -> list[str]:
    """Return the markup of each version. Raise GossamerError if a body is not known."""
    found = []
    for version in versions:
        header = joined_values(version.capture.content_headers, "content-type")
        body = version.capture.decode_body(MAX_MARKUP_BYTES)
        found.append(decode_text(body, header, is_html=True).text)
    return found


def _answer(form: Form, change: float, before: str, after: str, versions: Sequence[Version]) -> str:
    """Return what differs between two versions, whose texts or markups are *before* and *after*."""
    names = "words of the title and the visible text" if form == "text" else "tags and words"
    if change:
        return f"{percent(change)} of the {names} differ"
    if before.split() != after.split():
        return f"the {names} are equal, and only the spaces between them differ"
    old, new = (version.capture.decode_body(MAX_BODY_BYTES) for version in versions)
    if old == new:
        return "the bodies are equal"
    if form == "html":
        return "the tags and words are equal, as far as they are compared"
    if not before:
        return "neither version has a text, and the bodies differ"
    return f"the {names} are equal, and only other parts of the bodies differ, such as the markup"
