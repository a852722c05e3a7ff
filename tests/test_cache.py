"""The cache that is bounded by bytes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gossamer.cache import ByteCache

LIMIT, OWNER_LIMIT = 100, 40

steps = st.lists(
    st.tuples(st.sampled_from("abcdefghij"), st.integers(1, 60), st.sampled_from(["x", "y", "z"])),
    max_size=60,
)


@given(steps)
def test_neither_the_cache_nor_an_owner_exceeds_its_limit(
    found: list[tuple[str, int, str]],
) -> None:
    cache = ByteCache[str, tuple[int, str]](LIMIT, lambda value: value[0], OWNER_LIMIT)
    for key, size, owner in found:
        cache.put(key, (size, owner), owner)
        kept = [value for key in "abcdefghij" if (value := cache.get(key))]
        by_owner = Counter[str]()
        for bytes_of, of in kept:
            by_owner[of] += bytes_of
        assert cache.bytes == sum(bytes_of for bytes_of, _ in kept) <= LIMIT
        assert all(total <= OWNER_LIMIT for total in by_owner.values())
        assert len(cache) == len(kept)
        assert cache.get(key) == ((size, owner) if size <= OWNER_LIMIT else None)


def test_owner_that_fills_its_part_evicts_only_its_own_values() -> None:
    cache = ByteCache[str, int](LIMIT, int, OWNER_LIMIT)
    cache.put("mine", 10, "me")
    for number in range(50):
        cache.put(f"trap {number}", 10, "trap")
    assert cache.get("mine") == 10
    assert len(cache) == 1 + OWNER_LIMIT // 10


def test_value_used_last_is_evicted_last() -> None:
    cache = ByteCache[str, int](30, int)
    for key in "abc":
        cache.put(key, 10)
    assert cache.get("a") == 10
    cache.put("d", 10)
    assert cache.get("a") == 10 and cache.get("b") is None
    cache.clear()
    assert (len(cache), cache.bytes, cache.get("a")) == (0, 0, None)
