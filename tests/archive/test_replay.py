"""`gossamer replay`: an archived site looks in Chromium as the live one did, without a network."""

import gzip
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from struct import pack
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from msgspec.structs import replace

from gossamer.console.cli.main import main
from gossamer.console.replay_page import MAX_LISTED, Listed, render
from gossamer.events import PageFetched
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log.codec import encode
from gossamer.services.archive.index import is_replayed
from tests.archive.crawled import archived_folder, document
from tests.archive.harness import page
from tests.support.commands import clean_environment
from tests.support.waiting import HANG_TIMEOUT

CHROMIUM = shutil.which("chromium") or ""
FRAME = 'style="border: 0; width: 640px; height: 400px"'
HTML = b"""<!doctype html><meta charset=utf-8><title>Site</title>
<link rel=stylesheet href=/style.css><h1>Archived</h1>
<p id=text>written by the page</p><img src="/image.png?size=1" width=90 height=60>
<script src=/script.js></script>"""
STYLE = b"""@import "more.css"; @font-face { font-family: Boxes; src: url(/boxes.ttf) }
body { margin: 9px; background: #fec url("image.png?size=2") } h1 { font: 30px Boxes }"""
MORE = b"#text { color: #038; border: 5px solid #083; padding: 7px }"
SCRIPT = b"""document.getElementById("text").textContent = "written by the script";
fetch("/data.json").then(a => a.json()).then(a => { document.body.append(a.text) })"""


def png(red: int, green: int, blue: int) -> bytes:
    """Return an image of 4 by 4 pixels."""
    rows = (b"\0" + bytes((red, green, blue, 0, 0, 0)) * 2) * 4
    chunks = (
        (b"IHDR", pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    parts = (
        pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def font() -> bytes:
    """Return a font whose letters are boxes of different heights."""
    from io import BytesIO

    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    def box(height: int) -> object:
        pen = TTGlyphPen(None)
        pen.moveTo((50, 0))
        for point in ((50, height), (450, height), (450, 0)):
            pen.lineTo(point)
        pen.closePath()
        return pen.glyph()

    letters = sorted({*"Archived"})
    names = [".notdef", *letters]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): letter for letter in letters})
    builder.setupGlyf({name: box(100 * (n + 1)) for n, name in enumerate(names)})
    builder.setupHorizontalMetrics({name: (500, 50) for name in names})
    builder.setupHorizontalHeader(ascent=1000, descent=-200)
    builder.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    out = BytesIO()
    builder.save(out)
    return out.getvalue()


SITE = {
    "/": ("text/html", HTML),
    "/style.css": ("text/css", STYLE),
    "/more.css": ("text/css", MORE),
    "/script.js": ("text/javascript", SCRIPT),
    "/data.json": ("application/json", b'{"text": "fetched by the script"}'),
    "/image.png?size=1": ("image/png", png(200, 30, 30)),
    "/image.png?size=2": ("image/png", png(250, 250, 90)),
    "/boxes.ttf": ("font/ttf", font()),
}


