"""`gossamer try` and `gossamer check`: pages without a crawl, and the seeds of a list."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import Done
from tests.support.serving import NOTHING, Sent, serving

from .crawl import CONTACT, GOSSAMER, LOOPBACK, run

WORDS = "A museum of lamps shows four hundred lamps of three centuries, and their makers. "
PRODUCT = '{"@context": "https://schema.org", "@type": "Product", "name": "Lamp"}'
HOME = f"""<html lang="en"><head><title>Lamps</title><link rel="canonical" href="/">
<link rel="stylesheet" href="/style.css"><script type="application/ld+json">{PRODUCT}</script>
</head><body><main><h1>Lamps</h1><p>{WORDS * 3}</p>
<a href="/one">one</a> <a href="/two" rel="nofollow">two</a> <a href="/private/x">private</a>
<a href="https://example.org/">elsewhere</a></main></body></html>"""
HIDDEN = f'<meta name="robots" content="noindex, noarchive"><title>Hidden</title><p>{WORDS * 3}'
SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>/listed</loc></url><url><loc>/also</loc></url></urlset>"""
PAGES = {
    "/robots.txt": Sent(b"User-agent: *\nDisallow: /private/\nSitemap: /sitemap.xml\n"),
    "/": Sent(HOME.encode()),
    "/one": Sent(f"<title>One</title><p>One: {WORDS * 3}".encode()),
    "/copy": Sent(f"<title>One</title><p>One: {WORDS * 3}".encode()),
    "/hidden": Sent(HIDDEN.encode()),
    "/old": Sent(status=301, headers={"Location": "/one"}),
    "/moved": Sent(status=301, headers={"Location": "/hidden"}),
    "/image": Sent(b"GIF89a", headers={"Content-Type": "image/gif"}),
    "/broken": Sent(status=500),
    "/circle": Sent(status=302, headers={"Location": "/back"}),
    "/back": Sent(status=302, headers={"Location": "/circle"}),
    "/list.xml": Sent(SITEMAP.encode(), headers={"Content-Type": "application/xml"}),
}
ANYTHING = Sent(f"<title>Sorry</title><p>{WORDS * 2} There is no such page here.".encode())


@contextmanager
def museum(missing: Sent = NOTHING) -> Iterator[tuple[str, list[str]]]:
    """Serve PAGES in the block, and *missing* for other paths; yield the host and the requested
    paths."""
    requested: list[str] = []

    def answer(path: str) -> Sent:
        requested.append(path)
        return PAGES.get(path, missing)

    with serving(answer) as host:
        yield host, requested


def command(name: str, *words: str, stdin: str = "") -> Done:
    given = [GOSSAMER, name, "--contact", CONTACT, "--delay", "0.05", *LOOPBACK, *words]
    return run(given, stdin)


def test_tried_page_shows_what_a_crawl_would_do(tmp_path: Path) -> None:
    with museum() as (host, requested):
        done = command("try", f"{host}/", "--json")
    assert (done.code, done.err) == (0, "")
    assert requested == ["/robots.txt", "/"], "no sitemap, link, requisite or probe"
    page = json.loads(done.out)
    assert (page["title"], page["language"], page["canonical"]) == ("Lamps", "en", f"{host}/")
    assert WORDS.strip() in page["text"] and page["markdown"]
    assert [one["value"]["name"] for one in page["linked_data"]] == ["Lamp"]
    assert page["requisites"] == [f"{host}/style.css"]
    assert page["robots"][0]["allowed"]
    assert (page["verdicts"]["verdict"], page["verdicts"]["is_published"]) == ("first", True)
    links = {link["url"].removeprefix(host): link for link in page["links"]}
    assert {url for url, link in links.items() if link["followed"]} == {"/one"}
    rules = {url: link["rule"] for url, link in links.items() if not link["followed"]}
    assert rules == {
        "/two": "nofollow",
        "/private/x": "robots_excluded",
        "https://example.org/": "out_of_scope",
    }
    assert "Disallow: /private/" in links["/private/x"]["reason"]


@pytest.mark.long
def test_tried_page_that_redirects_and_hides_is_shown_and_explained() -> None:
    with museum() as (host, requested):
        statements = "print(page.text, page.html(), page.exchanges, page.verdicts)\n"
        done = command("try", f"{host}/moved", "--shell", stdin=statements)
    assert done.code == 0, done.err
    assert requested.count("/hidden") == 1
    assert WORDS.strip() in done.out and "noindex, noarchive" in done.out
    assert "location='/hidden'" in done.out
    assert "is_published=False" in done.out and "is_archived=False" in done.out
    assert "not in pages and not archived (" in done.out + done.err, "IPython prints it on stdout"


