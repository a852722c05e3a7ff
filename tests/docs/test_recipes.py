"""Two people at work with the commands of a recipe: one archives a museum, one watches thirty
pages."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.inspection.basics.folder import Folder
from tests.archive.harness import run_tool
from tests.archive.test_replay import font, png, replayed
from tests.support.commands import run_command
from tests.support.serving import NOTHING, Sent, serving
from tests.support.waiting import HANG_TIMEOUT, until
from tests.system.crawl import BIN, start_command

RECIPES = Path(__file__).resolve().parents[2] / "docs" / "recipes"
SETTINGS = {
    "GOSSAMER_FETCHER__ALLOW_NETWORKS": '["127.0.0.0/8"]',
    "GOSSAMER_FETCHER__FIRST_BYTE_LIMIT": "60",
    "GOSSAMER_FETCHER__USUAL_SITEMAPS": "never",
    "GOSSAMER_FRONTIER__DELAY": "0.02",
}
"""The settings for a server on a busy machine."""


class Recipe:
    """The commands of a recipe in a folder, with a local server in place of example.org."""

    def __init__(self, name: str, origin: str, folder: Path, **settings: str) -> None:
        blocks = re.findall(r"```sh\n(.*?)```", (RECIPES / name).read_text(), re.DOTALL)
        self._lines = "".join(blocks).replace("\\\n", " ").splitlines()
        self._origin, self._folder = origin, folder
        self._settings = [f"{key}={value}" for key, value in {**SETTINGS, **settings}.items()]

    def line(self, begin: str) -> str:
        """Return the only line that begins with *begin*."""
        (line,) = [line for line in self._lines if line.startswith(begin)]
        return line.replace("https://example.org", self._origin).replace("example.org", "127.0.0.1")

    def command(self, line: str) -> list[str]:
        """Return the command for a line."""
        shell = ["bash", "-o", "pipefail", "-c", f"cd {shlex.quote(str(self._folder))} && {line}"]
        return ["env", f"PATH={BIN}:{os.environ['PATH']}", *self._settings, *shell]

    def run(self, begin: str, old: str = "", new: str = "") -> str:
        """Run a line, with *new* in place of *old*, which must succeed; return its output."""
        line = self.line(begin).replace(old, new)
        done = run_command(self.command(line))
        assert done.code == 0, f"{line}\n{done.out}{done.err}"
        return done.out


# --- a museum, for others


IMAGE = {"Content-Type": "image/png"}
LAMPS = "The museum shows four hundred lamps of three centuries, their makers and their owners. "


def room(title: str, content: str, head: str = "") -> Sent:
    """Return a page of the museum."""
    head = f"<title>{title}</title><link rel=stylesheet href=/style.css>{head}"
    text = f"<!doctype html>{head}<h1>{title}</h1><p>{title}. {LAMPS * 3}{content}"
    return Sent(text.encode())


def museum(shop: str) -> dict[str, Sent]:
    """Return the files of the museum by path. *shop* is a server outside the scope."""
    rooms = [f"/rooms/{number}" for number in range(5)]
    links = "".join(f"<a href={path}>{path}</a> " for path in (*rooms, "/depot", "/list.zip"))
    lamps = {
        f"/{number}-{kind}.png": Sent(png(number, shade, 9), headers=IMAGE)
        for number in range(len(rooms))
        for shade, kind in enumerate(("lamp", "large", "back"))
    }
    style = b'@import "more.css"; body { background: url(wall.png) }'
    more = b"@font-face { font-family: Lamp; src: url(/lamp.ttf) }"
    return {
        "/": room("Lamps", f"{links}<img src={shop}/logo.png><a href={shop}/>Shop</a>"),
        **{
            path: room(
                f"Room {number}",
                f'<img src=/{number}-lamp.png srcset="/small.png 320w, /{number}-large.png 1280w">'
                f"<img data-src=/{number}-back.png><script src=/menu.js></script>",
            )
            for number, path in enumerate(rooms)
        },
        "/depot": room("Depot", "<a href=/cellar>Cellar</a>", "<meta name=robots content=noindex>"),
        "/cellar": room("Cellar", ""),
        "/list.zip": Sent(b"PK\5\6" + bytes(18), headers={"Content-Type": "application/zip"}),
        "/style.css": Sent(style, headers={"Content-Type": "text/css"}),
        "/more.css": Sent(more, headers={"Content-Type": "text/css"}),
        "/menu.js": Sent(b"document.title += '!'", headers={"Content-Type": "text/javascript"}),
        "/lamp.ttf": Sent(font(), headers={"Content-Type": "font/ttf"}),
        "/wall.png": Sent(png(9, 9, 9), headers=IMAGE),
        **lamps,
    }


def bodies_in(wacz: Path) -> dict[str, bytes]:
    """Return the body of each response with status 200 in a WACZ file by URL, read by warcio."""
    found = dict[str, bytes]()
    with ZipFile(wacz) as file:
        for name in file.namelist():
            if not name.startswith("archive/"):
                continue
            with file.open(name) as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    status = record.http_headers and record.http_headers.get_statuscode()
                    if (record.rec_type, status) == ("response", "200"):
                        url = record.rec_headers.get_header("WARC-Target-URI")
                        found[url] = record.content_stream().read()
    return found


def pages_in(wacz: Path) -> dict[str, dict[str, Any]]:
    """Return the list of pages of a WACZ file by title."""
    with ZipFile(wacz) as file:
        lines = file.read("pages/pages.jsonl").splitlines()[1:]
    return {page["title"]: page for page in map(json.loads, lines)}


@pytest.mark.slow
def test_museum_of_the_recipe_is_one_file_with_all_that_its_pages_need(tmp_path: Path) -> None:
    files: Mapping[str, Sent] = {}
    small = Sent(png(100, 2, 3), headers=IMAGE)
    outside = {"/logo.png": Sent(png(70, 7, 7), headers=IMAGE), "/": Sent(b"<p>Lamps for sale")}
    with (
        serving(lambda path: outside.get(path, NOTHING)) as other,
        serving(lambda path: {**files, "/small.png": small}.get(path, NOTHING)) as origin,
    ):
        shop = other.replace("127.0.0.1", "localhost")
        files = museum(shop)
        recipe = Recipe("archive.md", origin, tmp_path)
        recipe.run("gossamer crawl --for archive")
    # The servers have stopped.
    recipe.run("warcio check")
    recipe.run("gossamer export site.wacz")
    wacz = tmp_path / "site.wacz"
    run_tool("wacz", "validate", "-f", str(wacz))
    expected = {f"{origin}{path}": sent.body for path, sent in files.items()}
    expected[f"{shop}/logo.png"] = outside["/logo.png"].body
    assert bodies_in(wacz) == expected
    listed = pages_in(wacz)
    assert "Depot" not in listed, "it asks not to be indexed"
    assert listed.keys() >= {"Lamps", "Cellar", *(f"Room {number}" for number in range(5))}
    assert LAMPS.strip() in listed["Room 3"]["text"]
    with replayed(Folder(tmp_path / "gossamer-data")) as address:
        for url, body in expected.items():
            with urlopen(f"{address}/id_/{url}", timeout=HANG_TIMEOUT) as response:
                assert response.read() == body, url
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{address}/id_/{shop}/", timeout=HANG_TIMEOUT)


# --- thirty pages, watched


COUNCIL = "the council meets on the first Monday of a month, and its clerk keeps the minutes"
CHANGING = ("/news", "/ward/1", "/ward/2", "/ward/3")
REMOVED, MISSING = "/ward/6", "/ward/7"
COUNTERS = ("/ward/8", "/ward/9")
WATCHED = ("/news", *(f"/ward/{number}" for number in range(1, 30)))


class Town:
    """A site with a counter on two pages. Later four pages change, and two disappear."""

    def __init__(self) -> None:
        self.is_later = False
        self._visits = count(1000)

    def answer(self, path: str) -> Sent:
        if path not in WATCHED:
            return NOTHING
        if self.is_later and path in (REMOVED, MISSING):
            return Sent(status=410 if path == REMOVED else 404)
        price = 12 if self.is_later and path in CHANGING else 10
        counter = f"<p>You are visitor {next(self._visits)}" if path in COUNTERS else ""
        text = f"In {path[1:]} {COUNCIL}.<p>A copy costs {price} euros.{counter}"
        return Sent(f"<title>{path}</title><p>{text}".encode())


def are_counters_known(printed: str) -> bool:
    """Return whether all pages are printed, and those with a counter have no other change."""
    pages = [json.loads(line) for line in printed.rpartition("\n")[0].splitlines()]
    changes = {urlsplit(page["url"]).path: page["change"] for page in pages}
    known = {path for path, change in changes.items() if change == 0}
    return len(changes) == len(WATCHED) and known == {*COUNTERS}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_changed_and_removed_pages_of_thirty_are_found_and_no_others(tmp_path: Path) -> None:
    town = Town()
    with serving(town.answer) as origin:
        (tmp_path / "pages.txt").write_text("".join(f"{origin}{path}\n" for path in WATCHED))
        recipe = Recipe("watch-a-site.md", origin, tmp_path, GOSSAMER_CRAWL__REVISIT="fixed:1s")

        def exported() -> dict[str, tuple[str, str | None]]:
            """Return the state of each exported page, and why it is gone, by path."""
            lines = map(json.loads, recipe.run("gossamer export - ").splitlines())
            return {url.removeprefix(origin): (state, gone) for url, state, _, gone in lines}

        said = tmp_path / "said"
        crawl = recipe.command(f"exec {recipe.line('gossamer crawl --for watch')}")
        follow = recipe.line("gossamer pages --follow | jq -c 'select(.gone")
        # A terminal gets each line at once.
        follow = follow.replace("jq", "jq --unbuffered")
        with start_command(crawl, said) as running:
            until(lambda: running.out, "a line of progress")
            with start_command(recipe.command("gossamer pages --follow"), said) as seen:
                until(
                    lambda: are_counters_known(seen.out), "visits that tell a counter from a change"
                )
            assert {*exported()} >= {*WATCHED} - {*COUNTERS}
            assert exported() == {}, "only counters have changed"
            before = datetime.now(UTC).isoformat()
            town.is_later = True
            with start_command(recipe.command(follow), said) as following:
                for _ in range(2):
                    # The next visit after a 404 is hours later.
                    fetch = recipe.line("gossamer fetch").replace("/news", MISSING)
                    assert "404" in run_command(recipe.command(fetch)).out
                until(lambda: following.out.count("\n") >= 6, "a line for each change")
                lines = [json.loads(line) for line in following.out.splitlines()]
            found = {url.removeprefix(origin): (bool(change), gone) for url, change, gone in lines}
            gone = {REMOVED: "removed", MISSING: "missing"}
            assert found == {
                **dict.fromkeys(CHANGING, (True, None)),
                **{path: (False, reason) for path, reason in gone.items()},
            }
            assert exported() == {
                **dict.fromkeys(CHANGING, ("changed", None)),
                **{path: ("gone", reason) for path, reason in gone.items()},
            }
            running.interrupt()
            summary = running.wait().out
            assert f"{MISSING}: 404" in summary and f"{REMOVED}: 410" in summary
        assert recipe.run("gossamer history").count("of the words changed") == 1
        assert "[-10-] {+12+} euros" in recipe.run("gossamer diff https://example.org/news  ")
        old = "gossamer show https://example.org/news --at 2026-11-20T08:00 --text"
        assert "costs 10 euros" in recipe.run(old, "2026-11-20T08:00", before)
