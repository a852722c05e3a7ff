"""`gossamer diff URL`: how title and visible text of a page changed between two versions."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence

from gossamer.console.cli.options import add_crawl, open_from, parse_time
from gossamer.console.output import BOLD, GREEN, RED, YELLOW, Output, output_for, print_json, say
from gossamer.inspection.archive.comparison import compare_versions
from gossamer.inspection.basics.figures import instant
from gossamer.terminal import escape_controls
from gossamer.text.differences import Kind, Piece

CONTEXT_WORDS = 12
"""Equal words that are shown before and after a difference."""
MARKS = {Kind.REMOVED: ("[-", "-]", RED), Kind.ADDED: ("{+", "+}", GREEN)}
"""Kind → its marks without colour, as in `git diff --word-diff`, and its style."""
_words = re.compile(r"\s*\S+|\s+")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("url", metavar="URL")
    command.add_argument(
        "--from",
        dest="since",
        type=parse_time,
        metavar="TIME",
        help="the older version: the newest until then, in UTC (default: the last other body)",
    )
    command.add_argument(
        "--to",
        dest="until",
        type=parse_time,
        metavar="TIME",
        help="the newer version: the newest until then, in UTC (default: the newest)",
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument(
        "--text",
        dest="form",
        action="store_const",
        const="text",
        default="text",
        help="compare the title and all visible text (default), as gossamer history does",
    )
    form.add_argument(
        "--html", dest="form", action="store_const", const="html", help="compare the markup"
    )
    command.add_argument("--json", action="store_true", help="all pieces, as JSON")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Print the words that were removed and added, each with the words around it."""
    with open_from(options) as crawl:
        found = compare_versions(crawl, options.url, options.since, options.until, options.form)
    if options.json:
        print_json(found)
        return 0
    old, new = instant(found.old.fetched_at), instant(found.new.fetched_at)
    say(f"{found.url} from {old} to {new}: {found.answer}", BOLD)
    if not found.is_complete:
        say("The versions differ too much for all words to be compared.", YELLOW)
    if found.change:
        print(render(found.pieces, output_for(sys.stdout)))
    return 0


def render(pieces: Sequence[Piece], output: Output) -> str:
    """Return *pieces* for *output*: in colour on a terminal, otherwise with marks."""
    return "".join(_render(pieces, output)).strip("\n")


def _render(pieces: Sequence[Piece], output: Output) -> Iterator[str]:
    for at, piece in enumerate(pieces):
        text = escape_controls(piece.text, keep="\n\t")
        if piece.kind is Kind.EQUAL:
            yield _shorten(text, is_first=at == 0, is_last=at == len(pieces) - 1)
            continue
        start, end, style = MARKS[piece.kind]
        bare = text.rstrip()
        yield output.style(bare, style) if output.colour else f"{start}{bare}{end}"
        yield text[len(bare) :]


def _shorten(text: str, is_first: bool, is_last: bool) -> str:
    """Return the words of *text* next to a difference."""
    words = _words.findall(text)
    before = 0 if is_first else CONTEXT_WORDS
    after = 0 if is_last else CONTEXT_WORDS
    if len(words) <= before + after + 1:
        return text
    head, tail = words[:before], words[len(words) - after :]
    return f"{''.join(head)} …{''.join(tail) or ' '}"
