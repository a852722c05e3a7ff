"""The promises of `gossamer.log`, which every log keeps."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from uuid import uuid4

import pytest

from gossamer.log import Log, Message, Reader, Record, Tail, partition_of, read_newest
from gossamer.log.kafka import reader as reading
from gossamer.log.kafka import retention
from gossamer.log.sqlite import SqliteTail
from tests.contract.backends import Ports
from tests.contract.conftest import Data
from tests.support.metrics import growth

ORDERED, ENDED, FETCHED, PAGES, ARCHIVED = (
    "visits.ordered", "visits.ended", "pages.fetched", "pages", "pages.archived",
)  # fmt: skip
ADMITTED = "urls.admitted"
QUIET, FAR = 0.05, 0.3
"""Seconds without a record after which none is expected, on this machine and across a network."""
SITES = [f"site{i}.example" for i in range(40)]


def message(topic: str, value: str, site: str = "example.org", key: str = "") -> Message:
    return Message(topic, key or site, value.encode(), site)


def make_messages(topic: str, count: int) -> list[Message]:
    return [message(topic, str(i), SITES[i % len(SITES)]) for i in range(count)]


def await_partitions(consumer: Reader) -> Reader:
    """Return the reader once it has partitions."""
    until = time.monotonic() + 60
    while not consumer.partitions:
        assert not consumer.poll(0.1), "a record of a partition that is not assigned"
        assert time.monotonic() < until, "its group assigned no partitions"
    return consumer


def drain(source: Reader | Tail, least: int = 0) -> list[Record]:
    """Read until *least* records have arrived and no more arrive.

    A tail reads to the end by itself; the first records of a reader may take a while.
    """
    quiet = QUIET if isinstance(source, SqliteTail) else FAR
    until = time.monotonic() + 60
    found: list[Record] = []
    while (records := source.poll(quiet)) or len(found) < least:
        found += records
        assert time.monotonic() < until, f"{len(found)} records of {least}"
    return found


def drain_some(consumer: Reader, count: int) -> list[Record]:
    """Read *count* records that have been appended."""
    found: list[Record] = []
    until = time.monotonic() + 60
    while len(found) < count:
        found += consumer.poll(FAR, count - len(found))
        assert time.monotonic() < until, f"{len(found)} records of {count}"
    return found


def test_each_append_of_messages_is_timed(ports: Ports) -> None:
    appends = growth("gossamer_log_append_seconds_count")
    ports.log.append(make_messages(ENDED, 3))
    ports.log.append([])
    assert appends() == 1
    reader = await_partitions(ports.log.reader("frontier", [ENDED], ports.store))
    records = drain(reader, 3)
    reader.advance(records[:1], make_messages(ORDERED, 2))
    reader.advance(records[1:], ())
    assert appends() == 2
    reader.close()


def values(records: Iterable[Record]) -> list[str]:
    return [record.value.decode() for record in records]


def by_partition(records: Iterable[Record]) -> dict[int, list[Record]]:
    found: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        found[record.partition].append(record)
    return found


def stored_values(log: Log, topic: str) -> list[str]:
    return sorted(values(drain(log.tail([topic]))))


def reader(ports: Ports, group: str, *topics: str) -> Reader:
    return await_partitions(ports.log.reader(group, topics, ports.store))


def test_record_has_the_topic_key_and_value_of_its_message(ports: Ports) -> None:
    ports.log.append([Message(ORDERED, "clé", bytes(range(256)), "site.example")])
    (record,) = drain(reader(ports, "fetcher", ORDERED), 1)
    assert (record.topic, record.key, record.value) == (ORDERED, "clé", bytes(range(256)))


def test_records_of_a_partition_are_read_in_order_of_appending(ports: Ports) -> None:
    for start in range(0, 3000, 100):
        ports.log.append(message(ORDERED, str(i), SITES[i % 40]) for i in range(start, start + 100))
    parts = by_partition(drain(reader(ports, "fetcher", ORDERED), 3000))
    assert len(parts) > 1
    assert sorted(int(v) for part in parts.values() for v in values(part)) == [*range(3000)]
    for part in parts.values():
        assert [r.offset for r in part] == sorted({r.offset for r in part})
        assert [int(v) for v in values(part)] == sorted(int(v) for v in values(part))


def test_site_has_the_same_partition_in_all_topics(ports: Ports) -> None:
    topics = (ORDERED, ENDED, FETCHED, PAGES, ARCHIVED)
    ports.log.append(message(t, s, s, f"{t} {s}") for t in topics for s in SITES)
    found: dict[str, set[int]] = defaultdict(set)
    for record in drain(ports.log.tail(topics)):
        found[record.value.decode()].add(record.partition)
    assert {site: len(partitions) for site, partitions in found.items()} == dict.fromkeys(SITES, 1)
    assert len(set.union(*found.values())) > 1


def test_message_with_a_partition_ignores_its_key(ports: Ports) -> None:
    numbers = range(ports.log.partitions)
    ports.log.append(
        Message(ORDERED, "a", str(n).encode(), "example.org", partition=n) for n in numbers
    )
    records = drain(reader(ports, "fetcher", ORDERED), len(numbers))
    assert sorted((record.partition, *values([record])) for record in records) == [
        (number, str(number)) for number in numbers
    ]
    assert {record.key for record in records} == {"a"}


def test_reader_reads_only_its_topics(ports: Ports) -> None:
    ports.log.append([message(ORDERED, "a"), message(ENDED, "b"), message(FETCHED, "c")])
    assert sorted(values(drain(reader(ports, "x", ORDERED, ENDED), 2))) == ["a", "b"]


def test_reader_reads_only_its_partitions(ports: Ports) -> None:
    ports.log.append(make_messages(ORDERED, 200))
    consumer = reader(ports, "fetcher", ORDERED)
    assert {record.partition for record in drain(consumer, 200)} <= consumer.partitions


def test_groups_are_independent(ports: Ports) -> None:
    ports.log.append(make_messages(FETCHED, 20))
    parser, archive = reader(ports, "parser", FETCHED), reader(ports, "archive", FETCHED)
    parser.advance(drain(parser, 20), ())
    assert len(drain(archive, 20)) == 20
    assert (ports.log.lag("parser", FETCHED), ports.log.lag("archive", FETCHED)) == (0, 20)


def test_lag_by_partition_counts_records_without_a_commit(ports: Ports) -> None:
    sites = [f"{number}.example" for number in range(30)]
    ports.log.append(message(FETCHED, site, site) for site in sites)
    counts = Counter(partition_of(site, ports.log.partitions) for site in sites)
    assert +Counter(ports.log.lag_by_partition("parser", FETCHED)) == counts
    parser = reader(ports, "parser", FETCHED)
    records = drain(parser, 30)
    first = min(counts)
    parser.advance([record for record in records if record.partition == first], ())
    del counts[first]
    assert +Counter(ports.log.lag_by_partition("parser", FETCHED)) == counts
    assert ports.log.lag("parser", FETCHED) == counts.total()


def test_lag_by_group_has_all_consumers_of_a_topic(ports: Ports) -> None:
    ports.log.append(make_messages(FETCHED, 20))
    parser = reader(ports, "parser", FETCHED)
    parser.advance(drain(parser, 20), ())
    found = ports.log.lag_by_group([FETCHED, ORDERED])
    lags = {name.rpartition(".")[2]: lag for name, lag in found[FETCHED].items()}
    assert {group: sum(lag.values()) for group, lag in lags.items()} == {"parser": 0, "archive": 20}
    assert dict(lags["archive"]) == dict(ports.log.lag_by_partition("archive", FETCHED))
    assert [sum(lag.values()) for lag in found[ORDERED].values()] == [0]
    assert ports.log.lags("archive", [FETCHED, ORDERED]) == {FETCHED: 20, ORDERED: 0}


def test_record_is_stored_until_the_last_group_has_read_it(
    ports: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "TRIM_INTERVAL", 0.0)
    monkeypatch.setattr(reading, "CHECK_INTERVAL", 0.0)
    left = 60
    parser = reader(ports, "parser", FETCHED)
    for _ in range(3):
        ports.log.append(make_messages(FETCHED, 20))
        parser.advance(drain(parser, 20), ())
        parser.poll(0.0)
    for _ in range(3):
        archive = reader(ports, "archive", FETCHED)
        records = drain(archive, left)
        assert len(records) == left, "all records are still stored"
        first = by_partition(records)
        archive.advance([r for part in first.values() for r in part[: len(part) // 2]], ())
        left -= sum(len(part) // 2 for part in first.values())
        archive.poll(0.0)
        archive.close()
    assert ports.log.lag("archive", FETCHED) == left


def test_reader_receives_each_record_once(ports: Ports) -> None:
    consumer = reader(ports, "fetcher", ORDERED)
    for value in "abc":
        ports.log.append([message(ORDERED, value)])
        assert values(drain(consumer, 1)) == [value]


def test_records_of_a_resumed_partition_arrive_in_order(ports: Ports) -> None:
    slow = partition_of("slow.example", ports.log.partitions)
    fast = next(site for site in SITES if partition_of(site, ports.log.partitions) != slow)
    ports.log.append(message(ORDERED, f"slow {n}", "slow.example") for n in range(5))
    ports.log.append(message(ORDERED, f"fast {n}", fast) for n in range(5))
    reader = await_partitions(ports.log.reader("fetcher", [ORDERED], ports.store))
    # The first poll fetches more than it returns. Those records must not arrive while paused
    # either.
    found = list(reader.poll(FAR, 1))
    until = time.monotonic() + 60
    while len([one for one in found if one.partition != slow]) < 5:
        more = reader.poll(FAR, 1, {slow})
        assert slow not in {one.partition for one in more}
        found += more
        assert time.monotonic() < until
    assert not reader.poll(FAR, 100, {slow})
    while len(found) < 10:
        found += reader.poll(FAR, 3)
        assert time.monotonic() < until
    assert sorted(values(found)) == sorted(
        f"{which} {n}" for which in ("slow", "fast") for n in range(5)
    )
    assert [v for v in values(found) if "slow" in v] == [f"slow {n}" for n in range(5)]
    reader.close()


def test_paused_partition_keeps_its_records_while_others_advance(ports: Ports) -> None:
    slow = partition_of("slow.example", ports.log.partitions)
    fast = next(site for site in SITES if partition_of(site, ports.log.partitions) != slow)
    reader = await_partitions(ports.log.reader("fetcher", [ORDERED], ports.store))
    until = time.monotonic() + 60
    for number in range(3):
        ports.log.append([message(ORDERED, f"slow {number}", "slow.example")])
        ports.log.append([message(ORDERED, f"fast {number}", fast)])
        while not (found := reader.poll(FAR, 100, {slow})):
            assert time.monotonic() < until
        assert values(found) == [f"fast {number}"]
        reader.advance(found, ())
    assert ports.log.lag_by_partition("fetcher", ORDERED)[slow] == 3
    found = drain(reader, 3)
    assert values(found) == [f"slow {number}" for number in range(3)]
    reader.advance(found, ())
    assert ports.log.lag("fetcher", ORDERED) == 0
    reader.close()


def test_records_of_a_topic_that_is_read_first_precede_the_backlog_of_another(ports: Ports) -> None:
    waiting = 50_000
    ports.log.append(make_messages(ADMITTED, waiting))
    consumer = reader(ports, "frontier", ADMITTED, ENDED)
    found, until = list[Record](), time.monotonic() + 60
    for value in ("one", "two", "three"):
        # The client has fetched as much of the backlog as it likes to.
        found += drain_some(consumer, 1000)
        ports.log.append([message(ENDED, value)])
        while ENDED not in {one.topic for one in found[-1:]}:
            found += consumer.poll(FAR, 1)
            assert time.monotonic() < until
        assert found.pop().value.decode() == value
        assert len(found) < waiting, "it has waited for the whole backlog"
    found += drain(consumer, waiting - len(found))
    assert len(found) == waiting
    for part in by_partition(found).values():
        assert [one.offset for one in part] == [*range(len(part))]
    consumer.close()


def test_records_after_the_committed_offset_are_redelivered(ports: Ports) -> None:
    ports.log.append(message(ORDERED, str(i)) for i in range(10))
    first = reader(ports, "fetcher", ORDERED)
    records = drain(first, 10)
    first.advance(records[:4], ())
    first.close()
    assert values(drain(reader(ports, "fetcher", ORDERED), 6)) == list("456789")


def test_all_records_are_redelivered_without_a_commit(ports: Ports) -> None:
    ports.log.append(make_messages(ORDERED, 10))
    for _ in range(3):
        consumer = reader(ports, "fetcher", ORDERED)
        assert len(drain(consumer, 10)) == 10
        consumer.close()


def test_advance_commits_the_highest_offset_in_any_order_of_records(ports: Ports) -> None:
    ports.log.append(message(ORDERED, str(i)) for i in range(5))
    first = reader(ports, "fetcher", ORDERED)
    first.advance(reversed(drain(first, 5)), ())
    assert ports.log.lag("fetcher", ORDERED) == 0


def test_advance_appends_the_messages(ports: Ports) -> None:
    ports.log.append(make_messages(ORDERED, 3))
    consumer = reader(ports, "fetcher", ORDERED)
    consumer.advance(drain(consumer, 3), [message(ENDED, "done"), message(FETCHED, "page")])
    assert (stored_values(ports.log, ENDED), stored_values(ports.log, FETCHED)) == (
        ["done"],
        ["page"],
    )


def test_advance_without_records_appends_the_messages(ports: Ports) -> None:
    consumer = reader(ports, "fetcher", ORDERED)
    consumer.advance((), [message(ENDED, "unasked")])
    assert stored_values(ports.log, ENDED) == ["unasked"]


def test_reader_receives_its_own_messages(ports: Ports) -> None:
    consumer = reader(ports, "dedup", "urls.discovered")
    consumer.advance((), [message("urls.discovered", "loop")])
    assert values(drain(consumer, 1)) == ["loop"]


def test_append_accepts_any_iterable(ports: Ports) -> None:
    ports.log.append(iter([]))
    ports.log.append(iter(make_messages(ORDERED, 3)))
    assert ports.log.lag("fetcher", ORDERED) == 3


def test_lag_is_the_number_of_records_without_a_commit(ports: Ports) -> None:
    assert ports.log.lag("fetcher", ORDERED) == 0
    ports.log.append(make_messages(ORDERED, 100))
    consumer = reader(ports, "fetcher", ORDERED)
    left = 100
    for part in by_partition(drain(consumer, 100)).values():
        assert ports.log.lag("fetcher", ORDERED) == left
        consumer.advance(part, ())
        left -= len(part)
    assert ports.log.lag("fetcher", ORDERED) == 0


@pytest.mark.parametrize("topic", [PAGES, "control"])
def test_compacted_topic_has_the_newest_record_of_each_key(data: Data, topic: str) -> None:
    ports = data.open()
    for version in range(5):
        for key in "abc":
            ports.log.append([message(topic, f"{key}{version}", key=key)])
    ports.log.append([message(topic, f"d{version}", key="d") for version in range(5)])
    if data.backend.trims:
        assert stored_values(ports.log, topic) == ["a4", "b4", "c4", "d4"]
    newest = {record.key: record.value.decode() for record in drain(ports.log.tail([topic]))}
    assert newest == {"a": "a4", "b": "b4", "c": "c4", "d": "d4"}


def test_tombstone_replaces_the_record_of_its_key(ports: Ports) -> None:
    ports.log.append([message(PAGES, "text", key="a"), message(PAGES, "text", key="b")])
    ports.log.append([message(PAGES, "", key="a")])
    left = {record.key: record.value for record in drain(ports.log.tail([PAGES]))}
    assert left == {"a": b"", "b": b"text"}


def test_topic_of_a_single_crawl_keeps_its_newest_records(ports: Ports) -> None:
    own = f"{PAGES}.news-{uuid4().hex[:8]}"
    for _ in range(2):
        ports.log.create_topic(own)
    ports.log.append([message(own, "text", key="a"), message(own, "text", key="b")])
    ports.log.append([message(own, "", key="a"), message(PAGES, "other", key="b")])
    left = {record.key: record.value for record in drain(ports.log.tail([own]))}
    assert left == {"a": b"", "b": b"text"}


def test_record_has_the_headers_of_its_message(ports: Ports) -> None:
    headers = (("reason", "moved"), ("where", "voil\u00e0"), ("reason", ""))
    ports.log.append([Message(PAGES, "a", b"", SITES[0], headers), message(PAGES, "text", key="b")])
    found = {record.key: record.headers for record in drain(ports.log.tail([PAGES]))}
    assert found == {"a": headers, "b": ()}


def test_tail_reads_stored_records_and_then_new_ones(ports: Ports) -> None:
    ports.log.append(make_messages(ARCHIVED, 1500))
    tail = ports.log.tail([ARCHIVED])
    assert sorted(map(int, values(drain(tail)))) == [*range(1500)]
    assert not tail.poll(0.0)
    ports.log.append([message(ARCHIVED, "news")])
    assert values(drain(tail, 1)) == ["news"]
    assert len(stored_values(ports.log, ARCHIVED)) == 1501


def test_tail_that_found_the_end_returns_all_earlier_records_before_none(ports: Ports) -> None:
    tail = ports.log.tail([ARCHIVED])
    drain(tail)
    for count in (1, 300, 2):
        ports.log.append(make_messages(ARCHIVED, count))
        tail.find_end()
        found: list[Record] = []
        while records := tail.poll(0.0):
            found += records
        assert sorted(map(int, values(found))) == [*range(count)]


def test_tail_of_some_partitions_starts_at_their_offsets(ports: Ports) -> None:
    ends = ports.log.append(make_messages(ARCHIVED, 400))
    assert {topic for topic, _ in ends} == {ARCHIVED}
    (one, end), *_, (other, _) = sorted((number, end) for (_, number), end in ends.items())
    tail = ports.log.tail([ARCHIVED], {one: end, other: 3})
    found = by_partition(drain(tail))
    assert {number: part[0].offset for number, part in found.items()} == {one: end, other: 3}
    assert [record.offset for record in found[one]] == [end]
    assert not tail.poll(0.0)
    again = ports.log.append([message(ARCHIVED, "news", site) for site in SITES])
    read = {record.partition: record.offset for record in drain(tail, 1)}
    assert {(ARCHIVED, number): offset for number, offset in read.items()}.items() <= again.items()


def test_tail_with_an_offset_beyond_the_end_starts_at_the_beginning(ports: Ports) -> None:
    ports.log.append(make_messages(ARCHIVED, 100))
    ((_, number), end), *_ = ports.log.append([message(ARCHIVED, "last")]).items()
    tail, found = ports.log.tail([ARCHIVED], {number: end + 1000}), list[Record]()
    while records := tail.poll(0.0):
        found += records
    assert [record.offset for record in found] == [*range(end + 1)]


def test_newest_records_are_read_block_by_block(ports: Ports) -> None:
    ports.log.append(make_messages(ARCHIVED, 100))
    whole = by_partition(drain(ports.log.tail([ARCHIVED])))
    found = {number: offsets for number, offsets in ports.log.offsets(ARCHIVED).items() if offsets}
    assert found == {number: range(len(part)) for number, part in whole.items()}
    blocks, before = list[Record](), None
    while True:
        block = read_newest(ports.log, ARCHIVED, 7, before)
        assert all(len(part) <= 7 for part in by_partition(block.records).values())
        blocks, before = [*block.records, *blocks], block.before
        # What is appended between two blocks belongs to neither.
        ports.log.append([message(ARCHIVED, "news", site) for site in SITES[:3]])
        if not before:
            break
    assert by_partition(blocks) == whole
    assert read_newest(ports.log, ARCHIVED, 7, {}).records == []


def test_tail_commits_no_offsets_and_retains_no_records(ports: Ports) -> None:
    ports.log.append(make_messages(ORDERED, 10))
    drain(ports.log.tail([ORDERED]))
    assert ports.log.lag("fetcher", ORDERED) == 10
    consumer = reader(ports, "fetcher", ORDERED)
    consumer.advance(drain(consumer, 10), ())
    assert ports.log.lag("fetcher", ORDERED) == 0


@pytest.mark.parametrize("size", [10, 900_000])
def test_records_above_the_limit_of_a_poll_arrive_in_several_polls(ports: Ports, size: int) -> None:
    count = 20 if size > 1000 else 1200
    for start in range(count):
        ports.log.append([Message(ORDERED, str(start), b"x" * size, "example.org")])
    consumer = reader(ports, "fetcher", ORDERED)
    polls: list[Sequence[Record]] = []
    keys: list[str] = []
    while len(keys) < count:
        polls.append(consumer.poll(30.0))
        keys += [record.key for record in polls[-1]]
    assert keys == [str(i) for i in range(count)]
    assert len(polls) > 1


def test_each_record_is_read_once_for_any_size_of_steps(ports: Ports) -> None:
    appended = make_messages(ORDERED, 700)
    ports.log.append(appended)
    assert ports.log.lag("fetcher", ORDERED) == 700
    seen: Counter[str] = Counter()
    while ports.log.lag("fetcher", ORDERED):
        consumer = reader(ports, "fetcher", ORDERED)
        step = by_partition(consumer.poll(1.0))
        for part in step.values():
            seen.update(values(part[:97]))
            consumer.advance(part[:97], ())
        consumer.close()
    assert seen == Counter(one.value.decode() for one in appended)
