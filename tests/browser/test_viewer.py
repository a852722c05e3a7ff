"""A WACZ file that `gossamer export` has written, in ReplayWeb.page.

npm installs the viewer in the version and with the hash of `viewer/package-lock.json`. Its scripts
contain its dependencies, so the lock file has the package alone.
"""

import gzip
import html
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, BrowserContext, Page, Route

from gossamer.console.cli.main import main
from gossamer.web.url import canonicalize
from tests.archive.crawled import archived_folder, publish
from tests.archive.harness import NOW
from tests.archive.test_export import revisit_of
from tests.archive.test_replay import CODED, CRAWLED, capture, crawl
from tests.archive.test_replay import serving as serving_ranges
from tests.support.commands import run_command
from tests.support.serving import NOTHING, Sent, serving

from .console import PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]

PACKAGE = Path(__file__).with_name("viewer")
SCRIPT = "text/javascript; charset=utf-8"
HTML = "text/html; charset=utf-8"
Files = dict[str, tuple[str, bytes]]
"""Path → type and content."""


@pytest.fixture(scope="session")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return the files of the installed viewer."""
    if not (npm := shutil.which("npm")):
        report = pytest.fail if os.environ.get("CI") else pytest.skip
        report("npm not found: install Node.js with npm (Debian's package npm)")
    folder = shutil.copytree(PACKAGE, tmp_path_factory.mktemp("viewer") / "viewer")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = run_command(command, folder=folder)
    assert done.code == 0, done.err
    installed = folder / "node_modules" / "replaywebpage"
    kinds = {"index.html": HTML, "ui.js": SCRIPT, "sw.js": SCRIPT}
    found = {f"/{name}": (kind, (installed / name).read_bytes()) for name, kind in kinds.items()}
    return {"/": found["/index.html"], **found}


@dataclass
class Viewer:
    """The viewer with a WACZ file."""

    address: str
    context: BrowserContext
    foreign: list[str] = field(default_factory=list)
    """Requests to other servers. They were aborted."""

    async def refuse(self, route: Route) -> None:
        """Abort a request to another server."""
        self.foreign.append(route.request.url)
        await route.abort()

    def is_foreign(self, url: str) -> bool:
        """Return whether the request is to another server."""
        return not url.startswith((f"{self.address}/", "blob:", "data:"))

    async def open(self, **options: str) -> Page:
        """Open a view in another tab."""
        tab = await self.context.new_page()
        shown = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
        await tab.goto(f"{self.address}/?source={self.address}/site.wacz#view=pages&{shown}")
        return tab

    async def listed(self, **options: str) -> list[str]:
        """Return the titles of the list of pages."""
        tab = await self.open(**options)
        # The viewer has the words that it marks in a shadow tree.
        titles = tab.locator("wr-page-entry .page-title [title]")
        await titles.first.wait_for(state="attached")
        found = [await title.get_attribute("title") or "" for title in await titles.all()]
        await tab.close()
        return found

    async def bodies(self, *captures: tuple[str, str]) -> list[str]:
        """Return what the viewer has for each timestamp and URL, as its frame would load it."""
        tab = await self.open()
        await tab.locator("wr-page-entry").first.wait_for()
        found: list[str] = await tab.evaluate(
            """async (captures) => {
              const all = await (await fetch('/w/api/coll-index')).json();
              const found = [];
              for (const [at, url] of captures) {
                const path = `/w/${all.colls[0].id}/${at}mp_/${url}`;
                found.push(await (await fetch(path)).text());
              }
              return found;
            }""",
            [[*one] for one in captures],
        )
        await tab.close()
        return found


@asynccontextmanager
async def viewing(browser: Browser, files: Files, wacz: Path) -> AsyncIterator[Viewer]:
    """Serve the viewer with *wacz* in the block."""
    served = {**files, "/site.wacz": ("application/wacz", wacz.read_bytes())}
    with serving_ranges(served) as address:
        context = await browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(PATIENCE)
        viewer = Viewer(address, context)
        await context.route(viewer.is_foreign, viewer.refuse)
        try:
            yield viewer
        finally:
            await context.close()
        assert viewer.foreign == []


def export(folder: Path, *options: str) -> Path:
    """Return the WACZ file of a crawl."""
    target = folder.parent / "site.wacz"
    assert main(["export", str(target), "--data", str(folder), *options]) == 0
    return target


async def test_crawled_site_is_listed_searched_and_shown(
    browser: Browser, viewer: Files, tmp_path: Path
) -> None:
    def answer(target: str) -> Sent:
        kind, body = CRAWLED.get(target, ("", b""))
        if target == "/second":
            coded = {"Content-Type": kind, "Content-Encoding": "gzip"}
            return Sent(gzip.compress(body), headers=coded)
        return Sent(body, headers={"Content-Type": kind}) if kind else NOTHING

    with serving(answer) as origin:
        folder = crawl(tmp_path / "data", f"{origin}/")
    wacz = export(folder.path, "--title", "A museum", "--description", "Birds, and a colophon")
    async with viewing(browser, viewer, wacz) as opened:
        first = await opened.open()
        for text in ("A museum", "Birds, and a colophon"):
            await first.get_by_text(text).first.wait_for()
        assert sorted(await opened.listed()) == ["Gallery", "Second"]
        for word, title in (("quetzal", "Gallery"), ("colophon", "Second")):
            assert await opened.listed(query=word) == [title]
        tab = await opened.open(url=f"{origin}/")
        shown = tab.frame_locator("replay-app-main iframe")
        await shown.get_by_text("Engravings of the quetzal").wait_for()
        await shown.locator("img.lazyload[src$='/lazy.png']").wait_for()
        for image in await shown.locator("img").all():
            decoded = "one => one.decode().then(() => one.naturalWidth)"
            assert await image.evaluate(decoded) > 0
        await shown.get_by_text("Next").click()
        await shown.get_by_text("Nothing but a colophon").wait_for()


def timestamp(at: float) -> str:
    """Return epoch seconds as in the addresses of replayed pages."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S")


