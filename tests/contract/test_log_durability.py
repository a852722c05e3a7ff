"""The log's guarantees for killed, concurrent and long-running processes."""

import pytest

from gossamer.log import Message
from tests.contract.backends import Ports
from tests.contract.child import GROUP, INPUT, OUTPUT, Child, Worked
from tests.contract.conftest import Data
from tests.contract.test_log import FETCHED, by_partition, drain, kept, reader, some, values

pytestmark = pytest.mark.slow


def worked(ports: Ports) -> set[bytes]:
    rows = ports.store.table(Worked)
    return {row.value for p in range(64) for row in rows.scan(str(p), limit=100_000)}


def settled(data: Data, total: int) -> int:
    """Compare offsets, messages and rows in another process, and return their position."""
    ports = data.open()
    output = [value.encode() for value in kept(ports.log, OUTPUT)]
    passed = total - ports.log.lag(GROUP, INPUT)
    if data.backend.one_step:
        assert len(output) == len(set(output)) == passed
        assert worked(ports) == set(output)
    else:
        assert len(set(output)) >= passed
        assert worked(ports) >= set(output)
    return passed


def ended(*children: Child) -> list[int | None]:
    return [child.ended() for child in children]


def killed_after(child: Child, steps: int) -> None:
    for _ in range(steps):
        child.heard()
    child.kill()


def test_kill_leaves_offsets_messages_and_rows_consistent(data: Data) -> None:
    total = 3000
    data.open().log.append(Message(INPUT, f"k{i}", str(i).encode(), f"k{i}") for i in range(total))
    passed = [0]
    kills = 8 if data.backend.one_step else 4
    for kill in range(kills):
        killed_after(data.child("work"), 5 + 17 * kill)
        passed.append(settled(data, total))
    assert passed == sorted(set(passed)), "every life gets further"
    assert ended(data.child("work")) == [0]
    assert settled(data, total) == total
    output = kept(data.open().log, OUTPUT)
    # Each kill may leave one step that was appended and not moved past.
    assert len(output) <= total + (0 if data.backend.one_step else kills * 3)


def test_concurrent_appends_lose_nothing(data: Data) -> None:
    children = [data.child("append", name, 100) for name in "abcd"]
    assert ended(*children) == [0] * 4
    ports = data.open()
    records = drain(reader(ports, GROUP, INPUT), 4000)
    assert sorted(values(records)) == sorted(f"{n}-{i}" for n in "abcd" for i in range(1000))
    for part in by_partition(records).values():
        assert [record.offset for record in part] == [*range(len(part))]


def test_waiting_reader_gets_records_of_other_processes(data: Data) -> None:
    ports = data.open()
    mine = reader(ports, GROUP, INPUT)
    child = data.child("append", "a", 50)
    found: list[str] = []
    while len(found) < 500:
        found += values(mine.poll(30.0))
        assert found or child.running, "woken for nothing after the other had ended"
    assert ended(child) == [0]
    assert sorted(found) == sorted(f"a-{i}" for i in range(500))


def test_concurrent_creation_of_data_file_succeeds(data: Data) -> None:
    for attempt in range(5 if data.backend.one_step else 1):
        fresh = Data(data.name, data.path / str(attempt), data.server)
        assert ended(*(fresh.child("open") for _ in range(6))) == [0] * 6


@pytest.mark.only("trims")
def test_record_is_deleted_when_all_consumers_have_passed_it(data: Data) -> None:
    ports = data.open()
    ports.log.append(some(FETCHED, 100))
    parser, archive = reader(ports, "parser", FETCHED), reader(ports, "archive", FETCHED)
    records = drain(parser)
    parser.advance(records, ())
    assert len(kept(ports.log, FETCHED)) == 100, "the archive has not read them"
    drain(archive)
    for part in by_partition(records).values():
        archive.advance(part[:1], ())
    left = 100 - len(by_partition(records))
    assert len(kept(ports.log, FETCHED)) == left
    assert len(drain(reader(ports, "archive", FETCHED))) == left


@pytest.mark.parametrize("topic", ["dead.letters", "pages.archived"])
def test_topic_kept_forever_keeps_records(ports: Ports, topic: str) -> None:
    ports.log.append(some(topic, 20))
    mine = reader(ports, "somebody", topic)
    mine.advance(drain(mine, 20), ())
    assert len(kept(ports.log, topic)) == 20


@pytest.mark.only("trims")
def test_space_of_consumed_records_is_reused(data: Data) -> None:
    ports = data.open()
    parser, archive = reader(ports, "parser", FETCHED), reader(ports, "archive", FETCHED)
    sizes = []
    for _ in range(11):
        for i in range(20):
            # 20 MB a round with varying sizes, whose free space must still be reused.
            body = b"x" * (20_000 + 97 * i)
            ports.log.append(Message(FETCHED, str(n), body, str(n)) for n in range(50))
            for mine in (parser, archive):
                mine.advance(mine.poll(1.0), ())
        sizes.append(data.size())
    # After the third the journal is as large as it gets.
    assert sizes[-1] <= 1.2 * sizes[3]


@pytest.mark.only("trims")
def test_space_of_compacted_records_is_reused(data: Data) -> None:
    log = data.open().log
    sizes = []
    for _ in range(11):
        for _ in range(20):
            log.append(Message("pages", str(n), b"x" * 20_000, str(n)) for n in range(50))
        sizes.append(data.size())
    # After the third the journal is as large as it gets.
    assert sizes[-1] <= 1.2 * sizes[3]
