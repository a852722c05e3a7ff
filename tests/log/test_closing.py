"""Leaving a group returns even if the library never answers."""

import threading

import pytest

from gossamer.log.kafka.client import finishes_within


def test_call_that_never_ends_is_given_up() -> None:
    never = threading.Event()
    assert not finishes_within(0.01, lambda: assert_set(never))
    never.set()


def assert_set(event: threading.Event) -> None:
    assert event.wait(600)


def test_call_that_ends_is_waited_for() -> None:
    done: list[int] = []
    assert finishes_within(600, lambda: done.append(1))
    assert done == [1]


def test_error_of_the_call_is_raised() -> None:
    def fail() -> None:
        raise RuntimeError("consumer closed")

    with pytest.raises(RuntimeError, match="consumer closed"):
        finishes_within(600, fail)