@contextmanager
def serving(site: Mapping[str, tuple[str, bytes]]) -> Iterator[str]:
    """Serve *site*, path → type and body, in the block; yield its origin.

    A path without its query is tried, too. Ranges are those of ReplayWeb.page.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path if self.path in site else self.path.partition("?")[0]
            kind, body = site.get(path, ("text/plain", b""))
            first, last = 0, len(body) - 1
            if asked := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
                first = int(asked[1]) if asked[1] else max(0, len(body) - int(asked[2]))
                last = min(int(asked[2]), last) if asked[1] and asked[2] else last
            self.send_response(404 if path not in site else 206 if asked else 200)
            self.send_header("Content-Type", kind)
            self.send_header("Accept-Ranges", "bytes")
            if asked:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
                body = body[first : last + 1]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def fetch(number: int, origin: str, path: str) -> PageFetched:
    with urlopen(origin + path, timeout=HANG_TIMEOUT) as response:
        fetched = page(number, response.read(), headers=tuple(response.headers.items()))
    visit = replace(fetched.visit, url=origin + path)
    return replace(fetched, visit=visit, site="127.0.0.1", host=origin)


def screenshot(url: str, folder: Path) -> bytes:
    """Return the picture of a page in headless Chromium, which reaches this machine only.

    The page is in a frame, because pywb shows a banner above a page that is not. Both have the same
    site, so that Chromium waits for the requests of both.
    """
    folder.mkdir()
    frame = f'<body style="margin: 0"><iframe src="{url}" {FRAME}></iframe>'.encode()
    with serving({"/": ("text/html", frame)}) as origin:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}", f"--screenshot={folder}/page.png"]
        command += ["--window-size=640,400", "--virtual-time-budget=20000"]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"{origin}/"]
        subprocess.run(command, check=True, capture_output=True, timeout=HANG_TIMEOUT)
    return (folder / "page.png").read_bytes()


@contextmanager
def replayed(folder: Folder) -> Iterator[str]:
    """Run `gossamer replay`, and yield the address of the collection."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gossamer.console.cli.main", "replay"]
    command += ["--port", str(port), "--data", str(folder.path)]
    environment = clean_environment(PYTHONUNBUFFERED="1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout
        try:
            line = running.stdout.readline()
            assert f"http://127.0.0.1:{port}/archive/" in line, line
            yield f"http://127.0.0.1:{port}/archive"
        finally:
            running.send_signal(2)
            assert running.wait(HANG_TIMEOUT) == 130
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
@pytest.mark.parametrize("ends", [pytest.param(True, marks=pytest.mark.long), False])
def test_replayed_site_looks_like_the_live_one(tmp_path: Path, ends: bool) -> None:
    with serving(SITE) as origin:
        live = screenshot(f"{origin}/", tmp_path / "live")
        fetched = [fetch(number, origin, path) for number, path in enumerate(SITE)]
    folder = archived_folder(tmp_path / "data", fetched, ends, segment_size=3000)
    with replayed(folder) as address:
        shown = screenshot(f"{address}/mp_/{origin}/", tmp_path / "shown")
    assert shown == live, f"{tmp_path}/live and {tmp_path}/shown differ"


@pytest.mark.long
@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
@pytest.mark.parametrize("missing", [path for path in SITE if path != "/"])
def test_each_requisite_of_the_site_is_visible(tmp_path: Path, missing: str) -> None:
    with serving(SITE) as origin:
        live = screenshot(f"{origin}/", tmp_path / "live")
    rest = {path: content for path, content in SITE.items() if path != missing}
    with serving(rest) as origin:
        assert screenshot(f"{origin}/", tmp_path / "without") != live


TEXT = b"".join(f"<p>Word {number * 7919 % 10007}".encode() for number in range(20_000))
NOISE = random.Random(7).randbytes(100_000)


def deflate_raw(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


CODED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "identity": ("", lambda body: body),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw-deflate": ("deflate", deflate_raw),
    "br": ("br", brotli.compress),
    "upper-case": ("BR", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "two-frames": ("zstd", lambda body: zstd.compress(body[:1000]) + zstd.compress(body[1000:])),
    "not-applied": ("br", lambda body: body),
    "twice": ("gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
    "named-twice": ("gzip, gzip", gzip.compress),
    "two": ("deflate,GZIP", lambda body: gzip.compress(zlib.compress(body))),
}
"""Name → Content-Encoding, and the function that codes a body."""


@pytest.mark.slow
def test_each_content_coding_is_replayed(tmp_path: Path) -> None:
    """webrecorder/warcio#73, webrecorder/pywb#947, webrecorder/wabac.js#191: captures in Brotli
    were an error, and captures in zstd were shown as coded bytes."""
    expected, fetched = dict[str, bytes](), list[PageFetched]()
    for kind, body in (("text/html", TEXT), ("image/png", NOISE), ("text/html", b"<p>short")):
        for coding, code in CODED.values():
            one = page(
                len(fetched),
                code(body),
                headers=(("Content-Type", kind), ("Content-Encoding", coding)),
            )
            fetched.append(one)
            expected[one.visit.url] = body
    folder = archived_folder(tmp_path / "data", fetched)
    with replayed(folder) as address:
        found = {}
        for url in expected:
            with urlopen(f"{address}/mp_/{url}", timeout=HANG_TIMEOUT) as response:
                found[url] = response.read()
    names = [*CODED] * 3
    wrong = [
        name
        for name, (url, body) in zip(names, expected.items(), strict=True)
        if not found[url].endswith(body)
    ]
    assert wrong == []


@pytest.mark.slow
def test_urls_with_one_key_in_the_index_are_told_apart(tmp_path: Path) -> None:
    """webrecorder/pywb#943: a page of another host was shown. webrecorder/pywb#18, #73: redirects
    to a URL with the same key are not a loop."""
    urls = [
        "https://www.b.example/", "https://www2.b.example/", "https://h.example/Case",
        "https://h.example/case", "https://j.example/a/", "https://j.example/a",
        "https://k.example/?b=1&a=2", "https://k.example/?a=2&b=1",
    ]  # fmt: skip
    chain = ("http://a.example/", "https://a.example/", "https://www.a.example/")
    fetched = [capture(number, url, body=url.encode()) for number, url in enumerate(urls)]
    for number, (url, to) in enumerate(pairwise(chain)):
        fetched.append(capture(20 + number, url, status=301, headers=(("Location", to),), body=b""))
    fetched.append(capture(30, chain[-1], body=b"the page itself"))
    folder = archived_folder(tmp_path / "data", fetched)
    expected = {url: url for url in urls} | dict.fromkeys(chain, "the page itself")
    found = {}
    with replayed(folder) as address:
        for url in expected:
            with urlopen(f"{address}/mp_/{url}", timeout=HANG_TIMEOUT) as response:
                found[url] = response.read().decode().rpartition("-->\n")[2]
    assert found == expected


def capture(number: int, url: str, **fields: Any) -> PageFetched:
    """Return the fetch of *url* as page *number*."""
    found = page(number, **fields)
    return replace(found, visit=replace(found.visit, id=f"1.{number}.0@{url}", url=url))


@pytest.mark.slow
def test_pages_with_odd_headers_are_replayed(tmp_path: Path) -> None:
    """webrecorder/pywb#402, #536: octets that are not Latin-1. harvard-lil/perma#1216: an unknown
    encoding. webrecorder/pywb#372: names of content codings."""
    odd = {
        "Server": ("Microsoft™".encode().decode("latin-1"), "X\xe9", "a\x01\x7fb"),
        "Content-Disposition": ("inline; filename=中文".encode("gbk").decode("latin-1"),),
        "Content-Type": ("text/html; charset=x-sjis", "text/html; charset=none", "text/html;;;"),
        "Content-Encoding": ("GZIP", "x-gzip", "utf-8", "identity", ""),
        "Content-Security-Policy": ("default-src 'none'",),
        "X:Y": ("z",),
    }
    fetched = list[PageFetched]()
    for name, value in ((name, value) for name, values in odd.items() for value in values):
        is_coded = name == "Content-Encoding" and "gzip" in value.lower()
        headers = (("Content-Type", "text/html"),) if name != "Content-Type" else ()
        body = gzip.compress(b"<p>shown") if is_coded else b"<p>shown"
        fetched.append(page(len(fetched), body, headers=(*headers, (name, value))))
    for version in ("0.9", "1.0", "1.2", "2", "2.0", "3"):
        fetched.append(page(len(fetched), b"<p>shown", http_version=version))
    folder = archived_folder(tmp_path / "data", fetched)
    with replayed(folder) as address:
        for one in fetched:
            with urlopen(f"{address}/mp_/{one.visit.url}", timeout=HANG_TIMEOUT) as response:
                assert response.read().endswith(b"<p>shown"), one.headers


@pytest.mark.slow
def test_range_of_a_video_is_replayed(tmp_path: Path) -> None:
    """internetarchive/wayback#78, iipc/openwayback#179: browsers probe the end of a video."""
    video = bytes(range(250)) * 4
    one = page(1, video, headers=(("Content-Type", "video/mp4"), ("Content-Length", "1000")))
    folder = archived_folder(tmp_path / "data", [one])
    with replayed(folder) as address:
        asked = Request(f"{address}/mp_/{one.visit.url}", headers={"Range": "bytes=990-999"})
        with urlopen(asked, timeout=HANG_TIMEOUT) as response:
            assert response.status == 206
            assert response.headers["Content-Range"] == "bytes 990-999/1000"
            assert response.read() == video[990:]


HOSTILE = "</a><script>alert(1)</script>{{ 7 * 7 }}{% for %}{# \n%> # '\""


@pytest.mark.slow
def test_first_page_lists_the_documents_with_titles(tmp_path: Path) -> None:
    """Nobody knows the URLs of an archive by heart, and pywb asks for one."""
    html = (("Content-Type", "text/html"),)
    png = (("Content-Type", "image/png"),)
    fetched = [page(1), page(2), page(3, headers=png), page(4, status=404), page(5, headers=html)]
    folder = archived_folder(tmp_path / "data", fetched)
    opened = Opened(folder)
    titled = [document(fetched[0]), replace(document(fetched[1]), title=HOSTILE)]
    opened.log.append([encode(one) for one in titled])
    opened.database.close()
    with replayed(folder) as address:
        with urlopen(f"{address}/", timeout=HANG_TIMEOUT) as response:
            shown = response.read().decode()
        links = re.findall('<a href="(/archive/[0-9]+/[^"]*)"', shown)
        assert [link.split("/", 3)[3] for link in sorted(links)] == [
            fetched[index].visit.url for index in (0, 1, 4)
        ]
        root = address.removesuffix("/archive")
        with urlopen(f"{root}{links[0].replace('/http', 'mp_/http')}") as response:
            assert b"<p>Hello" in response.read()
    assert "Title of http://site1.example/page/1?q=1" in shown
    assert "49" not in shown.partition("</style>")[2].replace("&#123;&#123; 7 * 7", "")
    assert "<script>" not in shown
    assert "alert(1)&lt;/script&gt;&#123;&#123; 7 * 7 &#125;&#125;" in shown


@pytest.mark.parametrize("number", [0, 3, MAX_LISTED + 2])
def test_first_page_is_bounded(number: int) -> None:
    documents = (Listed(f"http://a.test/{index}", "20200101000000", 1) for index in range(number))
    shown = "".join(render(documents, lambda urls: {}, "archive"))
    assert shown.count("<tr>") == min(number, MAX_LISTED)
    assert ("2 more documents" in shown) == (number > MAX_LISTED)
    assert ("No page" in shown) == (number == 0)


LOADER = b"""document.querySelectorAll(".lazyload").forEach(one => { one.src = one.dataset.src })"""
GALLERY = b"""<!doctype html><meta charset=utf-8><title>Gallery</title><h1>Gallery</h1>
<p>Engravings of the quetzal and of other birds, with a catalogue. <a href=/second>Next</a>
<p><img src=/plain.png srcset="/small.png 320w, /large.png 1280w" width=60 height=60>
<img class=lazyload src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAA"
data-src=/lazy.png width=60 height=60><noscript><img src=/noscript.png></noscript>
<p><video preload=none poster=/poster.png width=90 height=60 controls><source src=/film.mp4></video>
<script src=/loader.js></script>"""
CRAWLED: dict[str, tuple[str, bytes]] = {
    "/": ("text/html", GALLERY),
    "/second": ("text/html", b"<!doctype html><title>Second</title><p>Nothing but a colophon"),
    "/loader.js": ("text/javascript", LOADER),
    **{
        f"/{name}.png": ("image/png", png(40 * number, 200 - 40 * number, 120))
        for number, name in enumerate(("plain", "large", "lazy", "noscript", "poster"))
    },
}
LEFT_OUT = {
    "/small.png": ("image/png", png(1, 2, 3)),
    "/film.mp4": ("video/mp4", b"\0\0\0\x18ftypmp42" + bytes(200)),
}
"""Files that are requisites only by `archive.srcset` and `archive.media`."""


def crawl(data: Path, seed: str, **settings: str) -> Folder:
    """Run `gossamer crawl` for the purpose `archive`; return its folder."""
    command = [sys.executable, "-m", "gossamer.console.cli.main", "crawl", "--purposes", "archive"]
    command += ["--contact", "me@example.org", "--delay", "0.01", "--revisit", "none"]
    command += ["--allow-network", "127.0.0.0/8", "--data", str(data), seed]
    environment = clean_environment(GOSSAMER_ARCHIVE__REQUISITES="all", **settings)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=HANG_TIMEOUT)
    assert done.returncode == 0, done.stderr.decode()
    return Folder(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "archived"),
    [
        ({}, {*CRAWLED}),
        ({"GOSSAMER_ARCHIVE__MEDIA": "true", "GOSSAMER_ARCHIVE__SRCSET": "all"},
         {*CRAWLED, *LEFT_OUT}),
    ],
    ids=["usual", "complete"],
)  # fmt: skip
def test_crawled_site_is_replayed_with_its_requisites(
    tmp_path: Path, settings: dict[str, str], archived: set[str]
) -> None:
    """webrecorder/browsertrix-crawler#165, internetarchive/heritrix3#604, Y2Z/monolith#16."""
    site = {**CRAWLED, **LEFT_OUT}
    with serving(site) as origin:
        folder = crawl(tmp_path / "data", f"{origin}/", **settings)
    with replayed(folder) as address:
        for path in site:
            try:
                with urlopen(f"{address}/id_/{origin}{path}", timeout=HANG_TIMEOUT) as response:
                    assert response.read() == site[path][1], path
            except HTTPError as error:
                assert (path, error.code) == (path, 404) and path not in archived
            else:
                assert path in archived


@pytest.mark.slow
def test_pywb_ends_with_a_killed_command(tmp_path: Path) -> None:
    folder = archived_folder(tmp_path / "data", [page(1)])
    with pytest.raises(AssertionError, match="assert -9 == 130"), replayed(folder) as address:
        with urlopen(f"{address}/mp_/{page(1).visit.url}", timeout=HANG_TIMEOUT) as response:
            assert b"<p>Hello" in response.read()
        parent = next(
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if str(folder.path).encode() in path.read_bytes()
        )
        os.kill(parent, 9)
        port = int(address.split(":")[2].partition("/")[0])
        until = time.monotonic() + HANG_TIMEOUT
        while _accepts(port):
            assert time.monotonic() < until, "pywb outlives the command"


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_missing_pywb_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gossamer.extras.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "pywb", raising=False)
    assert main(["replay", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "gossamer[replay]" in said
    assert "scripts/bootstrap replay" in said


def test_archive_with_zstd_alone_is_not_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archived_folder(tmp_path, [page(1)], compression="zstd")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert main(["replay", "--data", str(tmp_path), "--port", str(port)]) == 1
    assert "all WARC files are compressed with zstd" in capsys.readouterr().err


def test_captures_of_304s_are_not_replayed() -> None:
    assert is_replayed('a 2 {"status": "200", "mime": "warc/revisit"}\n')
    assert is_replayed('a 2 {"mime": "text/plain"}\n')
    assert not is_replayed('a 2 {"status": "304", "mime": "warc/revisit"}\n')
