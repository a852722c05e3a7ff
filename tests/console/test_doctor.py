"""`gossamer doctor`: each check with the problem that it finds."""

import asyncio
import json
import shutil
import socket
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from console import doctor
from console.cli.doctor import line
from console.cli.main import main
from console.doctor import (
    Finding,
    cassandra_version,
    check_checkpoints,
    check_clocks,
    check_disk,
    check_dns,
    check_folder_identity,
    check_group,
    check_log_and_store,
    check_settings,
    check_topics,
    dead_letters,
    failed_check,
    kafka_version,
    skew,
)
from gossamer.errors import BadSettings, GossamerError, Unavailable
from gossamer.events import DeadLetter, SeedAdded
from gossamer.events.topics import TOPICS
from gossamer.log.codec import encode
from gossamer.log.kafka.topics import Differences
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.checkpoints import Alignment
from gossamer.runtime.identity import check_folder, identify
from gossamer.settings import FetcherSettings, Settings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from inspection.basics.folder import Folder, Opened
from tests.fetcher.nameserver import naming
from tests.servers import free_ports
from tests.support.commands import run_command

GB = 10**9
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def _names_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use only the name servers of a test: this machine may have none."""

    async def look_up(settings: FetcherSettings) -> None:
        if settings.nameserver:
            await asked(settings)

    asked = doctor._look_up
    monkeypatch.setattr(doctor, "_look_up", look_up)


@pytest.fixture
def crawl_folder(tmp_path: Path) -> Opened:
    there = Folder(tmp_path / "data").create()
    identify(there.log, there.store, 1.0)
    return there


def with_space(monkeypatch: pytest.MonkeyPatch, total: int, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(total, total - free, free))


def test_finding_is_one_line_that_ends_with_its_remedy() -> None:
    assert line(Finding("disk", "/: 9 GiB free")) == "ok       disk        /: 9 GiB free"
    wrong = line(Finding("topics", "seeds is missing", "Run gossamer topics apply."))
    assert wrong == "problem  topics      seeds is missing. Run gossamer topics apply."


def test_folder_without_problems_is_healthy(
    crawl_folder: Opened, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_space(monkeypatch, 100 * GB, 50 * GB)
    crawl_folder.log.append([encode(SeedAdded(at=1.0, url="http://a.example/"))])
    assert main(["doctor", "--data", str(crawl_folder.folder.path)]) == 0
    shown = capsys.readouterr().out
    assert "ok       groups      dedup: lag 1 seeds\n" in shown and "problem " not in shown
    assert shown.endswith("No problems found.\n")
    assert main(["doctor", "--data", str(crawl_folder.folder.path), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert {finding["remedy"] for finding in findings} == {None}
    assert {finding["check"] for finding in findings} >= {"folder", "identity", "dns", "disk"}


def test_folder_without_a_crawl_does_not_stop_the_other_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--data", str(tmp_path / "nothing")]) == 1
    shown = capsys.readouterr().out
    assert "nothing has no crawl" in shown and "with --data." in shown
    assert "Gossamer is" in shown and "problem" in shown
    assert list(tmp_path.iterdir()) == []


def test_unavailable_servers_are_reported_independently(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as kafka:
        monkeypatch.setenv("GOSSAMER_KAFKA__SERVERS", f"127.0.0.1:{kafka.getsockname()[1]}")
    monkeypatch.setenv("GOSSAMER_KAFKA__TIMEOUT", "0.1")
    monkeypatch.setenv("GOSSAMER_CASSANDRA__HOSTS", '["127.0.0.1"]')
    monkeypatch.setenv("GOSSAMER_CASSANDRA__PORT", str(free_ports(1)))
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out.splitlines()
    (kafka_line,) = [one for one in shown if one.startswith("problem  kafka")]
    assert "does not answer" in kafka_line and kafka_line.endswith(
        "name other brokers in kafka.servers."
    )
    (nodes,) = [one for one in shown if one.startswith("problem  cassandra")]
    assert "does not answer" in nodes and nodes.endswith("name other nodes in cassandra.hosts.")
    assert any(one.startswith("ok       dns") for one in shown)


def test_fleet_with_one_server_in_the_settings_is_incomplete() -> None:
    found = check_settings(Settings.model_validate({"kafka": {"servers": "127.0.0.1:9092"}}))
    assert "cassandra.hosts is empty" in found.found and found.remedy


def test_missing_topics_are_problems_and_operator_settings_are_not() -> None:
    assert check_topics(Differences()) == Finding("topics", f"{len(TOPICS)} topics correct")
    kept = check_topics(Differences(kept=("pages: segment.ms is 1, and stays so (not 2)",)))
    assert kept.remedy is None and "set by an operator: pages: segment.ms is 1" in kept.found
    missing = check_topics(Differences(appliable=tuple(f"t{n} is missing" for n in range(5))))
    assert missing == Finding(
        "topics",
        "t0 is missing; t1 is missing; t2 is missing; and 2 more",
        "Run gossamer topics apply.",
    )
    assert check_topics(Differences(refused=("seeds: has 3 partitions",))).remedy


def test_log_and_store_of_two_fleets_are_a_problem() -> None:
    log, store = SqliteLog(Database(":memory:")), SqliteStore(Database(":memory:"))
    assert "no service has run yet" in check_log_and_store(log, store).found
    assert log.lag("nobody", "control") == 0, "nothing is stated"
    identify(log, store, 1.0)
    assert check_log_and_store(log, store).remedy is None
    other = SqliteLog(Database(":memory:"))
    lost = check_log_and_store(other, store)
    assert "topic control" in lost.found and "gossamer restore --align" in lost.found
    identify(other, SqliteStore(Database(":memory:")), 1.0)
    assert "and the store to the fleet" in check_log_and_store(other, store).found


def test_folder_of_another_fleet_is_a_problem(tmp_path: Path) -> None:
    check_folder(tmp_path, "one")
    assert check_folder_identity(tmp_path, "one").remedy is None
    found = check_folder_identity(tmp_path, "two")
    assert "belongs to the fleet one" in found.found and found.remedy


def test_store_behind_the_log_needs_align() -> None:
    assert check_checkpoints(Alignment("dedup", {})).remedy is None
    found = check_checkpoints(Alignment("dedup", {("seeds", 0): 5}, repeated=7, lost=1))
    assert found.found == (
        "dedup: 7 records to be handled again; 1 record handled, and lost from the end of the log"
    )
    assert found.remedy and "gossamer restore --align" in found.remedy


def test_lag_without_members_is_a_problem() -> None:
    assert check_group("parser", {"pages.fetched": 3}, members=2).remedy is None
    assert check_group("parser", {"pages.fetched": 0}, members=0).remedy is None
    found = check_group("parser", {"pages.fetched": 3}, members=0)
    assert found == Finding(
        "groups", "parser: 0 members, lag 3 pages.fetched", "Start the service parser."
    )


def test_dead_letters_are_counted_but_not_a_problem() -> None:
    log = SqliteLog(Database(":memory:"))
    assert dead_letters(log).found == "0 dead letters"
    letter = DeadLetter(
        at=1.0,
        service="parser",
        topic="seeds",
        partition=0,
        offset=1,
        key="",
        reason="no",
        value=b"",
    )
    log.append([encode(letter)])
    found = dead_letters(log)
    assert found.remedy is None
    assert found.found == "1 dead letter: gossamer dead-letters list gives the reasons"


def test_clock_skew_is_a_problem_and_a_slow_answer_is_not() -> None:
    assert [skew(at, 10.0, 20.0) for at in (7.0, 10.0, 19.0, 23.0)] == [-3.0, 0.0, 0.0, 3.0]
    assert check_clocks({"a": 1.9, "b": -1.9}).remedy is None
    found = check_clocks({"a": 0.0, "b": -90.0})
    assert found.found == "b is 1 min 30 s behind this machine"
    assert found.remedy and "NTP" in found.remedy


def test_unavailable_name_server_is_a_problem() -> None:
    nobody = f"127.0.0.1:{free_ports(1)}"
    found = check_dns(FetcherSettings(nameserver=nobody))
    assert nobody in found.found and found.remedy and "fetcher.nameserver" in found.remedy


async def test_name_server_without_the_name_answers() -> None:
    async with naming({}) as server:
        found = await asyncio.to_thread(check_dns, FetcherSettings(nameserver=server.address))
        assert found == Finding("dns", f"{server.address} answers")
        server.failing = True
        failing = await asyncio.to_thread(check_dns, FetcherSettings(nameserver=server.address))
        assert failing.remedy


@pytest.mark.parametrize(("total", "free"), [(1000 * GB, 90 * GB), (20 * GB, 4 * GB)])
def test_nearly_full_disk_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int
) -> None:
    with_space(monkeypatch, total, free)
    found = check_disk(tmp_path / "not" / "yet", "archive.folder")
    assert found.remedy == "Free some space, or name another folder with archive.folder."
    with_space(monkeypatch, 100 * GB, 11 * GB)
    assert check_disk(tmp_path, "archive.folder").remedy is None


def test_old_servers_are_a_problem() -> None:
    assert cassandra_version({"a": "5.0.9", "b": "5.1-beta1"}).remedy is None
    assert cassandra_version({"a": "5.0.9", "b": "4.1.3"}).remedy
    assert kafka_version(lambda: None).remedy is None
    assert kafka_version(lambda: "3.9-IV0").remedy


def test_invalid_settings_have_their_own_remedy() -> None:
    assert failed_check("kafka", Unavailable("it is away"), "Start it.").remedy == "Start it."
    found = failed_check("kafka", BadSettings("kafka.partitions is 5"), "Start it.")
    assert found == Finding("settings", "kafka.partitions is 5", "Change this setting.")


def test_error_of_a_check_is_a_finding() -> None:
    def refuse() -> str:
        raise GossamerError("this user may not")

    def examine() -> Finding:
        return Finding("kafka", refuse())

    found = doctor.run_check("kafka", examine, "Grant it.")
    assert found == Finding("kafka", "this user may not", "Grant it.")
    assert kafka_version(refuse).remedy is None, "an unknown version is not a fault"


def test_folder_is_examined_without_fleet_libraries(tmp_path: Path) -> None:
    missing = "import sys; sys.modules |= dict.fromkeys(('cassandra', 'confluent_kafka', 'faust'))"
    program = f"{missing}; from console.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = run_command([sys.executable, "-c", program, "doctor", "--data", str(tmp_path)])
    assert "has no crawl" in done.out and not done.err, done
