"""Writes the table of all topics into the README beside this file.

python -m schemas.overview [FILE]      (what scripts/schemas runs)
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gossamer.events.topics import TOPICS, Topic

FILE = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- topics: written by scripts/schemas -->\n", "<!-- end of topics -->\n"
COLUMNS = ("topic", "events", "key", "partitioned by", "kept", "written by", "read by")


def main(file: Path) -> None:
    """Write the table into *file*, in place of the one that is there."""
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """Return *text* with the table as it is to be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "".join(f"{line}\n" for line in _table()) + END + after


def _table() -> Iterator[str]:
    yield _row(*COLUMNS)
    yield _row(*("---" for _ in COLUMNS))
    for topic in TOPICS.values():
        yield _row(*_cells(topic))


def _cells(topic: Topic) -> Iterator[str]:
    yield f"`{topic.name}`"
    yield ", ".join(f"`{kind.event}`" for kind in topic.events)
    yield ", ".join(f"`{kind.key}`" for kind in topic.events)
    yield f"`{topic.partitioned_by}`"
    yield topic.keep.value
    yield ", ".join(topic.producers)
    yield ", ".join(topic.consumers) or "anybody"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
