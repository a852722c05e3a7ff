"""The first page of `gossamer replay`: the archived documents by site, with title and dates.

pywb renders the page as a template of Jinja. URLs and titles come from the Web, so each character
that HTML or Jinja could interpret is escaped.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import NamedTuple

from gossamer.web.url import BadUrl, site_of

MAX_LISTED = 5000
"""Maximum number of documents on the page."""
DOCUMENT_TYPES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")
HEAD = """<!doctype html><html lang=en><meta charset=utf-8><title>Archive</title>
<style>body { font: 15px sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em }
td { padding: .15em 1em .15em 0; vertical-align: top } td + td { white-space: nowrap }
small { color: #555; overflow-wrap: anywhere }</style>
<h1>Archive</h1>
"""


class Listed(NamedTuple):
    """A document of the archive."""

    url: str
    newest: str
    """Timestamp of its newest capture: YYYYmmddHHMMSS in UTC."""
    captures: int


def documents_of(lines: Iterable[str]) -> Iterator[Listed]:
    """Yield the documents in the sorted *lines* of an index: URLs with a page, without requisites
    and errors."""
    for _, group in groupby(lines, lambda line: line.partition(" ")[0]):
        found, is_document = list[tuple[str, str]](), False
        for line in group:
            _, timestamp, data = line.split(" ", 2)
            fields = json.loads(data)
            found.append((timestamp, fields["url"]))
            is_success = str(fields.get("status", "200")).startswith("2")
            is_document |= is_success and fields.get("mime") in DOCUMENT_TYPES
        if is_document and not found[0][1].endswith("/robots.txt"):
            newest, url = max(found)
            yield Listed(url, newest, len(found))


def render(
    documents: Iterable[Listed], titles: Callable[[set[str]], Mapping[str, str]], collection: str
) -> Iterator[str]:
    """Yield the page. *titles* returns the titles of URLs, as far as they are known."""
    listed, more = list[Listed](), 0
    for document in documents:
        if len(listed) < MAX_LISTED:
            listed.append(document)
        else:
            more += 1
    known = titles({document.url for document in listed})
    yield HEAD
    if not listed:
        yield "<p>No page was archived yet.\n"
    by_site = sorted(listed, key=lambda one: (_site(one.url), one.url))
    for site, group in groupby(by_site, lambda one: _site(one.url)):
        yield f"<h2>{_text(site)}</h2>\n<table>\n"
        for one in group:
            yield _row(one, known.get(one.url, ""), collection)
        yield "</table>\n"
    if more:
        yield f"<p>{more} more documents are not listed here.\n"
    yield f"<p>All captures of a URL are at <code>/{_text(collection)}/*/URL</code>.\n"


def _row(one: Listed, title: str, collection: str) -> str:
    date = f"{one.newest[:4]}-{one.newest[4:6]}-{one.newest[6:8]}"
    link, all_link = f"/{collection}/{one.newest}/{one.url}", f"/{collection}/*/{one.url}"
    number = "1 capture" if one.captures == 1 else f"{one.captures} captures"
    return (
        f'<tr><td><a href="{_text(link)}">{_text(title or one.url)}</a>'
        f"<br><small>{_text(one.url)}</small><td>{_text(date)}"
        f'<td><a href="{_text(all_link)}">{number}</a>\n'
    )


def _site(url: str) -> str:
    try:
        return site_of(url)
    except (BadUrl, ValueError):
        return ""


def _text(text: str) -> str:
    # Jinja's delimiters all have a brace; a line statement would begin with another character.
    escaped = escape(text).replace("{", "&#123;").replace("}", "&#125;")
    return " ".join(escaped.split())
