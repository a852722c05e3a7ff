"""URLs that are one page for the crawl are visited once, and the pages behind them are not lost."""

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from gossamer.events import Page
from gossamer.events.topics import PAGES
from gossamer.services.dedup.rows import HostStepsRow
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.settings import DedupSettings
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey
from gossamer.web.url_steps import ALL_STEPS
from tests.flow.test_hazards import metric_counts, report_counts
from tests.flow.virtual import VirtualCrawl, html_page

HOST = HostKey("http://a.test")
Site = dict[str, str | Reply]
"""Path → the markup of its page, or another answer."""


def count_requests(
    folder: Path, site: Site, seeds: tuple[str, ...] = ("/",), **crawl: object
) -> Counter[str]:
    """Crawl *site*; return the number of requests for each path."""
    return Counter(path for path, _ in requested_paths(run(folder, site, seeds, **crawl)))


def run(
    folder: Path, site: Site, seeds: tuple[str, ...] = ("/",), **fields: object
) -> VirtualCrawl:
    def web(url: str, now: float) -> tuple[float, Reply]:
        found = site.get(url.removeprefix(HOST), Reply(status=404))
        if isinstance(found, str):
            found = html_page(f"<title>A page</title>{found}")
        return 0.1, found

    limit = fields.pop("url_limit", 2000)
    crawl = VirtualCrawl(folder, web, dedup=DedupSettings(url_limit=limit))  # type: ignore[arg-type]
    crawl.define(*(HOST + path for path in seeds), **{"url_steps": ALL_STEPS, **fields})
    assert crawl.run()
    crawl.archive.close()
    return crawl


def requested_paths(crawl: VirtualCrawl) -> list[tuple[str, float]]:
    paths = [(url.removeprefix(HOST), start) for start, _, url in crawl.requests]
    return [(path, start) for path, start in paths if path != "/robots.txt"]


def links(*targets: str) -> str:
    return "".join(f"<p><a href='{target}'>to there</a>" for target in targets)


def redirect_to(target: str) -> Reply:
    return Reply(status=302, headers=(("Location", target),))


def host_steps(crawl: VirtualCrawl) -> HostStepsRow:
    return SqliteStore(crawl.database).table(HostStepsRow).get(HOST) or HostStepsRow(HOST)


LINKS = links(
    "/a?PHPSESSID=1", "/a?PHPSESSID=2&x=1", "/a;jsessionid=3", "/?C=M;O=A", "/index.html",
    "/a?utm_source=b", "/b/c/b/c", "/b/b/b",
)  # fmt: skip


def test_urls_with_the_same_canonical_form_are_visited_once(tmp_path: Path) -> None:
    site: Site = {"/": LINKS, "/a": links("/?N=D"), "/a?x=1": "another"}
    assert count_requests(tmp_path, site) == Counter({"/": 1, "/a": 1, "/a?x=1": 1})


def test_each_step_can_be_disabled(tmp_path: Path) -> None:
    assert len(count_requests(tmp_path, {"/": LINKS}, url_steps=())) == 9
    only = count_requests(tmp_path, {"/": LINKS}, url_steps=("tracking",))
    assert "/a" in only and "/a?PHPSESSID=1" in only and "/b/b/b" in only


def test_each_step_is_counted_once_a_page_in_metric_and_report(tmp_path: Path) -> None:
    before = metric_counts()
    crawl = run(tmp_path, {"/": LINKS, "/a": LINKS, "/a?x=1": "another"})
    names = ("session_id", "directory_reorder", "default_document", "repeated_path")
    metric, report = metric_counts() - before, report_counts(crawl)
    assert [metric[name] for name in names] == [report[name] for name in names] == [2] * 4


def test_links_above_the_length_limit_are_counted_and_not_visited(tmp_path: Path) -> None:
    before = metric_counts()
    crawl = run(tmp_path, {"/": links("/" + "x" * 300, "/y"), "/y": ""}, url_limit=200)
    assert {path for path, _ in requested_paths(crawl)} == {"/", "/y"}
    assert (metric_counts() - before)["url_too_long"] == report_counts(crawl)["url_too_long"] == 1


def test_documents_have_links_in_canonical_form(tmp_path: Path) -> None:
    crawl = run(tmp_path, {"/": links("/a?PHPSESSID=1", "/a?sid=1")})
    (page,) = crawl.events(PAGES.name, Page)
    assert page.links == (f"{HOST}/a", f"{HOST}/a?sid=1")
    assert page.hazards == ("session_id",)


