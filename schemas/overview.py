"""Writes the table of all topics into schemas/README.md.

python -m schemas.overview [FILE]      (run by scripts/schemas)
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gossamer.events.topics import TOPICS, Topic
from schemas.markdown import insert_lines, table

FILE = Path(__file__).parent / "README.md"
COLUMNS = ("topic", "events", "key", "partitioned by", "retention", "producers", "consumers")


def main(file: Path) -> None:
    """Replace the table in *file*."""
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """Return *text* with an up-to-date table."""
    rows = (tuple(_cells(topic)) for topic in TOPICS.values())
    return insert_lines(text, "topics", table(COLUMNS, rows))


def _cells(topic: Topic) -> Iterator[str]:
    yield f"`{topic.name}`"
    yield ", ".join(f"`{kind.event}`" for kind in topic.events)
    yield ", ".join(f"`{kind.key}`" for kind in topic.events)
    yield f"`{topic.partitioned_by}`"
    yield topic.keep.value
    yield ", ".join(topic.producers)
    yield ", ".join(topic.consumers) or "any"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
