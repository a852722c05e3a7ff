"""A module of own rules that is installed with the parsers of a fleet."""

import json
import os
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .by_hand import of_servers
from .fleet import fleet

WORLD = World(seed=5, hosts=4, pages=4, silent=0, stuck=0, retries=0)
RULES = """
def extract(page):
    return {"words": len(page.text.split())}

def keep(page):
    return "/list" not in page.url
"""


@pytest.mark.long
def test_module_judges_the_pages_of_a_fleet(tmp_path: Path, kafka: str, cassandra: int) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "own_rules.py").write_text(RULES)
    found = os.pathsep.join(filter(None, [str(modules), os.environ.get("PYTHONPATH", "")]))
    settings = {**of_servers(kafka, cassandra), "GOSSAMER_FRONTIER__DELAY": "0.1"}
    with (
        SynthWeb(WORLD) as web,
        fleet(web, tmp_path, 1, PYTHONPATH=found, **settings) as live_fleet,
    ):
        crawl = tmp_path / "ruled.toml"
        seeds = ", ".join(f'"{seed}"' for seed in web.seeds)
        crawl.write_text(f'seeds = [{seeds}]\nscope = "any()"\nrules = "own_rules"\n')
        done = live_fleet.gossamer("crawls", "apply", str(crawl))
        assert done.code == 0, done
        until(web.is_complete, "all pages are requested")
        until(lambda: not any(live_fleet.lag().values()), "all pages are published")
        words = "--crawl", "ruled", "--format", "jsonl", "--columns", "url,extracted"
        done = live_fleet.gossamer("export", "-", *words)
        assert done.code == 0, done
        pages = [json.loads(line) for line in done.out.splitlines()]
        assert pages and not [page["url"] for page in pages if "/list" in page["url"]]
        assert all(page["extracted"][0].keys() == {"words"} for page in pages)