def test_redirect_to_the_same_canonical_url_is_followed(tmp_path: Path) -> None:
    site: Site = {
        "/": redirect_to("/index.html"),
        "/index.html": links("/s", "/index.html"),
        "/s": redirect_to("/s?PHPSESSID=7"),
        "/s?PHPSESSID=7": "words",
    }
    # A redirect that adds a parameter may be a cookie wall, so its target is visited once.
    assert count_requests(tmp_path, site) == Counter(site.keys()) + Counter({"/s?PHPSESSID=7": 1})


def test_seeds_are_visited_in_canonical_form(tmp_path: Path) -> None:
    assert count_requests(tmp_path, {"/": "words"}, ("/?PHPSESSID=1", "/?PHPSESSID=2")) == {"/": 1}


def sessions(name: str, pages: int, visits: int) -> Site:
    """Return a site whose pages have a new session in their links at every visit."""
    site: Site = {}
    for n in range(pages):
        for session in range(visits):
            there = [f"/{m}?{name}={session + 1}" for m in range(pages)]
            site[f"/{n}?{name}={session}"] = f"This is page {n}." + links(*there)
        site[f"/{n}"] = f"This is page {n}." + links(*(f"/{m}?{name}=0" for m in range(pages)))
    return site


@pytest.mark.slow
def test_uncertain_session_parameter_is_removed_once_texts_prove_it(tmp_path: Path) -> None:
    site = sessions("sid", pages=6, visits=60)
    crawl = run(tmp_path, site, ("/0?sid=0",))
    assert host_steps(crawl).holds("session_id sid")
    counts = Counter(path for path, _ in requested_paths(crawl))
    assert max(counts.values()) == 1
    assert {f"/{n}" for n in range(6)} & set(counts)
    assert len(counts) < 60, "without the proof there are 360 requests"


@pytest.mark.slow
def test_parameter_that_selects_the_page_is_kept(tmp_path: Path) -> None:
    site: Site = {f"/story?sid={n}": f"This is story {n}." for n in range(30)}
    site |= {f"/gone?sid={n}": "There is no such story." for n in range(5)}
    site["/gone"] = "There is no such story."
    site["/"] = links(*site)
    crawl = run(tmp_path, site)
    assert {path for path, _ in requested_paths(crawl)} == set(site)
    assert host_steps(crawl).proofs.keys() == {"session_id sid"}, "one text, under many URLs"
    assert not host_steps(crawl).holds("session_id sid")


def test_parameter_that_the_server_requires_with_any_value_is_kept(
    tmp_path: Path,
) -> None:
    site = sessions("session", pages=4, visits=4)
    site |= {f"/{n}": "You have no session." for n in range(4)}
    crawl = run(tmp_path, site, ("/0?session=0",))
    assert not host_steps(crawl).holds("session_id session")
    assert {path for path, _ in requested_paths(crawl)} > {f"/{n}?session=1" for n in range(4)}


def test_letter_case_is_ignored_at_a_host_once_proven(tmp_path: Path) -> None:
    site: Site = {}
    for n in range(9):
        for name in (f"/Page{n}", f"/page{n}", f"/PAGE{n}"):
            site[name] = f"This is page {n}." + links(f"/page{n + 1}", f"/Page{n + 1}")
    site["/page9"] = "The last one." + links("/PAGE0", "/PAGE1", "/PAGE2")
    crawl = run(tmp_path, site, ("/Page0",))
    assert host_steps(crawl).holds("letter_case")
    assert "/PAGE0" not in {path for path, _ in requested_paths(crawl)}


@pytest.mark.parametrize("first", ["/", "/index.html"])
def test_default_document_is_a_page_of_its_own_if_its_text_differs(
    tmp_path: Path, first: str
) -> None:
    site: Site = {
        "/": "Welcome to our shop, with a lot of things for you." + links("/a/index.html"),
        "/index.html": "It works! This is what a server shows that nobody has set up."
        + links("/", "/later"),
        "/a/index.html": "More of it",
        "/later": links("/b/index.html"),
        "/b/index.html": "The rest of it",
    }
    second = ({"/", "/index.html"} - {first}).pop()
    crawl = run(tmp_path, site, (first, second))
    assert host_steps(crawl).refuted == ("default_document",)
    assert "/b/index.html" in {path for path, _ in requested_paths(crawl)}


