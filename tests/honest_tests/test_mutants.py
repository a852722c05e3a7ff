"""The honest web notices a heuristic that is several times as eager: a crawl loses honest pages."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from gossamer.services.dedup import novelty, originals
from gossamer.services.frontier.worth import worth
from tests.honest.virtual import lost_pages


class Mutant(NamedTuple):
    """A heuristic with changed constants, and a kind of honest sites whose pages it loses."""

    kind: str
    constants: dict[str, float]
    size: int = 120
    """About the pages of the kind."""
    linked: bool = True
    """Whether a page links to the sites, and no seed names them."""


LARGE = 300
"""Pages from which on a crawl takes long."""
MUTANTS = {
    "low worth": Mutant("shops", {"LOW_WORTH": 3 * worth.LOW_WORTH}),
    "growth": Mutant("taxonomy", {"MIN_GROWTH": 0.0}, size=300),
    "levels": Mutant("albums", {"MIN_LEVELS": 1}, size=500),
    "new words": Mutant("posts", {"FULL_NOVELTY": 3 * worth.FULL_NOVELTY}, size=250),
    "known words": Mutant("posts", {"NO_NOVELTY": 3 * worth.NO_NOVELTY}, size=500),
    "own texts": Mutant("albums", {"OWN_TEXT": 0.0}, size=560, linked=False),
    "passages": Mutant("posts", {"PASSAGE_RUNS": 3 * novelty.PASSAGE_RUNS}),
    "mirrors": Mutant("branches", {"MIN_WEIGHT": originals.MIN_WEIGHT // 5}),
}


@contextmanager
def mutated(constants: dict[str, float]) -> Iterator[None]:
    """Change *constants* in all modules of the services, and where they are defaults."""
    with ExitStack() as stack:
        for name, value in constants.items():
            owners = [
                module
                for path, module in [*sys.modules.items()]
                if path.startswith("gossamer.services.") and name in vars(module)
            ]
            assert owners, f"no module has {name}"
            original = vars(owners[0])[name]
            for module in owners:
                stack.enter_context(mock.patch.object(module, name, value))
            defaults = tuple(
                value if one is original else one for one in worth.estimate.__defaults__ or ()
            )
            stack.enter_context(mock.patch.object(worth.estimate, "__defaults__", defaults))
        yield


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if mutant.size > LARGE else [])
        for name, mutant in MUTANTS.items()
    ],
)
def test_eager_heuristic_loses_honest_pages(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    with mutated(mutant.constants):
        assert lost_pages([mutant.kind], mutant.size, tmp_path, mutant.linked)
