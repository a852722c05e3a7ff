"""Invalid calls of `gossamer move`."""

from pathlib import Path

import pytest

from console.cli.main import main

FLEET = {
    "GOSSAMER_KAFKA__SERVERS": "127.0.0.1:1",
    "GOSSAMER_CASSANDRA__HOSTS": '["127.0.0.1"]',
}


@pytest.mark.parametrize("words", [[], ["from", "--to", "there"]])
def test_move_needs_exactly_one_folder(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["move", *words]) == 2
    assert "name the folder to move to the fleet, or --to" in capsys.readouterr().err


def test_move_without_kafka_servers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["move", str(tmp_path)]) == 2
    assert "kafka.servers is empty" in capsys.readouterr().err


def test_dedup_on_faust_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**FLEET, "GOSSAMER_DEDUP__ENGINE": "faust"}.items():
        monkeypatch.setenv(name, value)
    assert main(["move", "--to", str(tmp_path)]) == 2
    assert "dedup.engine is faust, whose tables cannot be moved" in capsys.readouterr().err


def test_folder_without_a_crawl_is_refused_before_servers_are_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FLEET.items():
        monkeypatch.setenv(name, value)
    assert main(["move", str(tmp_path / "nothing")]) == 1
    assert "nothing has no crawl" in capsys.readouterr().err