def test_default_document_with_the_same_text_as_its_directory_refutes_nothing(
    tmp_path: Path,
) -> None:
    site: Site = {path: "Welcome." + links("/a/index.html", "/") for path in ("/", "/index.html")}
    crawl = run(tmp_path, site, ("/index.html",))
    assert host_steps(crawl).refuted == ()
    assert {path for path, _ in requested_paths(crawl)} == {"/", "/index.html", "/a/"}


def url_rows(crawl: VirtualCrawl) -> list[UrlRow]:
    return crawl.rows(UrlRow)


def visit_forced_sessions(folder: Path, form: str, pages: int = 5) -> VirtualCrawl:
    """Crawl a site whose links have a new random token at each visit, as *form* states.

    A URL without a token shows no page.
    """
    pattern = re.compile(
        re.escape(form).replace(r"\{page\}", r"(\d+)").replace(r"\{token\}", "[0-9a-f]+")
    )
    tokens = Random(7)

    def web(url: str, now: float) -> tuple[float, Reply]:
        path = url.removeprefix(HOST)
        found = pattern.fullmatch(path)
        if not found and path != "/":
            return 0.1, Reply(status=404)
        number = found[1] if found else "0"
        there = [form.format(page=n, token=f"{tokens.getrandbits(128):032x}") for n in range(pages)]
        text = " ".join(f"word{number}x{n}" for n in range(30))
        body = f"<title>Page {number}</title>This is page {number}. {text}{links(*there)}"
        return 0.1, html_page(body)

    crawl = VirtualCrawl(folder, web)
    crawl.define(f"{HOST}/", url_steps=ALL_STEPS)
    assert crawl.run()
    crawl.archive.close()
    return crawl


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "rule"),
    [
        ("/page{page}?visitor={token}", "session_id ?visitor"),
        ("/{token}/page{page}", "session_id /0"),
        ("/shop/(S({token}))/page{page}", "session_id /1"),
    ],
)
def test_forced_session_id_of_any_name_is_learnt_and_the_crawl_ends(
    tmp_path: Path, form: str, rule: str
) -> None:
    crawl = visit_forced_sessions(tmp_path, form)
    assert host_steps(crawl).holds(rule)
    paths = [path for path, _ in requested_paths(crawl)]
    assert len(paths) == len(set(paths)) < 20
    assert {number for path in paths for number in re.findall(r"page(\d)", path)} == {*"01234"}
    assert re.findall("[0-9a-f]{32}", host_steps(crawl).tokens[rule])


@pytest.mark.slow
def test_queued_urls_of_forced_sessions_are_visited_under_one_id(tmp_path: Path) -> None:
    crawl = visit_forced_sessions(tmp_path, "/page{page}?visitor={token}", pages=20)
    pages = [path.partition("?")[0] for path, start in requested_paths(crawl)]
    assert {*pages[:40]} == {"/", *(f"/page{n}" for n in range(20))}
    refused = [row for row in url_rows(crawl) if row.outcome == "session_id"]
    assert refused and all("is visited instead" in row.reason for row in refused)


@pytest.mark.slow
def test_tokens_that_one_page_lists_name_pages(tmp_path: Path) -> None:
    """Most entries of a catalogue have the text of another one, and are visited first."""
    tokens = [f"{Random(n).getrandbits(128):032x}" for n in range(40)]
    site: Site = {f"/item/{token}": f"Item {n // 2}." for n, token in enumerate(tokens[:20])}
    site |= {f"/item/{token}": f"Rare item {n}." for n, token in enumerate(tokens[20:])}
    site["/"] = links(*site)
    crawl = run(tmp_path, site)
    assert {path for path, _ in requested_paths(crawl)} == set(site)


@pytest.mark.slow
def test_random_token_that_names_the_page_is_kept(tmp_path: Path) -> None:
    tokens = [f"{Random(n).getrandbits(128):032x}" for n in range(40)]
    # Each text is at two URLs, as in a catalogue with doubled entries, and others are at one.
    site: Site = {
        f"/item/{token}": f"Item {n // 2 if n < 10 else n}: "
        + " ".join(f"w{n}x{m}" for m in range(20))
        for n, token in enumerate(tokens)
    }
    site |= {f"/item/{tokens[n + 1]}": site[f"/item/{tokens[n]}"] for n in range(0, 10, 2)}
    site["/"] = links(*site)
    crawl = run(tmp_path, site)
    assert {path for path, _ in requested_paths(crawl)} == set(site)
    assert not host_steps(crawl).holds("session_id /1")
