"""Writes the tables of the steps to the spelling of a URL into docs/urls.md.

python -m schemas.urls [FILE]      (what scripts/schemas runs)
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gossamer.web.url import STEPS
from gossamer.web.url_steps import HOST_STEPS
from gossamer.web.url_steps import STEPS as OF_A_CRAWL

FILE = Path(__file__).resolve().parents[1] / "docs" / "urls.md"
BEGIN, END = "<!-- steps: written by scripts/schemas -->\n", "<!-- end of steps -->\n"
STANDARD = (
    "standard",
    "parsed and spelt by the WHATWG URL standard: case of scheme and host, Punycode, default port, "
    "`.` and `..`, an empty path, white space, backslashes",
    "URL standard; RFC 3986, 6.2",
)
EVERYWHERE, PROVEN = "always", "at a host"


def main(file: Path) -> None:
    """Write the table into *file*, in place of the one that is there."""
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """Return *text* with the table as it is to be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "".join(f"{line}\n" for line in _table()) + END + after


def _table() -> Iterator[str]:
    yield _row(("step", "what it does", "source", "where", "switch"))
    yield _row("---" for _ in range(5))
    yield _row((f"`{STANDARD[0]}`", *STANDARD[1:], EVERYWHERE, "none"))
    for name, step in STEPS.items():
        yield _row((f"`{name}`", step.text, step.source, EVERYWHERE, "none"))
    for name, step in OF_A_CRAWL.items():
        yield _row((f"`{name}`", step.text, step.source, "in the crawl", _switch(name)))
    for name, (text, source) in HOST_STEPS.items():
        yield _row((f"`{name}`", text, source, PROVEN, _switch(name)))


def _switch(name: str) -> str:
    return f"`{name}` in `crawl.url_steps`"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
