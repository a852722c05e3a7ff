"""Own rules decide which links are followed, in which order, and which pages are published."""

import json
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Page, RefetchRequested
from gossamer.events.topics import PAGES
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.urls.urls import explain_url
from gossamer.log.codec import encode
from gossamer.rules import identify_rules
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site
from tests.flow.test_flow import HTML
from tests.flow.test_hazards import report_counts
from tests.flow.virtual import VirtualCrawl

HOST = HostKey("http://a.test")
PATHS = ("/", "/a", "/b", "/b/1", "/login", "/old")
LINKS = {"/": ("/a", "/b", "/login", "/old"), "/a": ("/login",), "/b": ("/b/1",)}
SITEMAP = "".join(f"<url><loc>{HOST}/{name}</loc></url>" for name in ("listed", "login", "old"))


class RuledCrawl:
    """A crawl of one site with rules, of which the test counts the requests."""

    def __init__(self, folder: Path, rules: str, validators: bool = False) -> None:
        self.rules = folder / "rules.py"
        self.rules.write_text(rules)
        headers = (*HTML, ("ETag", '"1"')) if validators else HTML

        def web(url: str, now: float) -> tuple[float, Reply]:
            path = url.removeprefix(HOST)
            if path == "/sitemap.xml":
                body = f"<urlset>{SITEMAP}</urlset>"
            else:
                links = "".join(f"<a href={one}>to {one}</a>" for one in LINKS.get(path, ()))
                body = f"<title>{path}</title><h1>The page {path}</h1>{links}"
            status = 404 if path == "/robots.txt" else 200
            return 0.1, Reply(status=status, headers=headers, body=body.encode())

        self.crawl = VirtualCrawl(folder / "data", web)

    def run(self, *seeds: str, rules: str | None = None) -> list[str]:
        """Define the crawl with its rules as they are now; return the paths that it visits."""
        if rules is not None:
            self.rules.write_text(rules)
        before, now = len(self.crawl.requests), self.crawl.now
        named = "" if rules == "" else str(self.rules)
        definition = CrawlDefined(at=now, scope="any()", max_depth=9, rules=named)
        identified = identify_rules(definition)
        digest = identified.rules_digest
        self.crawl.define(*(HOST + seed for seed in seeds), rules=named, rules_digest=digest)
        assert self.crawl.run()
        return [url.removeprefix(HOST) for _, _, url in self.crawl.requests[before:]][
            1 if before == 0 else 0 :
        ]

    def pages(self) -> dict[str, Page]:
        pages = self.crawl.events(PAGES.name, Page)
        return {one.url.removeprefix(HOST): one for one in pages}

    def reason(self, path: str) -> str:
        rows = SqliteStore(self.crawl.database).table(VerdictRow)
        row = rows.get((DEFAULT_CRAWL, HOST), HOST + path)
        assert row
        return row.reason


def test_refused_links_are_taken_up_when_the_rules_change(tmp_path: Path) -> None:
    only = 'def follow(link, page):\n    return link.url.endswith("{}")\n'
    crawl = RuledCrawl(tmp_path, only.format("/a"), validators=True)
    assert crawl.run("/", "/old") == ["/", "/old", "/a"], "a seed is not asked"
    assert crawl.run() == [], "the same rules refuse the same links"
    assert crawl.run(rules=only.format("/b")) == ["/", "/a", "/b"], "pages are judged again"
    assert {*crawl.run(rules=only.format("/b/1"))} == {"/", "/a", "/b", "/b/1"}
    assert sorted(crawl.run(rules="")) == ["/login"], "without rules all links are followed"


@pytest.mark.parametrize("is_fleet", [False, True])
def test_refused_link_is_explained_by_file_and_line(tmp_path: Path, is_fleet: bool) -> None:
    crawl = RuledCrawl(tmp_path, '\ndef follow(link, page):\n    return "/login" not in link.url\n')
    crawl.run("/")
    opened = OpenCrawl("test", crawl.crawl.log, crawl.crawl._store, fleet=is_fleet)
    found = explain_url(opened, f"{HOST}/login")
    assert found.answer == f"Not fetched: refused by follow in rules.py:2; found on {HOST}/."


def test_rules_judge_the_entries_of_a_sitemap(tmp_path: Path) -> None:
    crawl = RuledCrawl(tmp_path, 'def follow(link, page):\n    return "/login" not in link.url\n')
    assert sorted(crawl.run("/sitemap.xml")) == ["/listed", "/old", "/sitemap.xml"]


def test_links_are_visited_in_the_order_of_their_priority(tmp_path: Path) -> None:
    rules = "def priority(link, page):\n    return {'/old': -100, '/b': -50}.get(link.url[13:], 50)"
    assert RuledCrawl(tmp_path, rules).run("/") == ["/", "/old", "/b", "/a", "/login", "/b/1"]


def test_changed_rows_of_an_unchanged_page_are_published(tmp_path: Path) -> None:
    crawl = RuledCrawl(tmp_path, "def extract(page):\n    return {'name': page.title}")
    crawl.run("/a")
    assert [json.loads(row) for row in crawl.pages()["/a"].extracted] == [{"name": "/a"}]
    asked = RefetchRequested(
        at=crawl.crawl.now, site=Site("a.test"), host=HOST, urls=(f"{HOST}/a",), whole=True
    )
    crawl.crawl.log.append([encode(asked)])
    rules = "def extract(page):\n    return [{'name': page.css_first('h1::text')}]"
    assert crawl.run(rules=rules) == ["/a"]
    assert [json.loads(row) for row in crawl.pages()["/a"].extracted] == [{"name": "The page /a"}]


def test_page_is_published_without_the_answer_of_a_rule_that_fails(tmp_path: Path) -> None:
    rules = (
        "def keep(page):\n    return page.url != 'http://a.test/b' or 1 / 0\n"
        "def follow(link, page):\n    return None\n"
        "def extract(page):\n    return 'nonsense'\n"
    )
    crawl = RuledCrawl(tmp_path, rules)
    assert {*crawl.run("/")} == {*PATHS}, "links are followed"
    assert crawl.pages().keys() == {*PATHS}
    assert report_counts(crawl.crawl)["rule_failed"] == len(PATHS)
    assert crawl.reason("/b") == (
        "a rule failed: ZeroDivisionError: division by zero < rules.py:2 in keep: "
        "return page.url != 'http://a.test/b' or 1 / 0; extract must return a dict, a list of them "
        "or None, and returned str; follow must return True or False, and returned None"
    )
