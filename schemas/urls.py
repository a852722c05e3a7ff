"""Writes the tables of URL steps into docs/urls.md.

python -m schemas.urls [FILE]      (run by scripts/schemas)
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gossamer.web.url import STEPS
from gossamer.web.url_steps import HOST_STEPS
from gossamer.web.url_steps import STEPS as OF_A_CRAWL
from schemas.markdown import insert_lines, table

FILE = Path(__file__).resolve().parents[1] / "docs" / "urls.md"
HEAD = ("step", "meaning", "source", "where", "switch")
STANDARD = (
    "standard",
    "parses and serialises by the WHATWG URL standard: case of scheme and host, Punycode, default "
    "port, `.` and `..`, an empty path, white space, backslashes",
    "URL standard; RFC 3986, 6.2",
)
EVERYWHERE, PROVEN = "always", "at a host"


def main(file: Path) -> None:
    """Replace the table in *file*."""
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """Return *text* with an up-to-date table."""
    return insert_lines(text, "steps", table(HEAD, _rows()))


def _rows() -> Iterator[tuple[str, ...]]:
    yield (f"`{STANDARD[0]}`", *STANDARD[1:], EVERYWHERE, "none")
    for name, step in STEPS.items():
        yield (f"`{name}`", step.text, step.source, EVERYWHERE, "none")
    for name, step in OF_A_CRAWL.items():
        yield (f"`{name}`", step.text, step.source, "in the crawl", _switch(name))
    for name, (text, source) in HOST_STEPS.items():
        yield (f"`{name}`", text, source, PROVEN, _switch(name))


def _switch(name: str) -> str:
    return f"`{name}` in `crawl.url_steps`"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
