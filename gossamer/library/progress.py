"""The progress of a run: a line at a time in a terminal, one line that changes in a notebook."""

import sys
from typing import Any


class Progress:
    """Shows the newest line of a run; this one shows nothing."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, line: str) -> None:
        """Show *line*, if it is new."""
        if line != self._shown:
            self._shown = line
            self._show(line)

    def _show(self, line: str) -> None:
        """Show a new *line*."""


class Lines(Progress):
    """Prints each line on standard error."""

    def _show(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class NotebookLine(Progress):
    """An output of a notebook's cell, whose text is replaced."""

    def __init__(self, display: Any) -> None:
        super().__init__()
        self._display = display
        self._handle: Any = None

    def _show(self, line: str) -> None:
        output = {"text/plain": line}
        if self._handle is None:
            self._handle = self._display(output, raw=True, display_id=True)
        else:
            self._handle.update(output, raw=True)


def progress_for(quiet: bool) -> Progress:
    """Return how to show progress here: in a notebook's kernel, IPython has been imported."""
    if quiet:
        return Progress()
    if (ipython := sys.modules.get("IPython")) and getattr(ipython.get_ipython(), "kernel", None):
        from IPython.display import display

        return NotebookLine(display)
    return Lines()
