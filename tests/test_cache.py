"""The cache that is bounded by bytes, and the one that is bounded by a number of values."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gossamer.cache import KEY_BYTES, OWNER_BYTES, ByteCache, RecentlyUsed

SIZE = 1000 + KEY_BYTES
"""The bytes of a value of 1,000 bytes, with its key."""
LIMIT, OWNER_LIMIT = 3 * OWNER_BYTES + 10 * SIZE, OWNER_BYTES + 4 * SIZE

steps = st.lists(
    st.tuples(st.sampled_from("abcdefghij"), st.integers(1, 6000), st.sampled_from("xyz")),
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
        by_owner = Counter({of: OWNER_BYTES for _, of in kept})
        for bytes_of, of in kept:
            by_owner[of] += bytes_of + KEY_BYTES
        assert cache.bytes == by_owner.total() <= LIMIT
        assert all(total <= OWNER_LIMIT for total in by_owner.values())
        assert len(cache) == len(kept)
        fits = size + KEY_BYTES + OWNER_BYTES <= OWNER_LIMIT
        assert cache.get(key) == ((size, owner) if fits else None)


def test_owner_that_fills_its_part_evicts_only_its_own_values() -> None:
    cache = ByteCache[str, int](LIMIT, int, OWNER_LIMIT)
    cache.put("mine", 1000, "me")
    for number in range(50):
        cache.put(f"trap {number}", 1000, "trap")
    assert cache.get("mine") == 1000
    assert len(cache) == 1 + OWNER_LIMIT // SIZE


def test_value_used_last_is_evicted_last() -> None:
    cache = ByteCache[str, int](OWNER_BYTES + 3 * SIZE, int)
    for key in "abc":
        cache.put(key, 1000)
    assert cache.get("a") == 1000
    cache.put("d", 1000)
    assert cache.get("a") == 1000 and cache.get("b") is None
    cache.clear()
    assert (len(cache), cache.bytes, cache.get("a")) == (0, 0, None)


@given(st.lists(st.tuples(st.sampled_from(["set", "read", "pop", "default"]), st.integers(0, 9))))
def test_values_used_last_are_kept_up_to_the_limit(uses: list[tuple[str, int]]) -> None:
    cache, last = RecentlyUsed[int, int](4), list[int]()
    for use, key in uses:
        is_cached = key in last
        if use == "read":
            assert cache.get(key, -1) == (cache[key] if is_cached else -1)
        elif use == "pop":
            assert cache.pop(key, -1) == (key if is_cached else -1)
        elif use == "default":
            assert cache.setdefault(key, key) == key
        else:
            cache[key] = key
        last = [one for one in last if one != key]
        if use in ("set", "default") or (use == "read" and is_cached):
            last = [*last, key][-4:]
        assert [*cache] == last
