"""Functions of other packages that decide about pages: classifiers and scorers.

A package installs such a function as an entry point, whose group says what the function decides and
whose name is used in settings. The function runs in dedup as trusted code. Its errors must never
lose a page, so its caller catches every exception and reports `describe_error`.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from gossamer.errors import BadSettings

MAX_REASON = 300
"""Maximum number of characters of a function's reported error."""


@cache
def load_hook(group: str, name: str) -> Any:
    """Return the function that is installed as *name* in *group*.

    Raise LookupError if there is none, and any error that its import raises.
    """
    found = entry_points(group=group, name=name)
    if not found:
        raise LookupError(f"{group} has no entry point of this name")
    return next(iter(found)).load()


def check_hook(group: str, name: str, setting: str, kind: str) -> None:
    """Raise BadSettings, about *setting*, if the function *name* of a *kind* cannot be loaded."""
    try:
        load_hook(group, name)
    except Exception as error:
        there = ", ".join(sorted({repr(one.name) for one in entry_points(group=group)}))
        raise BadSettings(
            f"{setting}: the {kind} {name!r} cannot be loaded "
            f"({type(error).__name__}: {error}); installed {kind}s: {there or 'none'}"
        ) from error


def describe_error(error: Exception) -> str:
    """Return *error* in at most `MAX_REASON` characters that can be stored and printed."""
    text = f"{type(error).__name__}: {error}"[:MAX_REASON]
    return text.encode("utf-8", "replace").decode()
