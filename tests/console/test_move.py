"""Invalid calls of `gossamer move`."""

from pathlib import Path

import pytest

from tests.support.transcripts import Transcript

FLEET = {
    "GOSSAMER_KAFKA__SERVERS": "127.0.0.1:1",
    "GOSSAMER_CASSANDRA__HOSTS": '["127.0.0.1"]',
}


def test_move_needs_exactly_one_folder(transcript: Transcript) -> None:
    transcript("move", status=2)
    transcript("move", "from", "--to", "there", status=2)


def test_move_without_kafka_servers_is_refused(tmp_path: Path, transcript: Transcript) -> None:
    transcript("move", tmp_path, status=2)


def test_dedup_on_faust_is_refused(
    tmp_path: Path, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**FLEET, "GOSSAMER_DEDUP__ENGINE": "faust"}.items():
        monkeypatch.setenv(name, value)
    transcript("move", "--to", tmp_path, status=2)


def test_folder_without_a_crawl_is_refused_before_servers_are_asked(
    tmp_path: Path, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FLEET.items():
        monkeypatch.setenv(name, value)
    transcript("move", tmp_path / "nothing", status=1)
