"""The log's promises when processes are killed, race with each other, or run for long."""

import pytest

from gossamer.log import Message
from tests.contract.backends import Ports
from tests.contract.child import GROUP, INPUT, OUTPUT, Child, ProcessedRow
from tests.contract.conftest import Data
from tests.contract.test_log import (
    FETCHED,
    by_partition,
    drain,
    make_messages,
    reader,
    stored_values,
    values,
)

pytestmark = pytest.mark.slow


def row_values(ports: Ports) -> set[bytes]:
    rows = ports.store.table(ProcessedRow)
    return {row.value for p in range(64) for row in rows.scan(str(p), limit=100_000)}


def check_agreement(data: Data, total: int) -> int:
    """Compare the committed offset, output and rows, as another process sees them; return the
    number of committed records."""
    ports = data.open()
    output = [value.encode() for value in stored_values(ports.log, OUTPUT)]
    committed = total - ports.log.lag(GROUP, INPUT)
    if data.backend.one_step:
        assert len(output) == len(set(output)) == committed
        assert row_values(ports) == set(output)
    else:
        assert len(set(output)) >= committed
        assert row_values(ports) >= set(output)
    return committed


def exit_statuses(*children: Child) -> list[int | None]:
    return [child.exit_status() for child in children]


def kill_after(child: Child, steps: int) -> None:
    for _ in range(steps):
        child.receive()
    child.kill()


def test_offsets_output_and_rows_agree_after_kills_at_any_time(data: Data) -> None:
    total = 3000
    data.open().log.append(Message(INPUT, f"k{i}", str(i).encode(), f"k{i}") for i in range(total))
    committed = [0]
    kills = 8 if data.backend.one_step else 4
    for kill in range(kills):
        kill_after(data.child("work"), 5 + 17 * kill)
        committed.append(check_agreement(data, total))
    assert committed == sorted(set(committed)), "each process commits more records"
    assert exit_statuses(data.child("work")) == [0]
    assert check_agreement(data, total) == total
    output = stored_values(data.open().log, OUTPUT)
    # Each kill may leave one step of three records that was appended and not committed.
    assert len(output) <= total + (0 if data.backend.one_step else kills * 3)


def test_concurrent_appends_of_processes_are_all_stored(data: Data) -> None:
    children = [data.child("append", name, 100) for name in "abcd"]
    assert exit_statuses(*children) == [0] * 4
    ports = data.open()
    records = drain(reader(ports, GROUP, INPUT), 4000)
    assert sorted(values(records)) == sorted(f"{n}-{i}" for n in "abcd" for i in range(1000))
    for part in by_partition(records).values():
        assert [record.offset for record in part] == [*range(len(part))]


def test_waiting_reader_receives_records_of_other_processes(data: Data) -> None:
    ports = data.open()
    consumer = reader(ports, GROUP, INPUT)
    child = data.child("append", "a", 50)
    found: list[str] = []
    while len(found) < 500:
        found += values(consumer.poll(30.0))
        assert found or child.running, "no record arrived before the other process ended"
    assert exit_statuses(child) == [0]
    assert sorted(found) == sorted(f"a-{i}" for i in range(500))


def test_processes_may_open_new_data_at_the_same_time(data: Data) -> None:
    for attempt in range(5 if data.backend.one_step else 1):
        fresh = Data(data.name, data.path / str(attempt), data.server)
        assert exit_statuses(*(fresh.child("open") for _ in range(6))) == [0] * 6


@pytest.mark.only("trims")
def test_record_is_deleted_after_all_groups_have_committed_it(data: Data) -> None:
    ports = data.open()
    ports.log.append(make_messages(FETCHED, 100))
    parser, archive = reader(ports, "parser", FETCHED), reader(ports, "archive", FETCHED)
    records = drain(parser)
    parser.advance(records, ())
    assert len(stored_values(ports.log, FETCHED)) == 100, "the archive has not consumed them"
    drain(archive)
    for part in by_partition(records).values():
        archive.advance(part[:1], ())
    left = 100 - len(by_partition(records))
    assert len(stored_values(ports.log, FETCHED)) == left
    assert len(drain(reader(ports, "archive", FETCHED))) == left


@pytest.mark.parametrize("topic", ["dead.letters", "pages.archived"])
def test_records_of_retained_topics_are_not_deleted(ports: Ports, topic: str) -> None:
    ports.log.append(make_messages(topic, 20))
    consumer = reader(ports, "somebody", topic)
    consumer.advance(drain(consumer, 20), ())
    assert len(stored_values(ports.log, topic)) == 20


@pytest.mark.only("trims")
def test_disk_size_is_bounded_while_records_are_consumed(data: Data) -> None:
    ports = data.open()
    parser, archive = reader(ports, "parser", FETCHED), reader(ports, "archive", FETCHED)
    sizes = []
    for _ in range(11):
        for i in range(20):
            # 20 MB a round, in odd sizes, so that free pages must be found again.
            body = b"x" * (20_000 + 97 * i)
            ports.log.append(Message(FETCHED, str(n), body, str(n)) for n in range(50))
            for consumer in (parser, archive):
                consumer.advance(consumer.poll(1.0), ())
        sizes.append(data.size())
    # The journal stops growing after the third round.
    assert sizes[-1] <= 1.2 * sizes[3]


@pytest.mark.only("trims")
def test_disk_size_of_a_compacted_topic_is_bounded(data: Data) -> None:
    log = data.open().log
    sizes = []
    for _ in range(11):
        for _ in range(20):
            log.append(Message("pages", str(n), b"x" * 20_000, str(n)) for n in range(50))
        sizes.append(data.size())
    # The journal stops growing after the third round.
    assert sizes[-1] <= 1.2 * sizes[3]
