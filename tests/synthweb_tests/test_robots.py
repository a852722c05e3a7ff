"""Each robots.txt agrees with the truth, by a matcher written from RFC 9309."""

import re

import pytest

from tests.synthweb.oddities import CONDITIONS
from tests.synthweb.robots import ROBOTS, Robots, robots_of

WRITTEN = [
    kind
    for kind in (*CONDITIONS["robots"], *CONDITIONS["delays"])
    if kind not in ("robots-failing", "robots-denied")
]
ORDINARY = ("/", "/p4.html", "/docs/p1", "/docs/more/p2/", "/list?item=3", "/odd/to-forbidden")


def groups_of(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the rules by user agent."""
    groups: dict[str, list[tuple[str, str]]] = {}
    agent = ""
    for line in re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")):
        key, colon, value = line.partition("#")[0].partition(":")
        if key.strip().lower() == "user-agent":
            agent = value.strip().lower()
        elif colon:
            groups.setdefault(agent, []).append((key.strip().lower(), value.strip()))
    return groups


def forbids(robots: Robots, path: str) -> bool:
    """Return whether the longest matching rule forbids the path; Allow wins between equal ones."""
    groups = groups_of(robots.text)
    rules = groups.get("gossamer", groups.get("*", []))
    found = [(len(value), key == "allow") for key, value in rules if value and fits(value, path)]
    return bool(found) and not max(found)[1]


def fits(pattern: str, path: str) -> bool:
    anchored = pattern.endswith("$")
    parts = map(re.escape, pattern.removesuffix("$").split("*"))
    return re.match(".*".join(parts) + ("$" if anchored else ""), path) is not None


@pytest.mark.parametrize("kind", WRITTEN)
def test_robots_txt_forbids_the_same_paths_as_the_truth(kind: str) -> None:
    robots = robots_of(kind)
    for path in (*ORDINARY, *robots.forbidden, *robots.welcome):
        assert forbids(robots, path) == robots.forbids(path), path


def test_failed_robots_txt_forbids_all_and_missing_one_nothing() -> None:
    assert robots_of("robots-failing").forbids("/")
    assert robots_of("silent").forbids("/")
    assert not robots_of("robots-denied").forbids("/private/a")
    assert not robots_of("").forbids(ROBOTS)
