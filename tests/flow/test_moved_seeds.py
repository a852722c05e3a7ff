"""A seed that redirects to another site: the target is the seed."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.flow.test_flow import Pages, virtual_crawl

WEB: Pages = {
    "http://a.test/to/b": ["http://b.test/to/c"],
    "http://b.test/to/c": ["http://www.c.test/"],
    "http://www.c.test/": [
        "http://www.c.test/1",
        "http://c.test/2",
        "http://b.test/",
        "http://d.test/",
    ],
    "http://www.c.test/1": ["http://www.c.test/to/e"],
    "http://c.test/2": [],
    "http://www.c.test/to/e": ["http://e.test/"],
    "http://e.test/": [],
    "http://b.test/": [],
    "http://d.test/": [],
}
"""A seed moves to c.test in two redirects. A page there, which is no seed, moves to e.test."""
MOVED = {"http://a.test/to/b", "http://b.test/to/c", "http://www.c.test/", "http://www.c.test/1"}
A = "domain('a.test')"


@pytest.mark.parametrize(
    ("definition", "visited"),
    [
        ({"scope": A, "scope_of_seeds": "site"}, MOVED | {"http://c.test/2"}),
        ({"scope": "host('a.test')", "scope_of_seeds": "host"}, MOVED),
        ({"scope": A}, {"http://a.test/to/b"}),
    ],
)
def test_target_joins_a_scope_that_follows_from_seeds(
    tmp_path: Path, definition: dict[str, Any], visited: set[str]
) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    crawl.define("http://a.test/to/b", **definition)
    assert crawl.run()
    found = {*crawl.requested()}
    assert found == visited | ({"http://www.c.test/to/e"} if len(visited) > 1 else set())


def test_at_most_five_redirects_of_a_seed_are_followed(tmp_path: Path) -> None:
    chain = [f"http://h{number}.test/to/next" for number in range(8)]
    web: Pages = {url: [target] for url, target in pairwise(chain)}
    crawl = virtual_crawl(tmp_path, web, 0.0)
    crawl.define(chain[0], scope="domain('h0.test')", scope_of_seeds="site")
    assert crawl.run()
    found = {*crawl.requested()}
    assert found == {*chain[:6]}
