"""No change makes a page cost more unseen."""

import json

import pytest

from bench.counts import PYTHON, STORED, STORED_PAGES, count_both

TOLERANCE = 0.03


@pytest.mark.slow
def test_page_costs_what_is_stored() -> None:
    """A change that is meant is stored by `python -m bench.counts --store`."""
    stored, found = json.loads(STORED.read_text()), count_both(STORED_PAGES)
    if stored.pop("python") != PYTHON:
        for counts in (*stored.values(), *found.values()):
            del counts["calls"]
    assert {
        place: pytest.approx(counts, rel=TOLERANCE) for place, counts in stored.items()
    } == found
