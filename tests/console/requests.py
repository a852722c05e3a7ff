"""A command that requests visits to URLs of a folder."""

from pathlib import Path
from typing import Any

from console.cli.main import main
from gossamer.events import FetchRequested, RefetchRequested, RetryRequested
from gossamer.store import Row
from inspection.basics.folder import Folder
from tests.runtime.processors import events
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript


class RequestCommand:
    """`gossamer` *name* on one folder, which has a seed."""

    def __init__(self, name: str, data: Path, transcript: Transcript) -> None:
        self._name, self.data, self._transcript = name, data, transcript
        assert main(["seed", "--data", str(data), "http://a.example/"]) == 0

    def __call__(self, *arguments: str, status: int = 0) -> str:
        """Run the command, add it to the transcript, and return its output."""
        return self._transcript(self._name, "--data", self.data, *arguments, status=status)

    def json(self, *arguments: str) -> Any:
        """Run the command with `--json` and return what it prints."""
        return self._transcript.json(self._name, "--data", self.data, *arguments, "--json")

    def store_rows(self, *rows: Row) -> None:
        """Put *rows* into the folder's store."""
        store = Folder(self.data).open().store
        put_rows(store, *rows)

    def requests(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return site, host and URLs of each request on the log."""
        log = Folder(self.data).open().log
        found = [*events(log, "urls.admitted"), *events(log, "visits.ended")]
        kinds = (FetchRequested, RefetchRequested, RetryRequested)
        return [(e.site, e.host, e.urls) for e in found if isinstance(e, kinds)]