@pytest.mark.long
def test_circle_of_redirects_is_named() -> None:
    with museum() as (host, requested):
        done = command("try", f"{host}/circle")
    assert done.code == 1
    assert f"{host}/back redirects to /circle, which was visited before" in done.out
    assert requested == ["/robots.txt", "/circle", "/back"]


@pytest.mark.long
def test_list_of_urls_is_shown_and_not_followed() -> None:
    with museum() as (host, requested):
        done = command("try", f"{host}/list.xml")
    assert (done.code, done.err) == (0, "")
    assert "sitemap of 2 URLs" in done.out
    assert "not published: read as a list of URLs" in done.out
    assert requested == ["/robots.txt", "/list.xml"]


def test_forbidden_page_is_not_requested() -> None:
    with museum() as (host, requested):
        done = command("try", f"{host}/private/x")
    assert done.code == 1
    assert requested == ["/robots.txt"]
    assert "line 2: Disallow: /private/" in done.out


@pytest.mark.long
def test_probe_recognises_a_soft_404() -> None:
    with museum(missing=ANYTHING) as (host, _):
        done = command("try", f"{host}/nothing", "--probe", "--json")
    assert json.loads(done.out)["verdicts"]["soft_404"] is True, done.out


def test_bad_seeds_are_named_with_what_is_bad(tmp_path: Path) -> None:
    with museum() as (host, requested):
        lines = f"""{host}/
            # a comment
            {host}/one
            {host}/one#fragment
            {host}/old
            {host}/copy
            {host}/moved
            {host}/private/x
            {host}/gone
            {host}/image
            {host}/broken
            http://127.0.0.1:9/
            https://example.org/
            not a URL
            {host}/circle
            {host}/list.xml"""
        (tmp_path / "seeds").write_text(lines)
        scope = ("--scope", "host('127.0.0.1')")
        done = command("check", str(tmp_path / "seeds"), "--json", *scope)
    assert done.code == 1, done.err
    facts = {fact["line"]: fact for fact in map(json.loads, done.out.splitlines())}
    blocked = "not a URL to visit: port 9 is blocked, as in browsers"
    assert facts[12]["text"] == blocked
    assert {line: fact["state"] for line, fact in facts.items()} == {
        1: "ok",
        3: "ok",
        4: "duplicate",
        5: "duplicate",
        6: "duplicate",
        7: "moved",
        8: "forbidden",
        9: "dead",
        10: "unusable",
        11: "unreachable",
        12: "invalid",
        13: "out of scope",
        14: "invalid",
        15: "dead",
        16: "ok",
    }
    assert not {"/private/x", "/listed", "/also"} & {*requested}
    assert max(requested.count(path) for path in {*requested} - {"/robots.txt"}) == 1


def test_each_seed_of_a_list_without_a_url_is_named() -> None:
    done = command("check", "http://127.0.0.1:9/", "not a URL")
    assert done.code == 1, done.err
    assert "port 9 is blocked, as in browsers" in done.out
    assert "2 invalid" in done.out


@pytest.mark.long
def test_good_seeds_are_counted() -> None:
    with museum() as (host, _):
        done = command("check", f"{host}/", f"{host}/one")
    assert (done.code, done.out) == (0, "2 seeds: 2 ok.\n")


@pytest.mark.parametrize("name", ["try", pytest.param("check", marks=pytest.mark.long)])
def test_nothing_is_requested_without_a_contact(name: str) -> None:
    with museum() as (host, requested):
        done = run([GOSSAMER, name, *LOOPBACK, f"{host}/"])
    assert done.code == 2 and "contact" in done.err
    assert requested == []


def test_rules_are_tried_on_one_page(tmp_path: Path) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text(
        "def follow(link, page):\n    return not link.url.endswith('/one')\n\n"
        "def extract(page):\n    return {'name': page.css('h1::text')[0]}\n\n"
        "def keep(page):\n    raise ValueError('no lamp')\n"
    )
    with museum() as (host, _):
        page = json.loads(command("try", "--json", "--rules", str(rules), f"{host}/").out)
        assert page["extracted"] == [{"name": "Lamps"}]
        [one] = [link for link in page["links"] if link["url"] == f"{host}/one"]
        assert one["reason"] == "refused by follow in rules.py:1"
        assert "ValueError: no lamp" in page["rule_failures"]["keep"]
