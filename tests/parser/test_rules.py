"""A function of a rules file that fails costs its page this function only."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from gossamer.services.parser.pool.trial import try_rules
from tests.parser.pages import NOW, OPTIONS, page_response

BODY = (
    b"<title>A lamp</title><h1>A <b>blue</b> lamp</h1><a href=/a>A</a><a href=/b>B</a>"
    b'<script type="application/ld+json">{"@graph": [{"@type": "Product", "sku": 7}],}</script>'
)
RULES = """
import json
from datetime import datetime
from pathlib import Path

WORDS = json.loads(Path(__file__).with_name("words.json").read_text())

def keep(page):
    return any(word in page.text for word in WORDS)

def extract(page):
    {failure}
    return [{{"name": page.css_first("h1::text"), "sku": one["sku"]}} for one in page.jsonld]

def follow(link, page):
    return link.url.endswith("/a") and datetime.strptime("2026-02", "%Y-%m").month == 2
"""
FAILURES = {
    "while True: pass": "extract takes longer than parser.rules_limit",
    "raise ValueError('no price')": "ValueError: no price < rules.py:12 in extract: raise",
    "raise SystemExit(3)": "SystemExit: 3 < rules.py:12 in extract",
    "return bytearray(1 << 40)": "MemoryError:",
    "import os; os._exit(3)": "extract the parser process ended 2 times: exit status 3",
    "open(Path(__file__))": "PermissionError: [Errno 1] Operation not permitted",
    "import socket; socket.create_connection(('127.0.0.1', 9))": "PermissionError: [Errno 1]",
    "return 7": "extract must return a dict, a list of them or None, and returned int",
    "return [{'a': object()}]": "extract returned a row that is not JSON:",
    "return [{}] * 1001": "extract must return at most 1,000 rows for a page",
}
"""The first statement of `extract` → the beginning of the failure that is reported."""


@pytest.mark.slow
async def test_failing_rule_costs_its_own_answer(tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text('["lamp"]')
    files = {failure: tmp_path / f"rules{n}.py" for n, failure in enumerate(["pass", *FAILURES])}
    for failure, file in files.items():
        file.write_text(RULES.format(failure=failure))
    async with Pool(1, 30.0, 512 << 20) as pool:
        pool.use_rules(tuple((str(file), "") for file in files.values()))
        whole = await read(pool, files["pass"])
        assert whole.extracted == ('{"name":"A blue lamp","sku":7}',)
        assert (whole.rule_failures, whole.dropped_by) == ({}, "")
        assert [link.refused_by for link in whole.links] == ["", "rules0.py:15"]
        for failure, reported in FAILURES.items():
            parsed = await read(pool, files[failure])
            found = re.sub(r"rules\d+", "rules", parsed.rule_failures["extract"])
            assert found.startswith(reported)
            assert len(parsed.rule_failures) == 1
            assert parsed.hazards == (Hazard.RULE_FAILED,)
            followed = [link.url for link in parsed.links if not link.refused_by]
            assert (parsed.extracted, followed) == ((), ["http://www.example.org/a"]), failure
            assert (parsed.title, parsed.text) == (whole.title, whole.text)


@pytest.mark.slow
async def test_page_is_read_without_rules_that_cannot_be_imported(tmp_path: Path) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text("def keep(page):\n    if page:")
    async with Pool(1, 30.0, 512 << 20) as pool:
        pool.use_rules(((str(rules), ""),))
        parsed = await read(pool, rules)
    assert parsed.title == "A lamp"
    assert parsed.rule_failures.keys() == {"rules"}
    assert f"{rules}, line 2: expected an indented block" in parsed.rule_failures["rules"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "attribute"),
    [("headings", "headings"), ("language", "language"), ("metadata", "jsonld")],
)
async def test_rules_that_need_a_field_that_is_left_out_are_refused(
    tmp_path: Path, field: str, attribute: str
) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text(f"def keep(page):\n    return bool(page.{attribute})")
    async with Pool(1, 30.0, 512 << 20) as pool:
        assert await try_rules(str(rules), OPTIONS, pool) == []
        with pytest.raises(BadSettings, match=f"no {field}: parser.fields lacks it"):
            await try_rules(str(rules), replace(OPTIONS, without=(field,)), pool)


async def read(pool: Pool, rules: Path) -> PageParsed:
    options = replace(OPTIONS, rules_limit=0.2)
    return await pool.parse(Request(page_response(BODY), options, NOW, str(rules)))
