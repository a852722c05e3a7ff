"""Every hazard of URLs and of content, from a real server: survived, and counted under its name."""

import json
from pathlib import Path

import pytest

from tests.support.serving import HTML, NOTHING, Sent, serving

from .crawl import ask, crawl_urls

LONG = "/" + "x" * 3000
ENDLESS = "<svg><foreignObject><script><a title='</script>" + "<div>" * 200_000 + "'>"
TWIN = "<title>One text</title>under two names"


def links(*targets: str) -> str:
    return "".join(f"<p><a href='{target}'>to there</a>" for target in targets)


PAGES: dict[str, tuple[str, bytes]] = {
    "/bad": ("", b"<a href='http://['>nowhere</a>"),
    "/mail": ("", b"<a href='mailto:somebody@example.org'>mail</a>"),
    "/long": ("", links(LONG).encode()),
    "/session": ("", links("/twin?PHPSESSID=5").encode()),
    "/listing": ("", links("/twin/?C=M;O=A").encode()),
    "/default": ("", links("/twin/index.html").encode()),
    "/repeated": ("", links("/a/a/a/").encode()),
    "/attributes": ("", ("<a " + "".join(f"a{n} " for n in range(150_000)) + ">").encode()),
    "/endless": ("", ENDLESS.encode()),
    "/misread": ("", b"<p>Some words, and " + b"x" * 80 + b" and others.</p>"),
    "/charset": ("; charset=utf-8", "<meta charset=latin1><p>café".encode("latin-1")),
    "/hidden": ("", b"<p>words<p style='position:absolute;left:-9999px'>five of no interest here"),
    "/physical": ("", b"<p><font size=7>A heading by its looks</font><p>words"),
    "/scripts": ("", b"<p onclick=\"location.href='/twin'\">words"),
    "/twin": ("", TWIN.encode()),
    "/other": ("", TWIN.encode()),
    "/unindexed": ("", b"<meta name=robots content=noindex>words of its own"),
    "/unfollowed": ("", b"<a rel=nofollow href=/lure>words of others</a>"),
    "/twin/": ("", b"a directory"),
}
PAGES["/"] = ("", links(*PAGES).encode())
COUNTED = {
    "malformed_url": 1,
    "non_web_link": 1,
    "url_too_long": 1,
    "session_id": 1,
    "directory_reorder": 1,
    "default_document": 1,
    "repeated_path": 1,
    "malformed_html": 1,
    "parser_fault": 1,
    "misread_text": 1,
    "charset_conflict": 1,
    "hidden_text": 1,
    "physical_markup": 1,
    "script_links": 1,
    "exact_duplicate": 1,
    "noindex": 1,
    "nofollow": 1,
}


def answer(target: str) -> Sent:
    parameter, body = PAGES.get(target, ("", b""))
    if not body:
        return NOTHING
    title = b"" if body == TWIN.encode() else f"<title>{target}</title>".encode()
    return Sent(title + body, headers={"Content-Type": f"{HTML}{parameter}"})


@pytest.mark.slow
def test_each_hazard_is_counted_and_no_other_page_is_lost(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    # Most pages of this web have no new text: its only part would be parked.
    settings.write_text(
        "[parser]\npage_limit = 1\n[frontier]\nprobe_after = 0\nworth_parking = false\n"
    )
    requested: list[str] = []

    def record(target: str) -> Sent:
        requested.append(target)
        return answer(target)

    with serving(record) as host:
        options = ["--config", str(settings), "--revisit", "none"]
        done = crawl_urls(tmp_path / "data", *options, f"{host}/")
    assert (done.code, done.err) == (0, ""), done
    status = ask(tmp_path / "data", "status", "--json")
    found = json.loads(status.out)["hazards"]
    assert {name: found.get(name) for name in COUNTED} == COUNTED
    assert sorted(set(requested) - {"/robots.txt"}) == sorted(PAGES), "no other URL is requested"
    assert len(requested) == len(set(requested))
