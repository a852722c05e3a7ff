"""A command that requests visits to URLs of a folder."""

from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.events import FetchRequested, RefetchRequested, RetryRequested
from gossamer.store import Row
from inspection.basics.folder import Folder
from tests.runtime.processors import events
from tests.support.rows import put_rows


class RequestCommand:
    """`gossamer` *name* on one folder, which has a seed."""

    def __init__(self, name: str, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._name, self.data, self._capsys = name, data, capsys
        assert main(["seed", "--data", str(data), "http://a.example/"]) == 0
        capsys.readouterr()

    def __call__(self, *arguments: str, status: int = 0) -> str:
        """Run the command; return its output."""
        assert main([self._name, "--data", str(self.data), *arguments]) == status
        shown = self._capsys.readouterr()
        return shown.err if status == 2 else shown.out

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
