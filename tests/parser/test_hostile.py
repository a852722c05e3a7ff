"""Mutants of real pages crash nothing; `python -m bench.hostile` reads ten thousand, and worse."""

import asyncio
import gzip
from pathlib import Path

import pytest

from bench.hostile import mutants, read_all
from gossamer.settings import Settings


@pytest.mark.slow
def test_mutants_of_real_pages_are_read(suites: Path) -> None:
    files = sorted((suites / "pages").glob("*.html.gz"))[:40]
    pages = [gzip.decompress(file.read_bytes()) for file in files]
    ended = asyncio.run(read_all(mutants(pages, count=60, seed=2), Settings()))
    assert len(ended) == 60
    assert {one.how for one in ended} <= {"read", "cut"}
