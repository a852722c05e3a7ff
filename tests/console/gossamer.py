"""`gossamer` on one folder, in the transcript of a test."""

from pathlib import Path
from typing import Any

from gossamer.events import Event, FetchRequested, RefetchRequested, RetryRequested
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log.codec import encode
from gossamer.store import Row
from tests.runtime import processors
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript


class Gossamer:
    """All commands, or the one that is named, and what they read and write."""

    def __init__(self, data: Path, transcript: Transcript, *name: str) -> None:
        self.data, self._transcript, self._name = data, transcript, name

    def command(self, name: str) -> "Gossamer":
        """Return the command *name* alone."""
        return Gossamer(self.data, self._transcript, name)

    def __call__(self, *words: object, status: int = 0) -> str:
        """Run a command, add it to the transcript, and return its output."""
        return self._transcript(*self._words(*words), status=status)

    def json(self, *words: object) -> Any:
        """Run a command with `--json`, and return what it prints."""
        return self._transcript.json(*self._words(*words), "--json")

    def json_lines(self, *words: object) -> list[Any]:
        """Run a command with `--json`, and return the lines that it prints."""
        return self._transcript.json_lines(*self._words(*words), "--json")

    def _words(self, *words: object) -> list[object]:
        given = [*self._name, *words]
        return [*str(given[0]).split(), "--data", self.data, *given[1:]]

    def open(self) -> Opened:
        """Open the folder, and create it if it is missing."""
        return Folder(self.data).create()

    def append(self, *events: Event) -> None:
        """Append *events* to the log."""
        self.open().log.append([encode(event) for event in events])

    def store_rows(self, *rows: Row) -> None:
        """Put *rows* into the store."""
        put_rows(self.open().store, *rows)

    def events(self, topic: str) -> list[Event]:
        """Return all events of *topic*."""
        return processors.events(self.open().log, topic)

    def requests(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return site, host and URLs of each request for visits."""
        found = [*self.events("urls.admitted"), *self.events("visits.ended")]
        kinds = (FetchRequested, RefetchRequested, RetryRequested)
        return [(one.site, one.host, one.urls) for one in found if isinstance(one, kinds)]
