"""The requests a server was sent and answered, as lines of JSON that outlive it."""

import json
import time
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

REQUESTS = "requests.jsonl"
BEGUN = "begun.jsonl"
"""Of each request, as soon as its head was read: `at`, `conn` and `url`."""
LOOKUPS = "lookups.jsonl"

_STARTED = time.time() - time.monotonic()


def now() -> float:
    """Epoch seconds that never step, so that gaps between requests are real ones."""
    return _STARTED + time.monotonic()


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `at` its head had been read, `ended` its answer was sent or its client gone.

    `host` has no port, `url` has; `status` is 0 where no status line was sent.
    """

    at: float
    ended: float
    host: str
    path: str
    url: str
    status: int
    agent: str
    sender: str
    conn: int
    address: str = ""
    """Where its host was asked."""


class Journal:
    """Appends one line per entry, at once: a reader never misses what has ended."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIOWrapper = path.open("a", buffering=1, encoding="utf-8")

    def write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")

    def close(self) -> None:
        self._file.close()


def as_line(request: Request) -> dict[str, Any]:
    """The header is called From, which no Python name can be."""
    entry = asdict(request)
    entry["from"] = entry.pop("sender")
    return entry


def read_requests(path: Path) -> list[Request]:
    """In the order in which they began."""
    found = [Request(sender=line.pop("from"), **line) for line in read_lines(path)]
    return sorted(found, key=lambda request: request.at)


def read_open(folder: Path) -> list[str]:
    """The URLs of requests that have begun and not ended, in the order in which they began."""
    # Read first: whatever of it has ended is then on the other record.
    begun = read_lines(folder / BEGUN)
    ended = {(request.conn, request.at) for request in read_requests(folder / REQUESTS)}
    return [line["url"] for line in begun if (line["conn"], line["at"]) not in ended]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines only: the last may still be on its way."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
