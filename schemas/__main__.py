"""Writes all generated files: `python -m gossamer.schemas` (run by scripts/schemas)."""

from collections.abc import Iterator
from pathlib import Path

from gossamer.schemas import configuration, formats, reference, states, tables, topics

SOURCES = (formats, tables, topics, configuration, states, reference)


def main() -> None:
    """Write every file."""
    for path, text in generated_files():
        path.write_text(text, encoding="utf-8")


def generated_files() -> Iterator[tuple[Path, str]]:
    """Yield each generated file and its text."""
    for source in SOURCES:
        yield from source.files()


if __name__ == "__main__":
    main()
