"""`gossamer doctor`: each check with the problem that it finds."""

import asyncio
import shutil
import socket
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.console import doctor
from gossamer.console.cli.doctor import line
from gossamer.console.doctor import (
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
from gossamer.inspection.basics.folder import Opened
from gossamer.log.codec import encode
from gossamer.log.kafka.topics import Differences
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.checkpoints import Alignment
from gossamer.runtime.identity import check_folder, identify
from gossamer.settings import FetcherSettings, Settings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.console.gossamer import Gossamer
from tests.fetcher.nameserver import naming
from tests.servers import free_ports
from tests.support.commands import run_command
from tests.support.transcripts import Transcript

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
def crawl_folder(gossamer: Gossamer) -> Opened:
    there = gossamer.open()
    identify(there.log, there.store, 1.0)
    return there


def with_space(monkeypatch: pytest.MonkeyPatch, total: int, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(total, total - free, free))


Show = Callable[[str, Finding], None]


@pytest.fixture
def show(transcript: Transcript) -> Show:
    """Return a function that adds a finding to the transcript."""

    def add(situation: str, finding: Finding) -> None:
        transcript.add(situation, [line(finding)])

    return add


def test_folder_without_problems_is_healthy(
    crawl_folder: Opened, monkeypatch: pytest.MonkeyPatch, gossamer: Gossamer
) -> None:
    with_space(monkeypatch, 100 * GB, 50 * GB)
    gossamer.append(SeedAdded(at=1.0, url="http://a.example/"))
    gossamer("doctor")
    findings = gossamer.json("doctor")
    assert {finding["remedy"] for finding in findings} == {None}
    assert {finding["check"] for finding in findings} >= {"folder", "identity", "dns", "disk"}


def test_folder_without_a_crawl_does_not_stop_the_other_checks(
    gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_space(monkeypatch, 100 * GB, 50 * GB)
    gossamer("doctor", status=1)
    assert not gossamer.data.exists()


def test_unavailable_servers_are_reported_independently(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transcript: Transcript
) -> None:
    monkeypatch.chdir(tmp_path)
    with_space(monkeypatch, 100 * GB, 50 * GB)
    with socket.create_server(("127.0.0.1", 0)) as kafka:
        monkeypatch.setenv("GOSSAMER_KAFKA__SERVERS", f"127.0.0.1:{kafka.getsockname()[1]}")
    monkeypatch.setenv("GOSSAMER_KAFKA__TIMEOUT", "0.1")
    monkeypatch.setenv("GOSSAMER_CASSANDRA__HOSTS", '["127.0.0.1"]')
    monkeypatch.setenv("GOSSAMER_CASSANDRA__PORT", str(port := free_ports(1)))
    transcript.name(port, "PORT")
    transcript("doctor", status=1)


def test_fleet_with_one_server_in_the_settings_is_incomplete(show: Show) -> None:
    settings = Settings.model_validate({"kafka": {"servers": "127.0.0.1:9092"}})
    show("Cassandra is not set", check_settings(settings))


def test_missing_topics_are_problems_and_operator_settings_are_not(show: Show) -> None:
    show("as they should be", check_topics(Differences()))
    kept = Differences(kept=("pages: segment.ms is 1, and stays so (not 2)",))
    show("with a setting of an operator", check_topics(kept))
    missing = Differences(appliable=tuple(f"t{n} is missing" for n in range(5)))
    show("five are missing", check_topics(missing))
    show("one cannot be changed", check_topics(Differences(refused=("seeds: has 3 partitions",))))


def test_log_and_store_of_two_fleets_are_a_problem(show: Show, transcript: Transcript) -> None:
    log, store = SqliteLog(Database(":memory:")), SqliteStore(Database(":memory:"))
    show("before the first start", check_log_and_store(log, store))
    assert log.lag("nobody", "control") == 0, "nothing is stated"
    transcript.name(identify(log, store, 1.0), "FLEET")
    show("of one fleet", check_log_and_store(log, store))
    other = SqliteLog(Database(":memory:"))
    show("the log is empty", check_log_and_store(other, store))
    transcript.name(identify(other, SqliteStore(Database(":memory:")), 1.0), "ANOTHER")
    show("of two fleets", check_log_and_store(other, store))


def test_folder_of_another_fleet_is_a_problem(show: Show, tmp_path: Path) -> None:
    check_folder(tmp_path, "one")
    show("of this fleet", check_folder_identity(tmp_path, "one"))
    show("of another fleet", check_folder_identity(tmp_path, "two"))


def test_store_behind_the_log_needs_align(show: Show) -> None:
    show("level", check_checkpoints(Alignment("dedup", {})))
    behind = Alignment("dedup", {("seeds", 0): 5}, repeated=7, lost=1)
    show("the store is behind", check_checkpoints(behind))


def test_lag_without_members_is_a_problem(show: Show) -> None:
    show("lag, members", check_group("parser", {"pages.fetched": 3}, members=2))
    show("no lag, no members", check_group("parser", {"pages.fetched": 0}, members=0))
    show("lag, no members", check_group("parser", {"pages.fetched": 3}, members=0))


def test_dead_letters_are_counted_but_not_a_problem(show: Show) -> None:
    log = SqliteLog(Database(":memory:"))
    show("none", dead_letters(log))
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
    show("one", dead_letters(log))


def test_clock_skew_is_a_problem_and_a_slow_answer_is_not(show: Show) -> None:
    assert [skew(at, 10.0, 20.0) for at in (7.0, 10.0, 19.0, 23.0)] == [-3.0, 0.0, 0.0, 3.0]
    show("within four seconds", check_clocks({"a": 1.9, "b": -1.9}))
    show("a clock is slow", check_clocks({"a": 0.0, "b": -90.0}))


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


def test_nearly_full_disk_is_a_problem(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for total, free in ((1000, 90), (20, 4), (100, 11)):
        with_space(monkeypatch, total * GB, free * GB)
        found = check_disk(tmp_path / "not" / "yet", "archive.folder")
        show(f"{free} of {total} GB free", found)


def test_old_servers_are_a_problem(show: Show) -> None:
    show("new nodes", cassandra_version({"a": "5.0.9", "b": "5.1-beta1"}))
    show("an old node", cassandra_version({"a": "5.0.9", "b": "4.1.3"}))
    show("new brokers", kafka_version(lambda: None))
    show("an old broker", kafka_version(lambda: "3.9-IV0"))


def test_invalid_settings_have_their_own_remedy(show: Show) -> None:
    show("no connection", failed_check("kafka", Unavailable("it is away"), "Start it."))
    show("bad setting", failed_check("kafka", BadSettings("kafka.partitions is 5"), "Start it."))


def test_error_of_a_check_is_a_finding(show: Show) -> None:
    def refuse() -> str:
        raise GossamerError("this user may not")

    def examine() -> Finding:
        return Finding("kafka", refuse())

    show("no right to ask", doctor.run_check("kafka", examine, "Grant it."))
    show("no right to ask for the version", kafka_version(refuse))


def test_folder_is_examined_without_fleet_libraries(tmp_path: Path) -> None:
    missing = "import sys; sys.modules |= dict.fromkeys(('cassandra', 'confluent_kafka', 'faust'))"
    program = f"{missing}; from gossamer.console.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = run_command([sys.executable, "-c", program, "doctor", "--data", str(tmp_path)])
    assert "problem  folder" in done.out and not done.err, done
