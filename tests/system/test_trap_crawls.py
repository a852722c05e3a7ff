"""Crawls of webs of traps: all honest pages are fetched, and few other requests are made."""

import pytest

from tests.traps import KINDS, LOOKALIKES, TRAPS, TrapWeb

from .trap_crawls import (
    EXCESS,
    MAX_COST,
    MAX_EXCESS,
    MIN_RECALL,
    crawl_traps,
)

LONG_SECONDS = 120.0
DAY_TRAP = "wildcard"
"""The trap that is crawled by day. It needs a name server."""
TRAP_CASES = [
    pytest.param(trap, marks=[] if trap == DAY_TRAP else pytest.mark.long) for trap in TRAPS
]
LOOKALIKES_SECONDS = 300.0
HOSTILE = TrapWeb(traps=tuple(KINDS), pages=24, sites=225)
HOSTILE_SECONDS = 600.0


@pytest.mark.long
def test_honest_sites_that_look_like_traps_are_fetched_completely() -> None:
    crawl = crawl_traps(TrapWeb(traps=tuple(LOOKALIKES), pages=24), LOOKALIKES_SECONDS)
    assert crawl.ended
    assert crawl.harvest.fetched == crawl.harvest.honest, crawl.harvest.lost
    assert crawl.harvest.excess_share <= MAX_EXCESS, crawl.harvest.examples


@pytest.mark.slow
@pytest.mark.parametrize("trap", TRAP_CASES)
def test_crawl_escapes_trap(trap: str) -> None:
    crawl = crawl_traps(TrapWeb(traps=(trap,)), LONG_SECONDS)
    # The tarpit answers too slowly for all that its seed may cost.
    assert crawl.ended or trap == "tarpit", crawl.harvest
    assert crawl.harvest.recall >= MIN_RECALL, crawl.harvest.lost
    assert sum(crawl.harvest.excess.values()) <= EXCESS[trap], crawl.harvest.examples


@pytest.mark.long
@pytest.mark.timeout(HOSTILE_SECONDS * 2)
def test_crawl_of_hostile_web_ends_with_all_honest_pages() -> None:
    crawl = crawl_traps(HOSTILE, HOSTILE_SECONDS)
    assert crawl.ended
    assert crawl.harvest.recall >= MIN_RECALL, crawl.harvest.lost
    assert crawl.harvest.cost <= MAX_COST
