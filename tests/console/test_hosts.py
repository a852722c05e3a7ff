"""`gossamer hosts`: the hosts of a crawl, for people and programs."""

import json
from pathlib import Path

import pytest

from console.cli.main import main
from gossamer import clock
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log.codec import encode
from gossamer.web.robots import RobotsRules
from inspection.basics.folder import Folder, Opened
from services.frontier.tables.conditions import Condition
from services.frontier.tables.hosts import HostCrawl, HostRow, NewQueues, RobotsRow
from tests.console.test_status import store_rows

HOST = "http://a.example"


@pytest.fixture
def crawl_folder(tmp_path: Path) -> Opened:
    return Folder(tmp_path / "data").create()


def test_walls_of_a_host_are_counted_by_kind_and_product(
    crawl_folder: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    walls = {"challenge: Anubis": 5, "payment: x402": 1}
    reason = "challenged by Anubis: its cookie"
    until = clock.now() + 50_000.0
    store_rows(
        crawl_folder,
        HostRow("a.example", HOST, Condition.BACKING_OFF, until, reason, "challenged", walls=walls),
    )
    command = ["hosts", "--data", str(crawl_folder.folder.path)]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "(challenged by Anubis: its cookie)" in text
    assert "5 walls (challenge: Anubis), 1 wall (payment: x402)" in text
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["walls"] == walls


def test_one_host_is_explained(crawl_folder: Opened, capsys: pytest.CaptureFixture[str]) -> None:
    until = clock.now() + 50_000.0
    queued = {DEFAULT_CRAWL: HostCrawl(NewQueues(queued=3))}
    store_rows(
        crawl_folder,
        HostRow(
            "a.example", HOST, Condition.BACKING_OFF, until, "refused", "host_down", crawls=queued
        ),
        RobotsRow(HOST, RobotsRules(lines="2 - /private", fetched_at=until)),
    )
    crawl_folder.log.append([encode(CrawlDefined(at=1.0, scope="any()", max_depth=3))])
    command = ["hosts", "a.example", "--data", str(crawl_folder.folder.path)]
    assert main(command) == 0
    answer, *details = capsys.readouterr().out.splitlines()
    assert answer.startswith("Not visited before ") and "refused; 3 URLs queued." in answer
    assert any(line.strip().startswith("robots") and "1 rule" in line for line in details)
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["until"] == until and found["host"]["queued"] == 3
    assert main([*command, "--site", "a.example"]) == 2
    command[1] = "b.example"
    assert main(command) == 1
    assert "no URL of https://b.example was admitted" in capsys.readouterr().err
