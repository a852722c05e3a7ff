"""Pages that tests of the parser read."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.parser.articles import ARTICLES


@pytest.fixture(params=["our own", "real"])
def pages(request: pytest.FixtureRequest, suite_folder: Callable[[str], Path]) -> list[bytes]:
    """Return article pages: a few synthetic ones, or the suite's."""
    if request.param == "our own":
        return [article.html.encode() for article in ARTICLES.values()]
    files = sorted((suite_folder("pages") / "pages").glob("*.html.gz"))
    return [gzip.decompress(file.read_bytes()) for file in files]
