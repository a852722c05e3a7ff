"""The requests that a server received and answered, as lines of JSON that outlive it."""

import json
import time
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

REQUESTS = "requests.jsonl"
STARTED_FILE = "begun.jsonl"
"""The start of each request: `at`, `conn` and `url`, written when its head was read."""
LOOKUPS = "lookups.jsonl"

_STARTED = time.time() - time.monotonic()


def now() -> float:
    """Return epoch seconds that never step, so that gaps between requests are real."""
    return _STARTED + time.monotonic()


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `at` its head was read, `ended` its answer was sent or its client disconnected.

    `host` has no port, `url` has one; `status` is 0 if no status line was sent.
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
    """The address at which its host was requested."""
    note: str = ""
    """What the web noted about the request."""


class Journal:
    """Appends one line per entry at once, so that a reader sees every finished request."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIOWrapper = path.open("a", buffering=1, encoding="utf-8")

    def write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")

    def close(self) -> None:
        self._file.close()


def to_line(request: Request) -> dict[str, Any]:
    """The header is From, a keyword of Python."""
    entry = asdict(request)
    entry["from"] = entry.pop("sender")
    return entry


def read_requests(path: Path) -> list[Request]:
    """Return requests in the order in which they started."""
    found = [Request(sender=line.pop("from"), **line) for line in read_lines(path)]
    return sorted(found, key=lambda request: request.at)


def read_running(folder: Path) -> list[str]:
    """Return the URLs of running requests, in the order in which they started."""
    # Read first: finished requests are then on the other record.
    begun = read_lines(folder / STARTED_FILE)
    ended = {(request.conn, request.at) for request in read_requests(folder / REQUESTS)}
    return [line["url"] for line in begun if (line["conn"], line["at"]) not in ended]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return whole lines only: the last one may still be written."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
