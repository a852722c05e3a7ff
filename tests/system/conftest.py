"""Worlds that several tests look at, crawled once: reading a finished crawl changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.synthweb import SynthWeb, World

from .crawl import Crawl, Done

TINY = World(seed=3, hosts=6, pages=3, retries=0, transfers=0, silent=0, stuck=0)
MIXED = World(seed=11, hosts=60, pages=6, silent=0, stuck=0, jitter=0.02)


class Finished(NamedTuple):
    """A crawl that has come to its end."""

    web: SynthWeb
    crawl: Crawl
    done: Done


def finished(world: World, folder: Path, delay: float) -> Iterator[Finished]:
    with SynthWeb(world) as web:
        crawl = Crawl(web, folder / "data", delay)
        done = crawl.run()
        assert (done.code, done.err) == (0, ""), done
        yield Finished(web, crawl, done)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """Six hosts, half of them strange."""
    yield from finished(TINY, tmp_path_factory.mktemp("tiny"), 0.02)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """Sixty hosts with everything strange that does not take a person's patience."""
    yield from finished(MIXED, tmp_path_factory.mktemp("mixed"), 0.1)
