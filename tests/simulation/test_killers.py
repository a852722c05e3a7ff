"""A page that stops the process of its fetcher: the fleet isolates it, and visits all others."""

from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL
from gossamer.web.url import host_key
from tests.simulation.kernel import Process
from tests.simulation.run import Run, collect_at_end
from tests.simulation.scenarios import seeds_of
from tests.simulation.web import Request

AWAY = 3.0
"""Seconds until a stopped fetcher is started again."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_page_that_stops_its_fetcher_is_given_up_and_all_others_are_visited(
    tmp_path: Path, number: int
) -> None:
    seed = list(zip(range(number + 1), seeds_of("anything", 100), strict=False))[-1][1]
    run = Run(seed, tmp_path, chosen=())
    killer, sites, stops = choose_killer(run), run.sites, list[float]()
    request = sites.request

    def stop_at_killer(url: str, process: Process, condition: str = "") -> Request:
        made = request(url, process, condition)
        if url == killer:
            stops.append(run.sim.now)
            run.sim.later(0.01, run.fleet.kill, process.name, AWAY)
        return made

    sites.request = stop_at_killer  # type: ignore[method-assign]
    with collect_at_end():
        result = run.execute()
    outcomes = run._outcomes()
    row = outcomes[DEFAULT_CRAWL, killer]
    assert row["outcome"] == "internal_error", result.report()
    assert "leases in a row expired" in row["reason"]
    others = run._required_urls(outcomes) - {(DEFAULT_CRAWL, killer)}
    assert others <= outcomes.keys() and "the crawl did not finish" not in result.broken
    assert stops
    # Requests to other hosts went on while the host backed off.
    [row] = [
        row
        for rows in run.nodes.all_named("hosts").values()
        for row in rows
        if row["host"] == host_key(killer)
    ]
    assert row["suspect_url"] is None


def choose_killer(run: Run) -> str:
    """Return a page that the crawl must visit, not the only one of its host."""
    required = run.sites.required_urls(set(run.sites.all_urls()))
    pages = [
        url
        for url in sorted(required)
        if run.sites.sites[host_key(url)].paths.get(url.removeprefix(host_key(url)), (0,))[0] == 200
    ]
    return pages[len(pages) // 2]