def large(text: str) -> bytes:
    """Return a page that is large enough for revisit records."""
    return f"<title>{text}</title><p>{text} {text.encode().hex() * 500}".encode()


async def test_each_version_is_shown_at_its_time(
    browser: Browser, viewer: Files, tmp_path: Path
) -> None:
    """A 304 was an empty page. A version that came back was shown with the body of the version
    behind it: its revisit record has the time of the first one with a fraction, and the index had
    none."""
    url, days = "http://a.example/", 86_400.0
    texts = ("first", "second", "first", "third", "second", "third")
    fetched = [
        replace(capture(number, url, body=large(text)), started_at=NOW + number * days)
        for number, text in enumerate(texts)
    ]
    unchanged = revisit_of(fetched[-1], days / 2)
    copy = capture(9, "http://b.example/copy", body=large("first"))
    folder = archived_folder(tmp_path / "data", [*fetched, unchanged, copy])
    publish(folder, unchanged)
    times: dict[float, str] = {4.0: "second", 2.0: "first", 5.5: "third"}
    times.update(enumerate(texts))
    async with viewing(browser, viewer, export(folder.path)) as opened:
        asked = [("", copy.visit.url), *((timestamp(NOW + at * days), url) for at in times)]
        bodies = await opened.bodies(*asked)
    found = [body.partition("<p>")[2].partition(" ")[0] for body in bodies]
    assert found == ["first", *times.values()]


URLS = [
    "http://www.a.example/", "https://www2.a.example/", "http://h.example/Case",
    "http://h.example/case", "http://h.example/case/", "http://h.example/case-1",
    "http://h.example/case.html", "http://q.example/?b=1&a=2", "http://q.example/?a=2&b=1",
    "http://q.example/?a", "http://q.example/?q=%20x&q=a%26b", "http://q.example/?x=1&X=2",
    "http://q.example/?sid=0123456789abcdef0123456789abcdef", "http://q.example/?q=http://a.test/",
    "http://p.example:8080/x", "https://192.0.2.9:8443/x", "http://[2001:db8::1]/x",
    "http://[2001:db8::1]:8080/x", "http://xn--mnchen-3ya.example/", "http://e.example/%E4%B8%AD",
    "http://e.example/a%20b", "http://e.example/a%2Fb", "http://e.example/a%2fb",
    "http://e.example/a;b=c", "http://e.example/~user/", "http://e.example/%7Euser",
    "http://e.example/a//b", "http://e.example/%7Ba%7D^`",
    "http://e.example/(a)/!$&'*,=:@", "http://e.example/http://other.example/",
    f"http://e.example/{'x' * 1500}",
]  # fmt: skip


