"""The simulation detects each planted fault within a number of seeds."""

import sys
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.politeness import returned_order_delay
from gossamer.services.frontier.steps.checkin import CheckIn
from gossamer.store.cassandra.store import CassandraStore
from tests.simulation.planted import FAULTS, Fault, detect, plant


def faults() -> Iterator[ParameterSet]:
    for fault in FAULTS:
        marks = [pytest.mark.long, pytest.mark.timeout(3600)] if fault.nightly else []
        yield pytest.param(fault, marks=marks, id=fault.name)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [*faults()])
def test_planted_fault_is_found(fault: Fault) -> None:
    assert detect(fault) is not None, f"{fault.sentence} Not found in {fault.seeds} seeds."


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faulty_version_has_the_parameters_of_its_seam(fault: Fault) -> None:
    with plant(fault):
        pass


def test_seam_with_other_parameters_is_an_error() -> None:
    def short_wait(delay: float) -> float:
        return 0.0

    fault = Fault("other", "", "anything", 1, "", {returned_order_delay: short_wait})
    with pytest.raises(TypeError, match="returned_order_delay"), plant(fault):
        pass


def test_function_is_replaced_in_each_module_that_imports_it() -> None:
    def short_wait(delay: float, returned: int) -> float:
        return 0.0

    fault = Fault("imported", "", "anything", 1, "", {returned_order_delay: short_wait})
    modules = [sys.modules[one.__module__] for one in (returned_order_delay, CheckIn)]
    with plant(fault):
        assert [vars(one)["returned_order_delay"] for one in modules] == [short_wait, short_wait]
    assert {vars(one)["returned_order_delay"] for one in modules} == {returned_order_delay}


def test_method_and_property_are_replaced_in_their_class() -> None:
    def is_true(self: Partitions) -> bool:
        return True

    def check(self: CassandraStore, check: object) -> None:
        pass

    before = vars(Partitions)["numbers"], CassandraStore.guard
    numbers = property(is_true)
    fault = Fault(
        "methods",
        "",
        "anything",
        1,
        "",
        {Partitions.numbers: numbers, CassandraStore.guard: check},
    )
    with plant(fault):
        assert (vars(Partitions)["numbers"], CassandraStore.guard) == (numbers, check)
    assert (vars(Partitions)["numbers"], CassandraStore.guard) == before
