"""The partitioner that every producer shares (values: Kafka's UtilsTest.testMurmur2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.log import murmur2, partition_of

PUBLISHED = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}


@pytest.mark.parametrize("text", PUBLISHED)
def test_hashes_match_kafka(text: str) -> None:
    assert murmur2(text.encode()) == PUBLISHED[text] & 0xFFFFFFFF


@pytest.mark.parametrize("text", PUBLISHED)
def test_sign_of_hash_is_dropped_before_modulo(text: str) -> None:
    assert partition_of(text, 1000) == (PUBLISHED[text] & 0x7FFFFFFF) % 1000


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 100))
def test_every_key_has_a_partition(key: str, partitions: int) -> None:
    assert 0 <= partition_of(key, partitions) < partitions


def test_keys_are_spread_evenly() -> None:
    counts = [0] * 12
    for i in range(12_000):
        counts[partition_of(f"site{i}.example", 12)] += 1
    assert min(counts) > 850
    assert max(counts) < 1150
