"""Rules files: which of them are refused, and what their functions see of a page."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.crawl import CrawlRequest, define
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, PageParsed, Visit
from gossamer.rules import Page, Rules, check_place, identify_rules, load_rules
from gossamer.web.url import HostKey, Site

KEEP = "def keep(page): return True\n"
REFUSED = {
    "def keep(page:\n    return True": "rules.py, line 1: '(' was never closed",
    "import nosuch\n" + KEEP: "No module named 'nosuch' (line 1)",
    "open('nosuch.txt')\n" + KEEP: "FileNotFoundError: [Errno 2] No such file or directory: "
    "'nosuch.txt' (line 1)",
    "raise SystemExit": "cannot be imported: SystemExit",
    "import re": "has none of the functions keep, extract, follow, priority",
    "def extrac(page): return None\n" + KEEP: "has no rule extrac: did you mean extract?",
    "def keep(): return True": "keep in {file} has the wrong parameters: write def keep(page)",
    "def follow(page): return True": "write def follow(link, page)",
    "def follow(link, page, depth): return True": "write def follow(link, page)",
    "async def keep(page): return True": "keep in {file} is not a plain function",
    "keep = True": "keep in {file} is not a plain function",
    KEEP + "Model = dict": "Model in {file} is not a pydantic model",
    KEEP + "schema = {'type': 'nosuch'}": "schema in {file} is not a JSON Schema: 'nosuch' is not",
}
"""The text of a rules file → the beginning or the end of the reason for its refusal."""


@pytest.mark.parametrize("text", REFUSED)
def test_rules_file_that_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rules.py"
    file.write_text(text)
    with pytest.raises(BadSettings) as refused:
        load_rules(str(file))
    assert REFUSED[text].format(file=file) in str(refused.value)
    assert str(file) in str(refused.value)


@pytest.mark.parametrize("name", ["nosuch.py", "nosuch_module", "nosuch.module"])
def test_missing_rules_are_refused_when_a_crawl_is_defined(tmp_path: Path, name: str) -> None:
    crawl = CrawlDefined(at=0.0, scope="any()", max_depth=1, rules=name)
    with pytest.raises(BadSettings, match=rf"^rules: .*{name}"):
        identify_rules(crawl, tmp_path)


def test_rules_are_identified_by_their_path_and_contents(tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text(KEEP)
    crawl = CrawlDefined(at=0.0, scope="any()", max_depth=1, rules="rules.py")
    one = identify_rules(crawl, tmp_path)
    assert one.rules == str(file)
    file.write_text(KEEP + "# changed")
    other = identify_rules(one)
    assert other.rules_digest != one.rules_digest
    module = identify_rules(CrawlDefined(at=0.0, scope="any()", max_depth=1, rules="json.decoder"))
    assert module.rules == "json.decoder" and module.rules_digest


def page(html: str, *linked_data: str) -> Page:
    visit = Visit("", "http://a.test/")
    parsed = PageParsed(
        at=0.0, site=Site("a.test"), host=HostKey("http://a.test"), visit=visit,
        fetched_at=0.0, status=200, linked_data=linked_data,
    )  # fmt: skip
    return Page(parsed, lambda: html, json.loads)


def test_selectors_choose_texts_attributes_and_elements() -> None:
    one = page(
        "<ul><li class=item id=a>A <b>blue</b>\n lamp <a href=/a>more</a><li class=item id=b>B</ul>"
    )
    assert one.css("li::text") == one.css("li") == ["A blue lamp more", "B"]
    assert one.css("li::attr(id)") == ["a", "b"]
    assert one.css("li::attr(title)") == []
    assert (one.css_first("a::attr(href)"), one.css_first("h1")) == ("/a", None)
    assert [item.css_first("a") for item in one.select(".item")] == ["more", None]
    assert one.select("#b")[0].attributes == {"class": "item", "id": "b"}
    with pytest.raises(ValueError, match=r"must end with ::text or ::attr\(NAME\)"):
        one.css("li::html")
    assert page("").css("li") == []


def test_json_ld_is_read_as_a_list_of_objects() -> None:
    one = page("", '[{"sku": 1}, {"sku": 2}]', '{"sku": ', '{"@graph": [{"sku": 3}]}', "7")
    assert [found["sku"] for found in one.jsonld] == [1, 2, 3]


MODEL = """
from datetime import date
from pydantic import BaseModel

class Model(BaseModel):
    name: str
    price: float = 0.0
    day: date | None = None
"""
SCHEMA = 'schema = {"required": ["name"], "properties": {"price": {"type": "number"}}}\n'


def extract(folder: Path, text: str) -> list[str]:
    file = folder / "rules.py"
    file.write_text(text)
    rules: Rules = load_rules(str(file))
    return [str(row) for row in rules.extract(page(""))]


def test_rows_are_validated_one_by_one(tmp_path: Path) -> None:
    rows = "[{'name': 'A', 'price': '4.5'}, {'price': 4}, {'name': 'B', 'day': '2026-02-01'}]"
    found = extract(tmp_path, f"{MODEL}\ndef extract(page): return {rows}")
    assert found[::2] == [
        '{"name":"A","price":4.5,"day":null}',
        '{"name":"B","price":0.0,"day":"2026-02-01"}',
    ]
    assert "name\n  Field required" in found[1]
    found = extract(tmp_path, f"{SCHEMA}\ndef extract(page): return {rows}")
    assert found == [
        "the schema refuses a row: '4.5' is not of type 'number' at $.price",
        "the schema refuses a row: 'name' is a required property at $",
        '{"name":"B","day":"2026-02-01"}',
    ]


def test_rows_may_be_yielded_and_hold_dates(tmp_path: Path) -> None:
    text = "from datetime import date\ndef extract(page):\n    yield {'day': date(2026, 2, 1)}\n"
    assert extract(tmp_path, text) == ['{"day":"2026-02-01"}']
    assert extract(tmp_path, "def extract(page): return None") == []


def test_rules_of_two_folders_have_modules_of_their_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "helpers.py").write_text(f"NAME = {name!r}\n")
        text = "from helpers import NAME\ndef extract(page): return {'name': NAME}"
        assert extract(folder, text) == [f'{{"name":"{name}"}}']


def test_seed_is_added_where_the_module_of_the_rules_is_not_installed() -> None:
    before = CrawlDefined(
        at=1.0, scope="any()", max_depth=1, rules="shop_rules", rules_digest="0123456789abcdef"
    )
    request = CrawlRequest(seeds=("http://a.test/",))
    assert define(request, before, 0, 2.0) == replace(before, at=2.0)
    assert define(CrawlRequest(seeds=(), settings={"rules": ""}), before, 0, 2.0).rules_digest == ""
    with pytest.raises(BadSettings, match="there is no module shop_rules"):
        define(CrawlRequest(seeds=(), settings={"rules": "shop_rules"}), before, 0, 2.0)


def test_file_is_refused_as_the_rules_of_a_fleet() -> None:
    with pytest.raises(BadSettings, match=r"^rules: rules\.py is a file of this machine"):
        check_place("rules.py", is_fleet=True)
    check_place("shop_rules", is_fleet=True)
    check_place("rules.py", is_fleet=False)
