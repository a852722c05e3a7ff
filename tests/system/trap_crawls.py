"""Crawls of webs of traps, and what is expected of them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.traps import TRAPS, Harvest, RunningTraps, TrapWeb

from .crawl import WebCrawl

DELAY = 0.02
SETTINGS = "[standalone]\npatience = 5\n"
"""The run ends soon after the last work, even if a host backs off for longer."""
STOPPING_TIME = 60.0
"""Maximum seconds that a crawl needs to stop after its time limit."""
MIN_RECALL = 0.99
"""The share of honest pages that a crawl must fetch."""
MAX_EXCESS = 0.05
"""The maximum number of requests in excess for each honest page, at sites without a trap."""
MAX_COST = 2.2
"""The maximum number of requests for each honest page of the hostile web."""
EXCESS: dict[str, int] = {
    "wildcard": 180,
    "wildcard-words": 370,
    "wildcard-suffix": 110,
    "wildcard-country": 110,
    "mirror": 10,
    "www": 10,
    "calendar": 450,
    "facets": 430,
    "sort": 50,
    "growing": 100,
    "blocks": 90,
    "relative": 120,
    "session": 8,
    "session-unknown": 30,
    "session-path": 25,
    "soft404": 10,
    "soft404-echo": 15,
    "always-200": 180,
    "always-404": 85,
    "always-500": 10,
    "near": 280,
    "tarpit": 200,
    "babble": 700,
    "doorways": 370,
}
"""The maximum number of requests in excess that a crawl needs to recognise each trap, on a site of
any size: about half as many again as it makes."""
assert EXCESS.keys() == TRAPS.keys()


@dataclass(frozen=True)
class TrapCrawl:
    """A finished crawl of a web of traps."""

    harvest: Harvest
    harvests: dict[str, Harvest]
    """The harvest of each site with a trap, by the name of the trap."""
    ended: bool
    """Whether the crawl ended by itself, before its time limit."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return {
            "ended": self.ended,
            "seconds": round(self.seconds, 1),
            **self.harvest.as_json(),
            "traps": {name: harvest.as_json() for name, harvest in self.harvests.items()},
        }


def crawl_traps(web: TrapWeb, seconds: float) -> TrapCrawl:
    """Crawl a web from its seeds for at most *seconds*."""
    with _running(web) as (running, folder):
        settings = folder / "settings.toml"
        settings.write_text(SETTINGS)
        crawl = WebCrawl(running, folder / "data", DELAY, config=settings)
        options = ["--max-time", f"{seconds:.0f}s", "--revisit", "none", "--quiet"]
        began = time.monotonic()
        done = crawl.run(*options, patience=seconds + STOPPING_TIME)
        took = time.monotonic() - began
        assert done.code == 0, done
        return TrapCrawl(running.harvest(), running.harvests(), took < seconds, took)


@contextmanager
def _running(web: TrapWeb) -> Iterator[tuple[RunningTraps, Path]]:
    with TemporaryDirectory(prefix="traps-") as name:
        folder = Path(name)
        with RunningTraps(web, folder / "record") as running:
            yield running, folder
