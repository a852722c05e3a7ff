"""Writes the table of all topics into the README beside this file.

python -m schemas.overview [FILE]      (what scripts/schemas runs)
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gossamer.events.topics import TOPICS, Topic
from schemas.markdown import filled, table

FILE = Path(__file__).parent / "README.md"
COLUMNS = ("topic", "events", "key", "partitioned by", "kept", "written by", "read by")


def main(file: Path) -> None:
    """Write the table into *file*, in place of the one that is there."""
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """Return *text* with the table as it is to be."""
    rows = (tuple(_cells(topic)) for topic in TOPICS.values())
    return filled(text, "topics", table(COLUMNS, rows))


def _cells(topic: Topic) -> Iterator[str]:
    yield f"`{topic.name}`"
    yield ", ".join(f"`{kind.event}`" for kind in topic.events)
    yield ", ".join(f"`{kind.key}`" for kind in topic.events)
    yield f"`{topic.partitioned_by}`"
    yield topic.keep.value
    yield ", ".join(topic.producers)
    yield ", ".join(topic.consumers) or "anybody"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
