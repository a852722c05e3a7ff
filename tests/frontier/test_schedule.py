"""The workbench's heaps: correct after any changes, and bounded by the number of hosts."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.partition.workbench import MAX_STALE_ENTRIES, Schedule

changes = st.lists(
    st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), st.integers(0, 9))), max_size=300
)


@given(changes)
def test_first_host_has_least_key(
    changes: list[tuple[str, int | None]],
) -> None:
    schedule, model = Schedule[str](), dict[str, int]()
    for host, key in changes:
        if key is None:
            schedule.remove(host)
            model.pop(host, None)
        else:
            schedule.put(host, key)
            model[host] = key
        first, last = schedule.first(), [*schedule.late_items()]
        assert first == min(((key, host) for host, key in model.items()), default=None)
        assert sorted(last) == sorted(model)
        assert schedule.size <= 2 * len(model) + MAX_STALE_ENTRIES + 1
