"""Worlds that several tests look at, crawled once a run: to read a finished crawl harms nothing."""

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
    """A crawl that has come to its end; the web it crawled has ended too."""

    web: SynthWeb
    crawl: Crawl
    done: Done


def finished(name: str, world: World, delay: float, shared_folder: Path) -> Finished:
    """Crawl the world, or return what another test process made of it."""

    def crawled() -> dict[str, Any]:
        folder = Path(mkdtemp(prefix=name, dir=shared_folder))
        with SynthWeb(world, folder / "record") as web:
            done = Crawl(web, folder / "data", delay).run()
            assert (done.code, done.err) == (0, ""), done
            return {"folder": str(folder), "at": [web.port, web.seeds], "done": asdict(done)}

    it = once(shared_folder / f"{name}.json", crawled)
    folder = Path(it["folder"])
    web = SynthWeb.ended(world, folder / "record", *it["at"])
    return Finished(web, Crawl(web, folder / "data", delay), Done(**it["done"]))


@pytest.fixture(scope="session")
def tiny(shared_folder: Path) -> Finished:
    """Six hosts, half of them strange; the delay keeps it running until the first progress line."""
    return finished("tiny", TINY, 0.5, shared_folder)


@pytest.fixture(scope="session")
def mixed(shared_folder: Path) -> Finished:
    """Sixty hosts with everything strange that does not take a person's patience."""
    return finished("mixed", MIXED, 0.1, shared_folder)
