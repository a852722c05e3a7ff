"""The simulation detects each planted fault within a number of seeds."""

import re
from collections.abc import Iterator
from itertools import islice

import pytest
from _pytest.mark import ParameterSet

from services.frontier.partition.politeness import returned_order_delay
from tests.simulation.planted import FAULTS, Fault, plant
from tests.simulation.run import simulate
from tests.simulation.scenarios import seeds_of

NORMAL_SEEDS = 10
"""The maximum number of seeds in a normal run. Faults that need more are tested in the long run."""


def faults() -> Iterator[ParameterSet]:
    for fault in FAULTS:
        marks = [pytest.mark.long] if fault.seeds > NORMAL_SEEDS else []
        yield pytest.param(fault, marks=marks, id=fault.name)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [*faults()])
def test_planted_fault_is_found(fault: Fault) -> None:
    with plant(fault):
        for seed in islice(seeds_of(fault.scenario, fault.first), fault.seeds):
            result = simulate(seed)
            if any(re.search(fault.report, line) for line in result.broken):
                return
    pytest.fail(f"{fault.sentence} Not found in {fault.seeds} seeds.")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_seams_of_planted_fault_are_functions_of_the_services(fault: Fault) -> None:
    with plant(fault):
        pass


def test_seam_that_does_not_exist_is_an_error() -> None:
    seams = {"services.frontier.steps.checkin.gone": returned_order_delay}
    fault = Fault("gone", "", "anything", 1, "", seams)
    with pytest.raises(AttributeError), plant(fault):
        pass


def test_seam_with_other_parameters_is_an_error() -> None:
    def short_wait(delay: float) -> float:
        return 0.0

    seams = {"services.frontier.steps.checkin.returned_order_delay": short_wait}
    fault = Fault("other", "", "anything", 1, "", seams)
    with pytest.raises(TypeError, match="returned_order_delay"), plant(fault):
        pass
