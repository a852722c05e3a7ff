"""Printed lines: fitted to the width of a terminal, in colour there, and plain in a pipe or a file.

Control characters are replaced before a style is added, so text from the Web cannot style itself.
The module imports no large library: every command uses it.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TextIO, TypeVar

from gossamer.inspection.basics.figures import plural
from gossamer.terminal import escape_controls, json_line, printable

Item = TypeVar("Item")
TITLE_WIDTH = 13
MIN_WIDTH = 40
"""Columns; a narrower terminal breaks lines itself."""
MAX_LINE_LENGTH = 5000
"""Characters of a printed line: longer than two URLs can be."""

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
"""Styles, as numbers of the ANSI sequence Select Graphic Rendition."""


class Line(NamedTuple):
    """A line of a report: a title, a text, and the style of the text."""

    title: str
    """Empty: the line continues the line above."""
    text: str
    style: str = ""


class Output(NamedTuple):
    """How lines are printed: columns of the terminal (None: unlimited), and whether in colour."""

    width: int | None = None
    colour: bool = False

    def style(self, text: str, style: str) -> str:
        """Return *text* in *style* if the output is in colour."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and style and text else text

    def sentence(self, text: str, style: str = "", indent: str = "", hanging: str = "") -> str:
        """Return *text* without control characters, wrapped and styled.

        *indent* begins the first line and *hanging* the other ones.
        """
        text = printable(text, MAX_LINE_LENGTH)
        lines = [text]
        if self.width is not None:
            lines = textwrap.wrap(
                text,
                max(self.width, MIN_WIDTH) - len(hanging),
                break_long_words=False,
                break_on_hyphens=False,
            ) or [""]
        indents = [indent, *[hanging] * (len(lines) - 1)]
        return "\n".join(
            f"{start}{self.style(line, style)}" for start, line in zip(indents, lines, strict=True)
        )

    def line(self, line: Line) -> str:
        """Return a line of a report: two spaces, the title in bold, and the text beside it."""
        title = printable(line.title)
        hanging = " " * (TITLE_WIDTH + 2)
        padding = " " * max(0, TITLE_WIDTH - len(title))
        shown = f"  {self.style(title, BOLD)}{padding}"
        if len(title) >= TITLE_WIDTH:
            shown += " "
        return self.sentence(line.text, line.style, shown, hanging)


def output_for(stream: TextIO) -> Output:
    """Return how to print on *stream*: in colour on a terminal, unless NO_COLOR is set
    (https://no-color.org) or the terminal is dumb."""
    if not stream.isatty():
        return Output()
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Output(shutil.get_terminal_size().columns, colour)


def say(text: str, style: str = "", indent: str = "", hanging: str = "") -> None:
    """Print a sentence on standard output; see `Output.sentence`."""
    print(output_for(sys.stdout).sentence(text, style, indent, hanging), flush=True)


def say_each(sentences: Iterable[str], style: str = "") -> None:
    """Print sentences on standard output, each one as soon as it is known."""
    for sentence in sentences:
        say(sentence, style)


def print_lines(lines: Iterable[Line]) -> None:
    """Print the lines of a report on standard output."""
    output = output_for(sys.stdout)
    for line in lines:
        print(output.line(line), flush=True)


def print_json(value: Any, is_indented: bool = False) -> None:
    """Print *value* as JSON on standard output, in one line or indented for people."""
    import msgspec  # Imported here, because `--help` needs none.

    encoded = msgspec.json.encode(value)
    print(json_line(msgspec.json.format(encoded) if is_indented else encoded), flush=True)


def print_list(
    items: Iterable[Item], as_json: bool, show: Callable[[Item], None], nothing: str
) -> int:
    """Print each of *items* as a line of JSON, or by *show*; return the exit status of a list.

    *nothing* is the sentence for an empty list, whose status is 1.
    """
    count = 0
    for item in items:
        count += 1
        if as_json:
            print_json(item)
        else:
            show(item)
    if not count and not as_json:
        say(nothing, YELLOW)
    return 0 if count else 1


def print_checks(
    checks: Iterable[Item],
    as_json: bool,
    line: Callable[[Item], str],
    is_good: Callable[[Item], bool],
) -> int:
    """Print *checks* and the number of problems; return the exit status, 1 with a problem."""
    found = list[Item]()
    for check in checks:
        found.append(check)
        if not as_json:
            # At once: a server that does not answer takes its whole timeout.
            say(line(check), "" if is_good(check) else RED)
    problems = sum(not is_good(check) for check in found)
    if as_json:
        print_json(found, is_indented=True)
    elif problems:
        say(f"{plural(problems, 'problem')} in {plural(len(found), 'check')}.", RED)
    else:
        say("No problems found.", GREEN)
    return 1 if problems else 0


def print_items(items: Iterable[str]) -> None:
    """Print indented items, one a line, on standard output."""
    for item in items:
        say(item, "", "  ", "    ")


def print_error(program: str, message: str) -> None:
    """Print an error on standard error; the lines of *message* stay apart."""
    output = output_for(sys.stderr)
    shown = f"{program}: {escape_controls(message, keep=chr(10))}"
    lines = [
        output.sentence(line, "", "", "  ") if line.isprintable() else line
        for line in shown.splitlines()
    ]
    if lines and output.colour:
        name = f"{program}:"
        lines[0] = output.style(name, RED) + lines[0].removeprefix(name)
    print("\n".join(lines), file=sys.stderr)