async def test_page_at_each_url_is_found_in_a_long_index(
    browser: Browser, viewer: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The viewer searches the blocks of the index by a key with a last slash and escapes, which
    a SURT key has not."""
    urls = list(dict.fromkeys(map(canonicalize, URLS)))
    fetched = [capture(number, url, body=url.encode()) for number, url in enumerate(urls)]
    folder = archived_folder(tmp_path / "data", fetched)
    publish(folder, fetched[0])
    # The lines of one capture with one key, which must not fill several blocks.
    monkeypatch.setattr("gossamer.inspection.archive.wacz.INDEX_LINES", 2)
    async with viewing(browser, viewer, export(folder.path)) as opened:
        bodies = await opened.bodies(*[("", url) for url in urls])
    assert [url for url, body in zip(urls, bodies, strict=True) if not body.endswith(url)] == []


@pytest.mark.parametrize("coding", CODED)
async def test_each_content_coding_is_shown_or_named(
    browser: Browser,
    viewer: Files,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    coding: str,
) -> None:
    """Bytes were shown in place of a page whose server has sent "GZIP", deflate or zstd."""
    name, code = CODED[coding]
    headers = (("Content-Type", "text/html"), ("Content-Encoding", name))
    fetched = capture(1, "http://a.example/", body=code(large("shown")), headers=headers)
    folder = archived_folder(tmp_path / "data", [fetched])
    publish(folder, fetched)
    wacz = export(folder.path)
    async with viewing(browser, viewer, wacz) as opened:
        (body,) = await opened.bodies(("", fetched.visit.url))
    is_shown, is_named = body.endswith(large("shown").decode()), "decode" in capsys.readouterr().out
    assert is_shown or is_named
    assert is_shown == (coding in ("identity", "gzip", "br", "not-applied"))


LINKS = [
    "/%d0%bf%d1%83%d1%82%d1%8c/", "/%7euser", "/%7Eother", "/~user", "/a|b", "/é", "/a b", "/{id}",
    "/c^d`e", "/[br]", "/a'b", "/a//b", "/a\\b", "/u/./t/../s", "/%2e%2e/up", "/pct%zz", "/w?",
    "/q?x=%d0%b0", "/q?x=%d0%b1", "/q?x=%D0%B2", "/q?x=é", "/q?x=a|b", "/q?x=a%20b+c", "/q?x=a'b",
    "/q?b=2&a=1", "/q?&a=1&&b=2&", "/q?x[]=1&x[]=2", "/q?x=http://o.example/?y=%2f",
    *("/moved", "/moved/%c3%a9?q=1"),
    *("/utm?utm_source=a&id=1", "/php?PHPSESSID=0123456789abcdef0123456789abcdef&p=3"),
]  # fmt: skip
"""Targets of links, in spellings that the crawl changes, or not."""
NOT_VISITED = ("utm_source=a&", "PHPSESSID=0123456789abcdef0123456789abcdef&")
"""Parameters in them that the crawl drops."""


async def test_links_of_a_page_lead_to_their_pages(
    browser: Browser, viewer: Files, tmp_path: Path
) -> None:
    """The viewer searches a URL as the browser writes it. WordPress writes escapes in lower case:
    no link of such a site led to its page."""
    links = [f'<a href="{html.escape(target)}">{number}</a>' for number, target in enumerate(LINKS)]
    home = f"<meta charset=utf-8><title>Home</title>{''.join(links)}"
    expected = list[str]()

    def answer(target: str) -> Sent:
        if target == "/robots.txt":
            return NOTHING
        if target.startswith("/moved"):
            return Sent(status=301, headers={"Location": target.replace("moved", "arrived")})
        return Sent((home if target == "/" else f"<p>Page {html.escape(target)}").encode())

    with serving(answer) as origin:
        folder = crawl(tmp_path / "data", f"{origin}/")
        for target in LINKS:
            url = canonicalize(f"{origin}{target}").removeprefix(origin)
            for parameter in NOT_VISITED:
                url = url.replace(parameter, "")
            expected.append(f"Page {url.replace('moved', 'arrived')}")
    async with viewing(browser, viewer, export(folder.path)) as opened:
        tab = await opened.open(url=f"{origin}/")
        await tab.frame_locator("replay-app-main iframe").locator("a").first.wait_for()
        element = await tab.wait_for_selector("replay-app-main iframe")
        frame = await element.content_frame() if element else None
        assert frame
        found = await frame.evaluate(
            """async () => {
              const found = [];
              for (const link of document.querySelectorAll('a')) {
                const frame = document.createElement('iframe');
                const loaded = new Promise((resolve) => { frame.onload = resolve; });
                frame.src = link.href;
                document.body.append(frame);
                await loaded;
                found.push(frame.contentDocument.body.innerText);
                frame.remove();
              }
              return found;
            }"""
        )
    wrong = [one for one in zip(LINKS, found, expected, strict=True) if one[1].strip() != one[2]]
    assert not wrong, "\n".join(map(str, wrong))
