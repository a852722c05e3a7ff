"""A folder of Markdown files, one for each page, and an index of them, `llms.txt`.

The next export into the folder rewrites the files of pages that have changed, and removes those of
pages that are gone or not selected any more. The folder itself says what it has: each file begins
with the time of its version, and only files with names of this form are removed.

A name consists of the host, words of the path and a hash of the whole URL. So no URL leads out of
the folder, however long it is, and two URLs that differ in case only have different names.
"""

import re
import sqlite3
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import json

from gossamer.console.exports.tables import iso
from gossamer.console.exports.targets import Target
from gossamer.events import Page
from gossamer.inspection.exports.chunks import split_markdown
from gossamer.terminal import printable
from gossamer.text.blocks import fold_whitespace
from gossamer.volumes import Missing, Volume
from gossamer.web.url import fingerprint

INDEX = "llms.txt"
HASH_DIGITS = 16
MAX_SLUG_CHARACTERS = 60
MAX_HOST_CHARACTERS = 100
HEAD_BYTES = 200
"""Bytes of a file that have the time of its version."""
MAX_TITLE_CHARACTERS = 500
MAX_DESCRIPTION_CHARACTERS = 200
_own_name = re.compile(r"[^/]+/[^/]*-[0-9a-f]{16}(-[0-9a-f]{16}(-\d+)?)?\.md")
_not_slug = re.compile(r"[^a-z0-9]+")
_not_host = re.compile(r"[^a-z0-9.-]+")
_version = re.compile(r'---\nfetched_at: "([^"\n]*)"\n')


def name_of(url: str) -> str:
    """Return the name of the file of the page at *url*, without its suffix."""
    parts = urlsplit(url)
    host = _not_host.sub("-", parts.netloc.rpartition("@")[2].lower()).strip(".-")
    path = unquote(f"{parts.path} {parts.query}", errors="replace").lower()
    words = _not_slug.sub("-", path)[:MAX_SLUG_CHARACTERS].strip("-") or "index"
    return f"{host[:MAX_HOST_CHARACTERS] or 'page'}/{words}-{fingerprint(url)[:HASH_DIGITS]}"


def format_page(page: Page) -> str:
    """Return the Markdown of *page* behind a head in YAML with its metadata."""
    head = {
        "fetched_at": iso(page.fetched_at),
        "id": page.trace or fingerprint(page.url),
        "url": page.url,
        "title": page.title or None,
        "description": page.description or None,
        "author": page.author or None,
        "published_at": (iso(page.published_at) or None) if page.published_at else None,
        "language": page.language or None,
    }
    return f"{_format_head(head)}{page.markdown}\n"


def _format_head(head: dict[str, Any]) -> str:
    # A value in JSON is a value in YAML. Controls are escaped, so that a line stays one line.
    lines = (f"{name}: {json.encode(value).decode()}\n" for name, value in head.items())
    return f"---\n{''.join(_escape(line) for line in lines)}---\n\n"


def _escape(line: str) -> str:
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda one: f"\\u{ord(one[0]):04x}", line)


class MarkdownFiles:
    """The files in the folder of *target*; *title* is that of the index."""

    def __init__(self, target: Target, title: str, chunk_tokens: int) -> None:
        assert target.folder is not None
        self._target, self._folder, self._title = target, target.folder, title
        self._chunk_tokens = chunk_tokens
        self._existing = frozenset[str]()
        with suppress(Missing):
            self._existing = frozenset(filter(_own_name.fullmatch, self._folder.names()))
        self._files = sqlite3.connect("")
        self._files.execute(
            "CREATE TABLE files (name TEXT PRIMARY KEY, title TEXT, description TEXT) WITHOUT ROWID"
        )
        self.written = self.removed = self.empty = 0

    def is_current(self, page: Page) -> bool:
        """Return whether the folder has this version of *page*, which stays then."""
        name = f"{name_of(page.url)}.md"
        if self._chunk_tokens or name not in self._existing:
            return False
        head = self._folder.read(name, 0, HEAD_BYTES).decode("utf-8", "replace")
        found = _version.match(head)
        if not found or found[1] != iso(page.fetched_at):
            return False
        self._list(name, page)
        return True

    def write(self, page: Page) -> None:
        """Write the files of *page*, which has its Markdown. Without any text it has none."""
        if not page.markdown:
            self.empty += 1
        elif self._chunk_tokens:
            self._write_chunks(page, page.markdown)
        else:
            name = f"{name_of(page.url)}.md"
            self._write(name, format_page(page))
            self._list(name, page)

    def _write_chunks(self, page: Page, markdown: str) -> None:
        trace = page.trace or fingerprint(page.url)
        for chunk in split_markdown(markdown, self._chunk_tokens, trace):
            name = f"{name_of(page.url)}-{chunk.id.removeprefix(f'{trace}-')}.md"
            head: dict[str, Any] = {"id": chunk.id, "url": page.url, "title": page.title or None}
            head |= {"headings": chunk.headings, "language": page.language or None}
            if name not in self._existing:
                # The name has the hash of the text.
                self._write(name, f"{_format_head(head)}{chunk.text}\n")
            title = " > ".join((page.title or page.url, *chunk.headings))
            self._list(name, page, title)

    def _write(self, name: str, text: str) -> None:
        with self._target.create(name) as file:
            file.write(text.encode("utf-8", "replace"))
        self.written += 1

    def _list(self, name: str, page: Page, title: str = "") -> None:
        row = (name, title or page.title or page.url, page.description)
        self._files.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", row)

    def close(self) -> None:
        """Remove the files of other pages, and write the index."""
        for name in sorted(self._existing):
            if not self._files.execute("SELECT 1 FROM files WHERE name = ?", [name]).fetchone():
                self._folder.remove(name)
                self.removed += 1
                _remove_empty_folder(self._folder, name)
        with self._target.create(INDEX) as file:
            file.write(f"# {_inline(self._title)}\n".encode())
            section = ""
            rows = self._files.execute("SELECT name, title, description FROM files ORDER BY name")
            for name, title, description in rows:
                host = name.partition("/")[0]
                if host != section:
                    section = host
                    file.write(f"\n## {host}\n\n".encode())
                file.write(_index_line(name, title, description).encode("utf-8", "replace"))
        self._files.close()


def _index_line(name: str, title: str, description: str) -> str:
    about = _inline(description)[:MAX_DESCRIPTION_CHARACTERS].rstrip("\\")
    return f"- [{_inline(title)}]({name}){f': {about}' if about else ''}\n"


def _inline(text: str) -> str:
    """Return *text* in one line, without the marks of links."""
    return re.sub(
        r"[\[\]\\<>`]",
        lambda one: f"\\{one[0]}",
        printable(fold_whitespace(text), MAX_TITLE_CHARACTERS),
    )


def _remove_empty_folder(folder: Volume, name: str) -> None:
    if folder.path is not None:
        with suppress(OSError):
            (folder.path / name).parent.rmdir()
