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
"""The maximum number of requests in excess for each honest page."""
MAX_COST = 1.6
"""The maximum number of requests for each honest page of the hostile web."""
ESCAPED: dict[str, bool] = {
    "wildcard": False,
    "wildcard-words": False,
    "wildcard-suffix": False,
    "wildcard-country": False,
    "mirror": True,
    "www": True,
    "calendar": False,
    "facets": False,
    "sort": False,
    "growing": False,
    "blocks": False,
    "relative": False,
    "session": True,
    "session-unknown": False,
    "session-path": False,
    "soft404": True,
    "soft404-echo": True,
    "always-200": False,
    "always-404": False,
    "always-500": False,
    "near": False,
    "tarpit": False,
    "babble": False,
    "doorways": False,
}
"""Whether a crawl meets the aims for each trap. A test of an aim that is not met is expected to
fail."""
assert ESCAPED.keys() == TRAPS.keys()
HOSTILE_ESCAPED = False
"""Whether a crawl meets the aims for the web of all traps."""


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
