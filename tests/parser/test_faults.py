"""A host whose pages cannot be read is let be for ever longer, and few of its pages are kept."""

from hypothesis import given
from hypothesis import strategies as st

from services.parser.faults import HOSTS, LONGEST, Faults

A, B = "http://a.example", "http://b.example"


def fail(faults: Faults, host: str, now: float, times: int = 1) -> list[bool]:
    return [faults.failed(host, now) for _ in range(times)]


def test_a_host_is_held_back_after_so_many_failures_in_a_row_and_no_other() -> None:
    faults = Faults(limit=3, wait=60.0, letters=10)
    fail(faults, A, 0.0, 2)
    faults.read(A)
    fail(faults, A, 0.0, 2)
    assert faults.held_until(A, 0.0) == 0.0
    fail(faults, A, 0.0)
    assert faults.held_until(A, 59.0) == 60.0
    assert faults.held_until(B, 59.0) == 0.0


def test_then_one_page_is_tried_and_decides() -> None:
    faults = Faults(limit=1, wait=60.0, letters=10)
    fail(faults, A, 0.0)
    assert faults.held_until(A, 60.0) == 0.0
    assert faults.held_until(A, 60.0) > 60.0, "another one beside it"
    fail(faults, A, 70.0)
    assert faults.held_until(A, 100.0) == 70.0 + 120.0
    assert faults.held_until(A, 190.0) == 0.0
    faults.read(A)
    assert faults.held_until(A, 190.0) == 0.0
    fail(faults, A, 200.0)
    assert faults.held_until(A, 200.0) == 260.0, "from the beginning"


def test_a_page_that_was_tried_and_never_heard_of_again_is_followed_by_another() -> None:
    faults = Faults(limit=1, wait=60.0, letters=10)
    fail(faults, A, 0.0)
    assert faults.held_until(A, 60.0) == 0.0
    assert faults.held_until(A, 1000.0) == 0.0


def test_pages_that_were_under_way_make_the_wait_no_longer() -> None:
    faults = Faults(limit=1, wait=60.0, letters=10)
    fail(faults, A, 0.0, 5)
    assert faults.held_until(A, 1.0) == 60.0


def test_so_many_pages_of_a_host_are_kept() -> None:
    faults = Faults(limit=0, wait=60.0, letters=2)
    assert fail(faults, A, 0.0) + fail(faults, B, 0.0) == [True, True]
    faults.read(A)
    assert fail(faults, A, 0.0, 3) == [True, False, False]
    assert faults.held_until(A, 0.0) == 0.0, "a limit of 0 holds nobody back"


def test_only_so_many_hosts_are_remembered() -> None:
    faults = Faults(limit=1, wait=60.0, letters=1)
    for number in range(HOSTS + 1):
        fail(faults, str(number), 0.0)
    assert faults.held_until("0", 1.0) == 0.0
    assert faults.held_until(str(HOSTS), 1.0) == 60.0


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), max_size=50))
def test_no_host_is_held_back_for_longer_than_a_day(steps: list[tuple[float, bool]]) -> None:
    faults, now = Faults(limit=2, wait=600.0, letters=1), 0.0
    for pause, fails in steps:
        now += pause
        until = faults.held_until(A, now)
        assert until == 0.0 or now < until <= now + LONGEST
        if not until:
            if fails:
                faults.failed(A, now)
            else:
                faults.read(A)
