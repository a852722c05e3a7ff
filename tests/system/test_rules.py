"""A crawl with own rules (`--rules`), as its user sees it."""

import json
from pathlib import Path

import pytest

from tests.support.serving import HTML, NOTHING, Sent, serving

from .crawl import Fields, ask, crawl_urls

WORDS = "The lamp stands on a desk and gives light to those who read at night, page after page. "
SHOP = {
    "/": "<title>Shop</title><a href=/lamp>A lamp</a> <a href=/stool>A stool</a>"
    " <a href=/login>Sign in</a> <a href=/broken>A chair</a>",
    "/lamp": f"<title>Lamp</title><h1>A lamp</h1><p class=price>42.50<p>{WORDS}",
    "/stool": f"<title>Stool</title><h1>A stool</h1><p class=price>19<p>{WORDS * 2}Three legs.",
    "/broken": f"<title>Chair</title><h1>A chair</h1><p class=price>on request<p>{WORDS * 3}No.",
    "/login": "<title>Sign in</title><p>Name and password, and a long text about this form.",
}
RULES = """
from pathlib import Path
from pydantic import BaseModel
from prices import to_price

CURRENCY = Path(__file__).with_name("currency.txt").read_text().strip()

class Model(BaseModel):
    name: str
    price: float
    currency: str = CURRENCY

def keep(page):
    return page.title != "Shop"

def extract(page):
    if name := page.css_first("h1::text"):
        return {"name": name, "price": to_price(page.css_first(".price::text"))}
"""
PRICES = "def to_price(text):\n    return float(text)\n"


def answer(path: str) -> Sent:
    return Sent(SHOP[path].encode(), 200, {"Content-Type": HTML}) if path in SHOP else NOTHING


def write_rules(folder: Path, text: str) -> str:
    path = folder / "rules.py"
    path.write_text(text)
    return str(path)


def read_pages(folder: Path) -> dict[str, Fields]:
    done = ask(folder / "data", "pages")
    pages = map(json.loads, done.out.splitlines())
    return {"/" + page["url"].split("/", 3)[3]: page for page in pages}


@pytest.mark.slow
def test_own_rules_select_pages_and_extract_rows(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, RULES)
    (tmp_path / "prices.py").write_text(PRICES)
    (tmp_path / "currency.txt").write_text("EUR\n")
    with serving(answer) as host:
        done = crawl_urls(tmp_path / "data", "--rules", rules, f"{host}/")
    assert (done.code, done.err) == (0, "")
    pages = read_pages(tmp_path)
    assert pages.keys() == {"/lamp", "/stool", "/broken", "/login"}, "the list is not kept"
    rows = {path: [json.loads(row) for row in page["extracted"]] for path, page in pages.items()}
    assert rows == {
        "/lamp": [{"name": "A lamp", "price": 42.5, "currency": "EUR"}],
        "/stool": [{"name": "A stool", "price": 19.0, "currency": "EUR"}],
        "/broken": [],
        "/login": [],
    }
    failure = "could not convert string to float: 'on request' < prices.py:2 in to_price"
    assert "failed on 1 page" in done.out and failure in " ".join(done.out.split())
    report = ask(tmp_path / "data", "report")
    assert f"{host}/broken: ValueError: {failure}" in report.out
    why = ask(tmp_path / "data", "why", f"{host}/")
    assert "not relevant, by keep in rules.py:13" in " ".join(why.out.split())


@pytest.mark.long
def test_refused_links_are_explained_and_taken_up_by_changed_rules(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, "def follow(link, page):\n    return 'login' not in link.url\n")
    with serving(answer) as host:
        done = crawl_urls(tmp_path / "data", "--rules", rules, f"{host}/")
        assert (done.code, done.err) == (0, "")
        assert read_pages(tmp_path).keys() == SHOP.keys() - {"/login"}
        why = ask(tmp_path / "data", "why", f"{host}/login")
        expected = f"Not fetched: refused by follow in rules.py:1; found on {host}/."
        assert expected in " ".join(why.out.split())
        write_rules(tmp_path, "def follow(link, page):\n    return link.text != ''\n")
        done = crawl_urls(tmp_path / "data")
    assert (done.code, done.err) == (0, "")
    assert read_pages(tmp_path).keys() == SHOP.keys(), "the crawl keeps its rules, as edited"


@pytest.mark.long
def test_rules_that_cannot_work_are_refused_before_the_crawl(tmp_path: Path) -> None:
    refused = {
        "def keep(page):\n    return open('words').read() in page.text": "keep in {rules} cannot "
        "work: PermissionError: [Errno 1] Operation not permitted: 'words'",
        "def extract(page):\n    while True:\n        pass": "{rules}, on a sample page: extract "
        "takes longer than parser.rules_limit",
        "def keep(page):\n    return page.title": "{rules}, on a sample page: keep must "
        "return True or False, and returned str",
    }
    for text, reason in refused.items():
        rules = write_rules(tmp_path, text)
        done = crawl_urls(tmp_path / "data", "--rules", rules, "http://127.0.0.1:7777/")
        assert (done.code, done.out) == (2, "")
        assert f"rules: {reason.format(rules=rules)}" in done.err
    done = crawl_urls(
        tmp_path / "data", "--rules", str(tmp_path / "nosuch.py"), "http://127.0.0.1:7777/"
    )
    assert done.code == 2 and "nosuch.py cannot be read: No such file" in done.err
    assert not (tmp_path / "data").exists()


@pytest.mark.long
def test_strict_rules_end_the_crawl_at_the_first_failure(tmp_path: Path) -> None:
    rules = write_rules(tmp_path, "def keep(page):\n    return page.title != 'Shop' or 1 / 0\n")
    with serving(answer) as host:
        done = crawl_urls(tmp_path / "data", "--rules", rules, "--rules-strict", f"{host}/")
    assert done.code == 1
    assert "a rule failed (--rules-strict)" in done.out and "ZeroDivisionError" in done.out
    assert f"{host}/: ZeroDivisionError: division by zero < rules.py:2 in keep" in " ".join(
        done.out.split()
    )
