"""The states of seeds."""

from gossamer.events import Outcome
from gossamer.inspection.answers.seeds import STATES


def test_every_outcome_gives_a_seed_a_state() -> None:
    assert STATES.keys() == {*Outcome}
