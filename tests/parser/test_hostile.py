"""Mutated pages do not crash the parser. `python -m bench.hostile` reads ten thousand."""

import asyncio

import pytest

from bench.hostile import mutants, read_all
from gossamer.settings import Settings


@pytest.mark.slow
def test_mutants_of_pages_are_read(pages: list[bytes]) -> None:
    ended = asyncio.run(read_all(mutants(pages[:40], count=60, seed=2), Settings()))
    assert len(ended) == 60
    assert {one.how for one in ended} <= {"read", "cut"}
