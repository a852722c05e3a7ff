"""Crawls with `--for`: what the profile changes, and that the folder remembers it."""

import json
from pathlib import Path

import pytest

from tests.support.serving import NOTHING, Sent, serving

from .crawl import ask, crawl_urls

WORDS = "A museum of lamps shows four hundred lamps of three centuries, and their makers. "
PAGES = {
    "/": Sent(
        f'<title>Lamps</title><img src="/lamp.gif"><h1>Lamps</h1><p>{WORDS * 3}'
        '<a href="/list.bin">list</a> <a href="/more">more</a>'.encode()
    ),
    "/more": Sent(f"<title>More</title><h2>More</h2><p>More: {WORDS * 3}".encode()),
    "/no": Sent(
        f"<title>No</title><p>No: {WORDS * 3}".encode(),
        headers={"Content-Type": "text/html", "Content-Signal": "ai-input=no"},
    ),
    "/lamp.gif": Sent(b"GIF89a;", headers={"Content-Type": "image/gif"}),
    "/list.bin": Sent(b"\0" * 99, headers={"Content-Type": "application/octet-stream"}),
}


def show(data: Path, *words: str) -> str:
    done = ask(data, *words)
    assert done.code == 0, done.err
    return done.out


def test_pages_for_retrieval_have_markdown_in_later_runs_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(lambda path: PAGES.get(path, NOTHING)) as host:
        assert crawl_urls(data, "--for", "rag", "--depth", "0", f"{host}/").code == 0
        done = crawl_urls(data, f"{host}/more", f"{host}/no")
    assert done.code == 0, done.err
    pages = [json.loads(line) for line in show(data, "pages").splitlines()]
    found = {page["url"].removeprefix(host): page["markdown"] for page in pages}
    assert found.keys() == {"/", "/more"}, "the use of /no is disallowed"
    assert all(found.values()), "a run without --for makes Markdown, too"


@pytest.mark.long
def test_archive_has_requisites_and_files_of_all_types(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(lambda path: PAGES.get(path, NOTHING)) as host:
        assert crawl_urls(data, "--for", "archive", f"{host}/").code == 0
    index = show(data, "cdx")
    assert all(f'"{host}{path}"' in index for path in ("/", "/more", "/lamp.gif", "/list.bin"))
