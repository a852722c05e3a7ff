"""A child of the parser whose reader of one part fails, as a page requests.

The real pool starts it in place of the real child. The title of a page names what fails and how:
`crash metadata`, `raise main text`, `exit headings`.
"""

import ctypes
import faulthandler
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from gossamer.services.parser import text as plain_text
from gossamer.services.parser.html import document, links, text
from gossamer.services.parser.options import Options
from gossamer.services.parser.pool import child

parse = child.parse  # type: ignore[attr-defined]
FAILURES: dict[str, Callable[[], Any]] = {
    "crash": lambda: ctypes.string_at(0),
    "exit": lambda: sys.exit("a library exits"),
    "leave": lambda: os._exit(3),
    "raise": lambda: dict[str, str]()["half of an emoji: \ud83d"],
    "hoard": lambda: bytearray(1 << 40),
}


def main() -> None:
    """Run a child whose readers fail."""
    for module, name, part in (
        (document, "read_about", "metadata"),
        (document, "find_headings", "headings"),
        (links, "find_forms", "forms"),
        (links, "find_requisites", "requisites"),
        (text, "_extract_main", "main text"),
        (plain_text, "detect_language", "language"),
        (document, "_find_title", "whole"),
    ):
        setattr(module, name, failing(getattr(module, name), part))

    def parse_page(page: Any, options: Options, now: float) -> Any:
        failing.wanted = re.findall(rb"<title>(\w+) ([\w ]+)", page.body)  # type: ignore[attr-defined]
        return parse(page, options, now)

    child.parse = parse_page  # type: ignore[attr-defined]
    faulthandler.disable()
    child.main()


def failing(read: Callable[..., Any], part: str) -> Callable[..., Any]:
    """Return *read*, which fails if the page wants that for *part*."""

    def fail_or_read(*arguments: Any) -> Any:
        for how, what in getattr(failing, "wanted", ()):
            if what.decode() == part:
                FAILURES[how.decode()]()
        return read(*arguments)

    return fail_or_read


if __name__ == "__main__":
    main()
