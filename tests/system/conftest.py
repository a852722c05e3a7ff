"""Worlds that several tests read, crawled once in a run: reading a finished crawl does not change
it."""

from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import pytest

from tests.support.commands import Done
from tests.support.once import once
from tests.synthweb import SynthWeb, World

from .crawl import Crawl

TINY = World(seed=3, hosts=6, pages=3, retries=0, transfers=0, silent=0, stuck=0)
MIXED = World(seed=11, hosts=60, pages=6, silent=0, stuck=0, jitter=0.02)


class Finished(NamedTuple):
    """A finished crawl. The web that it crawled has stopped."""

    web: SynthWeb
    crawl: Crawl
    done: Done


def crawl_once(name: str, world: World, delay: float, shared_folder: Path) -> Finished:
    """Crawl the world, or return the crawl of another test process."""

    def crawl_world() -> dict[str, Any]:
        folder = Path(mkdtemp(prefix=name, dir=shared_folder))
        with SynthWeb(world, folder / "record") as web:
            done = Crawl(web, folder / "data", delay).run()
            assert (done.code, done.err) == (0, ""), done
            return {"folder": str(folder), "at": [web.port, web.seeds], "done": asdict(done)}

    it = once(shared_folder / f"{name}.json", crawl_world)
    folder = Path(it["folder"])
    web = SynthWeb.of_record(world, folder / "record", *it["at"])
    return Finished(web, Crawl(web, folder / "data", delay), Done(**it["done"]))


@pytest.fixture(scope="session")
def tiny(shared_folder: Path) -> Finished:
    """Six hosts, half of them with oddities. The delay keeps the crawl running until the first
    progress line."""
    return crawl_once("tiny", TINY, 0.5, shared_folder)


@pytest.fixture(scope="session")
def mixed_crawl(shared_folder: Path) -> Finished:
    """Sixty hosts with all oddities that do not need long timeouts."""
    return crawl_once("mixed", MIXED, 0.1, shared_folder)
