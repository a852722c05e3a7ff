"""Tests that ports are not given away twice in a row."""

import random

from tests.servers import OUR_PORTS, Ports


def test_ports_are_given_again_only_after_all_others() -> None:
    ports = Ports(OUR_PORTS)
    counts = [random.choice((1, 3)) for _ in range(len(OUR_PORTS))]
    latest: list[int] = []
    for count in counts:
        first = ports.next(count)
        taken = range(first, first + count)
        assert not set(taken) & set(latest)
        latest = [*latest, *taken][-len(OUR_PORTS) // 2 :]
