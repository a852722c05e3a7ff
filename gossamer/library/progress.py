"""The progress of a run: a line at a time in a terminal, one line that changes in a notebook."""

import sys
from typing import Any, Protocol


class Progress(Protocol):
    """Shows the newest line of a run."""

    def show(self, line: str) -> None:
        """Show *line*, if it is new."""


class NoProgress:
    """Shows nothing."""

    def show(self, line: str) -> None:
        """Show nothing."""


class Lines:
    """Prints each line on standard error."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, line: str) -> None:
        """Print *line*, if it is new."""
        if line != self._shown:
            self._shown = line
            print(line, file=sys.stderr, flush=True)


class NotebookLine:
    """An output of a notebook's cell, whose text is replaced."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        self._shown = ""

    def show(self, line: str) -> None:
        """Replace the text by *line*, if it is new."""
        if line == self._shown:
            return
        self._shown, output = line, {"text/plain": line}
        if self._handle is None:
            self._handle = self._display(output, raw=True, display_id=True)
        else:
            self._handle.update(output, raw=True)


def progress_for(quiet: bool) -> Progress:
    """Return how to show progress here: in a notebook's kernel, IPython has been imported."""
    if quiet:
        return NoProgress()
    if (ipython := sys.modules.get("IPython")) and getattr(ipython.get_ipython(), "kernel", None):
        from IPython.display import display

        return NotebookLine(display)
    return Lines()
