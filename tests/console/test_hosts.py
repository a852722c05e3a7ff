"""`gossamer hosts`: the hosts of a crawl, for people and programs."""

import json
from pathlib import Path

import pytest

from console.cli.main import main
from gossamer import clock
from inspection.folder import Folder, Opened
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow
from tests.console.test_status import store_rows

HOST = "http://a.example"


@pytest.fixture
def crawl_folder(tmp_path: Path) -> Opened:
    folder = Folder(tmp_path / "data")
    folder.make()
    return Opened(folder)


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
